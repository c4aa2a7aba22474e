/**
 * Routes of submitted jobs, with the paths and JSON of Ray 2.60, which its Python client drives.
 *
 * Submissions run code, so they need the role admin. Errors are plain text, as Ray's are. An id is checked before a question about the job
 * reaches the head.
 */
import type { LogReader } from "../../state/log-reader.ts";
import type { StateReader } from "../../state/state-reader.ts";
import { detailsOf, type JobDetails } from "../../jobs/job-details.ts";
import type { JobRecord } from "../../jobs/job-messages.ts";
import { isSubmissionId, readSubmission } from "../../jobs/job-request.ts";
import { HttpError, jsonAnswer } from "../http-answers.ts";
import { allJobs, findJob, type JobSources } from "../job-list.ts";
import { followedLog, logOf } from "../job-logs.ts";
import type { JobService } from "../job-service.ts";
import { JOB_LOG_BYTES_MAX } from "../limits.ts";
import type { PackageStore } from "../package-store.ts";
import type { Route, RouteRequest } from "../router.ts";

const DETAILS =
  "`submission_id`, `status` (`PENDING`, `RUNNING`, `STOPPED`, `SUCCEEDED`, `FAILED`), `message`, `entrypoint`, `metadata`, times, `driver_exit_code` and Ray's other fields. Values of `env_vars` are hidden.";

interface JobRouteParts {
  readonly jobs: JobService;
  readonly packages: PackageStore;
  readonly reader: StateReader;
  readonly logs: LogReader;
}

export function jobRoutes({ jobs, logs, packages, reader }: JobRouteParts): Route[] {
  const sources = { jobs, reader };
  return [
    {
      method: "POST",
      path: "/api/jobs/",
      role: "admin",
      summary: "Submits a job: a shell command that runs on the head's node, or on one that has the resources of its entry point.",
      body: "`entrypoint`; `submission_id`, `metadata` (texts) and `runtime_env` with `env_vars` and `working_dir` (a sent package), `entrypoint_num_cpus`, `entrypoint_num_gpus`, `entrypoint_memory` in bytes, `entrypoint_resources` and `entrypoint_label_selector`, where wanted.",
      answers: "`submission_id` and `job_id`, both the id, once the job is kept. A taken id is a 409.",
      handle: async ({ json }) => {
        const submission = readSubmission(await json());
        const { workingDirectory: uri } = submission;
        const packageFolder = uri === undefined ? undefined : await packages.folderOf(uri);
        if (uri !== undefined && packageFolder === undefined)
          throw new HttpError(400, `Cannot submit the job: the package ${uri} was not sent. Send it with PUT /api/packages/ first.`);
        const id = await jobs.submit(submission, packageFolder);
        return jsonAnswer({ job_id: id, submission_id: id });
      },
    },
    {
      method: "GET",
      path: "/api/jobs/",
      role: "view",
      summary: "Lists submitted jobs, newest first, and behind them programs that nobody submitted.",
      answers: `A list of objects with ${DETAILS}`,
      isQuery: true,
      handle: async () => jsonAnswer(await allJobs(sources)),
    },
    {
      method: "GET",
      path: "/api/jobs/{id}",
      role: "view",
      summary: "One job, by its submission id or the id of its program.",
      answers: DETAILS,
      handle: async (request) => jsonAnswer(await detailsFor(sources, request)),
    },
    {
      method: "POST",
      path: "/api/jobs/{id}/stop",
      role: "admin",
      summary: "Stops a job and all that it has started: SIGTERM, and SIGKILL after 5 s.",
      answers: "`stopped`: whether the job had not ended. The end follows.",
      handle: async (request) => jsonAnswer({ stopped: await jobs.stop((await submissionOf(sources, "stop", request)).id) }),
    },
    {
      method: "DELETE",
      path: "/api/jobs/{id}",
      role: "admin",
      summary: "Removes the record and the log of a job that has ended.",
      answers: "`deleted`. A job that has not ended is a 400.",
      handle: async (request) => {
        await jobs.remove((await submissionOf(sources, "delete", request)).id);
        return jsonAnswer({ deleted: true });
      },
    },
    ...logRoutes({ jobs, logs, reader }),
  ];
}

function logRoutes({ jobs, logs, reader }: Omit<JobRouteParts, "packages">): Route[] {
  const sources = { jobs, reader };
  return [
    {
      method: "GET",
      path: "/api/jobs/{id}/logs",
      role: "view",
      summary: "The output of a job's entry point.",
      answers: `\`logs\`: the text so far, the last ${JOB_LOG_BYTES_MAX.toLocaleString("en")} bytes of a longer one.`,
      isQuery: true,
      handle: async (request) => jsonAnswer({ logs: await logOf(logs, await submissionOf(sources, "get logs of", request)) }),
    },
    {
      method: "GET",
      path: "/api/jobs/{id}/logs/tail",
      role: "view",
      summary: "A WebSocket with the output of a job from its beginning, until the job has ended.",
      answers: "Texts as they are printed. A plain request is a 426.",
      handle: async (request) => {
        await submissionOf(sources, "get logs of", request);
        throw new HttpError(426, "Cannot follow the log: a WebSocket is needed", { upgrade: "websocket" });
      },
      messages: async (request) => followedLog({ jobs, logs }, await submissionOf(sources, "get logs of", request), request.signal),
    },
  ];
}

/** @throws HttpError 400 for a text that is no id, 404 for an unknown job */
async function jobOf(sources: JobSources, { params }: RouteRequest): Promise<JobRecord | JobDetails> {
  const { id = "" } = params;
  if (!isSubmissionId(id))
    throw new HttpError(400, `Cannot find the job: received ${JSON.stringify(id.slice(0, 200))}, which is no submission id`);
  const found = await findJob(sources, id);
  if (found === undefined) throw new HttpError(404, `Job ${id} does not exist`);
  return found;
}

async function detailsFor(sources: JobSources, request: RouteRequest): Promise<JobDetails> {
  const found = await jobOf(sources, request);
  return "key" in found ? detailsOf(found) : found;
}

/** @throws HttpError 400 for a program that nobody submitted, too */
async function submissionOf(sources: JobSources, action: string, request: RouteRequest): Promise<JobRecord> {
  const found = await jobOf(sources, request);
  if ("key" in found) return found;
  throw new HttpError(400, `Can only ${action} submission type jobs`);
}
