/** Import forms and top levels as the loaders and compilers of the ecosystem leave them. */
import { describe, expect, test } from "vitest";
import { ModuleTable } from "./parse-module.ts";

function importsOf(text: string, isModule: boolean): Record<string, unknown> {
  return Object.fromEntries(new ModuleTable(text, isModule).imports);
}

describe("imports", () => {
  test("of an ES module", () => {
    const text = `import whole, { named, other as renamed } from "a";
      import * as space from "./b.js";
      import data from "./c.json" with { type: "json" };
      const late = await import("d");
      const { picked } = await import("e");`;
    expect(importsOf(text, true)).toMatchObject({
      whole: { via: "import", specifier: "a", path: ["default"] },
      named: { specifier: "a", path: ["named"] },
      renamed: { specifier: "a", path: ["other"] },
      space: { specifier: "./b.js", path: [] },
      data: { specifier: "./c.json", path: ["default"], attributes: { type: "json" } },
      late: { via: "import", specifier: "d", path: [] },
      picked: { via: "import", specifier: "e", path: ["picked"] },
    });
  });

  test("of TypeScript's CommonJS output", () => {
    const text = `"use strict";
      Object.defineProperty(exports, "__esModule", { value: true });
      const plain_1 = require("./plain");
      const default_1 = __importDefault(require("./default"));
      const star = __importStar(require("./star"));
      const tslib_1 = require("tslib"), other = tslib_1.__importStar(require("./other"));`;
    const table = new ModuleTable(text, false);
    expect(table.isStrict).toBe(true);
    expect(Object.fromEntries(table.imports)).toMatchObject({
      plain_1: { via: "require", specifier: "./plain", path: [] },
      default_1: { specifier: "./default", interop: "default" },
      star: { specifier: "./star", interop: "star" },
      other: { specifier: "./other", interop: "star" },
    });
  });

  test("of tsx's and esbuild's CommonJS output", () => {
    const text = `var import_a = require("a");
      var import_b = __toESM(require("b"));
      var import_c = __toESM(require("c"), 1);
      const { picked } = require("d");
      const member = require("e").deep.member;`;
    expect(importsOf(text, false)).toMatchObject({
      import_a: { via: "require", specifier: "a" },
      import_b: { specifier: "b", interop: "toEsm", isNodeMode: false },
      import_c: { specifier: "c", interop: "toEsm", isNodeMode: true },
      picked: { specifier: "d", path: ["picked"] },
      member: { specifier: "e", path: ["deep", "member"] },
    });
  });

  test("of SWC's, Babel's and Rolldown's output", () => {
    const text = `const _swc = require("swc");
      const _star = /*#__PURE__*/ _interop_require_wildcard(require("star"));
      var _babel = _interopRequireDefault(require("babel"));
      let late = require("late");
      late = __toESM(late);`;
    expect(importsOf(text, false)).toMatchObject({
      _swc: { specifier: "swc" },
      _star: { specifier: "star", interop: "star" },
      _babel: { specifier: "babel", interop: "default" },
      late: { specifier: "late", interop: "toEsm" },
    });
  });

  test("of Vite's module runner", () => {
    const text = `"use strict";async (__vite_ssr_exports__, __vite_ssr_import_meta__, __vite_ssr_import__) => {{
      const __vite_ssr_import_0__ = await __vite_ssr_import__("/@fs/project/a.ts", {"importedNames":["b"]});
      Object.defineProperty(__vite_ssr_exports__, "shown", { enumerable: true, configurable: true, get(){ try { return hidden } catch {} } });
      __vite_ssr_exportName__("other", () => { try { return second } catch {} });
      const top = 1;
      class hidden {}
      function second() { return top }
    }}`;
    const table = new ModuleTable(text, false);
    expect(table.isVite).toBe(true);
    expect(table.imports.get("__vite_ssr_import_0__")).toMatchObject({ via: "vite", specifier: "/@fs/project/a.ts", path: [] });
    const [hidden, second] = ["class hidden {}", "function second() { return top }"];
    expect(table.exportAt({ offset: text.indexOf(hidden), length: hidden.length })).toBe("shown");
    expect(table.exportAt({ offset: text.indexOf(second), length: second.length })).toBe("other");
    expect(table.isTopLevel("top", { offset: text.indexOf(second), length: second.length })).toBe(true);
  });

  test("a require of one's own", () => {
    const text = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url); const dep = require("dep");`;
    expect(importsOf(text, true)).toMatchObject({ require: { via: "create-require" }, dep: { via: "require", specifier: "dep" } });
  });
});

describe("exports by position", () => {
  test.each<[text: string, declaration: string, name: string | undefined]>([
    ["export function f() {}", "function f() {}", "f"],
    ["export const a = () => 1;", "() => 1", "a"],
    ["class A {} export { A as B };", "class A {}", "B"],
    ["export default class A {}", "class A {}", "default"],
    ["export default () => 1", "() => 1", "default"],
    ["function kept() {}", "function kept() {}", undefined],
    ["export const a = [() => 1];", "() => 1", undefined],
  ])("%s", (text, declaration, name) => {
    const table = new ModuleTable(text, true);
    expect(table.exportAt({ offset: text.indexOf(declaration), length: declaration.length })).toBe(name);
  });
});

describe("top level", () => {
  test("variables of calls are not top level, those of loader wrappers are", () => {
    const inner = "() => [top, local, globalThing]";
    const plain = `const top = 1; function make(local) { return ${inner} }`;
    const at = (text: string): { offset: number; length: number } => ({ offset: text.indexOf(inner), length: inner.length });
    for (const text of [
      plain,
      `(()=>{"use strict"; ${plain} })();`,
      `({"Object.<anonymous>":function(module,exports,require){${plain}}})`,
    ]) {
      const table = new ModuleTable(text, false);
      expect(["top", "local", "globalThing"].map((name) => table.isTopLevel(name, at(text)))).toEqual([true, false, true]);
    }
  });

  test("10,000 top-level names parse in linear time", () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `const name${index} = ${index};`).join("\n");
    // Processor time, as other processes may have the processor meanwhile.
    const start = process.cpuUsage();
    expect(new ModuleTable(names, true).declares("name9999")).toBe(true);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(2000);
  });
});
