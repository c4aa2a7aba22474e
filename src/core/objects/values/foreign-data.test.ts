/** The checks of arrays of several dimensions. */
import { expect, test } from "vitest";
import { ArrowData, NdArray, ndArrayFrom, ndArrayPayload, Tensor, tensorFrom, tensorPayload } from "./foreign-data.ts";

test("an array has a typed array, and as many elements as its shape says", () => {
  const array = new NdArray(new Float32Array(6), [2, 3]);
  expect(array).toMatchObject({ dtype: "float32", shape: [2, 3] });
  expect(new NdArray(new Uint8Array(2), [2], "bool").dtype).toBe("bool");
  expect(() => new NdArray(new Float32Array(6), [2, 2])).toThrow(RangeError);
  expect(() => new NdArray(new Float32Array(4), [-2, -2])).toThrow(RangeError);
  expect(() => new NdArray([1] as never, [1])).toThrow(TypeError);
  expect(() => new NdArray(new Float32Array(1), [1], "bool")).toThrow(TypeError);
  expect(() => new ArrowData([] as never)).toThrow(TypeError);
});

test("its form on the way gives the same array", () => {
  for (const array of [new NdArray(new BigInt64Array(4), [2, 2]), new NdArray(new Uint8Array(1), [1, 1], "bool")])
    expect(ndArrayFrom(ndArrayPayload(array))).toEqual(array);
});

test("elements lie in the typed array that their type says, in as many places", () => {
  expect(new NdArray(new BigInt64Array(2), [2], "datetime64[ns]").dtype).toBe("datetime64[ns]");
  expect(new NdArray(new Float64Array(4), [2], "complex128").shape).toEqual([2]);
  expect(() => new NdArray(new Float32Array(3), [3], "complex64")).toThrow(RangeError);
  expect(() => new NdArray(new Float32Array(1), [1], "datetime64[ns]")).toThrow(TypeError);
  expect(() => new NdArray(new Uint16Array(1), [1], "bfloat16")).toThrow(TypeError);
  expect(() => new Tensor(new BigInt64Array(1), [1], { dtype: "datetime64[ns]" })).toThrow(TypeError);
  const tensor = new Tensor(new Uint16Array(2), [1, 2], { dtype: "bfloat16", requiresGrad: true });
  expect(tensor).toMatchObject({ dtype: "bfloat16", shape: [1, 2], requiresGrad: true });
  expect(tensorFrom(tensorPayload(tensor))).toEqual(tensor);
});
