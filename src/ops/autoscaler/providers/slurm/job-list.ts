/**
 * Reads the answer of `squeue` into a provider's list. Pure.
 *
 * Jobs of others have other comments. A job that ended in order or was cancelled is absent; another end is a failure with its state.
 */
import type { ProviderNode } from "../../provider.ts";
import { commentOf } from "./job-script.ts";

/** Columns: job, state, name, comment, node, reason. The reason is last, because only the reason may hold any character. */
export const JOB_FORMAT = "%i|%T|%j|%k|%N|%r";

const STATES: Readonly<Record<string, ProviderNode["state"] | "ended">> = {
  PENDING: "pending",
  CONFIGURING: "pending",
  SUSPENDED: "pending",
  RUNNING: "running",
  STOPPED: "running",
  RESIZING: "running",
  SIGNALING: "terminating",
  COMPLETING: "terminating",
  STAGE_OUT: "terminating",
  COMPLETED: "ended",
  CANCELLED: "ended",
};

/** Reads the cluster's jobs; `providerId` is the job's number. @throws TypeError for a line that is none of the format */
export function readJobs(text: string, clusterName: string): ProviderNode[] {
  const prefix = commentOf(clusterName, "");
  return text.split("\n").flatMap((line) => {
    if (line.trim() === "") return [];
    const [jobId = "", state = "", name = "", comment = "", node = "", ...reasons] = line.split("|");
    if (reasons.length === 0 || !/^\d+$/.test(jobId))
      throw new TypeError(`squeue answered with an unknown line: received ${line.slice(0, 200)}`);
    if (!comment.startsWith(prefix)) return [];
    const known = STATES[state] ?? "failed";
    if (known === "ended") return [];
    const why = reasons.join("|");
    const reason = known === "failed" ? `its job ended with ${state}` : why === "None" || why === "" ? undefined : why;
    const address = node === "" ? undefined : node;
    return [{ instanceId: name, providerId: jobId, type: comment.slice(prefix.length), state: known, address, reason }];
  });
}
