/**
 * The client of submitted jobs over HTTP: for programs on this machine, for CI, and for the command line.
 *
 * Each call is one request. A submission is kept before its call resolves, so a client that ends then changes nothing. Ids are checked
 * before they become part of a path.
 */
import type { ShoalError } from "../../runtime/base/errors.ts";
import { PACKAGE_FILES_MAX, PACKAGE_SIZE_BYTES_MAX } from "../../runtime/environment/limits.ts";
import { packZip } from "../../runtime/os/files/archives/zip-file.ts";
import { askHttp, type HttpPlace, httpPlaceOf } from "../connection/http-place.ts";
import type { JobDetails, JobStatus } from "./job-details.ts";
import { isSubmissionId } from "./job-request.ts";
import { jobTexts } from "./job-socket.ts";

/** How a client finds the cluster. */
export interface JobClientOptions {
  /** `http(s)://HOST:PORT` of the dashboard, or `HOST:PORT` of a head of this machine. Default: the cluster of this machine. */
  readonly address?: string | undefined;
  /** Token for an `http(s)` address. Default: `SHOAL_AUTH_TOKEN`, or the file that `SHOAL_AUTH_TOKEN_FILE` names. */
  readonly token?: string | undefined;
}

/** Files and variables for the entry point of a job and for its tasks. */
export interface JobRuntimeEnv {
  /** Texts by name. The cluster shows their values to nobody. */
  readonly envVars?: Readonly<Record<string, string>> | undefined;
  /**
   * A folder whose files travel with the job, as its `.gitignore` and `.shoalignore` say, without `node_modules`. Each job runs in a copy.
   * Or the name of a package that was sent: `gcs://_ray_pkg_….zip`. Default: the job runs where its node was started.
   */
  readonly workingDir?: string | undefined;
}

/** A job to run. */
export interface SubmitJobOptions {
  /** A command of `/bin/sh`, 64 KB at most. */
  readonly entrypoint: string;
  /** Letters, digits, `.`, `_` and `-`. Default: a new one. */
  readonly submissionId?: string | undefined;
  readonly runtimeEnv?: JobRuntimeEnv | undefined;
  /** Texts that the cluster keeps and shows with the job. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /**
   * Resources that the entry point holds while it runs. With any of these the job waits for a node that has them, and runs there.
   * Default: none, on the head's node.
   */
  readonly entrypointNumCpus?: number | undefined;
  readonly entrypointNumGpus?: number | undefined;
  /** In bytes. */
  readonly entrypointMemory?: number | undefined;
  readonly entrypointResources?: Readonly<Record<string, number>> | undefined;
  /** Labels of the node, with conditions as in the option `labelSelector`. Needs a resource. */
  readonly entrypointLabelSelector?: Readonly<Record<string, string>> | undefined;
}

/** A job as the cluster knows it. */
export interface JobInfo {
  /** `DRIVER`: a program that nobody submitted. */
  readonly type: "SUBMISSION" | "DRIVER";
  readonly submissionId: string | undefined;
  /** The id of the job's last program that has connected. */
  readonly jobId: string | undefined;
  readonly status: JobStatus;
  readonly entrypoint: string;
  /** Explains the status, with the last lines of a failed job. */
  readonly message: string | undefined;
  readonly errorType: string | undefined;
  /** In milliseconds since 1970. */
  readonly startTimeMs: number | undefined;
  readonly endTimeMs: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** As the REST interface shows it, without values of variables. */
  readonly runtimeEnv: Readonly<Record<string, unknown>>;
  readonly driverNodeId: string | undefined;
  /** 128 and the signal's number for a job that a signal ended. */
  readonly driverExitCode: number | undefined;
}

/**
 * Submits jobs to a cluster and asks for them.
 *
 * @example
 * const client = new JobClient();
 * const id = await client.submitJob({ entrypoint: "node train.ts" });
 * for await (const text of client.tailJobLogs(id)) process.stdout.write(text);
 * console.log(await client.getJobStatus(id));
 */
export class JobClient {
  readonly #place: HttpPlace;

  /** @throws ShoalError where there is no cluster, or no token */
  constructor({ address, token }: JobClientOptions = {}) {
    const environment = token === undefined ? process.env : { SHOAL_AUTH_TOKEN: token };
    this.#place = httpPlaceOf(environment, address);
  }

  /**
   * Resolves with the submission id once the job is kept. The job then runs even if this program ends.
   *
   * @throws RangeError for a working directory that is too large, or has links
   * @throws ShoalError with `details.status`: 400 for a wrong option, 403 for a token that may not submit, 409 for a taken id
   */
  async submitJob({ entrypoint, submissionId, runtimeEnv, metadata, ...reserved }: SubmitJobOptions): Promise<string> {
    const { envVars, workingDir } = runtimeEnv ?? {};
    const environment = {
      ...(envVars === undefined ? {} : { env_vars: envVars }),
      ...(workingDir === undefined ? {} : { working_dir: await this.#sentDirectory(workingDir) }),
    };
    const body = {
      entrypoint,
      ...(submissionId === undefined ? {} : { submission_id: submissionId }),
      ...(Object.keys(environment).length === 0 ? {} : { runtime_env: environment }),
      ...(metadata === undefined ? {} : { metadata }),
      entrypoint_num_cpus: reserved.entrypointNumCpus,
      entrypoint_num_gpus: reserved.entrypointNumGpus,
      entrypoint_memory: reserved.entrypointMemory,
      entrypoint_resources: reserved.entrypointResources,
      entrypoint_label_selector: reserved.entrypointLabelSelector,
    };
    const { submission_id: id } = (await askHttp(this.#place, "POST", "/api/jobs/", body)) as { submission_id: string };
    return id;
  }

  /** Sends a folder unless the cluster has its content. @returns the package's name */
  async #sentDirectory(directory: string): Promise<string> {
    if (directory.includes("://")) return directory;
    const { bytes, sha256 } = await packZip(directory, { sizeBytesMax: PACKAGE_SIZE_BYTES_MAX, filesMax: PACKAGE_FILES_MAX });
    const name = `_shoal_pkg_${sha256.slice(0, 40)}.zip`;
    const path = `/api/packages/gcs/${name}`;
    const isKnown = await askHttp(this.#place, "GET", path).then(
      () => true,
      (error: ShoalError) => {
        if (error.details?.["status"] === 404) return false;
        throw error;
      },
    );
    if (!isKnown) await askHttp(this.#place, "PUT", path, bytes);
    return `gcs://${name}`;
  }

  /** @throws ShoalError for an unknown job */
  async getJobInfo(submissionId: string): Promise<JobInfo> {
    return infoOf((await askHttp(this.#place, "GET", pathOf(submissionId))) as JobDetails);
  }

  /** The newest first. */
  async listJobs(): Promise<JobInfo[]> {
    return ((await askHttp(this.#place, "GET", "/api/jobs/")) as JobDetails[]).map(infoOf);
  }

  /** @throws ShoalError for an unknown job */
  async getJobStatus(submissionId: string): Promise<JobStatus> {
    return (await this.getJobInfo(submissionId)).status;
  }

  /**
   * Ends a job and all that it has started: SIGTERM, and SIGKILL after 5 s. Resolves before the end.
   *
   * @returns whether the job had not ended
   * @throws ShoalError for an unknown job
   */
  async stopJob(submissionId: string): Promise<boolean> {
    return ((await askHttp(this.#place, "POST", `${pathOf(submissionId)}/stop`)) as { stopped: boolean }).stopped;
  }

  /** Removes a job that has ended, with its log. @throws ShoalError for an unknown job, and for one that has not ended */
  async deleteJob(submissionId: string): Promise<boolean> {
    return ((await askHttp(this.#place, "DELETE", pathOf(submissionId))) as { deleted: boolean }).deleted;
  }

  /** Returns the output so far, the last 16 MB of a longer one. @throws ShoalError for an unknown job */
  async getJobLogs(submissionId: string): Promise<string> {
    return ((await askHttp(this.#place, "GET", `${pathOf(submissionId)}/logs`)) as { logs: string }).logs;
  }

  /**
   * Yields the output from its beginning, as it is printed, until the job has ended.
   *
   * @throws ShoalError for an unknown job, and where the connection breaks off
   */
  async *tailJobLogs(submissionId: string): AsyncGenerator<string, void, undefined> {
    yield* jobTexts(this.#place, `${pathOf(submissionId)}/logs/tail`);
  }
}

/** @throws RangeError for a text that is no id, which would be another path */
function pathOf(submissionId: string): string {
  if (isSubmissionId(submissionId)) return `/api/jobs/${submissionId}`;
  throw new RangeError(`Cannot ask for the job: a submission id is needed: received ${JSON.stringify(submissionId)}`);
}

function infoOf(row: JobDetails): JobInfo {
  return {
    type: row.type,
    submissionId: row.submission_id ?? undefined,
    jobId: row.job_id ?? undefined,
    status: row.status,
    entrypoint: row.entrypoint,
    message: row.message ?? undefined,
    errorType: row.error_type ?? undefined,
    startTimeMs: row.start_time ?? undefined,
    endTimeMs: row.end_time ?? undefined,
    metadata: row.metadata,
    runtimeEnv: row.runtime_env,
    driverNodeId: row.driver_node_id ?? undefined,
    driverExitCode: row.driver_exit_code ?? undefined,
  };
}
