/**
 * Comparing results with several losses: which points no other beats, and which few of equals cover most.
 *
 * Smaller is better in every loss. `bestOf` takes whole fronts as long as they fit, and of the next front the points that together dominate the largest
 * volume, chosen one by one, which is within 63 % of the best choice. Used by TPE.
 */
import { dominates } from "../pareto-front.ts";

type Losses = readonly number[];

/** The indexes of the points that no other dominates. */
export function frontOf(losses: readonly Losses[]): number[] {
  return frontAmong(losses, inOrder(losses));
}

/** The indexes of the `count` best points. */
export function bestOf(losses: readonly Losses[], count: number): number[] {
  const best: number[] = [];
  let rest = inOrder(losses);
  while (best.length < count && rest.length > 0) {
    const front = frontAmong(losses, rest);
    if (best.length + front.length > count) return [...best, ...coveringMost(losses, front, count - best.length)];
    best.push(...front);
    const taken = new Set(front);
    rest = rest.filter((index) => !taken.has(index));
  }
  return best;
}

/** The indexes in an order in which a point is dominated by earlier ones alone, and then by one that is itself in the front. */
function inOrder(losses: readonly Losses[]): number[] {
  return [...losses.keys()].sort((a, b) => compareLosses(losses[a] as Losses, losses[b] as Losses) || a - b);
}

function compareLosses(first: Losses, second: Losses): number {
  for (let index = 0; index < first.length; index += 1) {
    const difference = (first[index] as number) - (second[index] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

function frontAmong(losses: readonly Losses[], ordered: readonly number[]): number[] {
  const front: number[] = [];
  for (const index of ordered) {
    const point = losses[index] as Losses;
    let at = front.length - 1;
    // The last ones are the likeliest to dominate: with two losses it is the very last, or none.
    while (at >= 0 && !dominates(losses[front[at] as number] as Losses, point)) at -= 1;
    if (at < 0) front.push(index);
  }
  return front;
}

/** A point that may be chosen. */
interface Candidate {
  readonly index: number;
  readonly point: Losses;
  /** The volume that it would add; where it was computed before the last choice, an upper bound of that. */
  gain: number;
}

/** Chooses, one by one, the points of a front, in order, that add the largest volume. */
function coveringMost(losses: readonly Losses[], front: readonly number[], count: number): number[] {
  const reference = referenceOf(front.map((index) => losses[index] as Losses));
  const candidates = front.map((index): Candidate => {
    const point = losses[index] as Losses;
    return { index, point, gain: volumeOf([point], reference) };
  });
  const update = reference.length === 2 ? updatePair : updateGains;
  const chosen: Candidate[] = [];
  while (chosen.length < count) {
    let best = 0;
    for (let at = 1; at < candidates.length; at += 1)
      if ((candidates[at] as Candidate).gain > (candidates[best] as Candidate).gain) best = at;
    chosen.push(...candidates.splice(best, 1));
    update(candidates, { chosen, reference });
  }
  return chosen.map(({ index }) => index);
}

/** Two losses: a point adds the rectangle between itself and its chosen neighbours. */
function updatePair(candidates: readonly Candidate[], { chosen, reference }: { chosen: readonly Candidate[]; reference: Losses }): void {
  const [x, y] = (chosen.at(-1) as Candidate).point as [number, number];
  let [left, right] = [reference[1] as number, reference[0] as number];
  for (const { point } of chosen) {
    if ((point[0] as number) < x) left = Math.min(left, point[1] as number);
    if ((point[1] as number) < y) right = Math.min(right, point[0] as number);
  }
  for (const candidate of candidates) {
    const [a, b] = candidate.point as [number, number];
    // Only those between the neighbours of the chosen point lose something by it.
    if (a <= x && b < left) candidate.gain = Math.max(0, x - a) * (left - b);
    else if (b <= y && a < right) candidate.gain = (right - a) * Math.max(0, y - b);
  }
}

/** Computes gains anew until the largest is known. Those of others only shrink, and by no less than what they share with the chosen point alone. */
function updateGains(candidates: readonly Candidate[], { chosen, reference }: { chosen: readonly Candidate[]; reference: Losses }): void {
  const last = (chosen.at(-1) as Candidate).point;
  for (const candidate of candidates) candidate.gain = Math.min(candidate.gain, volumeAdded(candidate.point, { to: [last], reference }));
  const points = chosen.map(({ point }) => point);
  let most = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates.toSorted((a, b) => b.gain - a.gain)) {
    if (candidate.gain <= most) return;
    candidate.gain = volumeAdded(candidate.point, { to: points, reference });
    most = Math.max(most, candidate.gain);
  }
}

function volumeAdded(point: Losses, { to, reference }: { to: readonly Losses[]; reference: Losses }): number {
  const shared = to.map((other) => point.map((loss, index) => Math.max(loss, other[index] as number)));
  return volumeOf([point], reference) - volumeOf(shared, reference);
}

/** A point somewhat worse than the worst in each loss. */
function referenceOf(points: readonly Losses[]): number[] {
  const [first = []] = points;
  return first.map((_, index) => {
    const worst = Math.max(...points.map((point) => point[index] as number));
    return Math.max(1.1 * worst, 0.9 * worst) || 1e-12;
  });
}

/** The volume between a reference and points: everything that one of them dominates, up to the reference. */
export function volumeOf(points: readonly Losses[], reference: Losses): number {
  const inside = points.filter((point) => point.every((loss, index) => loss < (reference[index] as number)));
  const ordered = frontOf(inside).map((index) => inside[index] as Losses);
  const [first] = ordered;
  if (first === undefined) return 0;
  if (ordered.length === 1) return first.reduce((volume, loss, index) => volume * ((reference[index] as number) - loss), 1);
  // Slices along the first loss: within each, the volume of the points that begin at or before it, one dimension lower.
  const rest = reference.slice(1);
  let volume = 0;
  let lowest = rest[0] as number;
  for (const [index, point] of ordered.entries()) {
    const width = ((ordered[index + 1] ?? reference)[0] as number) - (point[0] as number);
    lowest = Math.min(lowest, point[1] as number);
    if (rest.length === 1) volume += width * ((rest[0] as number) - lowest);
    else if (width > 0)
      volume +=
        width *
        volumeOf(
          ordered.slice(0, index + 1).map((each) => each.slice(1)),
          rest,
        );
  }
  return volume;
}
