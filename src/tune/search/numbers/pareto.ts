/**
 * Comparing results with several losses: which points no other beats, and which few of equals cover most.
 *
 * Smaller is better in every loss. `bestOf` takes whole fronts as long as they fit, and of the next front the points that together dominate
 * the largest volume, chosen one by one, which is within 63 % of the best choice. The volume that no chosen point dominates is kept as
 * boxes that do not overlap. A choice removes parts of a few boxes, and every other point's contribution falls by its share of these parts.
 * Used by TPE.
 */
import { dominates } from "../../results/pareto-front.ts";

type Losses = readonly number[];

/** Initial capacity of a region in boxes: a point seldom takes more. */
const BOX_COUNT = 16;

/** The indexes of the points that no other dominates. */
export function frontOf(losses: readonly Losses[]): number[] {
  return peel(losses, inOrder(losses)).front;
}

/** The indexes of the `count` best points. `ordered` has all indexes in the order of `compareLosses`; `cover` is that of earlier calls with these points and fewer. */
export function bestOf(
  losses: readonly Losses[],
  count: number,
  { ordered = inOrder(losses), cover = new FrontCover() }: { ordered?: readonly number[]; cover?: FrontCover } = {},
): number[] {
  const best: number[] = [];
  let rest = ordered;
  while (best.length < count && rest.length > 0) {
    const { front, beaten } = peel(losses, rest);
    if (best.length + front.length > count) return [...best, ...cover.choose(losses, front, count - best.length)];
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

/** Splits ordered points into those that no other dominates, and the others. */
function peel(losses: readonly Losses[], ordered: readonly number[]): { front: number[]; beaten: number[] } {
  const front: number[] = [];
  const beaten: number[] = [];
  const stairs = new Stairs();
  let before: Losses = [];
  let isInFront = false;
  for (const index of ordered) {
    const point = losses[index] as Losses;
    if (point.length > 3) isInFront = !front.some((other) => dominates(losses[other] as Losses, point));
    // Equal points are all in the front, or all outside.
    else if (before.length === 0 || compareLosses(before, point) !== 0) isInFront = stairs.add(point[1] ?? 0, point[2] ?? 0);
    (isInFront ? front : beaten).push(index);
    before = point;
  }
  return { front, beaten };
}

/**
 * Pairs of numbers of which none is as good as another in both: the second and third losses of a front whose points come in the order of the first.
 */
class Stairs {
  /** Ascending; `#thirds` descend. */
  readonly #seconds: number[] = [];
  readonly #thirds: number[] = [];

  /** Adds a pair unless one exists that is as good. @returns whether it was added */
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

/** A choice of a point of a front: the added volume, and its place. */
interface Choice {
  readonly index: number;
  readonly gain: number;
  readonly taken: Region;
}

/**
 * Chooses, one by one, the points of a front that add the largest volume; of equals the first.
 *
 * Remembers its choices. A later point of the front that adds less than each choice did at its turn changes nothing, so most calls of a
 * search cost little.
 */
export class FrontCover {
  #front: readonly number[] = [];
  /** The least loss on each axis, and the span to a point somewhat worse than the worst. */
  #scale: readonly number[] = [];
  /** By place in `#front`: the volume that a point would add to all choices. */
  #gains: Float64Array = new Float64Array();
  #whole = new Region(0);
  #free = new Region(0);
  #choices: Choice[] = [];

  /** Chooses of a front in order. Losses of an index are the same in all calls. */
  choose(losses: readonly Losses[], front: readonly number[], count: number): number[] {
    const scale = scaleOf(front.map((index) => losses[index] as Losses));
    const axisCount = scale.length / 2;
    const points = scaled(losses, front, scale);
    const isSame = scale.length === this.#scale.length && scale.every((value, at) => value === this.#scale[at]);
    const gains = isSame ? this.#gainsIn(front, points) : undefined;
    if (gains !== undefined) this.#gains = gains;
    else {
      this.#whole = new Region(axisCount).add(new Float64Array(axisCount), new Float64Array(axisCount).fill(1));
      this.#free = new Region(axisCount).add(new Float64Array(axisCount), new Float64Array(axisCount).fill(1));
      this.#gains = Float64Array.from(front, (_, at) => this.#whole.volumeAbove(points, at));
      this.#choices = [];
    }
    this.#front = front;
    this.#scale = scale;
    while (this.#choices.length < count) this.#chooseOne(points, axisCount);
    return this.#choices.slice(0, count).map(({ index }) => index);
  }

  /** The share that points of another front would add to the choices, or undefined where one of the choices would not be made there. */
  #gainsIn(front: readonly number[], points: Float64Array): Float64Array | undefined {
    const placeOf = new Map(front.map((index, at) => [index, at]));
    if (this.#choices.some(({ index }) => !placeOf.has(index))) return undefined;
    const gains = new Float64Array(front.length).fill(Number.NaN);
    for (const [at, index] of this.#front.entries()) {
      const place = placeOf.get(index);
      if (place !== undefined) gains[place] = this.#gains[at] as number;
    }
    for (let at = 0; at < gains.length; at += 1) {
      if (!Number.isNaN(gains[at])) continue;
      let gain = this.#whole.volumeAbove(points, at);
      for (const choice of this.#choices) {
        if (gain > choice.gain || (gain === choice.gain && at < (placeOf.get(choice.index) as number))) return undefined;
        gain -= choice.taken.volumeAbove(points, at);
      }
      gains[at] = gain;
    }
    return gains;
  }

  #chooseOne(points: Float64Array, axisCount: number): void {
    const gains = this.#gains;
    let best = 0;
    let gain = gains[0] as number;
    for (let at = 1; at < gains.length; at += 1) {
      if ((gains[at] as number) <= gain) continue;
      best = at;
      gain = gains[at] as number;
    }
    const taken = new Region(axisCount);
    this.#free.moveAbove(points, best, taken);
    taken.subtractFrom(gains, points);
    gains[best] = Number.NEGATIVE_INFINITY;
    this.#choices.push({ index: this.#front[best] as number, gain, taken });
  }
}

/** For each axis the least loss of points, and the span to one that is somewhat worse than their worst. */
function scaleOf(points: readonly Losses[]): number[] {
  const scale: number[] = [];
  for (let axis = 0; axis < (points[0]?.length ?? 0); axis += 1) {
    const least = leastOf(points, axis);
    let worst = Number.NEGATIVE_INFINITY;
    for (const point of points) worst = Math.max(worst, point[axis] as number);
    scale.push(least, (Math.max(1.1 * worst, 0.9 * worst) || 1e-12) - least);
  }
  return scale;
}

/** The losses of a front, one point after the other, from 0 to 1. */
function scaled(losses: readonly Losses[], front: readonly number[], scale: readonly number[]): Float64Array {
  const axisCount = scale.length / 2;
  const all = new Float64Array(front.length * axisCount);
  for (let at = 0; at < front.length; at += 1) {
    const point = losses[front[at] as number] as Losses;
    // Losses at the limits of doubles have no difference.
    for (let axis = 0; axis < axisCount; axis += 1)
      all[at * axisCount + axis] = ((point[axis] as number) - (scale[2 * axis] as number)) / (scale[2 * axis + 1] as number) || 0;
  }
  return all;
}

function leastOf(points: readonly Losses[], axis: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (const point of points) least = Math.min(least, point[axis] as number);
  return least;
}

/** The volume between a reference and points: everything that one of them dominates, up to the reference. */
export function volumeOf(points: readonly Losses[], reference: Losses): number {
  const inside = points.filter((point) => point.every((loss, axis) => loss < (reference[axis] as number)));
  const flat = Float64Array.from(inside.flat());
  const low = reference.map((_, axis) => leastOf(inside, axis));
  const free = new Region(reference.length).add(Float64Array.from(low), Float64Array.from(reference));
  let volume = 0;
  for (const at of frontOf(inside)) {
    const taken = new Region(reference.length);
    free.moveAbove(flat, at, taken);
    volume += taken.volumeAbove(flat, at);
  }
  return volume;
}

/**
 * Boxes that do not overlap, in one array: for each box the low and the high end on each axis. Points are given as an array of coordinates and a place in it.
 * A choice among a thousand points looks at some ten thousand pairs of them and boxes, which as objects took more than twice the time.
 */
class Region {
  readonly #axisCount: number;
  #ends: Float64Array;
  /** The part of `#ends` that is in use. */
  #length = 0;

  constructor(axisCount: number) {
    this.#axisCount = axisCount;
    this.#ends = new Float64Array(2 * axisCount * BOX_COUNT);
  }

  add(low: Float64Array, high: Float64Array): this {
    const box = this.#append();
    for (let axis = 0; axis < this.#axisCount; axis += 1) {
      this.#ends[box + 2 * axis] = low[axis] as number;
      this.#ends[box + 2 * axis + 1] = high[axis] as number;
    }
    return this;
  }

  /** The volume that a point dominates. */
  volumeAbove(points: Float64Array, at: number): number {
    const ends = this.#ends;
    const first = at * this.#axisCount;
    let total = 0;
    for (let box = 0; box < this.#length; box += 2 * this.#axisCount) {
      let volume = 1;
      for (let axis = 0; axis < this.#axisCount && volume > 0; axis += 1) {
        const low = Math.max(ends[box + 2 * axis] as number, points[first + axis] as number);
        volume *= Math.max(0, (ends[box + 2 * axis + 1] as number) - low);
      }
      total += volume;
    }
    return total;
  }

  /** Reduces the gains of a sorted front's points by the volume that they share with these boxes. */
  subtractFrom(gains: Float64Array, points: Float64Array): void {
    const edge = this.#corner();
    for (let at = 0; at < gains.length; at += 1) {
      // All later points have as large a first coordinate.
      if ((points[at * this.#axisCount] as number) >= (edge[0] as number)) return;
      if (isBelow(points, at, edge)) gains[at] = (gains[at] as number) - this.volumeAbove(points, at);
    }
  }

  /** Moves the volume that a point dominates to another region. */
  moveAbove(points: Float64Array, at: number, to: Region): void {
    const size = 2 * this.#axisCount;
    const first = at * this.#axisCount;
    for (let box = this.#length - size; box >= 0; box -= size) {
      if (!this.#reachesAbove(box, points, first)) continue;
      const moved = to.#append();
      for (let end = 0; end < size; end += 1) to.#ends[moved + end] = this.#ends[box + end] as number;
      this.#length -= size;
      this.#ends.copyWithin(box, this.#length, this.#length + size);
      for (let axis = 0; axis < this.#axisCount; axis += 1) {
        const edge = points[first + axis] as number;
        if (edge <= (to.#ends[moved + 2 * axis] as number)) continue;
        const left = this.#append();
        for (let end = 0; end < size; end += 1) this.#ends[left + end] = to.#ends[moved + end] as number;
        this.#ends[left + 2 * axis + 1] = edge;
        to.#ends[moved + 2 * axis] = edge;
      }
    }
  }

  #reachesAbove(box: number, points: Float64Array, first: number): boolean {
    for (let axis = 0; axis < this.#axisCount; axis += 1)
      if ((points[first + axis] as number) >= (this.#ends[box + 2 * axis + 1] as number)) return false;
    return true;
  }

  /** The least point that no box reaches beyond. */
  #corner(): Float64Array {
    const corner = new Float64Array(this.#axisCount);
    for (let box = 0; box < this.#length; box += 2 * this.#axisCount)
      for (let axis = 0; axis < corner.length; axis += 1)
        corner[axis] = Math.max(corner[axis] as number, this.#ends[box + 2 * axis + 1] as number);
    return corner;
  }

  /** Makes place for a box. @returns where it begins */
  #append(): number {
    const box = this.#length;
    this.#length += 2 * this.#axisCount;
    if (this.#length > this.#ends.length) {
      const larger = new Float64Array(2 * this.#ends.length);
      larger.set(this.#ends);
      this.#ends = larger;
    }
    return box;
  }
}

function isBelow(points: Float64Array, at: number, high: Float64Array): boolean {
  for (let axis = 0; axis < high.length; axis += 1) if ((points[at * high.length + axis] as number) >= (high[axis] as number)) return false;
  return true;
}
