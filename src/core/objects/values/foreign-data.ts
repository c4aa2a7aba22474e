/**
 * Data of Python that JavaScript has no type for: arrays of several dimensions, tensors, and Arrow tables.
 *
 * Foreign values hold shape and elements, or a stream in Arrow's interchange format, and need no library. In Python they arrive as NumPy
 * arrays, tensors of torch and pyarrow tables, without a copy if they are stored. `serializer.ts` lists their kinds; the reducer writes and
 * reads them.
 */
import { describeValue } from "../../../runtime/base/texts/describe.ts";

/** Typed arrays for the elements of an {@link NdArray}. */
export type NumericData =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

const DTYPES: Readonly<Record<string, string>> = {
  Int8Array: "int8",
  Uint8Array: "uint8",
  Int16Array: "int16",
  Uint16Array: "uint16",
  Int32Array: "int32",
  Uint32Array: "uint32",
  Float16Array: "float16",
  Float32Array: "float32",
  Float64Array: "float64",
  BigInt64Array: "int64",
  BigUint64Array: "uint64",
};

/** Element types without a typed array of their name: the array that holds them, and the places of each element. */
const OTHER_DTYPES: Readonly<Record<string, readonly [liesIn: string, places: number]>> = {
  bool: ["uint8", 1],
  complex64: ["float32", 2],
  complex128: ["float64", 2],
};
const TIME_DTYPE = /^(datetime64|timedelta64)\[[0-9a-zA-Z\u03bc]+\]$/;

/**
 * An array of several dimensions, as NumPy has them: row by row in one typed array. In Python it is a `numpy.ndarray`. Arrays of one dimension cross as typed arrays and
 * need none of this, but for elements that no typed array is named after.
 *
 * @example
 * const image = new NdArray(new Float32Array(64 * 64 * 3), [64, 64, 3]);
 * await python.task<(image: NdArray) => number>("model.py", "classify").remote(image);
 */
export class NdArray<D extends NumericData = NumericData> {
  /** The elements, those of the last dimension side by side. */
  readonly data: D;
  readonly shape: readonly number[];
  /**
   * NumPy's name of the type of the elements. `bool` has its elements in a `Uint8Array`, `datetime64[...]` and `timedelta64[...]` in a `BigInt64Array` (the smallest number is no time), and `complex64`
   * and `complex128` have the real and the imaginary part of each side by side.
   */
  readonly dtype: string;

  /** @throws TypeError unless given a typed array of the right element type, RangeError for a shape with another number of elements */
  constructor(data: D, shape: readonly number[], dtype?: string) {
    const { own, places } = checkedElements("an NdArray", data, dtype);
    checkShape("an NdArray", shape, data.length / places);
    this.data = data;
    this.shape = Object.freeze([...shape]);
    this.dtype = own;
  }
}

/** Further properties of a {@link Tensor}. */
export interface TensorOptions {
  /** torch's name of the type of the elements, where no typed array is named after it: `"bool"`, `"bfloat16"` (in a `Uint16Array`), `"complex64"`, `"complex128"`. */
  readonly dtype?: string;
  readonly requiresGrad?: boolean;
}

/**
 * A tensor of torch that lies in the memory of the CPU: row by row in one typed array. In Python it is a `torch.Tensor`, which shows these bytes and may be written to without anybody else seeing
 * that. The graph by which it was computed does not travel.
 *
 * @example
 * const weights = new Tensor(new Float32Array([1, 2, 3, 4]), [2, 2], { requiresGrad: true });
 */
export class Tensor<D extends NumericData = NumericData> {
  /** The elements, those of the last dimension side by side. */
  readonly data: D;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly requiresGrad: boolean;

  /** @throws TypeError unless given a typed array of the right element type, RangeError for a shape with another number of elements */
  constructor(data: D, shape: readonly number[], options: TensorOptions = {}) {
    const { dtype, requiresGrad } = options;
    const { own, places } = checkedElements("a Tensor", data, dtype);
    checkShape("a Tensor", shape, data.length / places);
    this.data = data;
    this.shape = Object.freeze([...shape]);
    this.dtype = own;
    this.requiresGrad = requiresGrad === true;
  }
}

function checkedElements(what: string, data: NumericData, dtype: string | undefined): { own: string; places: number } {
  const given = ArrayBuffer.isView(data) ? DTYPES[Object.prototype.toString.call(data).slice(8, -1)] : undefined;
  if (given === undefined)
    throw new TypeError(`Cannot make ${what}: its data is a typed array of numbers: received ${describeValue(data)}`);
  if (dtype === undefined || dtype === given) return { own: given, places: 1 };
  const [liesIn, places] =
    what === "a Tensor" && dtype === "bfloat16"
      ? (["uint16", 1] as const)
      : (OTHER_DTYPES[dtype] ?? (what === "an NdArray" && TIME_DTYPE.test(dtype) ? (["int64", 1] as const) : ["", 1]));
  if (liesIn !== given) throw new TypeError(`Cannot make ${what}: elements of type ${dtype} do not lie in ${describeValue(data)}`);
  return { own: dtype, places };
}

function checkShape(what: string, shape: readonly number[], elements: number): void {
  const wanted = shape.reduce((product, length) => product * length, 1);
  if (!shape.every((length) => Number.isSafeInteger(length) && length >= 0) || wanted !== elements)
    throw new RangeError(`Cannot make ${what}: ${elements} elements do not have the shape [${shape.join(", ")}]`);
}

/**
 * A table in Arrow's streaming format, as `tableToIPC` of the package apache-arrow writes and `tableFromIPC` reads it. In Python it is a `pyarrow.Table`; a frame or series of pandas
 * arrives here as one, too, and is the same frame again where it comes back.
 *
 * @example
 * const table = tableFromIPC((await python.task<() => ArrowData>("data.py", "load").remote()).stream);
 */
export class ArrowData {
  readonly stream: Uint8Array;

  /** @throws TypeError unless given a Uint8Array */
  constructor(stream: Uint8Array) {
    if (!(stream instanceof Uint8Array))
      throw new TypeError(`Cannot make ArrowData: a Uint8Array is needed: received ${describeValue(stream)}`);
    this.stream = stream;
  }
}

/** The wire form of an {@link NdArray}. */
type NdArrayPayload = [dtype: string, shape: readonly number[], data: NumericData];

export function ndArrayPayload({ dtype, shape, data }: NdArray): NdArrayPayload {
  return [dtype, shape, data];
}

export function ndArrayFrom(payload: unknown): NdArray {
  const [dtype, shape, data] = payload as NdArrayPayload;
  return new NdArray(data, shape, dtype);
}

/** The wire form of a {@link Tensor}. */
type TensorPayload = [dtype: string, shape: readonly number[], data: NumericData, requiresGrad: boolean];

export function tensorPayload({ dtype, shape, data, requiresGrad }: Tensor): TensorPayload {
  return [dtype, shape, data, requiresGrad];
}

export function tensorFrom(payload: unknown): Tensor {
  const [dtype, shape, data, requiresGrad] = payload as TensorPayload;
  return new Tensor(data, shape, { dtype, requiresGrad });
}
