/**
 * The extension that runs submitted jobs, as the head and the daemons of a cluster load it.
 *
 * Workers do not load it, and a node that a program starts for itself has no jobs.
 */
import type { Extension } from "../../runtime/extension/extension.ts";
import { headJobs } from "./head-jobs.ts";
import { JOBS } from "./job-messages.ts";
import { nodeJobs } from "./node-jobs.ts";

const jobsExtension: Extension = { name: JOBS, head: headJobs, node: nodeJobs };

export default jobsExtension;
