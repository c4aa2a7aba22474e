/** All tests of operations and layers once more, on the kernels in WebAssembly. */
import { afterAll, expect, test } from "vitest";

const before = process.env["SHOAL_NATIVE"];
process.env["SHOAL_NATIVE"] = "0";
const { memory } = await import("./memory.ts");
await import("./tensor.test.ts");
await import("./layers.test.ts");
await import("./pytorch.test.ts");
await import("./further-layers.test.ts");

afterAll(() => {
  if (before === undefined) delete process.env["SHOAL_NATIVE"];
  else process.env["SHOAL_NATIVE"] = before;
});

test("SHOAL_NATIVE=0 uses WebAssembly", () => {
  expect(memory.build.name).toBe("wasm");
});
