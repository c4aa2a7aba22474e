/**
 * Checks a submission as Ray's REST interface takes it, before the head hears of the job.
 *
 * Unknown keys are left out, as Ray's clients of other versions send some; a key that this cluster cannot honour is refused with the remedy.
 * Bounds hold for the sum of all texts. Pure.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { RESOURCE_UNIT } from "../../runtime/base/resources.ts";
import { isLabelKey, parseCondition } from "../../runtime/scheduling/label-selector.ts";
import { ENTRYPOINT_BYTES_MAX, JOB_ENTRIES_MAX, JOB_TEXTS_MAX } from "./limits.ts";

/** The checked part of a submission. */
export interface Submission {
  /** Undefined: one is made. */
  readonly id: string | undefined;
  readonly entrypoint: string;
  readonly metadata: Record<string, string>;
  readonly envVars: Record<string, string>;
  /** Name of an uploaded package: `gcs://_ray_pkg_….zip`. */
  readonly workingDirectory: string | undefined;
  /** Undefined: the entry point runs on the head's node, and holds nothing. */
  readonly reservation: EntryPointReservation | undefined;
}

/** Resources and labels of the node on which an entry point runs. */
interface EntryPointReservation {
  readonly resources: Record<string, number>;
  readonly labels: Record<string, string>;
}

/** Whether a text is a submission id. It becomes part of a file's name and of paths of HTTP. */
export function isSubmissionId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(text) && !text.includes("..");
}

/** @throws RangeError, TypeError with the wrong part */
export function readSubmission(given: Readonly<Record<string, unknown>>): Submission {
  const { entrypoint } = given;
  const id = given["submission_id"] ?? given["job_id"] ?? undefined;
  if (id !== undefined && (typeof id !== "string" || !isSubmissionId(id)))
    throw refused(
      "submission_id has letters, digits, `.`, `_` and `-`, begins with a letter or digit, has no `..`, and 128 characters at most",
      id,
    );
  if (typeof entrypoint !== "string" || entrypoint.trim() === "") throw refused("entrypoint is a command for the shell", entrypoint);
  if (Buffer.byteLength(entrypoint) > ENTRYPOINT_BYTES_MAX)
    throw refused(`entrypoint has at most ${ENTRYPOINT_BYTES_MAX} bytes`, `a text of ${Buffer.byteLength(entrypoint)} bytes`);
  if (entrypoint.includes("\0")) throw refused("entrypoint has no NUL", entrypoint);
  const environment = readRuntimeEnv(given["runtime_env"]);
  return { id, entrypoint, metadata: textsOf("metadata", given["metadata"]), ...environment, reservation: readReservation(given) };
}

/** Resources by the keys of a submission. */
const AMOUNTS: Readonly<Record<string, string>> = { entrypoint_num_cpus: "CPU", entrypoint_num_gpus: "GPU", entrypoint_memory: "memory" };
const RESOURCE_NAME = /^[^,\s][^,]{0,127}$/;
/** Above it whole units are not exact any more. */
const AMOUNT_MAX: number = 2 ** 53 / RESOURCE_UNIT;

function readReservation(given: Readonly<Record<string, unknown>>): EntryPointReservation | undefined {
  const resources: Record<string, number> = {};
  for (const [key, name] of Object.entries(AMOUNTS)) add(resources, name, { key, amount: given[key] });
  const named = objectOf("entrypoint_resources", given["entrypoint_resources"]);
  if (Object.keys(named).length > JOB_ENTRIES_MAX) throw refused(`entrypoint_resources has at most ${JOB_ENTRIES_MAX} entries`, named);
  for (const [name, amount] of Object.entries(named)) {
    const key = `entrypoint_resources.${name}`;
    if (Object.values(AMOUNTS).includes(name))
      throw refused(`entrypoint_resources has names of your own: ${name} is an option of its own`, amount);
    if (!RESOURCE_NAME.test(name)) throw refused("a resource's name has 1 to 128 characters and no comma", name);
    add(resources, name, { key, amount });
  }
  const labels = textsOf("entrypoint_label_selector", given["entrypoint_label_selector"]);
  for (const [name, condition] of Object.entries(labels))
    if (!isLabelKey(name) || parseCondition(condition) === undefined)
      throw refused("entrypoint_label_selector has labels with conditions: a value, !value, in(a,b) or !in(a,b)", `${name}: ${condition}`);
  if (Object.keys(resources).length > 0) return { resources, labels };
  if (Object.keys(labels).length > 0) throw refused("entrypoint_label_selector needs a resource, such as entrypoint_num_cpus", labels);
  return undefined;
}

function add(resources: Record<string, number>, name: string, { key, amount }: { key: string; amount: unknown }): void {
  if (!isAsked(amount)) return;
  if (typeof amount !== "number" || !(amount > 0 && amount <= AMOUNT_MAX))
    throw refused(`${key} is a number from 0 to ${AMOUNT_MAX}`, amount);
  if (name === "GPU" && amount > 1 && !Number.isInteger(amount)) throw refused(`${key} above 1 is a whole number`, amount);
  if (amount < 1 / RESOURCE_UNIT) throw refused(`${key} is at least ${1 / RESOURCE_UNIT}`, amount);
  resources[name] = amount;
}

function isAsked(value: unknown): boolean {
  return value !== undefined && value !== null && value !== 0 && !(typeof value === "object" && Object.keys(value).length === 0);
}

/** Keys of `runtime_env` that have no effect here, and may come from Ray's client. */
const HARMLESS: ReadonlySet<string> = new Set(["config", "_ray_release", "_ray_commit", "_inject_current_ray"]);

function readRuntimeEnv(given: unknown): Pick<Submission, "envVars" | "workingDirectory"> {
  const environment = objectOf("runtime_env", given);
  for (const [key, value] of Object.entries(environment)) {
    if (key === "env_vars" || key === "working_dir" || HARMLESS.has(key) || !isAsked(value)) continue;
    throw refused("runtime_env of a job takes env_vars and working_dir; a program names the rest in `init({ runtimeEnv })`", key);
  }
  const workingDirectory = environment["working_dir"] ?? undefined;
  if (workingDirectory !== undefined && typeof workingDirectory !== "string")
    throw refused("working_dir is the name of a package", workingDirectory);
  return { envVars: textsOf("env_vars", environment["env_vars"], { areNames: true }), workingDirectory };
}

function textsOf(what: string, given: unknown, { areNames = false } = {}): Record<string, string> {
  const object = objectOf(what, given);
  const entries = Object.entries(object);
  if (entries.length > JOB_ENTRIES_MAX) throw refused(`${what} has at most ${JOB_ENTRIES_MAX} entries`, `${entries.length} entries`);
  let characters = 0;
  for (const [name, value] of entries) {
    // A value of env_vars is a secret, so no message shows one.
    if (typeof value !== "string")
      throw refused(`the values of ${what} are texts`, `another type for ${JSON.stringify(name.slice(0, 100))}`);
    if (areNames && (name === "" || /[=\0]/.test(name) || value.includes("\0")))
      throw refused(`${what} has names of variables without = and NUL`, name);
    characters += name.length + value.length;
  }
  if (characters > JOB_TEXTS_MAX) throw refused(`${what} has at most ${JOB_TEXTS_MAX} characters`, `${characters} characters`);
  return Object.fromEntries(entries) as Record<string, string>;
}

function objectOf(what: string, given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return {};
  if (typeof given === "object" && !Array.isArray(given)) return given as Readonly<Record<string, unknown>>;
  throw refused(`${what} is an object`, given);
}

function refused(reason: string, received: unknown): RangeError {
  return new RangeError(`Cannot submit the job: ${reason}: received ${describeValue(received)}`);
}
