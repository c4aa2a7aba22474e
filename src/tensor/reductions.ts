/**
 * Sums, means and maxima along one axis or over all numbers, forward and backward.
 *
 * Sums are float64 until the end.
 * The gradient of a maximum goes to the first of the largest.
 */
import { memory } from "./memory.ts";
import { addsToGradient, gradientFor, gradientToAddTo, type Operation, place, record, type TapeNode } from "./tape.ts";

/** The lengths before an axis, along the axis, and behind it. */
export interface AroundAxis {
  readonly outer: number;
  readonly count: number;
  readonly inner: number;
}

export function sum<Node extends TapeNode>(out: Node, x: TapeNode, axes: AroundAxis, divisor = 1): Node {
  const { i32, f32, words, build } = memory;
  i32[words] = out.offset;
  i32[words + 1] = place(x);
  i32[words + 2] = axes.outer;
  i32[words + 3] = axes.count;
  i32[words + 4] = axes.inner;
  f32[words + 5] = 1;
  i32[words + 6] = divisor;
  build.kernels.sum();
  out.p = divisor;
  const node = record(out, SUM, x);
  if (node.operation !== null) node.extra = axes;
  return node;
}

const SUM: Operation = {
  name: "sum",
  backward(node) {
    const x = node.a as TapeNode;
    const axes = node.extra as AroundAxis;
    const gradient = gradientFor(x);
    const { i32, f32, words, build } = memory;
    i32[words] = gradient;
    i32[words + 1] = node.gradientOffset;
    i32[words + 2] = axes.outer;
    i32[words + 3] = axes.count;
    i32[words + 4] = axes.inner;
    f32[words + 5] = 1;
    i32[words + 6] = node.p;
    i32[words + 7] = addsToGradient ? 1 : 0;
    build.kernels.spread();
  },
};

/** `p` of a node that picks the largest numbers, not those at given indices. */
export const MAXIMUM = 1;

/** `indices` has the shape of `out`; its numbers are integers. */
export function max<Node extends TapeNode>(out: Node, indices: TapeNode, x: TapeNode, axes: AroundAxis): Node {
  const { i32, words, build } = memory;
  i32[words] = out.offset;
  i32[words + 1] = indices.offset;
  i32[words + 2] = place(x);
  i32[words + 3] = axes.outer;
  i32[words + 4] = axes.count;
  i32[words + 5] = axes.inner;
  build.kernels.max();
  out.p = MAXIMUM;
  return recordPick(out, indices, x, axes);
}

/** Fills `out` with the number of x at each index along an axis. */
export function pick<Node extends TapeNode>(out: Node, indices: TapeNode, x: TapeNode, axes: AroundAxis): Node {
  runPick(out.offset, indices, place(x), axes, false);
  return recordPick(out, indices, x, axes);
}

function recordPick<Node extends TapeNode>(out: Node, indices: TapeNode, x: TapeNode, axes: AroundAxis): Node {
  const node = record(out, PICK, x);
  if (node.operation !== null) node.extra = { axes, indices };
  return node;
}

const PICK: Operation = {
  name: "pick",
  backward(node) {
    const { axes, indices } = node.extra as { axes: AroundAxis; indices: TapeNode };
    runPick(node.gradientOffset, indices, gradientToAddTo(node.a as TapeNode), axes, true);
  },
};

// oxlint-disable-next-line eslint/max-params -- the arguments of one kernel
function runPick(out: number, indices: TapeNode, x: number, axes: AroundAxis, isWayBack: boolean): void {
  const { i32, words, build } = memory;
  i32[words] = out;
  i32[words + 1] = x;
  i32[words + 2] = place(indices);
  i32[words + 3] = axes.outer;
  i32[words + 4] = axes.count;
  i32[words + 5] = axes.inner;
  i32[words + 6] = isWayBack ? 1 : 0;
  build.kernels.pick();
}
