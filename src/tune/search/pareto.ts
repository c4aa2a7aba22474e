/**
 * Comparing results with several losses: which points no other beats, and which few of equals cover most.
 *
 * Smaller is better in every loss. `bestOf` takes whole fronts as long as they fit, and of the next front the points that together dominate the largest
 * volume, chosen one by one, which is within 63 % of the best choice. Used by TPE and for Pareto fronts.
 */

type Losses = readonly number[];

/** Whether `first` is at least as good in all and better in one. */
function dominates(first: Losses, second: Losses): boolean {
  let better = false;
  for (let index = 0; index < first.length; index += 1) {
    if ((first[index] as number) > (second[index] as number)) return false;
    if ((first[index] as number) < (second[index] as number)) better = true;
  }
  return better;
}

/** The indexes among `from` of the points that no other of these dominates. */
export function frontOf(losses: readonly Losses[], from: readonly number[] = losses.map((_, index) => index)): number[] {
  // In this order a point is dominated by earlier ones alone, and then by one that is itself in the front.
  const ordered = [...from].sort((a, b) => compareLosses(losses[a] as Losses, losses[b] as Losses) || a - b);
  const front: number[] = [];
  for (const index of ordered) if (!front.some((other) => dominates(losses[other] as Losses, losses[index] as Losses))) front.push(index);
  return front;
}

function compareLosses(first: Losses, second: Losses): number {
  for (let index = 0; index < first.length; index += 1) {
    const difference = (first[index] as number) - (second[index] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The indexes of the `count` best points. */
export function bestOf(losses: readonly Losses[], count: number): number[] {
  const best: number[] = [];
  let rest = losses.map((_, index) => index);
  while (best.length < count && rest.length > 0) {
    const front = frontOf(losses, rest);
    if (best.length + front.length > count) return [...best, ...coveringMost(losses, front, count - best.length)];
    best.push(...front);
    const taken = new Set(front);
    rest = rest.filter((index) => !taken.has(index));
  }
  return best;
}

/** Chooses, one by one, the points that add the largest volume. */
function coveringMost(losses: readonly Losses[], front: readonly number[], count: number): number[] {
  const points = front.map((index) => losses[index] as Losses);
  const reference = referenceOf(points);
  const chosen: number[] = [];
  const candidates = new Set(front);
  // The volume that a point adds only shrinks as other points are chosen, so an earlier volume is an upper bound of the present one.
  const bounds = new Map(front.map((index) => [index, volumeOf([losses[index] as Losses], reference)]));
  let covered = 0;
  while (chosen.length < count) {
    let best = -1;
    let most = Number.NEGATIVE_INFINITY;
    for (const index of [...candidates].sort((a, b) => (bounds.get(b) as number) - (bounds.get(a) as number) || a - b)) {
      if ((bounds.get(index) as number) <= most) break;
      const added =
        volumeOf(
          [...chosen, index].map((each) => losses[each] as Losses),
          reference,
        ) - covered;
      bounds.set(index, added);
      if (added > most) [best, most] = [index, added];
    }
    if (best < 0) best = [...candidates][0] as number;
    chosen.push(best);
    candidates.delete(best);
    covered += Math.max(0, most);
  }
  return chosen;
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
  if (inside.length === 0) return 0;
  if (reference.length === 1) return (reference[0] as number) - Math.min(...inside.map((point) => point[0] as number));
  // Slices along the last loss: within each, the volume of the points that begin at or below it, one dimension lower.
  const ordered = [...inside].sort((a, b) => (a.at(-1) as number) - (b.at(-1) as number));
  const last = reference.length - 1;
  let volume = 0;
  for (const [index, point] of ordered.entries()) {
    const height = ((ordered[index + 1] ?? reference)[last] as number) - (point[last] as number);
    if (height <= 0) continue;
    const slice = ordered.slice(0, index + 1).map((each) => each.slice(0, -1));
    volume +=
      height *
      volumeOf(
        frontOf(slice).map((each) => slice[each] as Losses),
        reference.slice(0, -1),
      );
  }
  return volume;
}
