/**
 * How a rank failed, and which failure of several is the cause of the others.
 *
 * When a process dies, the ranks that talk with it fail, too, and often their errors come first. So an end of a process goes before a rank that hangs, that before errors of loops, and
 * those before errors of the communication between ranks. Of two that are alike the first one counts.
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
