import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { wasmBuild } from "./kernels.ts";
import { KERNELS_WASM } from "./kernels-wasm.ts";

test("the text of the WebAssembly kernels has its recorded checksum", () => {
  const checksums = JSON.parse(readFileSync(new URL("../../prebuilds/kernels-checksums.json", import.meta.url), "utf8")) as object;
  expect(checksums).toHaveProperty(["kernels.wasm"], createHash("sha256").update(Buffer.from(KERNELS_WASM, "base64")).digest("hex"));
});

test("a kernel whose range leaves the memory throws before it writes", () => {
  const build = wasmBuild();
  const words = new Uint32Array(build.buffer(), build.words, 16);
  const numbers = new Float32Array(build.buffer());
  const end = build.buffer().byteLength;
  const add = (out: number, count: number): void => {
    words.set([1, out, end - 64, count]);
    build.kernels.unary();
  };
  numbers.fill(1, (end - 128) / 4);
  add(end - 128, 16);
  expect(numbers[(end - 128) / 4]).toBeCloseTo(Math.E, 5);
  for (const [out, count] of [
    [end - 128, 17],
    [end - 60, 16],
    [end - 127, 1],
    [0xffff_fff0, 1],
    [end - 128, 0xffff_ffff],
  ] as const)
    expect(() => add(out, count)).toThrow("unreachable");
  expect(numbers[end / 4 - 1]).toBe(1);
});
