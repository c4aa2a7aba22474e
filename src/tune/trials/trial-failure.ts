/**
 * The failures of trials: plain data for the log and for files, made from the thrown error, and the error that users see.
 *
 * Messages name the trial. If a process has died, the message explains how, and not which internal call failed with it. `experiment.ts` and
 * the machine make failures, and `ResultGrid` turns them into errors.
 */
import { ActorDiedError, ActorUnavailableError, OutOfMemoryError, type SerializationError, ShoalError } from "../../core/index.ts";
import { describeValue, processEnding } from "../../core/internal.ts";
import { TuneError } from "../errors.ts";
import { CAUSES_MAX } from "../limits.ts";
import type { TrialFailure } from "../experiment/trial-events.ts";

/** Frames from here on ran the user's code. */
const RUNNER_FRAME = /^\s+at (?:async )?(?:new )?(?:FunctionTrial|ClassTrial|TrialActor|withinTrial)\b/;

export function failureOf(error: unknown): TrialFailure {
  if (!(error instanceof Error)) return { name: "Error", message: `it threw ${describeValue(error)}, which is no Error` };
  const { name, message } = error;
  const stack = stackOf(error);
  const hint = error instanceof ShoalError ? error.hint : undefined;
  return { name, message, ...(stack !== undefined && { stack }), ...(hint !== undefined && { hint }) };
}

/** The failure of a trial whose configuration cannot be sent: it names the place in the configuration, and not the call. */
export function unsentFailureOf(error: SerializationError): TrialFailure {
  // The frames of the error are the driver's.
  const { message, stack: _, ...failure } = failureOf(error);
  const named = message
    .replaceAll(/the arguments of TrialActor\.begin → \[0\] → \.config/g, "config")
    .replaceAll("the arguments of TrialActor.begin", "its configuration")
    // To Python.
    .replace("Cannot call TrialActor.begin: the argument at [0].", "");
  return { ...failure, message: named };
}

/**
 * The failure of a trial whose process has died, or is out of reach; undefined where an error has another cause.
 *
 * @param nodeId - where it ran, once that is known
 */
export function deathOf(trial: { readonly id: string; readonly nodeId?: string | undefined }, error: Error): TrialFailure | undefined {
  const ending = processEnding(error);
  const how = ending === undefined ? lossOf(error, trial.nodeId) : `its process ended: ${ending}`;
  if (how === undefined) return undefined;
  return {
    name: "TuneError",
    namesTrial: true,
    message: `Trial ${trial.id} failed: ${how}`,
    hint: ending === undefined ? AGAIN : remedyOf(error as ShoalError),
  };
}

/** The process had started, and did not find the trainable or an import: returns that error, not the call's. */
export function causeOfDeath(error: unknown): unknown {
  const isOfTrainable = error instanceof ActorDiedError && error.details?.["ending"] === "constructorFailed";
  return isOfTrainable && error.cause instanceof Error ? error.cause : error;
}

/** How a trial was lost whose process left no code and no signal, as its node went with it. */
function lossOf(error: Error, nodeId: string | undefined): string | undefined {
  const isLoss = error instanceof ActorUnavailableError || (error instanceof ActorDiedError && error.details?.["ending"] === "crashed");
  if (!isLoss || error.reason === undefined) return undefined;
  return nodeId === undefined ? error.reason : `${error.reason} (it ran on node ${nodeId})`;
}

const AGAIN = "failureConfig: { maxFailures: n } tries a trial again from its last checkpoint.";

function remedyOf(error: ShoalError): string {
  if (error instanceof OutOfMemoryError && error.hint !== undefined) return `${error.hint} ${AGAIN}`;
  if (error.signal === undefined)
    return `Something in the trial called process.exit, or threw outside of its promise: let the trial return, or throw, instead. ${AGAIN}`;
  const memory =
    error.signal === "SIGKILL"
      ? " SIGKILL often means that the machine ran out of memory: maxConcurrentTrials lets fewer trials run at once."
      : "";
  return `Look at its last output and the system's log.${memory} ${AGAIN}`;
}

/** The error of a trial's failure. Its stack is that of the user's code: frames of the driver would say nothing. */
export function trialError(trial: { readonly id: string }, { name, message, stack, hint, namesTrial = false }: TrialFailure): TuneError {
  const text = namesTrial ? message : `Trial ${trial.id} failed: ${name}: ${message}`;
  const error = new TuneError(text, { hint, details: { trialId: trial.id } });
  const thrown = `${name}: ${message}`;
  const frames = stack?.startsWith(thrown) === true ? stack.slice(thrown.length) : stack === undefined ? "" : `\n${stack}`;
  Object.defineProperty(error, "stack", { value: `${error.name}: ${text}${frames}`, configurable: true, writable: true });
  return error;
}

/** Causes follow as Node prints them. An error may be its own cause. */
function stackOf({ stack, cause }: Error, depth = 0): string | undefined {
  if (stack === undefined) return undefined;
  const lines = stack.split("\n");
  const at = lines.findIndex((line) => RUNNER_FRAME.test(line));
  const own = at < 0 ? stack : lines.slice(0, at).join("\n");
  const causes = cause instanceof Error && depth < CAUSES_MAX ? stackOf(cause, depth + 1) : undefined;
  return causes === undefined ? own : `${own}\n  [cause]: ${causes.replaceAll("\n", "\n  ")}`;
}
