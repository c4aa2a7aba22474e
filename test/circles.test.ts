/**
 * Holds that no files import each other in a circle: under `src`, imports of types included, and in `python/shoal`, imports inside functions included.
 *
 * A failure shows the shortest circle of each file that is in one. Ways out: move a type to where it belongs, pass the dependency as a
 * parameter, or declare an interface for it beside its user.
 */
import { expect, test } from "vitest";
import { type ImportGraph, importCircles } from "./house/circles.ts";
import { pythonImports, readPythonImports } from "./house/python-imports.ts";
import { readSources, type SourceFile, sourceFile } from "./house/source-files.ts";

test("no files under src import each other in a circle", () => {
  const graph = new Map(graphOf(readSources()));
  expect(graph.size).toBeGreaterThan(0);
  expect(importCircles(graph)).toEqual([]);
});

test("no modules of python/shoal import each other in a circle", () => {
  const graph = readPythonImports();
  expect(Array.from(graph.values()).flat().length).toBeGreaterThan(0);
  expect(importCircles(graph)).toEqual([]);
});

test("the shortest circle of each file is named as a path, once", () => {
  const files = [
    sourceFile("base/a.ts", 'import { b } from "./b.ts";'),
    sourceFile("base/b.ts", 'export { c } from "./c.ts";\nimport { d } from "./d.ts";'),
    sourceFile("base/c.ts", 'const a = await import("./a.ts");'),
    sourceFile("base/d.ts", 'import type { B } from "./b.ts";'),
    sourceFile("base/e.ts", 'import { type A } from "./a.ts";'),
    sourceFile("base/f.ts", 'type Own = typeof import("./f.ts");'),
  ];
  expect(importCircles(graphOf(files))).toEqual([
    "base/f.ts → base/f.ts",
    "base/b.ts → base/d.ts → base/b.ts",
    "base/a.ts → base/b.ts → base/c.ts → base/a.ts",
  ]);
});

test("imports of Python are found in every form", () => {
  const several = "from ._c import (\n    one,\n    two,\n)\nfrom . import (\n    _b as b,  # said\n    _d,\n)\n";
  const texts = {
    _a: `${several}\ndef later():\n    from ._e import three\n    import shoal._f\n\n    from shoal import __version__, _g\n    from shoal._h import four\n`,
    ...Object.fromEntries(
      ["__init__", "_b", "_c", "_d", "_e", "_f", "_g", "_h"].map((name) => [name, "import sys\nfrom json import loads\n"]),
    ),
  };
  const graph = pythonImports(new Map(Object.entries(texts)));
  expect(graph.get("_a")?.toSorted()).toEqual(["__init__", "_b", "_c", "_d", "_e", "_f", "_g", "_h"]);
  expect(graph.get("_b")).toEqual([]);
});

function graphOf(files: readonly SourceFile[]): ImportGraph {
  return new Map(files.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]));
}
