/**
 * The minimum of a smooth function within a box, by L-BFGS with projected steps (Nocedal 1980; Bertsekas 1982).
 *
 * Small problems alone: hyperparameters of a Gaussian process, and the best place of an acquisition function. The number of evaluations is limited instead of
 * the time, so that results do not depend on the machine.
 */

/** The value at a point; the gradient there is written to `gradient`. */
type Differentiable = (point: Float64Array, gradient: Float64Array) => number;

interface Box {
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number>;
}

/** Steps that are remembered as curvature. */
const MEMORY = 6;
/** A decrease must be at least this part of the slope's prediction. */
const SUFFICIENT = 1e-4;
/** Evaluations of one line search. */
const HALVINGS_MAX = 12;

interface Curvature {
  readonly step: Float64Array;
  readonly change: Float64Array;
  readonly product: number;
}

export function minimize(
  of: Differentiable,
  start: ArrayLike<number>,
  { box, evaluations, tolerance = 1e-9 }: { box: Box; evaluations: number; tolerance?: number },
): { point: Float64Array; value: number } {
  const size = start.length;
  let point: Float64Array = projected(Float64Array.from(start), box);
  let gradient: Float64Array = new Float64Array(size);
  let value = of(point, gradient);
  let left = evaluations - 1;
  let memory: Curvature[] = [];
  while (left > 0) {
    const isFree = (index: number) => !isHeld(index, { point, gradient, box });
    let direction: Float64Array = descent(gradient, memory, isFree);
    let slope = dot(direction, gradient);
    if (!(slope < 0)) {
      memory = [];
      direction = gradient.map((each, index) => (isFree(index) ? -each : 0));
      slope = dot(direction, gradient);
    }
    if (!(slope < -1e-300)) break;
    // Without curvature the length of the gradient does not determine the length of a step.
    let length = memory.length === 0 ? Math.min(1, 0.1 / Math.sqrt(dot(direction, direction))) : 1;
    let next: { point: Float64Array; gradient: Float64Array; value: number } | undefined;
    for (let tries = 0; tries < HALVINGS_MAX && left > 0; tries += 1) {
      const candidate = projected(
        point.map((each, index) => each + length * (direction[index] as number)),
        box,
      );
      const candidateGradient = new Float64Array(size);
      const candidateValue = of(candidate, candidateGradient);
      left -= 1;
      const promised =
        SUFFICIENT *
        dot(
          gradient,
          candidate.map((each, index) => each - (point[index] as number)),
        );
      if (candidateValue <= value + promised) {
        next = { point: candidate, gradient: candidateGradient, value: candidateValue };
        break;
      }
      length *= tries < 2 ? 0.5 : 0.2;
    }
    if (next === undefined) {
      if (memory.length === 0) break;
      memory = [];
      continue;
    }
    const previous = { point, gradient, value };
    ({ point, gradient, value } = next);
    remember(memory, previous, next);
    if (previous.value - value <= tolerance * Math.max(1, Math.abs(value))) break;
  }
  return { point, value };
}

/** Minus the gradient, bent by the remembered curvature: the two loops of L-BFGS, on the free coordinates. */
function descent(gradient: Float64Array, memory: readonly Curvature[], isFree: (index: number) => boolean): Float64Array {
  const direction = gradient.map((each, index) => (isFree(index) ? each : 0));
  const weights: number[] = [];
  for (const { step, change, product } of memory.toReversed()) {
    const weight = dot(step, direction) / product;
    weights.push(weight);
    for (let index = 0; index < direction.length; index += 1)
      direction[index] = (direction[index] as number) - weight * (change[index] as number);
  }
  const newest = memory.at(-1);
  const scale = newest === undefined ? 1 : newest.product / dot(newest.change, newest.change);
  for (let index = 0; index < direction.length; index += 1) direction[index] = (direction[index] as number) * scale;
  for (const { step, change, product } of memory) {
    const correction = (weights.pop() as number) - dot(change, direction) / product;
    for (let index = 0; index < direction.length; index += 1)
      direction[index] = (direction[index] as number) + correction * (step[index] as number);
  }
  return direction.map((each, index) => (isFree(index) ? -each : 0));
}

function remember(
  memory: Curvature[],
  previous: { point: Float64Array; gradient: Float64Array },
  next: { point: Float64Array; gradient: Float64Array },
): void {
  const step = next.point.map((each, index) => each - (previous.point[index] as number));
  const change = next.gradient.map((each, index) => each - (previous.gradient[index] as number));
  const product = dot(step, change);
  // Where the function bends down, the pair would turn the direction uphill.
  if (!(product > 1e-12 * dot(change, change))) return;
  memory.push({ step, change, product });
  if (memory.length > MEMORY) memory.shift();
}

/** Whether a coordinate is at a bound that the descent would cross. */
function isHeld(index: number, { point, gradient, box }: { point: Float64Array; gradient: Float64Array; box: Box }): boolean {
  const at = point[index] as number;
  const slope = gradient[index] as number;
  return (at <= (box.low[index] as number) && slope > 0) || (at >= (box.high[index] as number) && slope < 0);
}

function projected(point: Float64Array, { low, high }: Box): Float64Array {
  for (let index = 0; index < point.length; index += 1)
    point[index] = Math.min(high[index] as number, Math.max(low[index] as number, point[index] as number));
  return point;
}

function dot(first: Float64Array, second: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < first.length; index += 1) sum += (first[index] as number) * (second[index] as number);
  return sum;
}
