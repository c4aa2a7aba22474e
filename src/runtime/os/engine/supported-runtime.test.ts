import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { NODE_MIN, unsupportedRuntime } from "./supported-runtime.ts";

const on = (node: string, others: Record<string, string> = {}): string | undefined =>
  unsupportedRuntime({ process: { versions: { node, ...others } } });

describe("the runtimes that are refused", () => {
  test("are those that package.json refuses", () => {
    const { engines } = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8")) as {
      engines: { node: string };
    };
    expect(engines.node).toBe(`>=${NODE_MIN.join(".")}`);
  });

  test.each(["18.20.8", "20.20.2", "22.17.1", "9.0.0"])("Node %s", (version) => {
    expect(on(version)).toBe(
      `Cannot load Shoal: it runs on Node.js 22.18 or newer, and not on Bun or Deno: received Node.js ${version}. Run the program with Node.js 22.18 or newer.`,
    );
  });

  test("Bun, Deno and what says nothing", () => {
    expect(on("24.3.0", { bun: "1.3.0" })).toContain("received Bun 1.3.0.");
    expect(on("24.3.0", { deno: "2.5.0" })).toContain("received Deno 2.5.0.");
    expect(unsupportedRuntime({ Deno: { version: { deno: "1.40.0" } } })).toContain("received Deno 1.40.0.");
    expect(unsupportedRuntime({})).toContain("received a runtime without the version of Node.js.");
  });

  test.each(["22.18.0", "22.20.1", "23.0.0", "24.21.0", "26.0.0", "25.0.0-nightly20250801", "100.1.0"])("are not Node %s", (version) => {
    expect(on(version)).toBeUndefined();
  });
});
