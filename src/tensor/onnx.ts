/**
 * Writes layers as ONNX models, which onnxruntime and others run: opset 17 of https://onnx.ai/onnx/operators.
 *
 * A trace of the forward pass says the operations; each becomes one to three nodes. Parameters and constants are stored as float32 in the
 * model. Numbers of rows stay open.
 */
import type { Layer } from "./layer.ts";
import { type OnnxDimension, OnnxModel } from "./onnx-model.ts";
import type { Shape } from "./shapes.ts";
import type { Tensor } from "./tensor.ts";
import { cannot, type Graph, type Length, trace, type TracedOperation, type TracedValue } from "./trace.ts";

export interface OnnxOptions {
  /** Shapes of the inputs by name; a first length of -1 is any number of rows. */
  readonly inputs: Readonly<Record<string, Shape>>;
  /** The pass that is exported. Default: `layer.forward` of the only input, whose result is `output`. */
  readonly forward?: ((inputs: Readonly<Record<string, Tensor>>) => Readonly<Record<string, Tensor>>) | undefined;
  /** Texts in the model's `metadata_props`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/**
 * Returns a layer as an ONNX model: the bytes of a `.onnx` file.
 *
 * @throws Error for operations that a graph cannot say, such as `rows`, `gather`, noise and `detach`
 * @example
 * ```ts
 * const bytes = toOnnx(new Mlp([4, 64, 2]), { inputs: { x: [-1, 4] } });
 * ```
 */
export function toOnnx(
  layer: Layer,
  { inputs, forward = onlyForward(layer, inputs), metadata = {} }: OnnxOptions,
): Uint8Array<ArrayBuffer> {
  const graph = trace({ layer, inputs, forward });
  const model = new OnnxModel();
  const parameters = layer.namedParameters();
  const names: string[] = [];
  const writer = new NodeWriter(model, graph, names);
  for (const [at, value] of graph.values.entries()) names.push(nameOf(value, at, { model, writer, parameters }));
  for (const [name, at] of Object.entries(graph.outputs)) {
    model.node("Identity", [names[at] as string], name);
    model.output(name, dimensions((graph.values[at] as TracedValue).shape));
  }
  return model.toBytes(metadata);
}

function onlyForward(layer: Layer, inputs: OnnxOptions["inputs"]): NonNullable<OnnxOptions["forward"]> {
  const [name, ...others] = Object.keys(inputs);
  const pass = (layer as { forward?: (x: Tensor) => unknown }).forward;
  if (name === undefined || others.length > 0 || pass === undefined)
    throw new TypeError(
      `Cannot write ONNX: a layer with one input has a forward() for it: received the inputs ${Object.keys(inputs).join(", ") || "none"}. Give { forward: ({ x }) => ({ output }) }`,
    );
  return (given) => ({ output: pass.call(layer, given[name] as Tensor) as Tensor });
}

interface Places {
  readonly model: OnnxModel;
  readonly writer: NodeWriter;
  readonly parameters: ReadonlyMap<string, Tensor>;
}

/** Writes a value. @returns its name in the model */
function nameOf(value: TracedValue, at: number, { model, writer, parameters }: Places): string {
  const name = value.input ?? value.parameter ?? `value${at}`;
  if (value.input !== undefined) model.input(name, dimensions(value.shape));
  else if (value.parameter !== undefined) model.initializer(name, value.shape as Shape, (parameters.get(name) as Tensor).toArray());
  else if (value.constant !== undefined) writer.constant(name, value);
  else writer.operation(name, value, value.operation as TracedOperation);
  return name;
}

const SIMPLE: Readonly<Record<string, string>> = {
  exp: "Exp",
  log: "Log",
  sqrt: "Sqrt",
  abs: "Abs",
  tanh: "Tanh",
  sigmoid: "Sigmoid",
  relu: "Relu",
  elu: "Elu",
  softplus: "Softplus",
  add: "Add",
  sub: "Sub",
  mul: "Mul",
  div: "Div",
  minimum: "Min",
  maximum: "Max",
};

class NodeWriter {
  readonly #model: OnnxModel;
  readonly #graph: Graph;
  readonly #names: readonly string[];

  constructor(model: OnnxModel, graph: Graph, names: readonly string[]) {
    this.#model = model;
    this.#graph = graph;
    this.#names = names;
  }

  constant(name: string, { shape, constant }: TracedValue): void {
    const numbers = constant as Float32Array;
    if (shape.every((length) => typeof length === "number")) this.#model.initializer(name, shape, numbers);
    else this.#filled(name, shape, numbers[0] as number);
  }

  /** A constant with as many rows as the inputs have. */
  #filled(name: string, shape: readonly Length[], number: number): void {
    const model = this.#model;
    const source = this.#graph.values.findIndex(({ input, shape: lengths }) => input !== undefined && typeof lengths[0] !== "number");
    model.node("Shape", [this.#names[source] as string], `${name}.rows`, { start: 0, end: 1 });
    const parts = shape.map((length, axis) => {
      if (typeof length === "number") return model.integers(`${name}.length${axis}`, [length]);
      if (length.rows === 1) return `${name}.rows`;
      model.node("Mul", [`${name}.rows`, model.integers(`${name}.times${axis}`, [length.rows])], `${name}.length${axis}`);
      return `${name}.length${axis}`;
    });
    model.node("Concat", parts, `${name}.shape`, { axis: 0 });
    model.node("Expand", [model.scalar(`${name}.number`, number), `${name}.shape`], name);
  }

  operation(name: string, { shape }: TracedValue, { name: kind, operands, numbers }: TracedOperation): void {
    const model = this.#model;
    const inputs = operands.map((at) => this.#names[at] as string);
    const simple = SIMPLE[kind];
    if (simple !== undefined) return model.node(simple, inputs, name);
    const write = this.#writers[kind];
    if (write === undefined) throw cannot(`ONNX has no form of ${kind} here`);
    write({ name, inputs, numbers, shape });
  }

  readonly #writers: Readonly<Record<string, (node: NodeRequest) => void>> = {
    affine: ({ name, inputs, numbers: { p, q } }) => {
      const model = this.#model;
      const scaled = q === 0 ? name : `${name}.scaled`;
      model.node("Mul", [inputs[0] as string, model.scalar(`${name}.factor`, p as number)], scaled);
      if (q !== 0) model.node("Add", [scaled, model.scalar(`${name}.summand`, q as number)], name);
    },
    clamp: ({ name, inputs, numbers: { p, q } }) => {
      const model = this.#model;
      model.node("Clip", [inputs[0] as string, model.scalar(`${name}.low`, p as number), model.scalar(`${name}.high`, q as number)], name);
    },
    square: ({ name, inputs: [x = ""] }) => this.#model.node("Mul", [x, x], name),
    silu: ({ name, inputs: [x = ""] }) => {
      this.#model.node("Sigmoid", [x], `${name}.gate`);
      this.#model.node("Mul", [x, `${name}.gate`], name);
    },
    mask: ({ name, inputs: [x = "", condition = ""] }) => {
      const model = this.#model;
      model.node("Cast", [condition], `${name}.chosen`, { to: BOOL });
      model.node("Where", [`${name}.chosen`, x, model.scalar(`${name}.zero`, 0)], name);
    },
    linear: ({ name, inputs: [x = "", weight = "", bias] }) => {
      this.#model.node("MatMul", [x, weight], bias === undefined ? name : `${name}.product`);
      if (bias !== undefined) this.#model.node("Add", [`${name}.product`, bias], name);
    },
    conv2d: (node) => this.#convolution(node),
    softmax: ({ name, inputs, numbers: { isLogarithm } }) =>
      this.#model.node(isLogarithm === 1 ? "LogSoftmax" : "Softmax", inputs, name, { axis: -1 }),
    normalize: ({ name, inputs, numbers: { eps }, shape }) => {
      const count = shape.at(-1) as number;
      const ones = this.#model.initializer(`${name}.ones`, [count], new Float32Array(count).fill(1));
      this.#model.node("LayerNormalization", [...inputs, ones], name, { axis: -1, epsilon: { float: eps as number } });
    },
    sum: ({ name, inputs, numbers: { axes, isMean }, shape }) => {
      const model = this.#model;
      if (isMean === 1) model.node("ReduceMean", inputs, `${name}.flat`, { axes: axes as readonly number[], keepdims: 0 });
      else model.node("ReduceSum", [...inputs, model.integers(`${name}.axes`, axes as readonly number[])], `${name}.flat`, { keepdims: 0 });
      this.#reshape(name, `${name}.flat`, shape);
    },
    max: ({ name, inputs, numbers: { axes }, shape }) => {
      this.#model.node("ReduceMax", inputs, `${name}.flat`, { axes: axes as readonly number[], keepdims: 0 });
      this.#reshape(name, `${name}.flat`, shape);
    },
    slice: ({ name, inputs, numbers: { axis, start, count, isWhole } }) => {
      const model = this.#model;
      if (isWhole === 1) return model.node("Identity", inputs, name);
      const bounds = [start, (start as number) + (count as number), axis] as readonly number[];
      const given = ["starts", "ends", "axes"].map((part, at) => model.integers(`${name}.${part}`, [bounds[at] as number]));
      model.node("Slice", [...inputs, ...given], name);
    },
    concat: ({ name, inputs, numbers: { axis } }) => this.#model.node("Concat", inputs, name, { axis: axis as number }),
    transpose: ({ name, inputs, shape }) => {
      const axes = shape.map((_, axis) => axis);
      const last = axes.length - 1;
      this.#model.node("Transpose", inputs, name, { perm: [...axes.slice(0, -2), last, last - 1] });
    },
    reshape: ({ name, inputs: [x = ""], shape }) => this.#reshape(name, x, shape),
  };

  #reshape(name: string, x: string, shape: readonly Length[]): void {
    const lengths = shape.map((length) => (typeof length === "number" ? length : -1));
    if (lengths.filter((length) => length === -1).length > 1) throw cannot("a shape has the number of rows twice");
    this.#model.node("Reshape", [x, this.#model.integers(`${name}.shape`, lengths)], name);
  }

  /** Images and kernels have their channels last here, and first in ONNX. */
  #convolution({ name, inputs: [image = "", kernel = "", ...bias], numbers: { stride, pads }, shape }: NodeRequest): void {
    const model = this.#model;
    model.node("Transpose", [image], `${name}.image`, { perm: [0, 3, 1, 2] });
    model.node("Transpose", [kernel], `${name}.kernel`, { perm: [3, 2, 0, 1] });
    const steps = [stride, stride] as readonly number[];
    model.node("Conv", [`${name}.image`, `${name}.kernel`, ...bias], `${name}.convolved`, {
      strides: steps,
      pads: pads as readonly number[],
    });
    model.node("Transpose", [`${name}.convolved`], `${name}.last`, { perm: [0, 2, 3, 1] });
    this.#reshape(name, `${name}.last`, shape);
  }
}

/** `TensorProto.DataType.BOOL`. */
const BOOL = 9;

interface NodeRequest {
  readonly name: string;
  readonly inputs: readonly string[];
  readonly numbers: TracedOperation["numbers"];
  readonly shape: readonly Length[];
}

function dimensions(shape: readonly Length[]): OnnxDimension[] {
  return shape.map((length) => (typeof length === "number" ? length : length.rows === 1 ? "rows" : `${length.rows} * rows`));
}
