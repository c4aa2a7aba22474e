import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type KernelBuild, KERNEL_NAMES } from "./kernels.ts";
import { KERNELS_WASM } from "./kernels-wasm.ts";
import { nativeBuild } from "./native-build.ts";
import { wasmBuild } from "./wasm-build.ts";

const PREBUILDS = new URL("../../prebuilds/", import.meta.url);
const isForThisPlatform = ["linux", "darwin"].includes(process.platform) && ["x64", "arm64"].includes(process.arch);
const builds: [string, () => KernelBuild | undefined][] = [["WebAssembly", wasmBuild]];
if (isForThisPlatform) builds.push(["the addon", nativeBuild]);

test("every binary of the kernels has its recorded checksum", () => {
  const checksums = JSON.parse(readFileSync(new URL("kernels-checksums.json", PREBUILDS), "utf8")) as Record<string, string>;
  const sum = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
  const files = readdirSync(PREBUILDS).filter((file) => /^kernels-.*\.node$/.test(file));
  expect(files).toHaveLength(6);
  const found = files.map((file) => [file, sum(readFileSync(new URL(file, PREBUILDS)))]);
  expect(Object.fromEntries([...found, ["kernels.wasm", sum(Buffer.from(KERNELS_WASM, "base64"))]])).toEqual(checksums);
});

test.runIf(isForThisPlatform)("this platform has the addon", () => {
  expect(nativeBuild()?.name).toBe("native");
});

test.each(builds)("a kernel whose range leaves the memory throws before it writes: %s", (_, make) => {
  const build = make() as KernelBuild;
  expect(Object.keys(build.kernels)).toEqual(expect.arrayContaining([...KERNEL_NAMES]));
  const words = new Uint32Array(build.buffer(), build.words, 16);
  const numbers = new Float32Array(build.buffer());
  const end = build.buffer().byteLength;
  const EXP = 1;
  const exponential = (out: number, count: number): void => {
    words.set([EXP, out, end - 64, count]);
    build.kernels.unary();
  };
  numbers.fill(1, (end - 128) / 4);
  exponential(end - 128, 16);
  expect(numbers[(end - 128) / 4]).toBeCloseTo(Math.E, 5);
  for (const [out, count] of [
    [end - 128, 17],
    [end - 60, 16],
    [end - 127, 1],
    [0xffff_fff0, 1],
    [end - 128, 0xffff_ffff],
  ] as const)
    expect(() => exponential(out, count)).toThrow(/unreachable|a range leaves the memory/);
  expect(numbers[end / 4 - 1]).toBe(1);
});

test.each(builds)("words of any value end in an error or in numbers, never outside of the memory: %s", (_, make) => {
  const build = make() as KernelBuild;
  const words = new Uint32Array(build.buffer(), build.words, 16);
  const size = build.buffer().byteLength;
  let state = 1;
  const next = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const odd = [0, 1, 4, 0xffff_ffff, 0x4000_0000, 0x8000_0000, size - 4, size, 0x1_0000];
  let errors = 0;
  for (let round = 0; round < 20_000; round++) {
    for (let word = 0; word < 16; word++)
      words[word] = next(3) === 0 ? (odd[next(odd.length)] as number) : next(2) === 0 ? build.start + 4 * next(64) : next(9);
    try {
      build.kernels[KERNEL_NAMES[round % KERNEL_NAMES.length] as (typeof KERNEL_NAMES)[number]]();
    } catch {
      errors += 1;
    }
  }
  expect(errors).toBeGreaterThan(1000);
});
