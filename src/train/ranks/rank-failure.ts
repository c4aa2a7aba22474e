/**
 * The failures of ranks, and which of several is the cause of the others.
 *
 * The ranks that talk with a process fail, too, when it dies, and often their errors come first. So the kinds of causes have an order (`ORDER`): a death explains a rank that hangs, and
 * errors of communication explain nothing. Among failures of the same kind the first one counts.
 */

/** `preempted`: its node was drained, more often than `maxPreemptionFailures` allows. `died`: the process or its node. `hung`: no report in time. `communication`: an error that another rank's end explains. */
export type FailureCause = "preempted" | "died" | "hung" | "user" | "disagreement" | "storage" | "communication";

export interface RankFailure {
  /** Undefined where it is no single rank's: no room for the group, for instance. */
  readonly rank: number | undefined;
  readonly cause: FailureCause;
  readonly error: Error;
}

const ORDER: readonly FailureCause[] = ["preempted", "died", "hung", "user", "disagreement", "storage", "communication"];

/** The one to blame; undefined where there is none. */
export function firstCause(failures: readonly RankFailure[]): RankFailure | undefined {
  return failures.toSorted((a, b) => ORDER.indexOf(a.cause) - ORDER.indexOf(b.cause))[0];
}
