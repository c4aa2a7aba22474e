/**
 * `shoal job`: submits commands to a cluster, and shows what became of them.
 *
 * Asks the HTTP server through the client of `shoal/jobs`, so it works from any machine. With `--json` each line is one object. `submit`
 * ends with the exit code of the job, so that CI sees a failure.
 */
import { ShoalError } from "../../runtime/base/errors.ts";
import { readTextFile } from "../../runtime/os/files/paths.ts";
import type { Terminal } from "../../runtime/os/terminal.ts";
import type { JobClient, JobInfo, SubmitJobOptions } from "../jobs/index.ts";
import { type Command, defineCommand, EXIT, UsageError } from "./command.ts";

const ADDRESS = {
  short: "a",
  valueName: "ADDRESS",
  help: "http://HOST:PORT of the dashboard, or HOST:PORT of a head of this machine",
} as const;
const JSON_OPTION = { help: "print one JSON object a line" } as const;

const submitCommand: Command = defineCommand({
  name: "job submit",
  summary: "run a command on the cluster",
  description: `Runs a shell command on the cluster, prints its output, and exits with its exit code. Words behind -- are the command.
Ctrl-C leaves the job running, except with --stop-on-interrupt.

  shoal job submit -- node train.ts --epochs 3
  shoal job submit --no-wait --env TEAM=search -- 'node a.ts && node b.ts'`,
  moreWords: "COMMAND",
  options: {
    "submission-id": { valueName: "ID", help: "letters, digits, . _ and - (default: a new one)" },
    env: { valueName: "NAME=VALUE", isList: true, help: "a variable for the command and its tasks; may be given several times" },
    "working-dir": { valueName: "FOLDER", help: "files that travel with the job, which runs in a copy of the folder" },
    "runtime-env": { valueName: "FILE", help: 'a file with the runtime environment as JSON: { "envVars": { ... } }' },
    "runtime-env-json": { valueName: "JSON", help: "the same as a text" },
    "entrypoint-num-cpus": { valueName: "N", help: "CPUs that the command holds while it runs, on a node that has them" },
    "entrypoint-num-gpus": { valueName: "N", help: "GPUs, likewise" },
    "entrypoint-memory": { valueName: "BYTES", help: "memory, likewise" },
    "entrypoint-resources": { valueName: "JSON", help: "further resources, likewise: '{\"license\": 1}'" },
    "entrypoint-label-selector": { valueName: "JSON", help: 'labels of that node: \'{"zone": "a"}\'' },
    "metadata-json": { valueName: "JSON", help: "texts by name, which the cluster keeps with the job" },
    "no-wait": { help: "print the id and end, without waiting for the job" },
    "stop-on-interrupt": { help: "Ctrl-C stops the job" },
    address: ADDRESS,
    json: JSON_OPTION,
  },
  run: async ({ options, words, terminal }) => {
    if (words.length === 0) throw new UsageError("Cannot run shoal job submit: the command is missing. See `shoal job submit --help`.");
    const job: SubmitJobOptions = {
      entrypoint: entrypointOf(words),
      submissionId: options["submission-id"],
      runtimeEnv: runtimeEnvOf(options),
      entrypointNumCpus: amountOf("--entrypoint-num-cpus", options["entrypoint-num-cpus"]),
      entrypointNumGpus: amountOf("--entrypoint-num-gpus", options["entrypoint-num-gpus"]),
      entrypointMemory: amountOf("--entrypoint-memory", options["entrypoint-memory"]),
      entrypointResources: recordOf("--entrypoint-resources", options["entrypoint-resources"]),
      entrypointLabelSelector: recordOf("--entrypoint-label-selector", options["entrypoint-label-selector"]),
      metadata:
        options["metadata-json"] === undefined
          ? undefined
          : (objectOf("--metadata-json", options["metadata-json"]) as Record<string, string>),
    };
    const client = await clientOf(terminal, options.address);
    const id = await client.submitJob(job);
    terminal.print(options.json ? JSON.stringify({ submission_id: id }) : options["no-wait"] ? id : `Submitted job ${id}.`);
    if (options["no-wait"]) return EXIT.SUCCESS;
    const told = onInterrupt(async () => {
      if (options["stop-on-interrupt"]) await client.stopJob(id);
      else terminal.tell(`shoal: the job goes on: see \`shoal job logs ${id} --follow\` and \`shoal job stop ${id}\`.`);
    });
    try {
      return await followed(client, { id, terminal, isJson: options.json });
    } finally {
      told();
    }
  },
});

const statusCommand: Command = defineCommand({
  name: "job status",
  summary: "show one job",
  description: "Shows the state of a job and how it ended.\n\nExample: shoal job status shoal_4LamXRuQpYdSMg7J",
  words: ["ID"],
  options: { address: ADDRESS, json: JSON_OPTION },
  run: async ({ options, words, terminal }) => {
    const job = await (await clientOf(terminal, options.address)).getJobInfo(words[0] ?? "");
    terminal.print(options.json ? JSON.stringify(rowOf(job)) : textOf(job));
  },
});

const logsCommand: Command = defineCommand({
  name: "job logs",
  summary: "print the output of a job",
  description: "Prints what the command has printed.\n\nExample: shoal job logs shoal_4LamXRuQpYdSMg7J --follow",
  words: ["ID"],
  options: { follow: { short: "f", help: "go on until the job has ended" }, address: ADDRESS, json: JSON_OPTION },
  run: async ({ options, words, terminal }) => {
    const client = await clientOf(terminal, options.address);
    const id = words[0] ?? "";
    if (!options.follow) {
      const log = await client.getJobLogs(id);
      await terminal.write(Buffer.from(options.json ? `${JSON.stringify({ log })}\n` : log));
      return;
    }
    for await (const log of client.tailJobLogs(id))
      if (!(await terminal.write(Buffer.from(options.json ? `${JSON.stringify({ log })}\n` : log)))) return;
  },
});

const stopCommand: Command = defineCommand({
  name: "job stop",
  summary: "stop a job",
  description: `Ends a job and all that it has started: SIGTERM, and SIGKILL after 5 seconds. Waits for its end.

Example: shoal job stop shoal_4LamXRuQpYdSMg7J`,
  words: ["ID"],
  options: { "no-wait": { help: "do not wait for the end" }, address: ADDRESS, json: JSON_OPTION },
  run: async ({ options, words, terminal }) => {
    const client = await clientOf(terminal, options.address);
    const id = words[0] ?? "";
    const stopped = await client.stopJob(id);
    const job = options["no-wait"] ? undefined : await ended(client, id);
    if (options.json) terminal.print(JSON.stringify({ stopped, ...(job === undefined ? {} : { status: job.status }) }));
    else
      terminal.print(
        stopped ? `The job ${id} ${job === undefined ? "is being stopped" : "has ended"}.` : `The job ${id} had ended before.`,
      );
  },
});

const deleteCommand: Command = defineCommand({
  name: "job delete",
  summary: "forget a job that has ended",
  description: "Removes the record and the log of a job that has ended.\n\nExample: shoal job delete shoal_4LamXRuQpYdSMg7J",
  words: ["ID"],
  options: { address: ADDRESS, json: JSON_OPTION },
  run: async ({ options, words, terminal }) => {
    await (await clientOf(terminal, options.address)).deleteJob(words[0] ?? "");
    terminal.print(options.json ? JSON.stringify({ deleted: true }) : `The job ${words[0]} is forgotten.`);
  },
});

const listCommand: Command = defineCommand({
  name: "job list",
  summary: "list submitted jobs",
  description: "Lists submitted jobs, the newest first.\n\nExample: shoal job list --json",
  options: { address: ADDRESS, json: JSON_OPTION },
  run: async ({ options, terminal }) => {
    const jobs = await (await clientOf(terminal, options.address)).listJobs();
    if (options.json) for (const job of jobs) terminal.print(JSON.stringify(rowOf(job)));
    else terminal.print(jobs.length === 0 ? "There is no job." : jobs.map(textOf).join("\n"));
  },
});

export const jobCommands: readonly Command[] = [submitCommand, statusCommand, logsCommand, stopCommand, deleteCommand, listCommand];

async function clientOf({ environment }: Terminal, address: string | undefined): Promise<JobClient> {
  const { JobClient: Client } = await import("../jobs/index.ts");
  const token = environment["SHOAL_AUTH_TOKEN"];
  return new Client({ address, ...(token === undefined || token === "" ? {} : { token }) });
}

/** Returns the command for the shell. Several words are one command with its arguments, which the shell gets as they are. */
function entrypointOf(words: readonly string[]): string {
  if (words.length === 1) return words[0] as string;
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

function runtimeEnvOf(options: {
  readonly env: readonly string[];
  readonly "working-dir": string | undefined;
  readonly "runtime-env": string | undefined;
  readonly "runtime-env-json": string | undefined;
}): SubmitJobOptions["runtimeEnv"] {
  const { "runtime-env": file, "runtime-env-json": json } = options;
  if (file !== undefined && json !== undefined)
    throw new UsageError("Cannot run shoal job submit: --runtime-env and --runtime-env-json exclude each other.");
  const given = json !== undefined ? objectOf("--runtime-env-json", json) : file !== undefined ? objectOf(file, readTextFile(file)) : {};
  const unknown = Object.keys(given).find((key) => !["envVars", "env_vars", "workingDir", "working_dir"].includes(key));
  if (unknown !== undefined)
    throw new UsageError(`Cannot run shoal job submit: the runtime environment of a job has envVars and workingDir: received ${unknown}.`);
  const workingDir = options["working-dir"] ?? (given["workingDir"] as string | undefined) ?? (given["working_dir"] as string | undefined);
  const envVars = { ...((given["envVars"] ?? given["env_vars"]) as Record<string, string> | undefined) };
  for (const text of options.env) {
    const at = text.indexOf("=");
    if (at < 1) throw new UsageError(`Cannot run shoal job submit: --env takes NAME=VALUE: received ${text}.`);
    envVars[text.slice(0, at)] = text.slice(at + 1);
  }
  return { envVars, workingDir };
}

function objectOf(what: string, text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // The message says what is needed.
  }
  throw new UsageError(`Cannot run shoal job submit: ${what} needs a JSON object: received ${text.slice(0, 100)}.`);
}

function amountOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const amount = Number(text);
  if (text.trim() !== "" && Number.isFinite(amount) && amount >= 0) return amount;
  throw new UsageError(`Cannot run shoal job submit: ${option} takes a number of 0 or more: received ${text.slice(0, 100)}.`);
}

/** The server checks the values. */
function recordOf<T>(option: string, text: string | undefined): Record<string, T> | undefined {
  return text === undefined ? undefined : (objectOf(option, text) as Record<string, T>);
}

/** Prints the output until the end. @returns the exit code of the job */
async function followed(client: JobClient, { id, terminal, isJson }: { id: string; terminal: Terminal; isJson: boolean }): Promise<number> {
  for await (const log of client.tailJobLogs(id))
    if (!(await terminal.write(Buffer.from(isJson ? `${JSON.stringify({ log })}\n` : log)))) break;
  const { status, driverExitCode, message } = await ended(client, id);
  if (isJson) terminal.print(JSON.stringify({ status, exit_code: driverExitCode ?? null, message: message ?? null }));
  else terminal.tell(`shoal: the job ${id} ${END_OF[status] ?? status}${driverExitCode ? ` with exit code ${driverExitCode}` : ""}.`);
  if (status === "SUCCEEDED") return EXIT.SUCCESS;
  return driverExitCode === undefined || driverExitCode === 0 ? EXIT.FAILURE : driverExitCode;
}

const END_OF: Readonly<Record<string, string>> = { SUCCEEDED: "succeeded", FAILED: "failed", STOPPED: "was stopped" };

async function ended(client: JobClient, id: string): Promise<JobInfo> {
  for (;;) {
    const job = await client.getJobInfo(id);
    if (job.status in END_OF) return job;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function rowOf(job: JobInfo): object {
  return {
    submission_id: job.submissionId ?? null,
    job_id: job.jobId ?? null,
    type: job.type,
    status: job.status,
    entrypoint: job.entrypoint,
    message: job.message ?? null,
    error_type: job.errorType ?? null,
    start_time_ms: job.startTimeMs ?? null,
    end_time_ms: job.endTimeMs ?? null,
    exit_code: job.driverExitCode ?? null,
    metadata: job.metadata,
    runtime_env: job.runtimeEnv,
    node_id: job.driverNodeId ?? null,
  };
}

function textOf({ submissionId, status, entrypoint, message, driverExitCode }: JobInfo): string {
  const code = driverExitCode === undefined ? "" : ` (exit code ${driverExitCode})`;
  const first = entrypoint.split("\n")[0] ?? "";
  const why = status === "FAILED" && message !== undefined ? `\n  ${message.replaceAll("\n", "\n  ")}` : "";
  return `${submissionId ?? "-"}  ${status}${code}  ${first.length > 80 ? `${first.slice(0, 79)}…` : first}${why}`;
}

/** Runs `body` at the first Ctrl-C, which then ends the command. @returns a function that stops listening */
function onInterrupt(body: () => Promise<void>): () => void {
  const listener = (): void => {
    void body()
      .catch((error: ShoalError) => process.stderr.write(`shoal: ${error.message}\n`))
      .finally(() => process.exit(130));
  };
  process.once("SIGINT", listener);
  return () => process.off("SIGINT", listener);
}
