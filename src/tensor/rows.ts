/**
 * Operations on rows and on the order of numbers: softmax, choice of rows, slices, transposition, reshaping.
 *
 * Each fills a node that its caller made.
 * The caller has checked shapes and indices.
 */
import { memory } from "./memory.ts";
import type { AroundAxis } from "./reductions.ts";
import { addsToGradient, gradientFor, gradientToAddTo, type Operation, place, record, recordMany, type TapeNode } from "./tape.ts";

/** Rows are the last axis. */
export function softmax<Node extends TapeNode>(out: Node, x: TapeNode, isLogarithm: boolean): Node {
  const count = x.shape.at(-1) ?? 1;
  const { i32, words, build } = memory;
  i32[words] = out.offset;
  i32[words + 1] = place(x);
  i32[words + 2] = x.size / Math.max(1, count);
  i32[words + 3] = count;
  i32[words + 4] = isLogarithm ? 1 : 0;
  build.kernels.softmax();
  out.p = isLogarithm ? 1 : 0;
  return record(out, SOFTMAX, x);
}

const SOFTMAX: Operation = {
  name: "softmax",
  backward(node) {
    const count = node.shape.at(-1) ?? 1;
    const gradient = gradientFor(node.a as TapeNode);
    const { i32, words, build } = memory;
    i32[words] = gradient;
    i32[words + 1] = node.gradientOffset;
    i32[words + 2] = node.offset;
    i32[words + 3] = node.size / Math.max(1, count);
    i32[words + 4] = count;
    i32[words + 5] = node.p;
    i32[words + 6] = addsToGradient ? 1 : 0;
    build.kernels.softmaxGradient();
  },
};

/** Fills `out` with the rows of x at the indices; rows are all axes behind the first. */
export function chooseRows<Node extends TapeNode>(out: Node, indices: TapeNode, x: TapeNode): Node {
  const rows = x.shape[0] as number;
  const { i32, words, build } = memory;
  i32[words] = out.offset;
  i32[words + 1] = place(x);
  i32[words + 2] = indices.offset;
  i32[words + 3] = indices.size;
  i32[words + 4] = rows;
  i32[words + 5] = x.size / Math.max(1, rows);
  build.kernels.rows();
  const node = record(out, ROWS, x);
  if (node.operation !== null) node.extra = indices;
  return node;
}

const ROWS: Operation = {
  name: "rows",
  backward(node) {
    const x = node.a as TapeNode;
    const indices = node.extra as TapeNode;
    const rows = x.shape[0] as number;
    const gradient = gradientToAddTo(x);
    const { i32, words, build } = memory;
    i32[words] = gradient;
    i32[words + 1] = node.gradientOffset;
    i32[words + 2] = place(indices);
    i32[words + 3] = indices.size;
    i32[words + 4] = rows;
    i32[words + 5] = x.size / Math.max(1, rows);
    build.kernels.addRows();
  },
};

interface Copied {
  readonly out: number;
  readonly outRow: number;
  readonly x: number;
  readonly xRow: number;
  readonly rows: number;
  readonly columns: number;
  readonly adds: boolean;
}

function copyRows({ out, outRow, x, xRow, rows, columns, adds }: Copied): void {
  const { i32, words, build } = memory;
  i32[words] = out;
  i32[words + 1] = outRow;
  i32[words + 2] = x;
  i32[words + 3] = xRow;
  i32[words + 4] = rows;
  i32[words + 5] = columns;
  i32[words + 6] = adds ? 1 : 0;
  build.kernels.copy();
}

/** Fills `out` with x from an index of the axis on. */
export function slice<Node extends TapeNode>(out: Node, x: TapeNode, axes: AroundAxis, start: number): Node {
  const columns = out.size / Math.max(1, axes.outer);
  const from = place(x) + start * axes.inner * 4;
  copyRows({ out: out.offset, outRow: columns, x: from, xRow: axes.count * axes.inner, rows: axes.outer, columns, adds: false });
  out.p = start;
  const node = record(out, SLICE, x);
  if (node.operation !== null) node.extra = axes;
  return node;
}

const SLICE: Operation = {
  name: "slice",
  backward(node) {
    const axes = node.extra as AroundAxis;
    const columns = node.size / Math.max(1, axes.outer);
    const out = gradientToAddTo(node.a as TapeNode) + node.p * axes.inner * 4;
    const x = node.gradientOffset;
    copyRows({ out, outRow: axes.count * axes.inner, x, xRow: columns, rows: axes.outer, columns, adds: true });
  },
};

/** Fills `out` with the parts, one behind the other along an axis; `outer` is the product of the axes before. */
export function concat<Node extends TapeNode>(out: Node, parts: readonly TapeNode[], outer: number): Node {
  out.p = outer;
  eachPart(out, parts, (part, at, columns, outRow) =>
    copyRows({ out: out.offset + at * 4, outRow, x: place(part), xRow: columns, rows: outer, columns, adds: false }),
  );
  return recordMany(out, CONCAT, parts);
}

const CONCAT: Operation = {
  name: "concat",
  backward(node) {
    eachPart(node, node.extra as readonly TapeNode[], (part, at, columns, xRow) => {
      if (!part.requiresGrad) return;
      const out = gradientFor(part);
      const x = node.gradientOffset + at * 4;
      copyRows({ out, outRow: columns, x, xRow, rows: node.p, columns, adds: addsToGradient });
    });
  },
};

/** Calls `f` with each part, where it begins in a row of the whole, and how long its rows and those of the whole are. */
function eachPart(
  whole: TapeNode,
  parts: readonly TapeNode[],
  f: (part: TapeNode, at: number, columns: number, row: number) => void,
): void {
  const outer = Math.max(1, whole.p);
  let at = 0;
  for (const part of parts) {
    f(part, at, part.size / outer, whole.size / outer);
    at += part.size / outer;
  }
}

/** Fills `out` with rows of mean 0 and variance 1; `roots` gets 1 / the standard deviation of each row. */
export function normalize<Node extends TapeNode>(out: Node, roots: TapeNode, x: TapeNode, epsilon: number): Node {
  const count = x.shape.at(-1) ?? 1;
  const { i32, f32, words, build } = memory;
  i32[words] = out.offset;
  i32[words + 1] = roots.offset;
  i32[words + 2] = place(x);
  i32[words + 3] = x.size / Math.max(1, count);
  i32[words + 4] = count;
  f32[words + 5] = epsilon;
  build.kernels.normalize();
  out.p = epsilon;
  const node = record(out, NORMALIZE, x);
  if (node.operation !== null) node.extra = roots;
  return node;
}

const NORMALIZE: Operation = {
  name: "normalize",
  backward(node) {
    const count = node.shape.at(-1) ?? 1;
    const gradient = gradientFor(node.a as TapeNode);
    const { i32, words, build } = memory;
    i32[words] = gradient;
    i32[words + 1] = node.gradientOffset;
    i32[words + 2] = node.offset;
    i32[words + 3] = place(node.extra as TapeNode);
    i32[words + 4] = node.size / Math.max(1, count);
    i32[words + 5] = count;
    i32[words + 6] = addsToGradient ? 1 : 0;
    build.kernels.normalizeGradient();
  },
};

/** Fills `out` with x, its last two axes exchanged. */
export function transpose<Node extends TapeNode>(out: Node, x: TapeNode): Node {
  runTranspose(out.offset, place(x), x, false);
  return record(out, TRANSPOSE, x);
}

const TRANSPOSE: Operation = {
  name: "transpose",
  backward(node) {
    const out = gradientFor(node.a as TapeNode);
    runTranspose(out, node.gradientOffset, node, addsToGradient);
  },
};

function runTranspose(out: number, x: number, { shape, size }: TapeNode, adds: boolean): void {
  const [rows, columns] = shape.slice(-2) as [number, number];
  const { i32, words, build } = memory;
  i32[words] = out;
  i32[words + 1] = x;
  i32[words + 2] = size / Math.max(1, rows * columns);
  i32[words + 3] = rows;
  i32[words + 4] = columns;
  i32[words + 5] = adds ? 1 : 0;
  build.kernels.transpose();
}

/** `out` has the same numbers as x, at the same place. */
export function reshape<Node extends TapeNode>(out: Node, x: TapeNode): Node {
  return record(out, RESHAPE, x);
}

const RESHAPE: Operation = {
  name: "reshape",
  backward(node) {
    const x = node.a as TapeNode;
    const out = gradientFor(x);
    const columns = node.size;
    copyRows({ out, outRow: columns, x: node.gradientOffset, xRow: columns, rows: 1, columns, adds: addsToGradient });
  },
};
