/**
 * Traces a function of tensors: the operations from its inputs to its outputs, as data that other programs can run.
 *
 * The function runs twice, with two and with three rows of random numbers. Lengths that grow with the rows are those of rows in the graph; a
 * number inside that differs between the runs did not come by the tape, so the function cannot be traced. Parameters have random numbers meanwhile, and their own ones afterwards.
 */
import type { PatchGrid } from "./convolution.ts";
import type { Layer } from "./layer.ts";
import { Random } from "./random.ts";
import { type AroundAxis, MAXIMUM } from "./reductions.ts";
import { type Shape, sizeOf } from "./shapes.ts";
import { describeShape, scope, type TapeNode } from "./tape.ts";
import { Tensor, tensor } from "./tensor.ts";

/** A length: a number, or so many times the number of rows. */
export type Length = number | { readonly rows: number };

/** The operation behind a value, with the numbers that it needs beside its operands. */
export interface TracedOperation {
  readonly name: string;
  /** Places of values. */
  readonly operands: readonly number[];
  readonly numbers: Readonly<Record<string, number | readonly number[]>>;
}

export interface TracedValue {
  readonly shape: readonly Length[];
  /** The name of an input. */
  readonly input?: string;
  /** The name of a parameter. */
  readonly parameter?: string;
  /** The numbers of a constant; one number for all where the shape has rows. */
  readonly constant?: Float32Array;
  readonly operation?: TracedOperation;
}

/** Values in an order in which each follows its operands. */
export interface Graph {
  readonly values: readonly TracedValue[];
  /** Places of values, by the names of outputs. */
  readonly outputs: Readonly<Record<string, number>>;
}

type Named<T> = Readonly<Record<string, T>>;

interface TraceRequest {
  readonly layer: Layer;
  /** Shapes of inputs. A first length of -1 is the number of rows, which all such inputs share. */
  readonly inputs: Named<Shape>;
  forward(inputs: Named<Tensor>): Named<Tensor>;
}

const ROWS = [2, 3] as const;

/** @throws RangeError, Error where the function does something that a graph cannot say */
export function trace(request: TraceRequest): Graph {
  checkInputs(request.inputs);
  const { parameters } = request.layer;
  const kept = parameters.data.slice();
  const runs: RawGraph[] = [];
  try {
    for (const rows of ROWS) {
      // The parameters differ between the runs. With first weights of 0, say, a number from an input would look constant.
      const random = new Random(rows);
      parameters.data.set(kept.map(() => random.normal()));
      runs.push(traceOnce(request, rows));
    }
  } finally {
    parameters.data.set(kept);
  }
  const [first, second] = runs as [RawGraph, RawGraph];
  if (first.values.length !== second.values.length)
    throw cannot(
      `its operations depend on the number of rows: ${first.values.length} values for ${ROWS[0]} rows, ${second.values.length} for ${ROWS[1]}`,
    );
  const values = first.values.map((value, at) => merged(value, second.values[at] as RawValue));
  return { values, outputs: first.outputs };
}

export function cannot(reason: string): Error {
  return new Error(`Cannot trace the layer: ${reason}.`);
}

function checkInputs(inputs: Named<Shape>): void {
  if (Object.keys(inputs).length === 0) throw new RangeError("Cannot trace the layer: it has one input or more: received none.");
  for (const [name, shape] of Object.entries(inputs))
    if (
      !Array.isArray(shape) ||
      !shape.every((length, axis) => Number.isSafeInteger(length) && (length >= 1 || (length === -1 && axis === 0)))
    )
      throw new RangeError(
        `Cannot trace the layer: input ${name} has lengths from 1 on, of which the first may be -1, any number of rows: received ${JSON.stringify(shape)}.`,
      );
}

interface RawValue extends Omit<TracedValue, "shape"> {
  readonly shape: Shape;
}

interface RawGraph {
  readonly values: readonly RawValue[];
  readonly outputs: Named<number>;
}

function traceOnce({ layer, inputs, forward }: TraceRequest, rows: number): RawGraph {
  return scope(() => {
    const random = new Random(rows, "inputs");
    const given = Object.fromEntries(
      Object.entries(inputs).map(([name, lengths]) => {
        const shape = lengths.map((length) => (length === -1 ? rows : length));
        const data = Float32Array.from({ length: sizeOf(shape) }, () => random.normal());
        return [name, tensor(data, { shape, requiresGrad: true })];
      }),
    );
    const names = new Map<TapeNode, Partial<RawValue>>();
    for (const [name, node] of layer.namedParameters()) names.set(node, { parameter: name });
    for (const [name, node] of Object.entries(given)) names.set(node, { input: name });
    const places = new Map<TapeNode, number>();
    const values: RawValue[] = [];
    const visit = (node: TapeNode): number => {
      const known = places.get(node);
      if (known !== undefined) return known;
      const value = valueOf(node, names.get(node), visit);
      places.set(node, values.length);
      values.push(value);
      return values.length - 1;
    };
    // Inputs come first, in their order, also those that nothing reads.
    for (const node of Object.values(given)) visit(node);
    const outputs = Object.fromEntries(
      Object.entries(forward(given)).map(([name, node]) => {
        if (!(node instanceof Tensor)) throw cannot(`output ${name} is no tensor`);
        return [name, visit(node)];
      }),
    );
    return { values, outputs };
  });
}

function valueOf(node: TapeNode, name: Partial<RawValue> | undefined, visit: (node: TapeNode) => number): RawValue {
  const { shape } = node;
  if (name !== undefined) return { shape, ...name };
  if (node.operation === null) return { shape, constant: (node as Tensor).toArray() };
  return { shape, operation: operationOf(node, visit) };
}

/** The first operand of an operation. */
function a(node: TapeNode): TapeNode {
  return node.a as TapeNode;
}

function operationOf(node: TapeNode, visit: (node: TapeNode) => number): TracedOperation {
  const { name } = node.operation as { name: string };
  const operands = [node.a, node.b, node.c].filter((each) => each !== null);
  const of = (nodes: readonly TapeNode[], numbers: TracedOperation["numbers"] = {}): TracedOperation => ({
    name,
    operands: nodes.map(visit),
    numbers,
  });
  switch (name) {
    case "affine":
    case "clamp":
      return of(operands, { p: node.p, q: node.q });
    case "linear":
      return a(node).operation?.name === "patches" ? convolution(node, visit) : of(operands);
    case "patches":
      throw cannot("a convolution has a kernel of its own: patches are used elsewhere");
    case "softmax":
      return of(operands, { isLogarithm: node.p });
    case "normalize":
      return of(operands, { eps: node.p });
    case "sum":
      return of(operands, { axes: axesOf(a(node).shape, node.extra as AroundAxis), isMean: node.p === 1 ? 0 : 1 });
    case "pick":
      // The indices of gather() are numbers from outside of the tape.
      if (node.p !== MAXIMUM) throw cannot("gather(index) takes indices that are no input. Multiply with a row of 0 and 1 instead");
      return { ...of(operands, { axes: axesOf(a(node).shape, (node.extra as { axes: AroundAxis }).axes) }), name: "max" };
    case "rows":
      throw cannot("rows(index), and with it an Embedding, takes indices that are no input. Multiply one-hot rows with a Linear instead");
    case "slice": {
      const axis = differingAxis(a(node).shape, node.shape);
      return of(operands, axis < 0 ? { isWhole: 1 } : { axis, start: node.p, count: node.shape[axis] as number });
    }
    case "concat": {
      const parts = node.extra as readonly TapeNode[];
      return of(parts, { axis: Math.max(0, differingAxis((parts[0] as TapeNode).shape, node.shape)) });
    }
    case "transpose":
    case "reshape":
      return of(operands);
    default:
      return of(operands);
  }
}

/** A convolution is patches, times a kernel as a matrix. */
function convolution(node: TapeNode, visit: (node: TapeNode) => number): TracedOperation {
  const { kernel: size, stride, top, left, height, width } = a(node).extra as PatchGrid;
  const image = a(a(node));
  const matrix = node.b as TapeNode;
  const kernel = matrix.operation?.name === "reshape" ? a(matrix) : undefined;
  if (kernel?.shape.length !== 4) throw cannot("the kernel of a convolution is a tensor of four axes");
  const [, rows, columns] = image.shape as [number, number, number, number];
  const after = (count: number, at: number, length: number): number =>
    Math.max(0, (count - 1) * stride + (size[at] as number) - length - (at === 0 ? top : left));
  return {
    name: "conv2d",
    operands: [image, kernel, ...(node.c === null ? [] : [node.c])].map(visit),
    numbers: { stride, pads: [top, left, after(height, 0, rows), after(width, 1, columns)] },
  };
}

/** The axes over which a reduction goes. */
function axesOf(shape: Shape, { outer, count, inner }: AroundAxis): readonly number[] {
  if (outer === 1 && inner === 1 && count === sizeOf(shape)) return shape.map((_, axis) => axis);
  const found = shape.findIndex(
    (length, axis) => length === count && sizeOf(shape.slice(0, axis)) === outer && sizeOf(shape.slice(axis + 1)) === inner,
  );
  return [found];
}

function differingAxis(one: Shape, other: Shape): number {
  return one.findIndex((length, axis) => length !== other[axis]);
}

/** A value as two runs have it. */
function merged(one: RawValue, other: RawValue): TracedValue {
  if (one.input !== other.input || one.parameter !== other.parameter || !isSame(one.operation, other.operation))
    throw cannot(
      `its operations depend on the number of rows: received ${one.operation?.name ?? "a value"} ${JSON.stringify(one.operation?.numbers ?? {})} and ${other.operation?.name ?? "a value"} ${JSON.stringify(other.operation?.numbers ?? {})}`,
    );
  const shape = mergedShape(one.shape, other.shape);
  if (one.constant === undefined || other.constant === undefined) return { ...one, shape };
  return { shape, constant: mergedConstant(shape, one.constant, other.constant) };
}

/** Counts of a slice along the rows would differ, and are refused. */
function isSame(one: TracedOperation | undefined, other: TracedOperation | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function mergedShape(one: Shape, other: Shape): Length[] {
  if (one.length !== other.length)
    throw cannot(`a shape depends on the number of rows: received ${describeShape(one)} and ${describeShape(other)}`);
  return one.map((length, axis) => {
    const also = other[axis] as number;
    if (length === also) return length;
    const rows = length / ROWS[0];
    if (Number.isInteger(rows) && also === rows * ROWS[1]) return { rows };
    throw cannot(`a length is no multiple of the number of rows: received ${length} for ${ROWS[0]} rows and ${also} for ${ROWS[1]}`);
  });
}

function mergedConstant(shape: readonly Length[], one: Float32Array, other: Float32Array): Float32Array {
  const hasRows = shape.some((length) => typeof length !== "number");
  const [first = 0] = one;
  if (hasRows && one.every((value) => value === first) && other.every((value) => value === first)) return Float32Array.of(first);
  if (!hasRows && one.every((value, at) => Object.is(value, other[at]))) return one;
  throw cannot(
    "numbers inside of it come from an input, or from chance, without the tape: detach(), noGrad(), where(), toArray() or noise. Leave them out of forward()",
  );
}
