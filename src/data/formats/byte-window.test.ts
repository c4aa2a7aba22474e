/** The memory of a window, which is that of the file where that is small. */
import { expect, test } from "vitest";
import { INFERENCE_BYTES } from "../limits.ts";
import { ByteWindow } from "./byte-window.ts";

async function* chunksOf(count: number, bytes: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < count; i += 1) yield new Uint8Array(bytes).fill(97);
}

test("a small file takes no room for the beginning of a large one", async () => {
  const window = new ByteWindow(chunksOf(1, 40), "a.csv");
  await window.fill(INFERENCE_BYTES);
  expect([window.length, window.isLast]).toEqual([40, true]);
  expect(window.bytes.length).toBeLessThan(1024);
});

test("a file in short chunks is read to the wanted bytes all the same", async () => {
  const window = new ByteWindow(chunksOf(500, 1000), "a.csv");
  await window.fill(250_000);
  expect(window.length).toBe(250_000);
  expect(window.bytes.subarray(window.start, window.end).every((byte) => byte === 97)).toBe(true);
  await window.grow();
  expect([window.length, window.isLast]).toEqual([500_000, false]);
});
