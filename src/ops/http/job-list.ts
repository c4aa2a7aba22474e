/**
 * Submitted jobs together with programs that nobody submitted, as Ray lists both.
 *
 * A program of a submitted job is shown with that job alone. Programs come from the state of the nodes, so those of a node that is lost are
 * missing.
 */
import { detailsOf, type JobDetails } from "../jobs/job-details.ts";
import type { JobRecord } from "../jobs/job-messages.ts";
import type { StateReader } from "../state/state-reader.ts";
import type { JobService } from "./job-service.ts";
import { DRIVERS_LISTED_MAX } from "./limits.ts";

export interface JobSources {
  readonly jobs: Pick<JobService, "get" | "list">;
  readonly reader: Pick<StateReader, "get" | "list">;
}

/** Returns submitted jobs, the newest first, and other programs behind them. */
export async function allJobs({ jobs, reader }: JobSources): Promise<JobDetails[]> {
  const [records, { rows }] = await Promise.all([jobs.list(), reader.list("jobs", { limit: DRIVERS_LISTED_MAX, detail: true })]);
  const submitted = new Set(records.map(({ driver }) => driver?.jobId));
  return [...records.map(detailsOf), ...rows.filter(({ job_id: id }) => !submitted.has(id as string)).map(driverOf)];
}

/** Finds a job by its submission id, or by the id of the last program in it. Finds programs that nobody submitted, too. */
export async function findJob({ jobs, reader }: JobSources, id: string): Promise<JobRecord | JobDetails | undefined> {
  const found = await jobs.get(id);
  if (found !== undefined || !/^[0-9a-f]{8}$/.test(id)) return found;
  const submitted = (await jobs.list()).find(({ driver }) => driver?.jobId === id);
  if (submitted !== undefined) return submitted;
  const row = await reader.get("jobs", id);
  return row === undefined ? undefined : driverOf(row);
}

function driverOf(row: Readonly<Record<string, unknown>>): JobDetails {
  // The columns are those of Ray, which a node fills.
  const known = row as unknown as JobDetails;
  return {
    type: "DRIVER",
    job_id: known.job_id,
    submission_id: null,
    driver_info: known.driver_info,
    status: known.status,
    entrypoint: known.entrypoint ?? "",
    message: known.message ?? null,
    error_type: known.error_type ?? null,
    start_time: known.start_time ?? null,
    end_time: known.end_time ?? null,
    metadata: {},
    runtime_env: {},
    driver_agent_http_address: null,
    driver_node_id: known.driver_node_id ?? null,
    driver_exit_code: null,
  };
}
