/** Element types of arrays in observations and actions: names, typed arrays and ranges. */
import { describeValue } from "../../runtime/base/texts/describe.ts";

interface ArrayOfDtype {
  readonly float32: Float32Array;
  readonly float64: Float64Array;
  readonly int8: Int8Array;
  readonly uint8: Uint8Array;
  readonly int16: Int16Array;
  readonly uint16: Uint16Array;
  readonly int32: Int32Array;
  readonly uint32: Uint32Array;
}

export type Dtype = keyof ArrayOfDtype;
export type TypedArrayOf<D extends Dtype> = ArrayOfDtype[D];
export type NumericArray = ArrayOfDtype[Dtype];

interface DtypeFacts {
  readonly array: new (length: number) => NumericArray;
  readonly isFloat: boolean;
  readonly min: number;
  readonly max: number;
}

const FLOAT32_MAX = 3.402_823_466_385_288_6e38;

export const DTYPES: { readonly [D in Dtype]: DtypeFacts & { readonly array: new (length: number) => TypedArrayOf<D> } } = {
  float32: { array: Float32Array, isFloat: true, min: -FLOAT32_MAX, max: FLOAT32_MAX },
  float64: { array: Float64Array, isFloat: true, min: -Number.MAX_VALUE, max: Number.MAX_VALUE },
  int8: { array: Int8Array, isFloat: false, min: -(2 ** 7), max: 2 ** 7 - 1 },
  uint8: { array: Uint8Array, isFloat: false, min: 0, max: 2 ** 8 - 1 },
  int16: { array: Int16Array, isFloat: false, min: -(2 ** 15), max: 2 ** 15 - 1 },
  uint16: { array: Uint16Array, isFloat: false, min: 0, max: 2 ** 16 - 1 },
  int32: { array: Int32Array, isFloat: false, min: -(2 ** 31), max: 2 ** 31 - 1 },
  uint32: { array: Uint32Array, isFloat: false, min: 0, max: 2 ** 32 - 1 },
};

export function isDtype(value: unknown): value is Dtype {
  return typeof value === "string" && Object.hasOwn(DTYPES, value);
}

/** A list of numbers in any form: a typed array or a plain one. */
export function isNumberList(value: unknown): value is NumericArray | readonly number[] {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** The name of a value's element type, for messages. */
export function shownList(value: unknown): string {
  return isNumberList(value) ? `${value.constructor.name} of ${value.length} numbers` : describeValue(value);
}
