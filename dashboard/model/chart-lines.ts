/**
 * Lines of a chart from points over time: where each stands in a box, and the scale beside it.
 *
 * A point that was not measured is a gap in the line. The scale ends at a round number above all points. Pure.
 */

const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];
/** A line along the upper edge would be cut. */
const HEADROOM = 1.05;

export interface ChartScale {
  /** The upper end: a round multiple of a power of ten, or of 1,024 for bytes. */
  readonly top: number;
}

/** Returns a round upper end for values, so that the scale stays while values change a little. */
export function scaleOf(values: readonly (number | null)[], isBytes: boolean): ChartScale {
  const largest = Math.max(0, ...values.map((value) => value ?? 0));
  if (largest === 0) return { top: 1 };
  const unit = isBytes ? 1024 ** Math.floor(Math.log(Math.max(1, largest)) / Math.log(1024)) : 1;
  const power = 10 ** Math.floor(Math.log10(largest / unit));
  const step = STEPS.find((times) => times * power * unit >= largest * HEADROOM) ?? 15;
  return { top: step * power * unit };
}

interface Box {
  readonly width: number;
  readonly height: number;
}

/** Returns the path of a line, with a new start behind each gap. A point between two gaps is a short line. */
export function pathOf(values: readonly (number | null)[], { top }: ChartScale, { width, height }: Box): string {
  const stepX = values.length < 2 ? 0 : width / (values.length - 1);
  let path = "";
  let isOpen = false;
  for (const [at, value] of values.entries()) {
    if (value === null) {
      isOpen = false;
      continue;
    }
    const x = round(at * stepX);
    const y = round(height - (Math.min(value, top) / top) * height);
    const isAlone = !isOpen && (values[at + 1] ?? null) === null;
    path += `${isOpen ? "L" : "M"}${x} ${y}${isAlone ? "h1" : ""}`;
    isOpen = true;
  }
  return path;
}

/** Returns as many values as a span has points: times before the first value are not measured. */
export function spread<T>(values: readonly T[], points: number): (T | null)[] {
  return [...Array.from({ length: Math.max(0, points - values.length) }, () => null), ...values.slice(-points)];
}

/** Returns the place of the point under a pointer, where `share` is its distance from the left edge, from 0 to 1. */
export function pointAt(share: number, points: number): number {
  return Math.max(0, Math.min(points - 1, Math.round(share * (points - 1))));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
