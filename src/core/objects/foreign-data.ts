/**
 * Data of Python that JavaScript has no type for: arrays of several dimensions, and Arrow tables.
 *
 * They hold what is needed to use them (shape and elements, a stream in Arrow's interchange format) without a library, and arrive in Python as NumPy arrays and
 * pyarrow tables, without a copy where they lie in the store. `serializer.ts` lists their kinds; the reducer writes and reads them.
 */
import { describeValue } from "../../base/describe.ts";

/** What the elements of an {@link NdArray} may lie in. */
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

/**
 * An array of several dimensions, as NumPy has them: row by row in one typed array. In Python it is a `numpy.ndarray`. Arrays of one dimension cross as typed arrays and
 * need none of this.
 *
 * @example
 * const image = new NdArray(new Float32Array(64 * 64 * 3), [64, 64, 3]);
 * await python.task<(image: NdArray) => number>("model.py", "classify").remote(image);
 */
export class NdArray<D extends NumericData = NumericData> {
  /** The elements, those of the last dimension side by side. */
  readonly data: D;
  readonly shape: readonly number[];
  /** NumPy's name of the type of the elements. `bool` has its elements in a `Uint8Array`. */
  readonly dtype: string;

  /** @throws TypeError for what is no typed array, RangeError for a shape of another number of elements */
  constructor(data: D, shape: readonly number[], dtype?: "bool") {
    const own = ArrayBuffer.isView(data) ? DTYPES[Object.prototype.toString.call(data).slice(8, -1)] : undefined;
    if (own === undefined || (dtype === "bool" && own !== "uint8"))
      throw new TypeError(`Cannot make an NdArray: its data is a typed array of numbers: received ${describeValue(data)}`);
    const wanted = shape.reduce((product, length) => product * length, 1);
    if (!shape.every((length) => Number.isSafeInteger(length) && length >= 0) || wanted !== data.length)
      throw new RangeError(`Cannot make an NdArray: ${data.length} elements do not have the shape [${shape.join(", ")}]`);
    this.data = data;
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype ?? own;
  }
}

/**
 * A table in Arrow's streaming format, as `tableToIPC` of the package apache-arrow writes and `tableFromIPC` reads it. In Python it is a `pyarrow.Table`.
 *
 * @example
 * const table = tableFromIPC((await python.task<() => ArrowData>("data.py", "load").remote()).stream);
 */
export class ArrowData {
  readonly stream: Uint8Array;

  /** @throws TypeError for what is no Uint8Array */
  constructor(stream: Uint8Array) {
    if (!(stream instanceof Uint8Array))
      throw new TypeError(`Cannot make ArrowData: a Uint8Array is needed: received ${describeValue(stream)}`);
    this.stream = stream;
  }
}

/** What an {@link NdArray} is on its way. */
export type NdArrayPayload = [dtype: string, shape: readonly number[], data: NumericData];

export function ndArrayPayload({ dtype, shape, data }: NdArray): NdArrayPayload {
  return [dtype, shape, data];
}

export function ndArrayFrom(payload: unknown): NdArray {
  const [dtype, shape, data] = payload as NdArrayPayload;
  return new NdArray(data, shape, dtype === "bool" ? dtype : undefined);
}
