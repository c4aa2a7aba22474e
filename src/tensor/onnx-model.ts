/**
 * Writes the file format of ONNX: the messages of onnx.proto (IR version 8) in protobuf's encoding.
 *
 * The few messages that a model needs take fewer lines than a library for protobuf, which `shoal/tensor` could not load in browsers without weight. Callers give
 * names in the order of the graph; nothing is checked here.
 */
import type { Shape } from "./shapes.ts";

type Attributes = Readonly<Record<string, number | readonly number[] | { readonly float: number }>>;

/** A length, or the name of an open one. */
export type OnnxDimension = number | string;

const IR_VERSION = 8;
const OPSET = 17;
const FLOAT = 1;
const INT64 = 7;

/** Field numbers of onnx.proto, by message. */
const MODEL = { irVersion: 1, producerName: 2, graph: 7, opsetImport: 8, metadataProps: 14 };
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12 };
const NODE = { input: 1, output: 2, name: 3, opType: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, float: 2, int: 3, ints: 8, type: 20 };
const TENSOR = { dims: 1, dataType: 2, name: 8, rawData: 9 };
const ATTRIBUTE_TYPE = { float: 1, int: 2, ints: 7 };

export class OnnxModel {
  readonly #nodes: Message[] = [];
  readonly #initializers = new Map<string, Message>();
  readonly #inputs: Message[] = [];
  readonly #outputs: Message[] = [];

  node(opType: string, inputs: readonly string[], output: string, attributes: Attributes = {}): void {
    const node = new Message();
    for (const input of inputs) node.text(NODE.input, input);
    node.text(NODE.output, output).text(NODE.name, output).text(NODE.opType, opType);
    for (const [name, value] of Object.entries(attributes)) node.message(NODE.attribute, attribute(name, value));
    this.#nodes.push(node);
  }

  input(name: string, shape: readonly OnnxDimension[]): void {
    this.#inputs.push(valueInfo(name, shape));
  }

  output(name: string, shape: readonly OnnxDimension[]): void {
    this.#outputs.push(valueInfo(name, shape));
  }

  /** Stores numbers. @returns the name */
  initializer(name: string, shape: Shape, numbers: Float32Array): string {
    const bytes = new DataView(new ArrayBuffer(4 * numbers.length));
    for (const [at, number] of numbers.entries()) bytes.setFloat32(4 * at, number, true);
    return this.#store(name, { shape, dataType: FLOAT, bytes });
  }

  scalar(name: string, number: number): string {
    return this.initializer(name, [], Float32Array.of(number));
  }

  integers(name: string, numbers: readonly number[]): string {
    const bytes = new DataView(new ArrayBuffer(8 * numbers.length));
    for (const [at, number] of numbers.entries()) bytes.setBigInt64(8 * at, BigInt(number), true);
    return this.#store(name, { shape: [numbers.length], dataType: INT64, bytes });
  }

  #store(name: string, { shape, dataType, bytes }: { shape: Shape; dataType: number; bytes: DataView<ArrayBuffer> }): string {
    const tensor = new Message();
    for (const length of shape) tensor.integer(TENSOR.dims, length);
    tensor.integer(TENSOR.dataType, dataType).text(TENSOR.name, name).bytes(TENSOR.rawData, new Uint8Array(bytes.buffer));
    this.#initializers.set(name, tensor);
    return name;
  }

  toBytes(metadata: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
    const graph = new Message();
    for (const node of this.#nodes) graph.message(GRAPH.node, node);
    graph.text(GRAPH.name, "shoal");
    for (const tensor of this.#initializers.values()) graph.message(GRAPH.initializer, tensor);
    for (const input of this.#inputs) graph.message(GRAPH.input, input);
    for (const output of this.#outputs) graph.message(GRAPH.output, output);
    const model = new Message().integer(MODEL.irVersion, IR_VERSION).text(MODEL.producerName, "shoal").message(MODEL.graph, graph);
    model.message(MODEL.opsetImport, new Message().text(1, "").integer(2, OPSET));
    for (const [key, value] of Object.entries(metadata)) model.message(MODEL.metadataProps, new Message().text(1, key).text(2, value));
    return model.toBytes();
  }
}

function attribute(name: string, value: Attributes[string]): Message {
  const message = new Message().text(ATTRIBUTE.name, name);
  if (typeof value === "number") return message.integer(ATTRIBUTE.int, value).integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.int);
  if ("float" in value) return message.float(ATTRIBUTE.float, value.float).integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.float);
  for (const each of value) message.integer(ATTRIBUTE.ints, each);
  return message.integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.ints);
}

function valueInfo(name: string, shape: readonly OnnxDimension[]): Message {
  const dimensions = new Message();
  for (const length of shape)
    dimensions.message(1, typeof length === "number" ? new Message().integer(1, length) : new Message().text(2, length));
  const type = new Message().integer(1, FLOAT).message(2, dimensions);
  return new Message().text(1, name).message(2, new Message().message(1, type));
}

const encoder = new TextEncoder();
/** Wire types of protobuf. */
const VARINT = 0;
const LENGTH = 2;
const FIXED32 = 5;

/** A message of protobuf, field after field. */
class Message {
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  integer(field: number, value: number): this {
    return this.#key(field, VARINT).#append(varint(value));
  }

  float(field: number, value: number): this {
    const bytes = new DataView(new ArrayBuffer(4));
    bytes.setFloat32(0, value, true);
    return this.#key(field, FIXED32).#append(new Uint8Array(bytes.buffer));
  }

  text(field: number, value: string): this {
    return this.bytes(field, encoder.encode(value));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#key(field, LENGTH).#append(varint(value.length)).#append(value);
  }

  message(field: number, value: Message): this {
    this.#key(field, LENGTH).#append(varint(value.#size));
    for (const part of value.#parts) this.#append(part);
    return this;
  }

  #key(field: number, type: number): this {
    return this.#append(varint(field * 8 + type));
  }

  #append(part: Uint8Array): this {
    this.#parts.push(part);
    this.#size += part.length;
    return this;
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#size);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}

/** Seven bits a byte, the lowest first. A negative number has 64 bits, as protobuf has it. */
function varint(value: number): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low + 128 : low);
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}
