/**
 * A node's part of jobs: starts each start key once, writes the log, stops, and tells the head how a job ended.
 *
 * The answer to a repeated start is the last report of the key. All processes of a job carry its key in the environment, so they are found
 * and ended with the job, also in other process groups. Processes of a daemon that was killed are ended by the next one.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { answering, type NodeContext, type NodeParts } from "../../runtime/extension/extension.ts";
import { copyFolder, removeFolder } from "../../runtime/os/files/folders/whole-folder.ts";
import { joinPath } from "../../runtime/os/files/paths.ts";
import { JobLog, removeJobLog } from "../../runtime/os/logs/job-log.ts";
import { jobLogName } from "../../runtime/os/logs/log-names.ts";
import { type JobExit, JobProcess } from "../../runtime/os/processes/programs/job-process.ts";
import { groupOfProcess, markedProcesses, signalProcess, variableOfProcess } from "../../runtime/os/processes/programs/marked-processes.ts";
import { isProcessGone, processIdentity } from "../../runtime/os/processes/process-identity.ts";
import { type JobReport, type JobRequest, nodeMessages } from "./job-messages.ts";
import { JOB_KEYS_KEPT_MAX, JOB_LOOKS_JOINED_MS, JOB_OUTPUT_ENDS_WITHIN_MS, JOB_STOPS_WITHIN_MS } from "./limits.ts";

/** The start key of a job's processes, and the identity of the daemon that began them. */
const KEY = "SHOAL_JOB_START_KEY";
const OWNER = "SHOAL_JOB_OWNER";
const ID = "SHOAL_JOB_SUBMISSION_ID";

interface Start {
  readonly id: string;
  readonly key: string;
  readonly request: JobRequest;
}

/** A start key that this node has taken. */
interface Taken {
  report: JobReport;
  isStopping: boolean;
  stop: (() => void) | undefined;
}

class NodeJobs {
  readonly #context: Pick<NodeContext, "folders" | "tellHead" | "acceleratorsOf">;
  readonly #taken = new Map<string, Taken>();
  readonly #running = new Set<JobProcess>();

  constructor(context: Pick<NodeContext, "folders" | "tellHead" | "acceleratorsOf">) {
    this.#context = context;
    void endOrphans();
  }

  start({ id, key, request }: Start): void {
    const known = this.#taken.get(key);
    if (known !== undefined) return this.#context.tellHead("report", known.report);
    const taken: Taken = { report: { id, key, state: "running", startedMs: Date.now() }, isStopping: false, stop: undefined };
    this.#take(key, taken);
    void this.#run({ id, key, request }, taken).catch((error: unknown) => this.#ends(taken, { problem: messageOf(error) }));
  }

  /** Takes back a job that has not begun here, too. */
  stop({ id, key }: Omit<Start, "request">): void {
    const known = this.#taken.get(key);
    if (known === undefined) {
      const report: JobReport = { id, key, state: "ended", endedMs: Date.now(), wasStopped: true };
      this.#take(key, { report, isStopping: true, stop: undefined });
      this.#context.tellHead("report", report);
      return;
    }
    if (known.report.state === "ended" || known.isStopping) return;
    known.isStopping = true;
    known.stop?.();
  }

  /** Jobs that have begun here and have not ended. */
  get running(): number {
    return Array.from(this.#taken.values()).filter(({ report }) => report.state === "running").length;
  }

  forget(id: string): void {
    const { logs } = this.#context.folders ?? {};
    if (logs !== undefined) removeJobLog(joinPath(logs, jobLogName(id)));
  }

  driverJoined(jobId: string, pid: number): void {
    if (this.#running.size === 0) return;
    const key = variableOfProcess(pid, KEY);
    const known = key === undefined ? undefined : this.#taken.get(key);
    if (key !== undefined && known !== undefined) this.#context.tellHead("driver", { id: known.report.id, key, jobId, pid });
  }

  /** Ends all running jobs with the node. */
  close(): void {
    for (const process of this.#running) process.signal("SIGKILL");
  }

  #take(key: string, taken: Taken): void {
    this.#taken.set(key, taken);
    for (const [oldest, { report }] of this.#taken) {
      if (this.#taken.size <= JOB_KEYS_KEPT_MAX) break;
      if (report.state === "ended") this.#taken.delete(oldest);
    }
  }

  async #run(start: Start, taken: Taken): Promise<void> {
    const directory = await this.#workingDirectory(start.key, start.request);
    let how: Partial<JobReport>;
    try {
      how = taken.isStopping ? {} : await this.#runIn(directory, start, taken);
    } finally {
      if (directory !== undefined) await removeFolder(directory);
    }
    this.#ends(taken, how);
  }

  /** Resolves when no process of the job is left, and all its output is in the log. */
  async #runIn(directory: string | undefined, { id, key, request }: Start, taken: Taken): Promise<Partial<JobReport>> {
    const { folders } = this.#context;
    const log = folders?.logs === undefined ? undefined : new JobLog(joinPath(folders.logs, jobLogName(id)));
    const process = new JobProcess({
      entrypoint: request.entrypoint,
      directory,
      pipeName: folders === undefined ? undefined : joinPath(folders.temporary, `job-${key}.out`),
      variables: { ...variablesOf({ id, key, request }), ...this.#devicesOf(key, request) },
    });
    this.#running.add(process);
    taken.stop = () => void stopJob(process, key);
    if (process.pid !== undefined) this.#context.tellHead("report", taken.report);
    const written = writeOutput(process, log);
    const exit = await process.ended;
    if (taken.isStopping) await process.groupEnded(JOB_STOPS_WITHIN_MS);
    process.endGroup();
    await endMarked(key, "SIGKILL");
    await within(written, JOB_OUTPUT_ENDS_WITHIN_MS);
    process.closeOutput();
    await written;
    this.#running.delete(process);
    await log?.close();
    return reportOf(exit, log?.lastLines);
  }

  /** The GPUs of the reservation alone, as tasks see theirs. */
  #devicesOf(key: string, { reservation }: JobRequest): Record<string, string> {
    if ((reservation?.resources["GPU"] ?? 0) === 0) return {};
    return { CUDA_VISIBLE_DEVICES: (this.#context.acceleratorsOf(key)["GPU"] ?? []).join(",") };
  }

  /** Makes a copy for the job, which may change its files. */
  async #workingDirectory(key: string, { packageFolder }: JobRequest): Promise<string | undefined> {
    const { folders } = this.#context;
    if (packageFolder === undefined || folders === undefined) return undefined;
    const directory = joinPath(folders.temporary, `job-${key}`);
    await copyFolder(packageFolder, directory).catch((error: unknown) => {
      throw new Error(`The working directory of the job could not be made: ${messageOf(error)}.`, { cause: error });
    });
    return directory;
  }

  #ends(taken: Taken, how: Partial<JobReport>): void {
    const wasStopped = taken.isStopping ? { wasStopped: true } : {};
    taken.report = { ...taken.report, ...how, ...wasStopped, state: "ended", endedMs: Date.now() };
    taken.stop = undefined;
    this.#context.tellHead("report", taken.report);
  }
}

export function nodeJobs({ folders, tellHead, acceleratorsOf }: NodeContext): NodeParts {
  const jobs = new NodeJobs({ folders, tellHead, acceleratorsOf });
  return {
    messages: answering(nodeMessages, {
      start: (asked) => jobs.start(asked) as undefined,
      stop: (asked) => jobs.stop(asked) as undefined,
      forget: (asked) => jobs.forget(asked.id) as undefined,
    }),
    processJoined: (_process, kind, { job, pid }) => {
      if (kind === "driver") jobs.driverJoined(job, pid);
    },
    work: () => jobs.running,
    close: () => jobs.close(),
  };
}

function variablesOf({ id, key, request: { envVars, address } }: Start): Record<string, string | undefined> {
  return {
    // Tokens of the HTTP server belong to people, and no job gets one.
    SHOAL_AUTH_TOKEN: undefined,
    SHOAL_AUTH_TOKEN_FILE: undefined,
    SHOAL_RUNTIME_ENV: Object.keys(envVars).length === 0 ? undefined : JSON.stringify({ envVars }),
    ...envVars,
    SHOAL_ADDRESS: address,
    [ID]: id,
    [KEY]: key,
    [OWNER]: processIdentity(),
  };
}

function reportOf({ exitCode, signal, problem }: JobExit, lastLines: string | undefined): Partial<JobReport> {
  return {
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    ...(problem === undefined ? {} : { problem: `The entry point could not be started: ${problem}.` }),
    ...(lastLines === undefined ? {} : { lastLines }),
  };
}

async function writeOutput({ output }: JobProcess, log: JobLog | undefined): Promise<void> {
  if (output === undefined) return;
  try {
    for await (const bytes of output as AsyncIterable<Uint8Array>) await log?.write(bytes);
  } catch {
    // The output was closed, as the job has ended.
  }
}

async function stopJob(process: JobProcess, key: string): Promise<void> {
  process.signal("SIGTERM");
  await endMarked(key, "SIGTERM", process.pid);
  if (!(await within(process.ended, JOB_STOPS_WITHIN_MS))) process.signal("SIGKILL");
}

/** A look at all processes that has not begun. Jobs that end at the same time share it. */
let nextLook: Promise<{ pid: number; value: string }[]> | undefined;

function jobProcesses(): Promise<{ pid: number; value: string }[]> {
  nextLook ??= new Promise<void>((resolve) => setTimeout(resolve, JOB_LOOKS_JOINED_MS)).then(() => {
    nextLook = undefined;
    return markedProcesses(KEY);
  });
  return nextLook;
}

/** Signals processes of a job that have left its group. Those in the group have the signal already. */
async function endMarked(key: string, signal: NodeJS.Signals, group?: number): Promise<void> {
  for (const { pid, value } of await jobProcesses())
    if (value === key && (group === undefined || groupOfProcess(pid) !== group)) signalProcess(pid, signal);
}

/** Ends processes of jobs whose daemon was killed. */
async function endOrphans(): Promise<void> {
  for (const { pid, value } of await markedProcesses(OWNER)) if (isProcessGone(value)) signalProcess(pid, "SIGKILL");
}

/** @returns whether it was in time */
async function within(awaited: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const isInTime = await Promise.race([awaited.then(() => true), late.promise]);
  clearTimeout(timer);
  return isInTime;
}
