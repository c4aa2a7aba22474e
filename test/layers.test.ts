/**
 * Holds the layer table: every import under `src` is one that its folder may have.
 *
 * The table is `test/house/layer-table.ts`; a breach is printed with the set that is allowed.
 */
import { expect, test } from "vitest";
import { importBreaches } from "./house/breaches.ts";
import { readSources, sourceFile } from "./house/source-files.ts";

test("every import under src is one that the layer table allows", () => {
  const sources = readSources();
  expect(sources.length).toBeGreaterThan(0);
  expect(importBreaches(sources)).toEqual([]);
});

test("a breach is named with the allowed set", () => {
  const files = [
    sourceFile("wire/frame.ts", 'import { send } from "../rpc/connection.ts";\nimport { readFileSync } from "node:fs";\n'),
    sourceFile("rpc/connection.ts", 'import { id } from "../base/ids.js";\nimport parse from "acorn";\n'),
    sourceFile("base/ids.ts", ""),
    sourceFile("core/runtime.ts", ""),
    sourceFile("core/internal.ts", 'export { type Runtime } from "./runtime.ts";\n'),
    sourceFile("patterns/pool.ts", 'import type { Runtime } from "../core/runtime.ts";\nimport { count } from "../core/internal.ts";\n'),
    sourceFile("entry/worker.ts", 'import type { Runtime } from "../core/runtime.ts";\n'),
    sourceFile("helpers/more.ts", ""),
  ];
  expect(importBreaches(files)).toEqual([
    "src/wire/frame.ts imports ../rpc/connection.ts: wire (layer 1) may import wire, base, scheduling",
    "src/wire/frame.ts imports node:fs: only platform, closure, entry may import it",
    "src/rpc/connection.ts imports ../base/ids.js: there is no such file (imports name the .ts file)",
    "src/rpc/connection.ts imports acorn: only closure may import it",
    "src/patterns/pool.ts imports ../core/runtime.ts: other folders import core through core/index.ts, core/internal.ts",
    'src/helpers/more.ts: the folder "helpers" has no row in test/house/layer-table.ts',
  ]);
});

test("imports are found in every form and not in comments", () => {
  const text = [
    '// import { no } from "./comment.ts";',
    "/**",
    ' import { no } from "./block.ts";',
    " */",
    "import {",
    "  type A,",
    "  b,",
    '} from "./several-lines.ts";',
    'import "./effect.ts";',
    'export * from "./again.ts";',
    'export type { T } from "./types.ts";',
    'const late = import("./late.ts");',
  ].join("\n");
  const found = sourceFile("base/x.ts", text).imports.flatMap(({ target }) => target ?? []);
  expect(found.sort()).toEqual(["base/again.ts", "base/effect.ts", "base/late.ts", "base/several-lines.ts", "base/types.ts"]);
});
