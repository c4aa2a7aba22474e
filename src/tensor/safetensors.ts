/**
 * The format safetensors: named tensors in one array of bytes, which Python reads and `load_state_dict` takes.
 *
 * Parameters of layers are written in PyTorch's layout, bare tensors as they are.
 * Reading believes nothing: lengths, offsets, types and shapes are checked before a number is read, and nothing is executed.
 */
import { Layer } from "./layer.ts";
import { HEADER_BYTES_MAX } from "./limits.ts";
import { layoutOf } from "./parameters.ts";
import { sizeOf } from "./shapes.ts";
import { type StoredTensor, storedShape, toStored } from "./stored-tensor.ts";
import { Tensor } from "./tensor.ts";

/** A value of {@link saveSafetensors}. */
export type Storable = Tensor | StoredTensor;

const LENGTH_BYTES = 8;
const F32_BYTES = 4;

/**
 * Writes a layer's parameters, or named tensors.
 *
 * @example
 * ```ts
 * const bytes = saveSafetensors(network);
 * network.load(loadSafetensors(bytes));
 * ```
 */
export function saveSafetensors(
  named: Layer | ReadonlyMap<string, Storable> | Readonly<Record<string, Storable>>,
): Uint8Array<ArrayBuffer> {
  const header: Record<string, { dtype: "F32"; shape: readonly number[]; data_offsets: [number, number] }> = Object.create(null) as never;
  const parts: Float32Array[] = [];
  let end = 0;
  for (const [name, value] of entriesOf(named)) {
    const { shape, data } = value instanceof Tensor ? storedOf(value) : value;
    if (name === "__metadata__" || !(data instanceof Float32Array) || data.length !== sizeOf(shape))
      throw new RangeError(
        `Cannot save tensors: ${name} has no name and numbers of a tensor: received ${data.length} numbers for [${shape.join(", ")}].`,
      );
    header[name] = { dtype: "F32", shape, data_offsets: [end, end + data.length * F32_BYTES] };
    end += data.length * F32_BYTES;
    parts.push(data);
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = Math.ceil(text.length / LENGTH_BYTES) * LENGTH_BYTES;
  const bytes = new Uint8Array(LENGTH_BYTES + length + end);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(length), true);
  bytes.fill(0x20, LENGTH_BYTES, LENGTH_BYTES + length);
  bytes.set(text, LENGTH_BYTES);
  let at = LENGTH_BYTES + length;
  for (const data of parts) for (const value of data) at = writeFloat(view, at, value);
  return bytes;
}

function writeFloat(view: DataView, at: number, value: number): number {
  view.setFloat32(at, value, true);
  return at + F32_BYTES;
}

/**
 * Reads the tensors of a file, `F32` and `F64`, in the layout that they have there.
 *
 * @throws RangeError when the bytes are no whole file of this format
 */
export function loadSafetensors(bytes: Uint8Array): Map<string, StoredTensor> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < LENGTH_BYTES) throw broken("the file is shorter than its length of a header", bytes.length);
  const length = view.getBigUint64(0, true);
  if (length > BigInt(HEADER_BYTES_MAX) || length > BigInt(bytes.length - LENGTH_BYTES))
    throw broken(`its ${bytes.length} bytes do not hold the header`, length);
  const start = LENGTH_BYTES + Number(length);
  const header = parseHeader(bytes.subarray(LENGTH_BYTES, start));
  const entries = Array.from(header, ([name, value]) => ({ name, ...checkedEntry(name, value) })).toSorted(
    (a, b) => a.begin - b.begin || a.end - b.end,
  );
  let end = 0;
  const stored = new Map<string, StoredTensor>();
  for (const entry of entries) {
    if (entry.begin !== end) throw broken(`tensors lie behind each other without gaps, and ${entry.name} does not`, entry.begin);
    end = entry.end;
    if (start + end > bytes.length) throw broken(`${entry.name} ends behind the file`, end);
  }
  if (start + end !== bytes.length) throw broken("there are bytes behind the last tensor", bytes.length - start - end);
  for (const { name, shape, width, begin } of entries) {
    const data = new Float32Array(sizeOf(shape));
    for (let at = 0; at < data.length; at++)
      data[at] =
        width === F32_BYTES ? view.getFloat32(start + begin + at * width, true) : view.getFloat64(start + begin + at * width, true);
    stored.set(name, { shape, data });
  }
  return stored;
}

function storedOf(node: Tensor): StoredTensor {
  const layout = layoutOf(node);
  return { shape: storedShape(node.shape, layout), data: toStored(node.toArray(), node.shape, layout) };
}

function entriesOf(named: Layer | ReadonlyMap<string, Storable> | Readonly<Record<string, Storable>>): Iterable<[string, Storable]> {
  if (named instanceof Layer) return named.namedParameters();
  return named instanceof Map ? (named as ReadonlyMap<string, Storable>) : Object.entries(named as Readonly<Record<string, Storable>>);
}

function parseHeader(bytes: Uint8Array): Map<string, unknown> {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new RangeError(`Cannot read safetensors: the header is no JSON: received ${(error as Error).message}.`, { cause: error });
  }
  if (typeof header !== "object" || header === null || Array.isArray(header))
    throw broken("the header is no object", JSON.stringify(header));
  return new Map(Object.entries(header).filter(([name]) => name !== "__metadata__"));
}

function checkedEntry(name: string, value: unknown): { shape: readonly number[]; width: number; begin: number; end: number } {
  const { dtype, shape, data_offsets: offsets } = (value ?? {}) as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
  const isCounts = (list: unknown): list is number[] =>
    Array.isArray(list) && list.every((count) => Number.isSafeInteger(count) && (count as number) >= 0);
  if (dtype !== "F32" && dtype !== "F64") throw broken(`${name} is F32 or F64`, JSON.stringify(dtype));
  if (!isCounts(shape)) throw broken(`the shape of ${name} is a list of whole numbers`, JSON.stringify(shape));
  if (!isCounts(offsets) || offsets.length !== 2) throw broken(`the offsets of ${name} are two whole numbers`, JSON.stringify(offsets));
  const [begin, end] = offsets as [number, number];
  const width = dtype === "F32" ? F32_BYTES : 2 * F32_BYTES;
  if (end - begin !== sizeOf(shape) * width)
    throw broken(`${name} of shape [${shape.join(", ")}] has ${sizeOf(shape) * width} bytes`, end - begin);
  return { shape, width, begin, end };
}

function broken(reason: string, received: unknown): RangeError {
  return new RangeError(`Cannot read safetensors: ${reason}: received ${String(received)}.`);
}
