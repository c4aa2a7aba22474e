/**
 * Tensors of float32 and their operations, as methods.
 *
 * Decides which shapes an operation takes and gives, and checks all that a user passes. The numbers are computed by the functions of
 * the files beside this one; how long a tensor lives is the tape's.
 */
import { type ConvolutionOptions, patches, patchGrid } from "./convolution.ts";
import { type BinaryName, binary, unary, type UnaryName } from "./elementwise.ts";
import { memory } from "./memory.ts";
import { linear } from "./products.ts";
import { max, pick, sum } from "./reductions.ts";
import { chooseRows, concat as fillConcat, normalize, reshape, slice, softmax, transpose } from "./rows.ts";
import { aroundAxis, broadcastShape, checkedAxis, checkedShape, isSameShape, type Shape, shapesDiffer, sizeOf } from "./shapes.ts";
import { describeShape, noGrad, place, sharedPlace, TapeNode } from "./tape.ts";

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

export interface LossOptions {
  /** `mean` of all elements, or one number for each (`none`). Default: `mean`. */
  readonly reduction?: "mean" | "none";
}

export interface HuberOptions extends LossOptions {
  /** Where the square ends and the straight line begins. Default: 1. */
  readonly delta?: number;
}

/** Weights of a recurrent cell as `linear` takes them: `[inputs, gates x hidden]` and `[hidden, gates x hidden]`. */
export interface CellWeights {
  readonly weightIh: Tensor;
  readonly weightHh: Tensor;
  readonly biasIh: Tensor;
  readonly biasHh: Tensor;
}

/** The hidden state and the cell state of an LSTM. */
export interface LstmState {
  readonly h: Tensor;
  readonly c: Tensor;
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

  /** The mean over rows of minus the log-probability of the right index, from unscaled logits. */
  crossEntropy(index: Indices, options: LossOptions = {}): Tensor {
    return reduced(this.logSoftmax().gather(index).neg(), options);
  }
  mseLoss(target: Tensor, options: LossOptions = {}): Tensor {
    return reduced(this.#difference("take a squared error", target).square(), options);
  }
  /** Half of the square up to `delta`, straight beyond. */
  huberLoss(target: Tensor, { delta = 1, ...options }: HuberOptions = {}): Tensor {
    if (!(delta > 0)) throw new RangeError(`Cannot take a Huber loss: delta is above 0: received ${delta}.`);
    const distance = this.#difference("take a Huber loss", target).abs();
    const near = distance.minimum(delta);
    return reduced(near.mul(distance.sub(near.mul(0.5))), options);
  }

  /** Rows (the last axis) of mean 0 and variance 1, times `gain`, plus `bias`. */
  layerNorm(gain?: Tensor | null, bias?: Tensor | null, { eps = 1e-5 }: { readonly eps?: number } = {}): Tensor {
    const count = this.shape.at(-1) ?? 1;
    for (const part of [gain, bias])
      if (part != null && !isSameShape(part.shape, [count]))
        throw shapesDiffer("normalize a layer", this.shape, part.shape, "Gain and bias have one number a column.");
    const rows = this.size / Math.max(1, count);
    const normal = normalize(new Tensor(this.shape, this.size), new Tensor([rows], rows), this, eps);
    const scaled = gain == null ? normal : normal.mul(gain);
    return bias == null ? scaled : scaled.add(bias);
  }

  /** Convolves images `[count, height, width, channels]` with a kernel `[height, width, channels, outputs]`. */
  conv2d(kernel: Tensor, bias?: Tensor | null, options: ConvolutionOptions = {}): Tensor {
    const [count, height, width, channels] = this.shape as [number, number, number, number];
    const [kernelHeight, kernelWidth, inputs, outputs] = kernel.shape as [number, number, number, number];
    if (this.shape.length !== 4 || kernel.shape.length !== 4 || channels !== inputs)
      throw shapesDiffer(
        "convolve",
        this.shape,
        kernel.shape,
        "Images are [count, height, width, channels], kernels [height, width, channels, outputs].",
      );
    const grid = patchGrid([height, width], [kernelHeight, kernelWidth], options);
    const shape = [count * grid.height * grid.width, kernelHeight * kernelWidth * channels] as const;
    const rows = patches(new Tensor(shape, shape[0] * shape[1]), this, grid);
    return rows.linear(kernel.reshape([shape[1], outputs]), bias).reshape([count, grid.height, grid.width, outputs]);
  }

  /** A step of an LSTM, `[rows, inputs]`; gates lie in the order i, f, g, o. */
  lstmCell({ h, c }: LstmState, weights: CellWeights): LstmState {
    const gates = this.linear(weights.weightIh, weights.biasIh).add(h.linear(weights.weightHh, weights.biasHh));
    const [input, forget, candidate, output] = gates.#gates("take a step of an LSTM", h, 4) as [Tensor, Tensor, Tensor, Tensor];
    const cell = forget.sigmoid().mul(c).add(input.sigmoid().mul(candidate.tanh()));
    return { h: output.sigmoid().mul(cell.tanh()), c: cell };
  }
  /** A step of a GRU, `[rows, inputs]`; gates lie in the order r, z, n. */
  gruCell(h: Tensor, weights: CellWeights): Tensor {
    const own = this.linear(weights.weightIh, weights.biasIh).#gates("take a step of a GRU", h, 3) as [Tensor, Tensor, Tensor];
    const past = h.linear(weights.weightHh, weights.biasHh).#gates("take a step of a GRU", h, 3) as [Tensor, Tensor, Tensor];
    const [reset, update] = [own[0].add(past[0]).sigmoid(), own[1].add(past[1]).sigmoid()];
    const candidate = own[2].add(reset.mul(past[2])).tanh();
    return candidate.add(update.mul(h.sub(candidate)));
  }

  /** The numbers where `condition` is not 0, else 0. */
  mask(condition: Tensor): Tensor {
    return this.#binary("mask", condition);
  }

  #difference(action: string, target: Tensor): Tensor {
    if (!isSameShape(this.shape, target.shape)) throw shapesDiffer(action, this.shape, target.shape, "Both have the same shape.");
    return this.sub(target);
  }

  #gates(action: string, h: Tensor, count: number): Tensor[] {
    const size = h.shape.at(-1) as number;
    if (this.shape.at(-1) !== count * size)
      throw shapesDiffer(action, this.shape, h.shape, `The weights have ${count} gates of the state's size.`);
    return Array.from({ length: count }, (_, gate) => this.slice({ axis: -1, start: gate * size, end: (gate + 1) * size }));
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

function reduced(elements: Tensor, { reduction = "mean" }: LossOptions): Tensor {
  if (reduction !== "mean" && reduction !== "none")
    throw new RangeError(`Cannot take a loss: a reduction is "mean" or "none": received ${JSON.stringify(reduction)}.`);
  return reduction === "none" ? elements : elements.mean();
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

/** Joins tensors along an axis, on which alone they may differ. @throws RangeError when they do not fit, or there are none */
export function concat(parts: readonly Tensor[], { axis = 0 }: { readonly axis?: number } = {}): Tensor {
  const [first] = parts;
  if (first === undefined) throw new RangeError("Cannot concatenate: there is nothing to join: received an empty list.");
  const index = checkedAxis("concatenate", first.shape, axis);
  let length = 0;
  for (const part of parts) {
    if (part.shape.length !== first.shape.length || !part.shape.every((count, at) => at === index || count === first.shape[at]))
      throw shapesDiffer("concatenate", first.shape, part.shape, `All axes but axis ${axis} are equally long.`);
    length += part.shape[index] as number;
  }
  const shape = first.shape.with(index, length);
  return fillConcat(new Tensor(shape, sizeOf(shape)), parts, sizeOf(shape.slice(0, index)));
}

/** Joins tensors of one shape along a new axis. */
export function stack(parts: readonly Tensor[], { axis = 0 }: { readonly axis?: number } = {}): Tensor {
  const [first] = parts;
  if (first === undefined) throw new RangeError("Cannot stack: there is nothing to join: received an empty list.");
  for (const part of parts)
    if (!isSameShape(part.shape, first.shape)) throw shapesDiffer("stack", first.shape, part.shape, "All have the same shape.");
  const index = checkedAxis("stack", [...first.shape, 1], axis);
  const shape = first.shape.toSpliced(index, 0, 1);
  return concat(
    parts.map((part) => part.reshape(shape)),
    { axis: index },
  );
}

/** The numbers of `yes` where `condition` is not 0, else those of `no`. No gradient goes to numbers that were not chosen. */
export function where(condition: Tensor, yes: Tensor, no: Tensor): Tensor {
  const isZero = noGrad(() => tensor(1).mask(condition).sub(1).neg());
  return yes.mask(condition.detach()).add(no.mask(isZero));
}
