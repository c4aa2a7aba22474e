/** Placeholder until the report lands. */
import type { FinishedTrial } from "./live-trial.ts";
import type { Mode } from "./trial.ts";

export async function writeHtmlReport(
  _path: string,
  _facts: { trials: readonly FinishedTrial[]; folder: string; metrics: readonly string[]; modes: readonly Mode[] },
): Promise<void> {}
