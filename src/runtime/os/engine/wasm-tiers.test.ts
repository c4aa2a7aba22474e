/** The flags of V8 while a module of WebAssembly is loaded, and afterwards. */
import { afterEach, expect, test, vi } from "vitest";
import { loadPatiently } from "./wasm-tiers.ts";

const set = vi.spyOn(process.getBuiltinModule("node:v8"), "setFlagsFromString");
afterEach(() => set.mockClear());

/** The flags so far, each with its last value. */
function flags(): Record<string, string> {
  return Object.fromEntries(
    set.mock.calls.map(([flag]) => {
      const [, no = "", name = "", value = no === "" ? "true" : "false"] = /^--(no-)?([^=]+)(?:=(.*))?$/.exec(flag) ?? [];
      return [name, value];
    }),
  );
}

const USUAL = { "wasm-tiering-budget": "13000000", "wasm-lazy-validation": "false" };

test("a module is loaded with a larger budget, and what comes afterwards with the usual one", async () => {
  expect(await loadPatiently(() => Promise.resolve(flags()))).toEqual({
    "wasm-tiering-budget": "100000000",
    "wasm-lazy-validation": "true",
  });
  expect(flags()).toEqual(USUAL);
});

test("a module that cannot be loaded changes nothing", async () => {
  await expect(loadPatiently(() => Promise.reject(new Error("no such file")))).rejects.toThrow("no such file");
  expect(flags()).toEqual(USUAL);
});

test("what is said to be usual is what V8 says itself", async () => {
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  expect(options).toContain("default: --wasm-tiering-budget=13000000");
  expect(options).toContain("default: --no-wasm-lazy-validation");
});
