/**
 * Elementwise operations of one and of two operands, forward and backward.
 *
 * Decides the arguments of the four kernels for them.
 * Numbers that broadcasting repeats get the sum of their gradients.
 */
import { memory } from "./memory.ts";
import { type Overlay, overlay } from "./shapes.ts";
import { addsToGradient, gradientFor, gradientToAddTo, type Operation, place, record, type TapeNode } from "./tape.ts";

/** The numbers of the kernels in native/kernels.c, in their order. */
const UNARY = ["affine", "exp", "log", "sqrt", "square", "abs", "tanh", "sigmoid", "relu", "elu", "silu", "softplus", "clamp"] as const;
const BINARY = ["add", "sub", "mul", "div", "minimum", "maximum", "mask"] as const;
export type UnaryName = (typeof UNARY)[number];
export type BinaryName = (typeof BINARY)[number];

const unaryOperations = Object.fromEntries(UNARY.map((name, code) => [name, unaryOperation(name, code)])) as Record<UnaryName, Operation>;
const binaryOperations = Object.fromEntries(BINARY.map((name, code) => [name, binaryOperation(name, code)])) as Record<
  BinaryName,
  Operation
>;

/** Fills `out` with f(x). `p` and `q` are factor and summand of `affine`, the limits of `clamp`. */
export function unary<Node extends TapeNode>(out: Node, name: UnaryName, x: TapeNode, p = 0, q = 0): Node {
  const { i32, f32, words, build } = memory;
  i32[words] = UNARY.indexOf(name);
  i32[words + 1] = out.offset;
  i32[words + 2] = place(x);
  i32[words + 3] = x.size;
  f32[words + 4] = p;
  f32[words + 5] = q;
  build.kernels.unary();
  out.p = p;
  out.q = q;
  return record(out, unaryOperations[name], x);
}

function unaryOperation(name: string, code: number): Operation {
  return {
    name,
    backward(node) {
      const x = node.a as TapeNode;
      const gradient = gradientFor(x);
      const { i32, f32, words, build } = memory;
      i32[words] = code;
      i32[words + 1] = gradient;
      i32[words + 2] = node.gradientOffset;
      i32[words + 3] = x.offset;
      i32[words + 4] = node.offset;
      i32[words + 5] = node.size;
      f32[words + 6] = node.p;
      f32[words + 7] = node.q;
      i32[words + 8] = addsToGradient ? 1 : 0;
      build.kernels.unaryGradient();
    },
  };
}

/** Fills `out`, whose shape is that of both laid over each other, with f(a, b). */
export function binary<Node extends TapeNode>(out: Node, name: BinaryName, a: TapeNode, b: TapeNode): Node {
  const plan = overlay(out.shape, a.shape, b.shape);
  const [aOffset, bOffset] = [place(a), place(b)];
  const code = BINARY.indexOf(name);
  eachTable(plan, (index, aStep, bStep) => {
    const { i32, words, build } = memory;
    i32[words] = code;
    i32[words + 1] = out.offset + index * plan.rows * plan.columns * 4;
    i32[words + 2] = aOffset + aStep * 4;
    i32[words + 3] = plan.aRow;
    i32[words + 4] = plan.aColumn;
    i32[words + 5] = bOffset + bStep * 4;
    i32[words + 6] = plan.bRow;
    i32[words + 7] = plan.bColumn;
    i32[words + 8] = plan.rows;
    i32[words + 9] = plan.columns;
    build.kernels.binary();
  });
  const node = record(out, binaryOperations[name], a, b);
  if (node.operation !== null) node.extra = plan;
  return node;
}

function binaryOperation(name: string, code: number): Operation {
  return {
    name,
    backward(node) {
      const [a, b, plan] = [node.a as TapeNode, node.b as TapeNode, node.extra as Overlay];
      if (a.requiresGrad) share(node, code, { side: 0, plan, operand: a });
      if (b.requiresGrad) share(node, code, { side: 1, plan, operand: b });
    },
  };
}

/** Computes an operand's share of the gradient. */
function share(node: TapeNode, code: number, { side, plan, operand }: { side: 0 | 1; plan: Overlay; operand: TapeNode }): void {
  const gradient = plan.outer.length > 0 ? gradientToAddTo(operand) : gradientFor(operand);
  const adds = addsToGradient || plan.outer.length > 0;
  const [a, b] = [node.a as TapeNode, node.b as TapeNode];
  eachTable(plan, (index, aStep, bStep) => {
    const { i32, words, build } = memory;
    i32[words] = code;
    i32[words + 1] = side;
    i32[words + 2] = gradient + (side === 0 ? aStep : bStep) * 4;
    i32[words + 3] = side === 0 ? plan.aRow : plan.bRow;
    i32[words + 4] = side === 0 ? plan.aColumn : plan.bColumn;
    i32[words + 5] = node.gradientOffset + index * plan.rows * plan.columns * 4;
    i32[words + 6] = a.offset + aStep * 4;
    i32[words + 7] = plan.aRow;
    i32[words + 8] = plan.aColumn;
    i32[words + 9] = b.offset + bStep * 4;
    i32[words + 10] = plan.bRow;
    i32[words + 11] = plan.bColumn;
    i32[words + 12] = plan.rows;
    i32[words + 13] = plan.columns;
    i32[words + 14] = adds ? 1 : 0;
    build.kernels.binaryGradient();
  });
}

/** Calls `f` for each table of the outer axes, with its index and where the operands' numbers for it begin. */
function eachTable({ outer }: Overlay, f: (index: number, aStep: number, bStep: number) => void): void {
  let tables = 1;
  for (const { count } of outer) tables *= count;
  for (let index = 0; index < tables; index++) {
    let [rest, aStep, bStep] = [index, 0, 0];
    for (const axis of outer) {
      const at = rest % axis.count;
      rest = (rest - at) / axis.count;
      aStep += at * axis.aStep;
      bStep += at * axis.bStep;
    }
    f(index, aStep, bStep);
  }
}
