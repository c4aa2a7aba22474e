/**
 * The errors of `shoal/train`, and the message of a run's failure.
 *
 * A mistake in a loop is a `TrainError`.
 * The end of a run is a `TrainingFailedError`, made by the controller's shell from the failures of the last attempt: the first cause is blamed.
 */
import { ShoalError } from "../core/index.ts";
import { messageOf, registerErrorClass } from "../core/internal.ts";
import { ranksText } from "./ranks/arrivals.ts";
import { type FailureCause, firstCause, type RankFailure } from "./ranks/rank-failure.ts";

/** A training loop used what `shoal/train` offers in a way that cannot work: outside of a loop, or two reports at a time. */
export class TrainError extends ShoalError {
  static override readonly code: string = "TRAIN_MISUSED";
}

/**
 * A run ended because of failures: more of them than `maxFailures`, or one that would come again.
 *
 * `cause` is the error of the rank that failed first by itself; the errors that followed from it are in `workerFailures`.
 */
export class TrainingFailedError extends ShoalError {
  static override readonly code: string = "TRAINING_FAILED";
  /** By rank, what each that failed in the last attempt failed with. */
  declare readonly workerFailures: ReadonlyMap<number, Error>;

  constructor(
    message: string,
    options: ConstructorParameters<typeof ShoalError>[1] & { workerFailures?: ReadonlyMap<number, Error> } = {},
  ) {
    const { workerFailures = new Map(), ...others } = options;
    super(message, others);
    Object.defineProperty(this, "workerFailures", { value: workerFailures, enumerable: false });
  }
}

registerErrorClass(TrainError);
registerErrorClass(TrainingFailedError);

/** The error that a run ends with. */
export function trainingFailed(name: string, failures: readonly RankFailure[], attempts: number): TrainingFailedError {
  const cause = firstCause(failures);
  const failed = failures.flatMap(({ rank, error }) => (rank === undefined ? [] : [[rank, error] as const]));
  const followed = failed.map(([rank]) => rank).filter((rank) => rank !== cause?.rank);
  const isOfAll = cause?.rank === undefined || cause.cause === "disagreement";
  const where = isOfAll ? "" : `rank ${cause.rank} ${VERB[cause.cause]}: `;
  const others = isOfAll || followed.length === 0 ? "" : `; ${ranksText(followed)} failed, too`;
  const tries = attempts === 1 ? "" : ` in attempt ${attempts}`;
  return new TrainingFailedError(
    `Training run ${name} failed${tries}: ${where}${cause === undefined ? "no rank could be started" : wordsOf(cause)}${others}`,
    {
      reason: cause === undefined ? "no rank could be started" : REASON[cause.cause],
      hint: cause?.rank === undefined ? undefined : HINT[cause.cause],
      details: { attempts, ranks: failed.map(([rank]) => rank) },
      cause: cause?.error,
      workerFailures: new Map(failed),
    },
  );
}

/** The error of a run that a callback of the user ends. */
export function callbackFailed(name: string, method: string, cause: unknown): TrainingFailedError {
  const reason = `${method} of a callback of runConfig failed: ${messageOf(cause)}`;
  return new TrainingFailedError(`Training run ${name} failed: ${reason}`, { reason, cause });
}

/** The message of a failure. For a process that died: how the process ended, instead of the internal call that failed. */
function wordsOf({ cause, error }: RankFailure): string {
  if (!["died", "preempted"].includes(cause) || !(error instanceof ShoalError) || error.reason === undefined) return error.message;
  const how = error.signal ?? (error.exitCode === undefined ? undefined : `exit code ${error.exitCode}`);
  return how === undefined ? error.reason : `${error.reason} (${how})`;
}

const VERB = {
  preempted: "was preempted",
  died: "died",
  hung: "hangs",
  user: "failed",
  disagreement: "failed",
  storage: "failed",
  communication: "failed",
} as const;

const REASON = {
  preempted: "nodes were drained more often than maxPreemptionFailures allows",
  died: "the process of a rank ended",
  hung: "a rank did not meet the others, or did not report, in time",
  user: "the training loop threw",
  disagreement: "the ranks did not do the same",
  storage: "what was reported could not be stored",
  communication: "the communication between ranks failed",
} as const;

const GOES_ON = "failureConfig: { maxFailures: n } lets a run go on from its last checkpoint.";
const HINT: Partial<Record<FailureCause, string>> = {
  preempted: "failureConfig: { maxPreemptionFailures: n } lets a run move to other nodes more often; -1 is without end.",
  died: GOES_ON,
  hung: GOES_ON,
};
