/**
 * Tensors of float32 and their operations, as methods.
 *
 * Decides which shapes an operation takes and gives, and checks all that a user passes. The numbers are computed by the functions of
 * the files beside this one; how long a tensor lives is the tape's.
 */
import { type BinaryName, binary, unary, type UnaryName } from "./elementwise.ts";
import { memory } from "./memory.ts";
import { linear } from "./products.ts";
import { max, pick, sum } from "./reductions.ts";
import { chooseRows, reshape, slice, softmax, transpose } from "./rows.ts";
import { aroundAxis, broadcastShape, checkedAxis, checkedShape, isSameShape, type Shape, shapesDiffer, sizeOf } from "./shapes.ts";
import { describeShape, place, sharedPlace, TapeNode } from "./tape.ts";

export interface AxisOptions {
  /** The axis to go over, from the end where negative; all numbers without it. */
  readonly axis?: number;
  /** Whether the axis stays, with a length of 1. Default: false. */
  readonly keepDims?: boolean;
}

export interface SliceOptions {
  readonly axis?: number;
  readonly start?: number;
  /** Behind the last index; from the end where negative. Default: the axis' length. */
  readonly end?: number;
}

/** Indices as an operation takes them. */
export type Indices = ArrayLike<number>;

/**
 * Numbers of float32 in a shape, row-major, with operations that know their gradients.
 *
 * Made by {@link tensor}, {@link zeros} and operations. Lives as long as the scope in which it was made.
 *
 * @example
 * ```ts
 * const x = tensor([[1, 2], [3, 4]], { requiresGrad: true });
 * backward(x.square().sum());
 * x.grad; // 2, 4, 6, 8
 * ```
 */
export class Tensor extends TapeNode {
  /** A copy of the numbers. */
  toArray(): Float32Array {
    return memory.view(place(this), this.size).slice();
  }

  /** The number of a tensor that has one. @throws RangeError when it has more */
  item(): number {
    if (this.size !== 1)
      throw new RangeError(
        `Cannot read one number: the tensor has ${this.size}: received shape ${describeShape(this.shape)}. Use toArray().`,
      );
    return memory.f32[place(this) / 4] as number;
  }

  /** A copy of the gradient; null for constants, for results of operations, and before the first `backward`. */
  get grad(): Float32Array | null {
    place(this);
    return this.gradientOffset === 0 ? null : memory.view(this.gradientOffset, this.size).slice();
  }

  /** The same numbers without a history: gradients end here. */
  detach(): Tensor {
    return new Tensor(this.shape, this.size, sharedPlace(this));
  }

  add(other: Tensor | number): Tensor {
    return typeof other === "number" ? this.#unary("affine", 1, other) : this.#binary("add", other);
  }
  sub(other: Tensor | number): Tensor {
    return typeof other === "number" ? this.#unary("affine", 1, -other) : this.#binary("sub", other);
  }
  mul(other: Tensor | number): Tensor {
    return typeof other === "number" ? this.#unary("affine", other, 0) : this.#binary("mul", other);
  }
  div(other: Tensor | number): Tensor {
    return this.#binary("div", other);
  }
  /** The smaller of each pair; equal ones get half of the gradient each. */
  minimum(other: Tensor | number): Tensor {
    return this.#binary("minimum", other);
  }
  /** The larger of each pair; equal ones get half of the gradient each. */
  maximum(other: Tensor | number): Tensor {
    return this.#binary("maximum", other);
  }
  neg(): Tensor {
    return this.#unary("affine", -1, 0);
  }
  exp(): Tensor {
    return this.#unary("exp");
  }
  log(): Tensor {
    return this.#unary("log");
  }
  sqrt(): Tensor {
    return this.#unary("sqrt");
  }
  square(): Tensor {
    return this.#unary("square");
  }
  abs(): Tensor {
    return this.#unary("abs");
  }
  tanh(): Tensor {
    return this.#unary("tanh");
  }
  sigmoid(): Tensor {
    return this.#unary("sigmoid");
  }
  relu(): Tensor {
    return this.#unary("relu");
  }
  elu(): Tensor {
    return this.#unary("elu");
  }
  silu(): Tensor {
    return this.#unary("silu");
  }
  softplus(): Tensor {
    return this.#unary("softplus");
  }
  /** Numbers beyond a limit become the limit, and get no gradient. */
  clamp(low: number, high: number): Tensor {
    if (!(low <= high)) throw new RangeError(`Cannot clamp: the lower limit is at most the upper: received ${low} and ${high}.`);
    return this.#unary("clamp", low, high);
  }

  /** The product of matrices; axes before the last two of this tensor are rows. */
  matmul(other: Tensor): Tensor {
    return this.#linear("multiply matrices", other, null);
  }
  /** `x weight + bias`, with `weight[in, out]`. */
  linear(weight: Tensor, bias?: Tensor | null): Tensor {
    return this.#linear("apply a linear layer", weight, bias ?? null);
  }

  /** The same numbers in another shape, of which one length may be -1. */
  reshape(shape: Shape): Tensor {
    const known = sizeOf(shape.filter((length) => length !== -1));
    const lengths = shape.map((length) => (length === -1 && known > 0 ? this.size / known : length));
    if (!lengths.every((length) => Number.isInteger(length) && length >= 0) || sizeOf(lengths) !== this.size)
      throw shapesDiffer("reshape", this.shape, shape, "Both have the same number of numbers; one length may be -1.");
    return reshape(new Tensor(lengths, this.size, sharedPlace(this)), this);
  }
  /** Exchanges the last two axes. */
  transpose(): Tensor {
    if (this.shape.length < 2)
      throw new RangeError(`Cannot transpose: a matrix has two axes or more: received shape ${describeShape(this.shape)}. Use reshape().`);
    const [rows, columns] = this.shape.slice(-2) as [number, number];
    return transpose(new Tensor([...this.shape.slice(0, -2), columns, rows], this.size), this);
  }
  /** A copy of the part from `start` to before `end` along an axis. */
  slice({ axis = 0, start = 0, end }: SliceOptions): Tensor {
    const index = checkedAxis("slice", this.shape, axis);
    const count = this.shape[index] as number;
    const last = end === undefined ? count : end < 0 ? end + count : end;
    const first = start < 0 ? start + count : start;
    if (!Number.isInteger(first) || !Number.isInteger(last) || first < 0 || last < first || last > count)
      throw new RangeError(
        `Cannot slice: axis ${axis} of shape ${describeShape(this.shape)} has the indices 0 to ${count}: received ${start} to ${end ?? count}.`,
      );
    const shape = this.shape.with(index, last - first);
    return slice(new Tensor(shape, sizeOf(shape)), this, aroundAxis(this.shape, index), first);
  }
  /** The rows (entries of the first axis) at the indices, in their order; an index may come more than once. */
  rows(index: Indices): Tensor {
    const count = this.shape[0];
    if (count === undefined) throw new RangeError("Cannot choose rows: the tensor is a single number: received shape [].");
    const indices = indexTensor("choose rows", index, index.length, count);
    const shape = [index.length, ...this.shape.slice(1)];
    return chooseRows(new Tensor(shape, sizeOf(shape)), indices, this);
  }
  /** Takes from each row (the last axis) the number at the row's index: `[rows, n]` gives `[rows]`. */
  gather(index: Indices): Tensor {
    const count = this.shape.at(-1);
    if (count === undefined) throw new RangeError("Cannot gather: the tensor is a single number: received shape [].");
    const shape = this.shape.slice(0, -1);
    const rows = sizeOf(shape);
    if (index.length !== rows) throw shapesDiffer("gather", this.shape, [index.length], `Give one index a row, which are ${rows}.`);
    const indices = indexTensor("gather", index, rows, count);
    return pick(new Tensor(shape, rows), indices, this, { outer: rows, count, inner: 1 });
  }

  sum(options: AxisOptions = {}): Tensor {
    const { shape, axes } = this.#reduced("sum", options);
    return sum(new Tensor(shape, axes.outer * axes.inner), this, axes);
  }
  mean(options: AxisOptions = {}): Tensor {
    const { shape, axes } = this.#reduced("take a mean", options);
    return sum(new Tensor(shape, axes.outer * axes.inner), this, axes, axes.count);
  }
  /** The largest number; NaN where there is one. */
  max(options: AxisOptions = {}): Tensor {
    const { shape, axes } = this.#reduced("take a maximum", options);
    if (axes.count === 0) throw new RangeError(`Cannot take a maximum: there are no numbers: received shape ${describeShape(this.shape)}.`);
    const size = axes.outer * axes.inner;
    return max(new Tensor(shape, size), new Tensor(shape, size), this, axes);
  }

  /** Probabilities along the last axis. */
  softmax(): Tensor {
    return softmax(new Tensor(this.shape, this.size), this, false);
  }
  /** Logarithms of {@link softmax}, without its rounding to 0. */
  logSoftmax(): Tensor {
    return softmax(new Tensor(this.shape, this.size), this, true);
  }

  #unary(name: UnaryName, p?: number, q?: number): Tensor {
    return unary(new Tensor(this.shape, this.size), name, this, p, q);
  }

  #binary(name: BinaryName, other: Tensor | number): Tensor {
    const right = typeof other === "number" ? tensor(other) : other;
    const shape = broadcastShape(name, this.shape, right.shape);
    return binary(new Tensor(shape, shape === this.shape ? this.size : sizeOf(shape)), name, this, right);
  }

  #linear(action: string, weight: Tensor, bias: Tensor | null): Tensor {
    const [terms, columns] = weight.shape;
    if (weight.shape.length !== 2 || this.shape.length === 0 || this.shape.at(-1) !== terms)
      throw shapesDiffer(
        action,
        this.shape,
        weight.shape,
        "The last axis of the left is as long as the first of the right, which has two.",
      );
    if (bias !== null && !isSameShape(bias.shape, [columns as number]))
      throw shapesDiffer(action, weight.shape, bias.shape, "The bias has one number a column of the weight.");
    const shape = [...this.shape.slice(0, -1), columns as number];
    return linear(new Tensor(shape, sizeOf(shape)), this, weight, bias);
  }

  #reduced(action: string, { axis, keepDims = false }: AxisOptions): { shape: Shape; axes: ReturnType<typeof aroundAxis> } {
    if (axis === undefined) return { shape: keepDims ? this.shape.map(() => 1) : [], axes: { outer: 1, count: this.size, inner: 1 } };
    const index = checkedAxis(action, this.shape, axis);
    return { shape: keepDims ? this.shape.with(index, 1) : this.shape.toSpliced(index, 1), axes: aroundAxis(this.shape, index) };
  }
}

function indexTensor(action: string, index: Indices, count: number, limit: number): Tensor {
  const node = new Tensor([count], count);
  const at = node.offset / 4;
  for (let i = 0; i < count; i++) {
    const value = index[i] as number;
    if (!(value >= 0 && value < limit) || !Number.isInteger(value))
      throw new RangeError(`Cannot ${action}: indices are whole numbers from 0 to ${limit - 1}: received ${value} at ${i}.`);
    memory.i32[at + i] = value;
  }
  return node;
}

/** Numbers, or lists of lists of them that are equally long. */
export type NestedNumbers = number | ArrayLike<number> | readonly NestedNumbers[];

export interface TensorOptions {
  /** Default: that of the lists. */
  readonly shape?: Shape;
  /** Whether `backward` computes the gradient of this tensor. Default: false. */
  readonly requiresGrad?: boolean;
}

/**
 * Makes a tensor of a copy of the numbers.
 *
 * @throws RangeError when the numbers do not fill the shape, or the lists are not equally long
 */
export function tensor(data: NestedNumbers, { shape, requiresGrad = false }: TensorOptions = {}): Tensor {
  const own = shape === undefined ? shapeOf(data) : checkedShape("make a tensor", shape);
  const size = sizeOf(own);
  const node = new Tensor(own, size);
  const at = node.offset / 4;
  if (typeof data === "number") memory.f32[at] = data;
  else if (ArrayBuffer.isView(data) && data.length === size) memory.f32.set(data as ArrayLike<number>, at);
  if (typeof data === "number" ? size !== 1 : ArrayBuffer.isView(data) ? data.length !== size : fill(data, own, at) !== size)
    throw new RangeError(
      `Cannot make a tensor: a tensor of shape ${describeShape(own)} has ${size} numbers: received shape ${describeShape(shapeOf(data))}.`,
    );
  node.requiresGrad = requiresGrad;
  return node;
}

/** A tensor of zeros. */
export function zeros(shape: Shape, { requiresGrad = false }: { readonly requiresGrad?: boolean } = {}): Tensor {
  const size = sizeOf(checkedShape("make a tensor", shape));
  const node = new Tensor(shape, size);
  memory.f32.fill(0, node.offset / 4, node.offset / 4 + size);
  node.requiresGrad = requiresGrad;
  return node;
}

function shapeOf(data: NestedNumbers): number[] {
  const shape: number[] = [];
  for (let part: NestedNumbers | undefined = data; typeof part === "object" && part !== null; part = part[0]) shape.push(part.length);
  return shape;
}

/** Copies nested lists, and gives how many numbers there were. A flat list may have any shape. */
function fill(data: ArrayLike<NestedNumbers>, shape: Shape, at: number): number {
  const size = sizeOf(shape);
  let count = 0;
  const visit = (part: ArrayLike<NestedNumbers>, depth: number): void => {
    if (depth > 0 && part.length !== shape[depth])
      throw new RangeError(
        `Cannot make a tensor: lists of one depth are equally long: received lists of ${shape[depth] ?? 0} and of ${part.length}.`,
      );
    for (let i = 0; i < part.length; i++) {
      const value = part[i] as NestedNumbers;
      if (typeof value === "object" && value !== null) visit(value, depth + 1);
      else if (typeof value !== "number") throw new TypeError(`Cannot make a tensor: its data are numbers: received ${String(value)}.`);
      else if (count++ < size) memory.f32[at + count - 1] = value;
    }
  };
  visit(data, 0);
  return count;
}
