import fc from "fast-check";
import { expect, test } from "vitest";
import { Conv2d, Linear, loadSafetensors, Random, saveSafetensors, tensor, withRandom } from "./index.ts";

function fileOf(header: unknown, numbers = 4): Uint8Array {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + 4 * numbers);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

const entry = (change: object): object => ({ a: { dtype: "F32", shape: [4], data_offsets: [0, 16], ...change } });

test("tensors of any names and shapes come back bit by bit", () => {
  const shape = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 });
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), shape, { maxKeys: 6 }), (shapes) => {
      const named = new Map(
        Object.entries(shapes).map(([name, lengths]) => {
          const size = lengths.reduce((product, length) => product * length, 1);
          return [name, { shape: lengths, data: Float32Array.from({ length: size }, (_, at) => Math.sin(at) * 1e9) }];
        }),
      );
      expect(new Map(loadSafetensors(saveSafetensors(named)))).toEqual(named);
    }),
    { numRuns: 200, seed: 1 },
  );
});

test("layers go through files in PyTorch's layout, bare tensors as they are", () => {
  const make = (seed: number): Conv2d => withRandom(new Random(seed), () => new Conv2d(3, 5, [2, 4]));
  const [first, second] = [make(1), make(2)];
  const stored = loadSafetensors(saveSafetensors(first));
  expect(stored.get("weight")?.shape).toEqual([5, 3, 2, 4]);
  second.load(stored);
  expect(second.parameters.data).toEqual(first.parameters.data);
  expect(loadSafetensors(saveSafetensors({ x: tensor([[1, 2]]) })).get("x")).toEqual({ shape: [1, 2], data: Float32Array.of(1, 2) });
});

test("weights of another layer are refused, and nothing has changed", () => {
  const layer = new Linear(2, 3);
  const before = layer.parameters.data.slice();
  const stored = (other: Linear): ReturnType<typeof loadSafetensors> => loadSafetensors(saveSafetensors(other));
  expect(() => layer.load(stored(new Linear(3, 2)))).toThrow("weight has shape [3, 2]: received [2, 3]");
  expect(() => layer.load(stored(new Linear(2, 3, { bias: false })))).toThrow("bias has shape [3]: received none");
  expect(() => new Linear(2, 3, { bias: false }).load(stored(layer))).toThrow('received "bias"');
  expect(layer.parameters.data).toEqual(before);
});

test.each<[string, Uint8Array, string]>([
  ["shorter than a length", new Uint8Array(7), "received 7"],
  ["a header beyond the file", fileOf(entry({})).subarray(0, 20), "do not hold the header"],
  ["a header of 2^63 bytes", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 128, 0), "received 9223372036854775808"],
  ["no JSON", fileOf("{"), "the header is no JSON"],
  ["a list", fileOf([]), "received []"],
  ["another type", fileOf(entry({ dtype: "I64" })), 'received "I64"'],
  ["a negative length", fileOf(entry({ shape: [-4] })), "received [-4]"],
  ["a shape that is too large", fileOf(entry({ shape: [2 ** 50] })), "received 16"],
  ["offsets that are none", fileOf(entry({ data_offsets: [0] })), "received [0]"],
  ["offsets that end before they begin", fileOf(entry({ data_offsets: [16, 0] })), "received -16"],
  ["a gap", fileOf(entry({ data_offsets: [16, 32] }), 8), "received 16"],
  ["numbers behind the end", fileOf(entry({}), 3), "a ends behind the file: received 16"],
  ["bytes behind the last", fileOf(entry({}), 5), "received 4"],
  ["overlap", fileOf({ ...entry({}), b: { dtype: "F32", shape: [4], data_offsets: [8, 24] } }, 6), "and b does not: received 8"],
  ["null", fileOf({ a: null }), "received undefined"],
])("a file that is none is a RangeError: %s", (_, bytes, text) => {
  expect(() => loadSafetensors(bytes)).toThrow(RangeError);
  expect(() => loadSafetensors(bytes)).toThrow(text);
});

test("a cut file is refused wherever it is cut, and flipped bytes never end in another error", () => {
  const whole = saveSafetensors(new Linear(2, 3));
  for (let length = 0; length < whole.length; length++) expect(() => loadSafetensors(whole.subarray(0, length))).toThrow(RangeError);
  for (let at = 0; at < whole.length; at++) {
    try {
      loadSafetensors(whole.with(at, (whole[at] as number) ^ 0x11));
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
  }
});
