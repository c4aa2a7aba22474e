/**
 * The family of expected failures: one class and one stable `code` for each thing that can go wrong in a cluster.
 *
 * An error carries `code`, `reason`, `hint`, `details`, `cause`, and for a dead process how it ended. The message of a failed task begins
 * with the user's own line. A plain form lets an error keep its class between processes. All parts of the system throw these; a caller's
 * mistake is a `TypeError` or `RangeError` instead. Invariants: a value that a task threw is never changed, as it may be frozen or shared.
 * Reading such a value never throws, as it may be a proxy. A class reaches other processes only by its registered code.
 */
import { describeValue, errorName, isErrorLike, textOf, truncate } from "./texts/describe.ts";
import { TASK_MESSAGE_LENGTH_MAX, TASK_STACK_LENGTH_MAX } from "./limits.ts";

/** Facts about a process that ended, or in which something failed. */
export interface ProcessFailure {
  /** Exit code of the process; absent when a signal ended it. */
  exitCode?: number | undefined;
  /** Name of the signal that ended it, such as `SIGKILL`. */
  signal?: string | undefined;
  /** The last lines that it printed, oldest first. */
  lastOutput?: readonly string[] | undefined;
  /** Process id on its machine. */
  pid?: number | undefined;
  /** The node on which it ran. */
  nodeId?: string | undefined;
}

/** Options of every error of the family besides its message. */
export interface ShoalErrorOptions extends ProcessFailure {
  /** Why, in a few words for programs and log searches. */
  reason?: string | undefined;
  /** Suggests a remedy to the user. */
  hint?: string | undefined;
  /** Numbers and names that belong to the message, as data. */
  details?: Readonly<Record<string, unknown>> | undefined;
  /** The cause: any value, as JavaScript can throw any. */
  cause?: unknown;
}

/** Own properties that an error has only when they are known, in the order in which they are printed and sent, with their types. */
const OPTIONAL_FIELDS = {
  reason: "string",
  hint: "string",
  details: "object",
  exitCode: "number",
  signal: "string",
  lastOutput: "array",
  pid: "number",
  nodeId: "string",
  taskName: "string",
  remoteStack: "string",
  path: "string",
} as const;

type OptionalField = keyof typeof OPTIONAL_FIELDS;
const OPTIONAL_FIELD_NAMES = Object.keys(OPTIONAL_FIELDS) as readonly OptionalField[];

/** Long text that `stack` shows anyway, kept out of the output of loggers and test reporters. */
const HIDDEN_FIELDS: ReadonlySet<string> = new Set(["remoteStack"]);

/**
 * The root of every failure that Shoal reports.
 *
 * @example
 * try {
 *   await ref;
 * } catch (error) {
 *   if (error instanceof ShoalError) console.error(error.code, error.hint);
 * }
 */
export class ShoalError extends Error {
  /** The stable name of this kind of failure, the same in every process and version. */
  static readonly code: string = "SHOAL_ERROR";

  declare readonly code: string;
  declare readonly reason?: string;
  declare readonly hint?: string;
  declare readonly details?: Readonly<Record<string, unknown>>;
  declare readonly exitCode?: number;
  declare readonly signal?: string;
  declare readonly lastOutput?: readonly string[];
  declare readonly pid?: number;
  declare readonly nodeId?: string;

  constructor(message: string, options: ShoalErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    defineHidden(this, "name", new.target.name);
    (this as { code: string }).code = new.target.code;
    for (const field of OPTIONAL_FIELD_NAMES) {
      const value = (options as Record<string, unknown>)[field];
      if (value === undefined) continue;
      if (HIDDEN_FIELDS.has(field)) defineHidden(this, field, value);
      else (this as Record<string, unknown>)[field] = value;
    }
  }
}

/** Place and name of a task's run; see {@link taskErrorFrom}. */
export interface TaskErrorOptions extends ShoalErrorOptions {
  /** Name of the function, or `Class.method` of an actor. */
  taskName?: string | undefined;
  /** Stack of the thrown value in the worker; by default that of `cause`. */
  remoteStack?: string | undefined;
  /** The stack of the `.remote()` call, where it is known. */
  submitStack?: string | undefined;
}

/**
 * A task or an actor's method threw. `cause` is the thrown value with its own class: `error.cause instanceof MyError` holds if the class
 * can be revived. `stack` begins with the user's file and line in the worker, and ends with the call.
 */
export class TaskError extends ShoalError {
  static override readonly code = "TASK_FAILED";

  declare readonly taskName?: string;
  /** Stack of the thrown value in the worker; absent for values without a stack. */
  declare readonly remoteStack?: string;

  constructor(message: string, options: TaskErrorOptions = {}) {
    super(truncate(message, TASK_MESSAGE_LENGTH_MAX), options);
    if (options.remoteStack !== undefined || options.submitStack !== undefined) {
      defineHidden(this, "stack", taskStack(this, options));
    }
  }
}

/** The task was cancelled before it ended; it is never retried. */
export class TaskCancelledError extends ShoalError {
  static override readonly code = "TASK_CANCELLED";
}

/** The task ran longer than its `timeoutMs`. */
export class TaskTimeoutError extends ShoalError {
  static override readonly code = "TASK_TIMEOUT";
}

/** `get` or an `await` with `timeoutMs` ended before the value existed. The task continues. */
export class GetTimeoutError extends ShoalError {
  static override readonly code = "GET_TIMEOUT";
}

/** The worker process of a task ended, and the task's retries are used up. */
export class WorkerCrashedError extends ShoalError {
  static override readonly code = "WORKER_CRASHED";
}

/** The actor is dead for good: its process ended, it was terminated or killed, or its constructor threw. */
export class ActorDiedError extends ShoalError {
  static override readonly code: string = "ACTOR_DIED";
}

/** The actor was never created: another one has its name. */
export class ActorNameTakenError extends ActorDiedError {
  static override readonly code = "ACTOR_NAME_TAKEN";
}

/** The actor cannot be reached now, but may come back: it restarts, or its node is silent. The call may have run. */
export class ActorUnavailableError extends ShoalError {
  static override readonly code = "ACTOR_UNAVAILABLE";
}

/** The actor has as many unfinished calls as `maxPendingCalls` allows. */
export class PendingCallsLimitExceededError extends ShoalError {
  static override readonly code = "PENDING_CALLS_LIMIT_EXCEEDED";
}

/** A serial actor awaited a call to itself, which could never begin. */
export class DeadlockError extends ShoalError {
  static override readonly code = "DEADLOCK";
}

/** No copy of the object is left. */
export class ObjectLostError extends ShoalError {
  static override readonly code: string = "OBJECT_LOST";
}

/** No copy of the object is left, and running its task again did not bring it back. */
export class ObjectReconstructionFailedError extends ObjectLostError {
  static override readonly code = "OBJECT_RECONSTRUCTION_FAILED";
}

/** The process that owned the object ended, and its knowledge of the object is lost. */
export class OwnerDiedError extends ObjectLostError {
  static override readonly code = "OWNER_DIED";
}

/** The object store has no room, in memory or on its spill disk. */
export class ObjectStoreFullError extends ShoalError {
  static override readonly code = "OBJECT_STORE_FULL";
}

/** The spill disk has no room. */
export class OutOfDiskError extends ShoalError {
  static override readonly code = "OUT_OF_DISK";
}

/** All values of `kvPut` together have reached their limit. */
export class KeyValuesFullError extends ShoalError {
  static override readonly code = "KEY_VALUES_FULL";
}

/** The process ran out of memory, or was ended before the machine did. */
export class OutOfMemoryError extends ShoalError {
  static override readonly code = "OUT_OF_MEMORY";
}

/** The call's or object's node has gone. */
export class NodeDiedError extends ShoalError {
  static override readonly code = "NODE_DIED";
}

/** No node can ever satisfy the task's resources. */
export class TaskUnschedulableError extends ShoalError {
  static override readonly code = "TASK_UNSCHEDULABLE";
}

/** No node can ever satisfy the actor's resources. */
export class ActorUnschedulableError extends ShoalError {
  static override readonly code = "ACTOR_UNSCHEDULABLE";
}

/** No placement group has this name; `details.known` lists those of the namespace. */
export class PlacementGroupNotFoundError extends ShoalError {
  static override readonly code = "PLACEMENT_GROUP_NOT_FOUND";
}

/** The placement group of the task or actor was removed. */
export class PlacementGroupRemovedError extends ShoalError {
  static override readonly code = "PLACEMENT_GROUP_REMOVED";
}

/** The runtime environment could not be set up. */
export class RuntimeEnvError extends ShoalError {
  static override readonly code = "RUNTIME_ENV_FAILED";
}

/** Options of {@link SerializationError}. */
export interface SerializationErrorOptions extends ShoalErrorOptions {
  /** The way to the value that cannot be sent, such as `captured db → .pool → .conn`. */
  path?: string | undefined;
}

/** A value, or a function's capture, cannot be sent to another process. */
export class SerializationError extends ShoalError {
  static override readonly code = "SERIALIZATION_FAILED";

  declare readonly path?: string;

  // Here for its type alone: it lets callers pass `path`.
  constructor(message: string, options: SerializationErrorOptions = {}) {
    super(message, options);
  }
}

/** The peer did not show the cluster's token. */
export class AuthenticationError extends ShoalError {
  static override readonly code = "AUTHENTICATION_FAILED";
}

/** The peer speaks another version of the protocol. */
export class VersionMismatchError extends ShoalError {
  static override readonly code = "VERSION_MISMATCH";
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors of tasks

/**
 * Makes the error of a failed task from the thrown value, which need not be an `Error`. `place` names the item at work, such as `row 8 of
 * a.csv`.
 *
 * @example
 * taskErrorFrom(new RangeError("too big"), { taskName: "resize", pid: 4711 }).message; // "Task resize failed: RangeError: too big"
 */
export function taskErrorFrom(thrown: unknown, where: Omit<TaskErrorOptions, "cause"> & { place?: string | undefined }): TaskError {
  const name = where.taskName === undefined ? "Task" : `Task ${where.taskName}`;
  const task = where.place === undefined ? name : `${name} at ${where.place}`;
  const remoteStack = where.remoteStack ?? (isErrorLike(thrown) ? textOf(thrown, "stack") : undefined);
  // Without a stack of the user's there is none: Shoal's own frames that make this error would mislead.
  const submitStack = where.submitStack ?? "";
  return withoutStack(() => new TaskError(`${task} ${whatWasThrown(thrown)}`, { ...where, remoteStack, submitStack, cause: thrown }));
}

/**
 * Makes an error whose stack is set later. The engine must not capture one here: it costs microseconds, and for an uncaught error Node
 * would print this line of Shoal's above the user's.
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const limit = Error.stackTraceLimit;
  // Reflect.set: a frozen `Error` (--frozen-intrinsics) refuses without throwing.
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return make();
  } finally {
    Reflect.set(Error, "stackTraceLimit", limit);
  }
}

function whatWasThrown(thrown: unknown): string {
  if (!isErrorLike(thrown)) return `threw a non-error value: ${describeValue(thrown)}`;
  const message = textOf(thrown, "message") ?? "";
  // The message of a nested task's failure already names that task.
  if (thrown instanceof TaskError) return `failed: ${message}`;
  return message === "" ? `failed: ${errorName(thrown)}` : `failed: ${errorName(thrown)}: ${message}`;
}

/**
 * Makes a replacement for a thrown value that cannot be sent: an `Error` with the same name, message and stack, but without other
 * properties. Its `message` explains why the value itself is missing.
 */
export function standInFor(thrown: unknown, whyNotSent: string): Error {
  const described = isErrorLike(thrown) ? (textOf(thrown, "message") ?? "") : describeValue(thrown);
  const standIn = new Error(`${truncate(described, TASK_MESSAGE_LENGTH_MAX)} (the value that was thrown cannot be sent: ${whyNotSent})`);
  if (isErrorLike(thrown)) {
    defineHidden(standIn, "name", errorName(thrown));
    defineHidden(standIn, "stack", textOf(thrown, "stack") ?? `${standIn.name}: ${standIn.message}`);
  }
  return standIn;
}

function taskStack(error: TaskError, options: TaskErrorOptions): string {
  const parts = [`${error.name}: ${error.message}`];
  const remote = framesOf(options.remoteStack);
  if (remote !== "") parts.push(remote);
  return withSubmitter(parts.join("\n"), options.submitStack, options);
}

function withSubmitter(stack: string, submitStack: string | undefined, where: TaskErrorOptions): string {
  const submit = framesOf(submitStack);
  if (submit === "") return truncate(stack, TASK_STACK_LENGTH_MAX);
  const between = framesOf(stack) === "" ? "" : `    --- ${whereItRan(where)}submitted from ---\n`;
  return truncate(`${stack}\n${between}${submit}`, TASK_STACK_LENGTH_MAX);
}

/**
 * Ends the stack of a call's error with the lines that made the call. Both stacks come without frames of Shoal.
 *
 * @param submitStack - undefined: nothing changes
 */
export function submittedFrom<E>(error: E, submitStack: string | undefined, ownStack = ""): E {
  if (submitStack === undefined || !(error instanceof ShoalError)) return error;
  const own = framesOf(ownStack);
  const head = `${error.name}: ${error.message}`;
  defineHidden(error, "stack", withSubmitter(own === "" ? head : `${head}\n${own}`, submitStack, error));
  return error;
}

function whereItRan(options: TaskErrorOptions): string {
  if (options.pid === undefined) return "";
  const node = options.nodeId === undefined ? "" : ` on node ${options.nodeId.slice(0, 12)}`;
  return `ran in process ${options.pid}${node}, `;
}

/** The lines of a stack from the first frame on: the name and the message before them may span many lines. */
function framesOf(stack: string | undefined): string {
  if (stack === undefined) return "";
  const first = /^ +at /m.exec(stack);
  return first === null ? "" : stack.slice(first.index).trimEnd();
}

// ---------------------------------------------------------------------------------------------------------------------
// Across processes

/** An error of the family as plain data. `cause` is left as it is: the codec sends any value, and the errors inside it by this same form. */
export interface SerializedError {
  code: string;
  message: string;
  stack: string;
  /** Only fields that the error has. */
  fields: Record<string, unknown>;
  /** Absent for errors without a cause; a thrown `undefined` is a cause. */
  cause?: unknown;
}

type ErrorClass = (new (message: string, options?: ShoalErrorOptions) => ShoalError) & { readonly code: string };

const classesByCode = new Map<string, ErrorClass>();

/**
 * Adds a class to the family, so that other processes receive its errors as instances. Both processes must have registered it.
 *
 * @throws RangeError when another class has the code, as it has when a class inherits its code.
 */
export function registerErrorClass(errorClass: ErrorClass): void {
  const known = classesByCode.get(errorClass.code);
  if (known !== undefined && known !== errorClass) {
    throw new RangeError(`Cannot register ${errorClass.name}: the code belongs to ${known.name}: received ${errorClass.code}`);
  }
  classesByCode.set(errorClass.code, errorClass);
}

/** Whether a value is of a registered class: subclasses made by users travel as any other class instance does. */
export function isRegisteredError(value: unknown): value is ShoalError {
  return value instanceof ShoalError && classesByCode.get(value.code) === value.constructor;
}

/** The plain form of an error, to be read by {@link fromWire} in another process. */
export function toWire(error: ShoalError): SerializedError {
  const fields: Record<string, unknown> = {};
  for (const field of OPTIONAL_FIELD_NAMES) {
    const value = (error as unknown as Record<string, unknown>)[field];
    if (value !== undefined) fields[field] = value;
  }
  const wire: SerializedError = { code: error.code, message: error.message, stack: error.stack ?? "", fields };
  if ("cause" in error) wire.cause = error.cause;
  return wire;
}

/**
 * Makes an error from its plain form: an instance of the class registered for its code, or a {@link ShoalError} with that code if the class
 * is not known here.
 *
 * @throws TypeError when the data, which comes from a peer, is not the plain form of an error.
 */
export function fromWire(data: unknown): ShoalError {
  const { code, message, stack, fields, cause } = checkedError(data);
  const options: Record<string, unknown> = {};
  for (const field of OPTIONAL_FIELD_NAMES) {
    if (Object.hasOwn(fields, field) && isOfType(fields[field], OPTIONAL_FIELDS[field])) options[field] = fields[field];
  }
  if (Object.hasOwn(data as object, "cause")) options["cause"] = cause;
  const error = withoutStack(() => new (classesByCode.get(code) ?? ShoalError)(message, options));
  if (error.code !== code) (error as { code: string }).code = code;
  defineHidden(error, "stack", stack);
  return error;
}

function checkedError(data: unknown): SerializedError {
  const wire = (typeof data === "object" && data !== null ? data : {}) as Partial<SerializedError>;
  const isWellFormed =
    typeof wire.code === "string" &&
    typeof wire.message === "string" &&
    typeof wire.stack === "string" &&
    typeof wire.fields === "object" &&
    wire.fields !== null;
  if (!isWellFormed) throw new TypeError(`Cannot read an error: it lacks code, message, stack or fields: received ${describeValue(data)}`);
  return wire as SerializedError;
}

/** Drops a field of a wrong type, so that users never get it under its declared type. */
function isOfType(value: unknown, type: "string" | "number" | "object" | "array"): boolean {
  if (type === "array") return Array.isArray(value) && value.every((item) => typeof item === "string");
  return typeof value === type && value !== null;
}

for (const errorClass of [
  ShoalError,
  TaskError,
  TaskCancelledError,
  TaskTimeoutError,
  GetTimeoutError,
  WorkerCrashedError,
  ActorDiedError,
  ActorNameTakenError,
  ActorUnavailableError,
  PendingCallsLimitExceededError,
  DeadlockError,
  ObjectLostError,
  ObjectReconstructionFailedError,
  OwnerDiedError,
  ObjectStoreFullError,
  OutOfDiskError,
  KeyValuesFullError,
  OutOfMemoryError,
  NodeDiedError,
  TaskUnschedulableError,
  ActorUnschedulableError,
  PlacementGroupNotFoundError,
  PlacementGroupRemovedError,
  RuntimeEnvError,
  SerializationError,
  AuthenticationError,
  VersionMismatchError,
]) {
  registerErrorClass(errorClass);
}

// ---------------------------------------------------------------------------------------------------------------------
// In a terminal

type Inspect = (value: unknown, options: object) => string;

/**
 * Returns the text for the console: the stack, then helpful fields that the stack lacks. By default Node would print a task's stack twice,
 * once as its cause's, and the fields as an object literal.
 */
function inspectError(this: ShoalError, _depth: number, options: object, inspect: Inspect): string {
  const lines = [this.stack ?? `${this.name}: ${this.message}`];
  addNotes(this, lines, (value) => inspect(value, options).replaceAll("\n", "\n  "));
  return lines.join("\n");
}

function addNotes(error: ShoalError, lines: string[], inspect: (value: unknown) => string): void {
  const printed = lines[0] ?? "";
  if (error.reason !== undefined && !printed.includes(error.reason)) lines.push(`  reason: ${error.reason}`);
  if (error.hint !== undefined && !printed.includes(error.hint)) lines.push(`  hint: ${error.hint}`);
  if (error.details !== undefined) lines.push(`  details: ${inspect(error.details)}`);
  const end = { pid: error.pid, exitCode: error.exitCode, signal: error.signal, nodeId: error.nodeId };
  // For a failed task the process lives on, and the stack names it.
  if (!(error instanceof TaskError)) {
    const known = Object.entries(end).filter(([, value]) => value !== undefined);
    if (known.length > 0) lines.push(`  process: ${known.map(([name, value]) => `${name} ${value}`).join(", ")}`);
  }
  if (error.lastOutput !== undefined && error.lastOutput.length > 0) {
    lines.push("  last output:", ...error.lastOutput.map((line) => `    | ${line}`));
  }
  addCause(error, lines, inspect);
}

function addCause(error: ShoalError, lines: string[], inspect: (value: unknown) => string): void {
  if (!("cause" in error)) return;
  const { cause } = error;
  const isInStack = error instanceof TaskError && error.remoteStack !== undefined && isErrorLike(cause);
  if (!isInStack) {
    lines.push(`  [cause]: ${inspect(cause)}`);
  } else if (cause instanceof ShoalError) {
    addNotes(cause, lines, inspect);
  } else {
    const properties = Object.entries(cause);
    if (properties.length > 0) lines.push(`  properties of the ${errorName(cause)}: ${inspect(Object.fromEntries(properties))}`);
    if ("cause" in cause) lines.push(`  [cause]: ${inspect(cause.cause)}`);
  }
}

Object.defineProperty(ShoalError.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value: inspectError,
  writable: true,
  configurable: true,
});

function defineHidden(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}
