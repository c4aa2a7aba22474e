/**
 * A job as Ray's REST interface shows it (`JobDetails` of Ray 2.60).
 *
 * Values of environment variables are secrets and are shown to nobody.
 */
import { isNetworkAddress, parseNetworkAddress } from "../../runtime/os/network/network-address.ts";
import { hasEnded } from "./job-table.ts";
import type { JobRecord } from "./job-messages.ts";

/** Ray's states of a job. */
export type JobStatus = "PENDING" | "RUNNING" | "STOPPED" | "SUCCEEDED" | "FAILED";

/** Ray's row of a job. Times are milliseconds since 1970. */
export interface JobDetails {
  readonly type: "SUBMISSION" | "DRIVER";
  readonly job_id: string | null;
  readonly submission_id: string | null;
  readonly driver_info: { readonly id: string; readonly node_ip_address: string; readonly pid: string } | null;
  readonly status: JobStatus;
  readonly entrypoint: string;
  readonly message: string | null;
  readonly error_type: string | null;
  readonly start_time: number | null;
  readonly end_time: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly runtime_env: Readonly<Record<string, unknown>>;
  readonly driver_agent_http_address: string | null;
  readonly driver_node_id: string | null;
  readonly driver_exit_code: number | null;
}

const STATUS = { starting: "PENDING", running: "RUNNING", stopped: "STOPPED", succeeded: "SUCCEEDED", failed: "FAILED" } as const;
const MESSAGE = { starting: "Job has not started yet.", running: "Job is currently running." } as const;
const WAITS = "Job has not started yet: it waits for its resources. `shoal status` says what becomes of them.";
const HIDDEN = "***";

/** A job runs on the head's machine. */
function hostOf(address: string): string {
  return isNetworkAddress(address) ? parseNetworkAddress(address).host : "127.0.0.1";
}

export function detailsOf(record: JobRecord): JobDetails {
  const { id, node, request, state, driver, startedMs, submittedMs, endedMs, exitCode, message, errorType } = record;
  const names = Object.keys(request.envVars);
  return {
    type: "SUBMISSION",
    job_id: driver?.jobId ?? null,
    submission_id: id,
    driver_info: driver === undefined ? null : { id: driver.jobId, node_ip_address: hostOf(request.address), pid: String(driver.pid) },
    status: STATUS[state],
    entrypoint: request.entrypoint,
    message:
      message ?? (state === "starting" && node === undefined ? WAITS : state === "starting" || state === "running" ? MESSAGE[state] : null),
    error_type: errorType ?? null,
    start_time: startedMs ?? submittedMs,
    end_time: hasEnded(record) ? (endedMs ?? null) : null,
    metadata: request.metadata,
    runtime_env: {
      ...(names.length === 0 ? {} : { env_vars: Object.fromEntries(names.map((name) => [name, HIDDEN])) }),
      ...(request.workingDirectory === undefined ? {} : { working_dir: request.workingDirectory }),
    },
    driver_agent_http_address: null,
    driver_node_id: state === "starting" ? null : (node ?? null),
    driver_exit_code: exitCode ?? null,
  };
}
