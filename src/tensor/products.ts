/**
 * Products of matrices: `matmul` and `linear`, forward and backward.
 *
 * One kernel does all of them.
 * A transposed operand is the same numbers with its strides exchanged.
 */
import { memory } from "./memory.ts";
import { addsToGradient, gradientFor, type Operation, place, record, type TapeNode } from "./tape.ts";

interface Product {
  readonly out: number;
  readonly a: number;
  readonly aRow: number;
  readonly aTerm: number;
  readonly b: number;
  readonly bTerm: number;
  readonly bColumn: number;
  /** 0: none. */
  readonly bias: number;
  readonly rows: number;
  readonly columns: number;
  readonly terms: number;
  readonly adds: boolean;
}

function product({ out, a, aRow, aTerm, b, bTerm, bColumn, bias, rows, columns, terms, adds }: Product): void {
  const { i32, words, build } = memory;
  i32[words] = out;
  i32[words + 1] = a;
  i32[words + 2] = aRow;
  i32[words + 3] = aTerm;
  i32[words + 4] = b;
  i32[words + 5] = bTerm;
  i32[words + 6] = bColumn;
  i32[words + 7] = bias;
  i32[words + 8] = rows;
  i32[words + 9] = columns;
  i32[words + 10] = terms;
  i32[words + 11] = adds ? 1 : 0;
  build.kernels.matmul();
}

/** Fills `out` with x[rows, terms] weight[terms, columns] + bias[columns]. */
export function linear<Node extends TapeNode>(out: Node, x: TapeNode, weight: TapeNode, bias: TapeNode | null): Node {
  const [terms, columns] = weight.shape as [number, number];
  const rows = out.size / Math.max(1, columns);
  const [a, b] = [place(x), place(weight)];
  const biasPlace = bias === null ? 0 : place(bias);
  product({ out: out.offset, a, aRow: terms, aTerm: 1, b, bTerm: columns, bColumn: 1, bias: biasPlace, rows, columns, terms, adds: false });
  return record(out, LINEAR, x, weight, bias);
}

const LINEAR: Operation = {
  name: "linear",
  backward(node) {
    const [x, weight, bias] = [node.a as TapeNode, node.b as TapeNode, node.c];
    const [terms, columns] = weight.shape as [number, number];
    const rows = node.size / Math.max(1, columns);
    const gradient = node.gradientOffset;
    if (weight.requiresGrad) {
      const out = gradientFor(weight);
      const right = { b: gradient, bTerm: columns, bColumn: 1, bias: 0 };
      product({ out, a: x.offset, aRow: 1, aTerm: terms, ...right, rows: terms, columns, terms: rows, adds: addsToGradient });
    }
    if (bias?.requiresGrad === true) sumRows(bias, gradient, rows);
    if (x.requiresGrad) {
      const out = gradientFor(x);
      const right = { b: weight.offset, bTerm: 1, bColumn: columns, bias: 0 };
      product({ out, a: gradient, aRow: columns, aTerm: 1, ...right, rows, columns: terms, terms: columns, adds: addsToGradient });
    }
  },
};

/** A bias is added to each row, so its gradient is the sum of the rows': the share of an addend that was repeated. */
function sumRows(bias: TapeNode, gradient: number, rows: number): void {
  const out = gradientFor(bias);
  const { i32, words, build } = memory;
  i32.fill(0, words, words + 16);
  i32[words + 2] = out;
  i32[words + 4] = 1;
  i32[words + 5] = gradient;
  i32[words + 12] = rows;
  i32[words + 13] = bias.size;
  i32[words + 14] = addsToGradient ? 1 : 0;
  build.kernels.binaryGradient();
}
