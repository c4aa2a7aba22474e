/**
 * Why a call failed with the process that ran it: the errors for a worker or an actor that died, in the words of the user's program.
 *
 * Pure functions from the daemon's facts about a death (exit code, signal, last lines of output, its own reason) to an error with the cause
 * and the remedy. `calls.ts` decides when a failure is final; this file writes the text.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import {
  ActorDiedError,
  ActorNameTakenError,
  ActorUnavailableError,
  ActorUnschedulableError,
  OutOfMemoryError,
  PlacementGroupRemovedError,
  RuntimeEnvError,
  ShoalError,
  type ShoalErrorOptions,
  TaskError,
  TaskUnschedulableError,
  WorkerCrashedError,
} from "../../../runtime/base/errors.ts";
import type { ActorEnding, ActorStateHeader, LeaseRefusedHeader, WorkerExitedHeader } from "../../../runtime/wire/messages.ts";
import type { LostCall } from "../../actors/actor-client.ts";
import { callIdOf, callName, type CallRecord } from "../call-record.ts";
import { outOfMemoryError } from "./out-of-memory.ts";

function exitFields(exit: WorkerExitedHeader | undefined): ShoalErrorOptions {
  if (exit === undefined) return {};
  return { exitCode: exit.exitCode, signal: exit.signal, lastOutput: exit.lastOutput, pid: exit.pid };
}

/** How a process ended, in the words of a sentence about it. */
function describeExit(exit: WorkerExitedHeader | undefined): string {
  if (exit === undefined) return "its connection broke";
  if (exit.reason !== undefined) return exit.reason;
  if (exit.signal !== undefined) return `it was ended by ${exit.signal}`;
  return `it exited with code ${exit.exitCode ?? "unknown"}`;
}

function lastWords(exit: { readonly lastOutput: readonly string[] } | undefined): string {
  if (exit === undefined || exit.lastOutput.length === 0) return "";
  // A fatal error of V8 comes before some twenty lines of native stack.
  const fatal = exit.lastOutput.find((line) => line.startsWith("FATAL ERROR"));
  return `; the last it printed:\n    ${fatal ?? (uncaughtError(exit.lastOutput) ?? exit.lastOutput.slice(-5)).join("\n    ")}`;
}

/** Matches an uncaught error as Node prints it, between the line with the caret and Node's version: the message and the first lines of the stack. */
function uncaughtError(lines: readonly string[]): string[] | undefined {
  const end = lines.findLastIndex((line) => line.startsWith("Node.js v"));
  const start = lines.findLastIndex((line, index) => index < end && /^\s*\^+$/.test(line));
  if (end < 0 || start < 0) return undefined;
  return lines
    .slice(start + 1, end)
    .filter((line) => line.trim() !== "")
    .slice(0, 5);
}

/**
 * How the process ended with which a call failed, and the last that it printed, for libraries whose users do not know the call.
 *
 * @returns undefined for what no process ended with
 */
export function processEnding(error: unknown): string | undefined {
  if (!(error instanceof ShoalError)) return undefined;
  const { exitCode, signal, lastOutput = [], reason } = error;
  if (exitCode === undefined && signal === undefined) return undefined;
  const how =
    error instanceof OutOfMemoryError && reason !== undefined
      ? reason
      : signal === undefined
        ? `it exited with code ${exitCode}`
        : `it was ended by ${signal}`;
  return `${how}${lastWords({ lastOutput })}`;
}

function ranOutOfMemory({ lastOutput }: WorkerExitedHeader): boolean {
  return lastOutput.some((line) => line.includes("heap out of memory") || line.includes("Array buffer allocation failed"));
}

function heapFullError(what: string, exit: WorkerExitedHeader): OutOfMemoryError {
  return new OutOfMemoryError(what, {
    ...exitFields(exit),
    reason: "the JavaScript heap of the worker was full",
    hint: "Process less at a time, or put large data into typed arrays, which lie outside the heap.",
  });
}

/** Names the task with which a process ended that others shared. */
function sharedText(record: CallRecord, { sharing }: WorkerExitedHeader): string {
  if (sharing === undefined) return "";
  const isOwn = sharing.callId === callIdOf(record.sequence) && sharing.name === callName(record);
  return isOwn ? ", in a process that waiting tasks shared" : `, as task ${sharing.name} ran in the process that both shared`;
}

/** Why a task failed with its worker. */
export function workerLostError(record: CallRecord, exit: WorkerExitedHeader | undefined): Error {
  if (exit === undefined)
    return new WorkerCrashedError(`Task ${callName(record)} failed: the connection to its worker broke, and nobody told why`, {
      reason: describeExit(exit),
      hint: "The worker's node is gone or cut off: nodes() shows which are alive. With maxRetries above 0 the task runs again elsewhere.",
    });
  const shared = sharedText(record, exit);
  const what = `Task ${callName(record)} failed: its worker (pid ${exit.pid}) died: ${describeExit(exit)}${shared}${lastWords(exit)}`;
  const reason = `${describeExit(exit)}${shared}`;
  if (exit.outOfMemory !== undefined) return outOfMemoryError(what, exit.outOfMemory, { ...exitFields(exit), reason });
  if (ranOutOfMemory(exit)) return heapFullError(what, exit);
  const hint =
    exit.exitCode !== undefined && exit.signal === undefined
      ? "Something in the task called process.exit or threw outside of its promise; let the task return or throw instead."
      : "Look at its last output and the system's log; SIGKILL often means that the machine ran out of memory.";
  return new WorkerCrashedError(what, { ...exitFields(exit), reason, hint });
}

/** By the code of a refusal; others are about resources. */
const REFUSALS: Readonly<Partial<Record<string, typeof ShoalError>>> = {
  environmentFailed: RuntimeEnvError,
  groupRemoved: PlacementGroupRemovedError,
};

/** Why a task can never run. */
export function taskRefusedError(record: CallRecord, { code, reason, hint }: LeaseRefusedHeader): Error {
  const text = `Task ${callName(record)} cannot run: ${reason}`;
  return new (REFUSALS[code] ?? TaskUnschedulableError)(text, { reason, hint });
}

/** Why a task ended with its placement group. */
export function groupRemovedError(record: CallRecord, group: string, reason: string): Error {
  return new PlacementGroupRemovedError(`Task ${callName(record)} failed: its placement group ${group} was removed: ${reason}`, {
    reason: `placement group ${group} was removed`,
    hint: "Submit it again in another group, or let it end before remove().",
  });
}

/** Why an actor is dead. For a process that died with its node the head has no exit code and no signal: `isTold` says that the reason tells all. */
function deathReason({ reason, exit }: ActorStateHeader): { reason: string; isTold: boolean } {
  if (exit === undefined) return { reason: reason ?? "its process ended", isTold: true };
  if (reason === undefined) return { reason: describeExit(exit), isTold: false };
  if (exit.reason === reason) return { reason, isTold: true };
  const isCodeless = exit.exitCode === undefined && exit.signal === undefined;
  return isCodeless && exit.reason !== undefined ? { reason: `${reason}: ${exit.reason}`, isTold: true } : { reason, isTold: false };
}

/** Why a call of an actor, or its creation, failed with its process. */
export function actorLostError(call: string, state: ActorStateHeader, options: LostCall): Error {
  const { reason, isTold } = deathReason(state);
  const { actorId, incarnation, ending } = state;
  // A call that was not sent may go to another actor: nothing has begun.
  const details = { call, actorId, incarnation, ...(ending !== undefined && { ending }), ...(!options.sent && { sent: false }) };
  const ended = state.exit === undefined || isTold ? "" : ` (${describeExit(state.exit)})`;
  if (state.phase !== "dead") {
    const what = state.exit === undefined ? "the connection to the actor broke" : "the actor's process died";
    const next = state.exit === undefined ? `: ${options.whyClosed}` : "; the actor restarts";
    return new ActorUnavailableError(`Call ${call} failed: ${what} while it ran${ended}${next}`, {
      ...exitFields(state.exit),
      reason: state.exit === undefined ? `its connection broke: ${options.whyClosed}` : reason,
      details,
      hint: "Call again, or set maxTaskRetries for methods that may run twice.",
    });
  }
  if (options.constructorError !== undefined) {
    const cause = options.constructorError instanceof TaskError ? options.constructorError.cause : options.constructorError;
    return new ActorDiedError(`Call ${call} failed: the actor's constructor failed: ${messageOf(cause)}`, {
      reason: "its constructor failed",
      hint: "See the cause; create the actor again once it is mended.",
      details,
      cause,
    });
  }
  if (state.refusal !== undefined) {
    const { code, hint } = state.refusal;
    return new (REFUSALS[code] ?? ActorUnschedulableError)(`Call ${call} failed: the actor cannot run: ${reason}`, { reason, hint });
  }
  const behind = options.behind === undefined ? "" : `, behind ${options.behind}`;
  const when = options.sent ? `while the call was with it${behind}` : "before the call was sent";
  const { exit } = state;
  if (options.sent && exit !== undefined && (exit.outOfMemory !== undefined || ranOutOfMemory(exit))) {
    const why = describeExit(exit);
    const what = `Call ${call} failed: the actor died while the call was with it: ${why}${lastWords(exit)}`;
    if (exit.outOfMemory === undefined) return heapFullError(what, exit);
    return outOfMemoryError(what, exit.outOfMemory, { ...exitFields(exit), reason: why });
  }
  if (ending === "nameTaken") {
    const hint = "Choose another name, or set getIfExists to get the actor that has it.";
    return new ActorNameTakenError(`Call ${call} failed: the actor was not created: ${reason}`, { reason, details, hint });
  }
  return new ActorDiedError(`Call ${call} failed: the actor died ${when}: ${reason}${ended}${lastWords(state.exit)}`, {
    ...exitFields(state.exit),
    reason,
    details,
    hint: remedyFor(state),
  });
}

/** Ends for which no restart is meant. */
const WANTED: ReadonlySet<ActorEnding | undefined> = new Set(["terminated", "exited", "killed", "unheld", "creatorGone"]);

function remedyFor({ exit, ending }: ActorStateHeader): string {
  return exit === undefined || WANTED.has(ending) ? "Create the actor again." : "Create the actor again, or set maxRestarts.";
}
