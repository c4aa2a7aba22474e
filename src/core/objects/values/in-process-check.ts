/**
 * In-process mode: says what functions and classes capture that could not be sent to a worker process, as they run there without being sent.
 *
 * Decides that each function is looked at once, at its first call, as sending it would; nothing is refused. `init({ checkCaptures: false })` does
 * without. Called by the function table and the reducer, through the session's runtime.
 */
import { SerializationError } from "../../../runtime/base/errors.ts";
import { describeFunction } from "../../../runtime/closure/capture.ts";
import { findProblems } from "../inspect-serializability.ts";

/** More of one function would be one mistake said many times. */
const WARNINGS_MAX = 5;

/** @returns a check that reports through `warn`; each function is looked at once */
export function newCaptureCheck(warn: (text: string) => void): (target: object) => void {
  const seen = new WeakSet<object>();
  return (target) => {
    if (typeof target !== "function" || seen.has(target)) return;
    seen.add(target);
    const problems = problemsOf(target);
    for (const { path, problem, hint } of problems.slice(0, WARNINGS_MAX)) {
      warn(
        `${path.join(" → ")} ${problem}: it runs in this process alone, and would fail with mode: "process".` +
          `${hint === undefined ? "" : ` ${hint}`} init({ checkCaptures: false }) turns this warning off.`,
      );
    }
    if (problems.length > WARNINGS_MAX) warn(`${describeFunction(target)} captures ${problems.length - WARNINGS_MAX} more such values.`);
  };
}

function problemsOf(target: object): ReturnType<typeof findProblems> {
  try {
    // biome-ignore lint/complexity/noBannedTypes: any callable is meant, classes included.
    return findProblems(target, () => describeFunction(target as Function));
  } catch (error) {
    // The sender reports further problems of the value.
    if (error instanceof SerializationError) return [];
    throw error;
  }
}
