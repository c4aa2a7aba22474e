/**
 * Finds problems of a run in which nothing fails: a task that gives nothing for much longer than its operator's other tasks, and tasks that use more memory
 * than they ask for.
 *
 * A pure state machine: `look` takes the operators' measurements and returns the warnings to print, each with its remedy, once for each operator and kind in a
 * run. `watchIssues` is the shell, which looks from time to time, and once more at the end. The thresholds are Ray's: ten standard deviations above the mean of
 * ten pulls, and the share of the machine's memory that matches the task's share of its CPUs.
 */
import type { OperatorStatistics } from "../engine/operators/operator.ts";
import { ISSUE_LOOK_MS, ISSUE_WAIT_MS_MIN } from "../limits.ts";
import { bytesText } from "./statistics.ts";
import { secondsText } from "../../progress/progress-board.ts";

/** An operator, and what its tasks ask for. */
export interface WatchedOperator {
  readonly operator: {
    readonly name: string;
    readonly statistics: Pick<OperatorStatistics, "pullMs" | "memoryBytes">;
    /** Since when each task is waited for that has not given its next block. */
    readonly pulledSinceMs?: readonly number[];
  };
  /** Memory that each task asks for; undefined if users cannot set it. */
  readonly requestedBytes: number | undefined;
  readonly numCpus: number;
}

/** A machine of the cluster. */
interface Machine {
  readonly cpus: number;
  /** Undefined where it is not known. */
  readonly memoryBytes: number | undefined;
}

const PULLS_MIN = 10;
const DEVIATIONS = 10;
/** A recommendation is the most that was measured, times this. */
const HEADROOM = 1.25;
const TURN_OFF = "data.configure({ detectIssues: false }) ends these warnings";

export class IssueDetector {
  readonly #machine: Machine;
  readonly #told = new Set<string>();

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** The warnings that were not told before. */
  look(operators: readonly WatchedOperator[], nowMs: number): string[] {
    return operators.flatMap((watched, i) => [
      ...this.#once(`hanging ${i}`, hanging(watched, nowMs)),
      ...this.#once(`memory ${i}`, highMemory(watched, this.#machine)),
    ]);
  }

  #once(issue: string, warning: string | undefined): string[] {
    if (warning === undefined || this.#told.has(issue)) return [];
    this.#told.add(issue);
    return [`${warning}; ${TURN_OFF}`];
  }
}

/** A task that is not pulled waits for the consumer, and so is none that hangs. */
function hanging({ operator }: WatchedOperator, nowMs: number): string | undefined {
  const { count, mean, deviation } = operator.statistics.pullMs;
  const waitMs = nowMs - Math.min(...(operator.pulledSinceMs ?? []), nowMs);
  if (count < PULLS_MIN || waitMs < Math.max(ISSUE_WAIT_MS_MIN, mean + DEVIATIONS * deviation)) return undefined;
  return (
    `a task of ${operator.name} has given nothing for ${secondsText(waitMs)}, where blocks took ${secondsText(mean)} on average: ` +
    "see what its function waits for, such as a request without a time limit, and whether a worker of the cluster is free for it"
  );
}

function highMemory({ operator, requestedBytes, numCpus }: WatchedOperator, { cpus, memoryBytes }: Machine): string | undefined {
  const used = operator.statistics.memoryBytes;
  if (used.count === 0 || memoryBytes === undefined || requestedBytes === undefined) return undefined;
  // A task without CPUs counts as a task with one CPU, as in Ray.
  const share = (memoryBytes * (numCpus || 1)) / cpus;
  if (used.mean <= requestedBytes || used.mean < share) return undefined;
  const recommended = Math.ceil(HEADROOM * used.max);
  return (
    `tasks of ${operator.name} use ${bytesText(used.mean)} of memory on average and up to ${bytesText(used.max)}, and ask for ${bytesText(requestedBytes)}: ` +
    `give the step memoryBytes: ${recommended} (${bytesText(recommended)}), so that fewer run at a time`
  );
}

/** Where warnings go, and when it is looked. */
interface Watch {
  readonly detector: IssueDetector;
  readonly operators: readonly WatchedOperator[];
  readonly tell: (warning: string) => void;
}

/** Looks now and then. @returns a function that looks once more, and ends it */
export function watchIssues({ detector, operators, tell }: Watch): () => void {
  const look = (): void => {
    for (const warning of detector.look(operators, performance.now())) tell(warning);
  };
  const timer = setInterval(look, ISSUE_LOOK_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    look();
  };
}
