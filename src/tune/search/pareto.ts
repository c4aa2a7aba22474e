/**
 * Comparing results with several losses: which points no other beats, and which few of equals cover most.
 *
 * Smaller is better in every loss. `bestOf` takes whole fronts as long as they fit, and of the next front the points that together dominate the largest
 * volume, chosen one by one, which is within 63 % of the best choice. The volume that no chosen point dominates is kept as boxes that do not overlap: a choice
 * takes parts out of a few of them, and every other point adds the less by what it shares with these parts. Used by TPE.
 */
import { dominates } from "../pareto-front.ts";

type Losses = readonly number[];

/** The indexes of the points that no other dominates. */
export function frontOf(losses: readonly Losses[]): number[] {
  return peel(losses, inOrder(losses)).front;
}

/** The indexes of the `count` best points. `ordered` has all indexes in the order of `compareLosses`. */
export function bestOf(losses: readonly Losses[], count: number, ordered: readonly number[] = inOrder(losses)): number[] {
  const best: number[] = [];
  let rest = ordered;
  while (best.length < count && rest.length > 0) {
    const { front, beaten } = peel(losses, rest);
    if (best.length + front.length > count) return [...best, ...coveringMost(losses, front, count - best.length)];
    best.push(...front);
    rest = beaten;
  }
  return best;
}

/** An order in which a point is dominated by earlier ones alone, and then by one that is itself in the front. */
export function compareLosses(first: Losses, second: Losses): number {
  for (let index = 0; index < first.length; index += 1) {
    const difference = (first[index] as number) - (second[index] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

function inOrder(losses: readonly Losses[]): number[] {
  return [...losses.keys()].sort((a, b) => compareLosses(losses[a] as Losses, losses[b] as Losses) || a - b);
}

/** Parts points in order into those that no other dominates, and the others. */
function peel(losses: readonly Losses[], ordered: readonly number[]): { front: number[]; beaten: number[] } {
  const front: number[] = [];
  const beaten: number[] = [];
  const stairs = new Stairs();
  let before: Losses = [];
  let isInFront = false;
  for (const index of ordered) {
    const point = losses[index] as Losses;
    if (point.length > 3) isInFront = !front.some((other) => dominates(losses[other] as Losses, point));
    // Equal points are all in the front, or none is.
    else if (before.length === 0 || compareLosses(before, point) !== 0) isInFront = stairs.add(point[1] ?? 0, point[2] ?? 0);
    (isInFront ? front : beaten).push(index);
    before = point;
  }
  return { front, beaten };
}

/** Pairs of numbers of which none is as good as another in both: the second and third losses of a front whose points come in the order of the first. */
class Stairs {
  /** Ascending; `#thirds` descend. */
  readonly #seconds: number[] = [];
  readonly #thirds: number[] = [];

  /** Adds a pair unless one is there that is as good. @returns whether it was added */
  add(second: number, third: number): boolean {
    let from = 0;
    let to = this.#seconds.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#seconds[middle] as number) <= second) from = middle + 1;
      else to = middle;
    }
    if (from > 0 && (this.#thirds[from - 1] as number) <= third) return false;
    if (from > 0 && this.#seconds[from - 1] === second) from -= 1;
    let end = from;
    while (end < this.#thirds.length && (this.#thirds[end] as number) >= third) end += 1;
    this.#seconds.splice(from, end - from, second);
    this.#thirds.splice(from, end - from, third);
    return true;
  }
}

/** Chooses, one by one, the points of a front that add the largest volume. */
function coveringMost(losses: readonly Losses[], front: readonly number[], count: number): number[] {
  const points = scaled(front.map((index) => losses[index] as Losses));
  const [first = []] = points;
  const free: Box[] = [{ low: first.map(() => 0), high: first.map(() => 1) }];
  const gains = points.map((point) => volumeWithin(free, point));
  const chosen: number[] = [];
  while (chosen.length < count) {
    let best = 0;
    for (let at = 1; at < gains.length; at += 1) if ((gains[at] as number) > (gains[best] as number)) best = at;
    chosen.push(front[best] as number);
    gains[best] = Number.NEGATIVE_INFINITY;
    const taken = takeOut(free, points[best] as Losses);
    const edge = first.map((_, axis) => Math.max(0, ...taken.map(({ high }) => high[axis] as number)));
    for (let at = 0; at < gains.length; at += 1)
      if (isBelow(points[at] as Losses, edge)) gains[at] = (gains[at] as number) - volumeWithin(taken, points[at] as Losses);
  }
  return chosen;
}

/** The points with each loss from 0, its least, to 1, which is somewhat worse than its worst. */
function scaled(points: readonly Losses[]): number[][] {
  const low = leastOf(points);
  const span = low.map((least, axis) => {
    const worst = Math.max(...points.map((point) => point[axis] as number));
    return (Math.max(1.1 * worst, 0.9 * worst) || 1e-12) - least;
  });
  // Losses at the limits of doubles have no difference.
  return points.map((point) => point.map((loss, axis) => (loss - (low[axis] as number)) / (span[axis] as number) || 0));
}

function leastOf(points: readonly Losses[]): number[] {
  const [first = []] = points;
  return first.map((_, axis) => Math.min(...points.map((point) => point[axis] as number)));
}

/** The volume between a reference and points: everything that one of them dominates, up to the reference. */
export function volumeOf(points: readonly Losses[], reference: Losses): number {
  const inside = points.filter((point) => point.every((loss, axis) => loss < (reference[axis] as number)));
  const free: Box[] = [{ low: leastOf(inside), high: reference }];
  let volume = 0;
  for (const index of frontOf(inside)) {
    const point = inside[index] as Losses;
    volume += volumeWithin(takeOut(free, point), point);
  }
  return volume;
}

interface Box {
  readonly low: Losses;
  readonly high: Losses;
}

/** Takes what a point dominates out of boxes that do not overlap. @returns what was taken, as boxes that do not overlap */
function takeOut(boxes: Box[], point: Losses): Box[] {
  const taken: Box[] = [];
  for (let at = boxes.length - 1; at >= 0; at -= 1) {
    const box = boxes[at] as Box;
    if (!isBelow(point, box.high)) continue;
    boxes[at] = boxes.at(-1) as Box;
    boxes.pop();
    const low = [...box.low];
    for (let axis = 0; axis < low.length; axis += 1) {
      const edge = point[axis] as number;
      if (edge <= (low[axis] as number)) continue;
      const high = [...box.high];
      high[axis] = edge;
      boxes.push({ low: [...low], high });
      low[axis] = edge;
    }
    taken.push({ low, high: box.high });
  }
  return taken;
}

function isBelow(point: Losses, high: Losses): boolean {
  for (let axis = 0; axis < high.length; axis += 1) if ((point[axis] as number) >= (high[axis] as number)) return false;
  return true;
}

/** The volume that a point dominates of boxes that do not overlap. */
function volumeWithin(boxes: readonly Box[], point: Losses): number {
  let total = 0;
  for (const { low, high } of boxes) {
    let volume = 1;
    for (let axis = 0; axis < high.length && volume > 0; axis += 1)
      volume *= Math.max(0, (high[axis] as number) - Math.max(low[axis] as number, point[axis] as number));
    total += volume;
  }
  return total;
}
