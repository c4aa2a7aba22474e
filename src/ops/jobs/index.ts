/**
 * `shoal/jobs` submits commands to a cluster, which runs them and keeps their output and their ends.
 */
export { JobClient } from "./job-client.ts";
export type { JobClientOptions, JobInfo, JobRuntimeEnv, SubmitJobOptions } from "./job-client.ts";
export type { JobStatus } from "./job-details.ts";
