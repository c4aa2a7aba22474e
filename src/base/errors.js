"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.VersionMismatchError = exports.AuthenticationError = exports.SerializationError = exports.RuntimeEnvError = exports.PlacementGroupRemovedError = exports.ActorUnschedulableError = exports.TaskUnschedulableError = exports.NodeDiedError = exports.OutOfMemoryError = exports.OutOfDiskError = exports.ObjectStoreFullError = exports.OwnerDiedError = exports.ObjectReconstructionFailedError = exports.ObjectLostError = exports.DeadlockError = exports.PendingCallsLimitExceededError = exports.ActorUnavailableError = exports.ActorDiedError = exports.WorkerCrashedError = exports.GetTimeoutError = exports.TaskTimeoutError = exports.TaskCancelledError = exports.TaskError = exports.ShoalError = void 0;
exports.taskErrorFrom = taskErrorFrom;
exports.standInFor = standInFor;
exports.registerErrorClass = registerErrorClass;
exports.errorByCode = errorByCode;
exports.isWireError = isWireError;
exports.toWire = toWire;
exports.fromWire = fromWire;
/**
 * The family of expected failures: one class and one stable `code` for each thing that can go wrong in a cluster.
 *
 * Decides what an error carries (`code`, `reason`, `hint`, `details`, `cause`, and where a process died how it ended), how the
 * failure of a task reads (the user's own line first), and the plain form in which an error crosses processes and keeps
 * its class. Everyone throws these; a caller's mistake is a `TypeError` or `RangeError` instead.
 * Invariants: what a task threw is never changed, as it may be frozen or shared; reading it never throws, as it may be a
 * proxy; and a class reaches other processes only by its registered code.
 */
const describe_ts_1 = require("./describe.js");
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
};
const OPTIONAL_FIELD_NAMES = Object.keys(OPTIONAL_FIELDS);
/** Long text that `stack` shows anyway: kept out of what loggers and test reporters print besides it. */
const HIDDEN_FIELDS = new Set(["remoteStack"]);
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
class ShoalError extends Error {
    /** The stable name of this kind of failure, the same in every process and version. */
    static code = "SHOAL_ERROR";
    constructor(message, options = {}) {
        super(message, "cause" in options ? { cause: options.cause } : undefined);
        defineHidden(this, "name", new.target.name);
        this.code = new.target.code;
        for (const field of OPTIONAL_FIELD_NAMES) {
            const value = options[field];
            if (value === undefined)
                continue;
            if (HIDDEN_FIELDS.has(field))
                defineHidden(this, field, value);
            else
                this[field] = value;
        }
    }
}
exports.ShoalError = ShoalError;
/**
 * A task or an actor's method threw. `cause` is the very value that it threw, of its own class: `error.cause instanceof MyError`
 * holds where the class can be revived. `stack` begins with the user's own file and line in the worker, and ends with the call.
 */
class TaskError extends ShoalError {
    static code = "TASK_FAILED";
    constructor(message, options = {}) {
        super((0, describe_ts_1.truncate)(message, TASK_MESSAGE_MAX), options);
        if (options.remoteStack !== undefined || options.submitStack !== undefined) {
            defineHidden(this, "stack", taskStack(this, options));
        }
    }
}
exports.TaskError = TaskError;
/** The task was cancelled before it ended; it is never retried. */
class TaskCancelledError extends ShoalError {
    static code = "TASK_CANCELLED";
}
exports.TaskCancelledError = TaskCancelledError;
/** The task ran longer than its `timeoutMs`. */
class TaskTimeoutError extends ShoalError {
    static code = "TASK_TIMEOUT";
}
exports.TaskTimeoutError = TaskTimeoutError;
/** `get` or an `await` with `timeoutMs` ended before the value was there. The task goes on. */
class GetTimeoutError extends ShoalError {
    static code = "GET_TIMEOUT";
}
exports.GetTimeoutError = GetTimeoutError;
/** The worker process of a task ended, and the task's retries are used up. */
class WorkerCrashedError extends ShoalError {
    static code = "WORKER_CRASHED";
}
exports.WorkerCrashedError = WorkerCrashedError;
/** The actor is dead and will not come back: its process ended, it was terminated or killed, or its constructor threw. */
class ActorDiedError extends ShoalError {
    static code = "ACTOR_DIED";
}
exports.ActorDiedError = ActorDiedError;
/** The actor cannot be reached now, but may come back: it restarts, or its node is silent. The call may have run. */
class ActorUnavailableError extends ShoalError {
    static code = "ACTOR_UNAVAILABLE";
}
exports.ActorUnavailableError = ActorUnavailableError;
/** The actor has as many unfinished calls as `maxPendingCalls` allows. */
class PendingCallsLimitExceededError extends ShoalError {
    static code = "PENDING_CALLS_LIMIT_EXCEEDED";
}
exports.PendingCallsLimitExceededError = PendingCallsLimitExceededError;
/** A serial actor awaited a call to itself, which could never begin. */
class DeadlockError extends ShoalError {
    static code = "DEADLOCK";
}
exports.DeadlockError = DeadlockError;
/** No copy of the object is left. */
class ObjectLostError extends ShoalError {
    static code = "OBJECT_LOST";
}
exports.ObjectLostError = ObjectLostError;
/** No copy of the object is left, and running its task again did not bring it back. */
class ObjectReconstructionFailedError extends ObjectLostError {
    static code = "OBJECT_RECONSTRUCTION_FAILED";
}
exports.ObjectReconstructionFailedError = ObjectReconstructionFailedError;
/** The process that owned the object ended, and with it what is known about the object. */
class OwnerDiedError extends ObjectLostError {
    static code = "OWNER_DIED";
}
exports.OwnerDiedError = OwnerDiedError;
/** The object store has no room, in memory or on its spill disk. */
class ObjectStoreFullError extends ShoalError {
    static code = "OBJECT_STORE_FULL";
}
exports.ObjectStoreFullError = ObjectStoreFullError;
/** The spill disk has no room. */
class OutOfDiskError extends ShoalError {
    static code = "OUT_OF_DISK";
}
exports.OutOfDiskError = OutOfDiskError;
/** The process ran out of memory, or was ended before the machine did. */
class OutOfMemoryError extends ShoalError {
    static code = "OUT_OF_MEMORY";
}
exports.OutOfMemoryError = OutOfMemoryError;
/** The node on which it ran is gone. */
class NodeDiedError extends ShoalError {
    static code = "NODE_DIED";
}
exports.NodeDiedError = NodeDiedError;
/** No node can ever give what the task asks for. */
class TaskUnschedulableError extends ShoalError {
    static code = "TASK_UNSCHEDULABLE";
}
exports.TaskUnschedulableError = TaskUnschedulableError;
/** No node can ever give what the actor asks for. */
class ActorUnschedulableError extends ShoalError {
    static code = "ACTOR_UNSCHEDULABLE";
}
exports.ActorUnschedulableError = ActorUnschedulableError;
/** The placement group of the task or actor was removed. */
class PlacementGroupRemovedError extends ShoalError {
    static code = "PLACEMENT_GROUP_REMOVED";
}
exports.PlacementGroupRemovedError = PlacementGroupRemovedError;
/** The runtime environment could not be set up. */
class RuntimeEnvError extends ShoalError {
    static code = "RUNTIME_ENV_FAILED";
}
exports.RuntimeEnvError = RuntimeEnvError;
/** A value, or what a function captured, cannot be sent to another process. */
class SerializationError extends ShoalError {
    static code = "SERIALIZATION_FAILED";
    // Here for its type alone: it lets callers pass `path`.
    constructor(message, options = {}) {
        super(message, options);
    }
}
exports.SerializationError = SerializationError;
/** The peer did not show the cluster's token. */
class AuthenticationError extends ShoalError {
    static code = "AUTHENTICATION_FAILED";
}
exports.AuthenticationError = AuthenticationError;
/** The peer speaks another version of the protocol. */
class VersionMismatchError extends ShoalError {
    static code = "VERSION_MISMATCH";
}
exports.VersionMismatchError = VersionMismatchError;
// ---------------------------------------------------------------------------------------------------------------------
// What a task threw
/** A stack trace tool reads the first lines; a message beyond this is data, and is whole in `cause`. */
const TASK_MESSAGE_MAX = 8192;
/** Errors that pass through many tasks grow by each task's frames; the innermost, which come first, are kept. */
const TASK_STACK_MAX = 32_768;
/**
 * Makes the error with which a task fails from whatever it threw: an `Error`, or any other value.
 *
 * @example
 * taskErrorFrom(new RangeError("too big"), { taskName: "resize", pid: 4711 }).message; // "Task resize failed: RangeError: too big"
 */
function taskErrorFrom(thrown, where) {
    const task = where.taskName === undefined ? "Task" : `Task ${where.taskName}`;
    const remoteStack = where.remoteStack ?? ((0, describe_ts_1.isErrorLike)(thrown) ? (0, describe_ts_1.textOf)(thrown, "stack") : undefined);
    // Without any stack of the user's there is none: the frames of Shoal itself that make this error would mislead.
    const submitStack = where.submitStack ?? "";
    return withoutStack(() => new TaskError(`${task} ${whatWasThrown(thrown)}`, { ...where, remoteStack, submitStack, cause: thrown }));
}
/**
 * Makes an error that gets its stack from elsewhere. The engine must not take one here: it costs microseconds, and for an uncaught
 * error Node would print this line of Shoal's above the user's.
 */
function withoutStack(make) {
    const limit = Error.stackTraceLimit;
    // Reflect.set: a frozen `Error` (--frozen-intrinsics) refuses without throwing.
    Reflect.set(Error, "stackTraceLimit", 0);
    try {
        return make();
    }
    finally {
        Reflect.set(Error, "stackTraceLimit", limit);
    }
}
function whatWasThrown(thrown) {
    if (!(0, describe_ts_1.isErrorLike)(thrown))
        return `threw a non-error value: ${(0, describe_ts_1.describeValue)(thrown)}`;
    const message = (0, describe_ts_1.textOf)(thrown, "message") ?? "";
    // The message of a task that failed in this task says already which one it was.
    if (thrown instanceof TaskError)
        return `failed: ${message}`;
    return message === "" ? `failed: ${(0, describe_ts_1.errorName)(thrown)}` : `failed: ${(0, describe_ts_1.errorName)(thrown)}: ${message}`;
}
/**
 * Stands in for a thrown value that cannot be sent: an `Error` with its name, message and stack, and none of its properties.
 * Its `message` says why the value itself is missing.
 */
function standInFor(thrown, whyNotSent) {
    const described = (0, describe_ts_1.isErrorLike)(thrown) ? ((0, describe_ts_1.textOf)(thrown, "message") ?? "") : (0, describe_ts_1.describeValue)(thrown);
    const standIn = new Error(`${(0, describe_ts_1.truncate)(described, TASK_MESSAGE_MAX)} (the value that was thrown cannot be sent: ${whyNotSent})`);
    if ((0, describe_ts_1.isErrorLike)(thrown)) {
        defineHidden(standIn, "name", (0, describe_ts_1.errorName)(thrown));
        defineHidden(standIn, "stack", (0, describe_ts_1.textOf)(thrown, "stack") ?? `${standIn.name}: ${standIn.message}`);
    }
    return standIn;
}
function taskStack(error, options) {
    const parts = [`${error.name}: ${error.message}`];
    const remote = framesOf(options.remoteStack);
    if (remote !== "")
        parts.push(remote);
    const submit = framesOf(options.submitStack);
    if (submit !== "")
        parts.push(`    --- ${whereItRan(options)}submitted from ---`, submit);
    return (0, describe_ts_1.truncate)(parts.join("\n"), TASK_STACK_MAX);
}
function whereItRan(options) {
    if (options.pid === undefined)
        return "";
    const node = options.nodeId === undefined ? "" : ` on node ${options.nodeId.slice(0, 12)}`;
    return `ran in process ${options.pid}${node}, `;
}
/** The lines of a stack from the first frame on: the name and the message before them may span many lines. */
function framesOf(stack) {
    if (stack === undefined)
        return "";
    const first = /^ +at /m.exec(stack);
    return first === null ? "" : stack.slice(first.index).trimEnd();
}
const classesByCode = new Map();
/**
 * Adds a class to the family, so that its errors arrive as instances of it. Both processes must have registered it.
 *
 * @throws RangeError when another class has the code, as it has when a class inherits its code.
 */
function registerErrorClass(errorClass) {
    const known = classesByCode.get(errorClass.code);
    if (known !== undefined && known !== errorClass) {
        throw new RangeError(`Cannot register ${errorClass.name}: the code belongs to ${known.name}: received ${errorClass.code}`);
    }
    classesByCode.set(errorClass.code, errorClass);
}
/** The class of a code, or `undefined` where this process does not know it. */
function errorByCode(code) {
    return classesByCode.get(code);
}
/** Whether a value is of a registered class: subclasses made by users travel as any other class instance does. */
function isWireError(value) {
    return value instanceof ShoalError && classesByCode.get(value.code) === value.constructor;
}
/** The plain form of an error, to be read by {@link fromWire} in another process. */
function toWire(error) {
    const fields = {};
    for (const field of OPTIONAL_FIELD_NAMES) {
        const value = error[field];
        if (value !== undefined)
            fields[field] = value;
    }
    const wire = { code: error.code, message: error.message, stack: error.stack ?? "", fields };
    if ("cause" in error)
        wire.cause = error.cause;
    return wire;
}
/**
 * The error of a plain form: of the class of its code, or a {@link ShoalError} with that code where the class is not known here.
 *
 * @throws TypeError when the data is not the plain form of an error: it comes from a peer.
 */
function fromWire(data) {
    const { code, message, stack, fields, cause } = checkedWireError(data);
    const options = {};
    for (const field of OPTIONAL_FIELD_NAMES) {
        if (Object.hasOwn(fields, field) && isOfType(fields[field], OPTIONAL_FIELDS[field]))
            options[field] = fields[field];
    }
    if (Object.hasOwn(data, "cause"))
        options["cause"] = cause;
    const error = withoutStack(() => new (classesByCode.get(code) ?? ShoalError)(message, options));
    if (error.code !== code)
        error.code = code;
    defineHidden(error, "stack", stack);
    return error;
}
function checkedWireError(data) {
    const wire = (typeof data === "object" && data !== null ? data : {});
    const isWellFormed = typeof wire.code === "string" &&
        typeof wire.message === "string" &&
        typeof wire.stack === "string" &&
        typeof wire.fields === "object" &&
        wire.fields !== null;
    if (!isWellFormed)
        throw new TypeError(`Cannot read an error: it lacks code, message, stack or fields: received ${(0, describe_ts_1.describeValue)(data)}`);
    return wire;
}
/** A field of another type than its own is dropped rather than handed to users under a type that it does not have. */
function isOfType(value, type) {
    if (type === "array")
        return Array.isArray(value) && value.every((item) => typeof item === "string");
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
    ActorUnavailableError,
    PendingCallsLimitExceededError,
    DeadlockError,
    ObjectLostError,
    ObjectReconstructionFailedError,
    OwnerDiedError,
    ObjectStoreFullError,
    OutOfDiskError,
    OutOfMemoryError,
    NodeDiedError,
    TaskUnschedulableError,
    ActorUnschedulableError,
    PlacementGroupRemovedError,
    RuntimeEnvError,
    SerializationError,
    AuthenticationError,
    VersionMismatchError,
]) {
    registerErrorClass(errorClass);
}
/**
 * What the console prints: the stack, then what helps and is not in it yet. By default Node would print a task's stack twice, once as its
 * cause's, and the fields as an object literal.
 */
function inspectError(_depth, options, inspect) {
    const lines = [this.stack ?? `${this.name}: ${this.message}`];
    addNotes(this, lines, (value) => inspect(value, options).replaceAll("\n", "\n  "));
    return lines.join("\n");
}
function addNotes(error, lines, inspect) {
    const printed = lines[0] ?? "";
    if (error.reason !== undefined && !printed.includes(error.reason))
        lines.push(`  reason: ${error.reason}`);
    if (error.hint !== undefined && !printed.includes(error.hint))
        lines.push(`  hint: ${error.hint}`);
    if (error.details !== undefined)
        lines.push(`  details: ${inspect(error.details)}`);
    const end = { pid: error.pid, exitCode: error.exitCode, signal: error.signal, nodeId: error.nodeId };
    // For a failed task the process lives on, and the stack names it.
    if (!(error instanceof TaskError)) {
        const known = Object.entries(end).filter(([, value]) => value !== undefined);
        if (known.length > 0)
            lines.push(`  process: ${known.map(([name, value]) => `${name} ${value}`).join(", ")}`);
    }
    if (error.lastOutput !== undefined && error.lastOutput.length > 0) {
        lines.push("  last output:", ...error.lastOutput.map((line) => `    | ${line}`));
    }
    addCause(error, lines, inspect);
}
function addCause(error, lines, inspect) {
    if (!("cause" in error))
        return;
    const { cause } = error;
    const isInStack = error instanceof TaskError && error.remoteStack !== undefined && (0, describe_ts_1.isErrorLike)(cause);
    if (!isInStack) {
        lines.push(`  [cause]: ${inspect(cause)}`);
    }
    else if (cause instanceof ShoalError) {
        addNotes(cause, lines, inspect);
    }
    else {
        const properties = Object.entries(cause);
        if (properties.length > 0)
            lines.push(`  properties of the ${(0, describe_ts_1.errorName)(cause)}: ${inspect(Object.fromEntries(properties))}`);
        if ("cause" in cause)
            lines.push(`  [cause]: ${inspect(cause.cause)}`);
    }
}
Object.defineProperty(ShoalError.prototype, Symbol.for("nodejs.util.inspect.custom"), {
    value: inspectError,
    writable: true,
    configurable: true,
});
function defineHidden(target, name, value) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}
//# sourceMappingURL=errors.js.map