/**
 * Compares a result with its bars. Pure, so that the arithmetic behind every claim is tested without running anything.
 * A ratio says how many times better Shoal is than Ray in the same run, whichever way the unit points: above 1 is better.
 */
import type { Bar, Figure } from "./figure.ts";

export type Verdict = "goal" | "ok" | "below" | "failed" | "-";

interface Values {
  readonly shoal: number | null;
  readonly ray: number | null;
}

export function ratioOf(values: Values, higherIsBetter: boolean): number | null {
  if (values.shoal === null || values.ray === null) return null;
  // Nothing against something is no ratio; the two values say it.
  if (values.shoal === 0 || values.ray === 0) return null;
  const [better, worse] = higherIsBetter ? [values.shoal, values.ray] : [values.ray, values.shoal];
  return better / worse;
}

/** "-" where there is nothing to judge by: no bar, or a ratio without Ray beside it. */
export function verdictOf(values: Values, figure: Pick<Figure, "goal" | "floor" | "higherIsBetter">): Verdict {
  if (values.shoal === null) return "failed";
  const goalMet = isMet(figure.goal, values, figure.higherIsBetter);
  if (goalMet === true) return "goal";
  const floorMet = isMet(figure.floor, values, figure.higherIsBetter);
  if (floorMet === true) return "ok";
  if (floorMet === false) return "below";
  return goalMet === false && figure.floor === null ? "below" : "-";
}

function isMet(bar: Bar | null, values: Values, higherIsBetter: boolean): boolean | undefined {
  if (bar === null || values.shoal === null) return undefined;
  if (bar.kind === "runs") return true;
  if (bar.kind === "value") return values.shoal <= bar.atMost;
  const ratio = ratioOf(values, higherIsBetter);
  return ratio === null ? undefined : ratio >= bar.atLeast;
}

/** In the results file a ratio is a bare number and can be compared with `ratio`; any other bar is a sentence. */
export function barForJson(bar: Bar | null, unit: string): number | string | null {
  if (bar === null) return null;
  return bar.kind === "ratio" ? bar.atLeast : barForTable(bar, unit);
}

export function barForTable(bar: Bar | null, unit: string): string {
  if (bar === null) return "";
  if (bar.kind === "ratio") return `${bar.atLeast}x`;
  return bar.kind === "value" ? `<= ${bar.atMost} ${unit}` : "runs";
}
