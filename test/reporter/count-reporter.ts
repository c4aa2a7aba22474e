/**
 * Prints `N passed, N failed` (and `, N skipped`) as the last line of a test run, for people and for programs that read the run.
 *
 * Counts test cases; a file that could not be loaded and an error outside any test count as one failure each. The line is written when the
 * process ends, because other reporters and Vitest itself still print after the run.
 */
import { writeSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const line = countLine(countTests(modules, unhandledErrors.length));
    process.once("exit", () => writeSync(1, `${line}\n`));
  }
}

function countTests(modules: readonly TestModule[], errorsOutsideTests: number): Counts {
  const counts: Counts = { passed: 0, failed: errorsOutsideTests, skipped: 0 };
  for (const module of modules) {
    let failedCases = 0;
    for (const testCase of module.children.allTests()) {
      const { state } = testCase.result();
      if (state === "pending") continue;
      counts[state] += 1;
      if (state === "failed") failedCases += 1;
    }
    if (module.state() === "failed" && failedCases === 0) counts.failed += 1;
  }
  return counts;
}

export function countLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
