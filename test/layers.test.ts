/**
 * Holds the layer table: every import under `src` is one that its folder may have.
 *
 * The table is `test/house/layer-table.ts`; a breach is printed with the set that is allowed.
 */
import { expect, test } from "vitest";
import { importBreaches } from "./house/breaches.ts";
import { LAYER_TABLE, PUBLIC, PUBLIC_FILES } from "./house/layer-table.ts";
import { readSources, sourceFile } from "./house/source-files.ts";

test("every import under src is one that the layer table allows", () => {
  const sources = readSources();
  expect(sources.length).toBeGreaterThan(0);
  expect(importBreaches(sources)).toEqual([]);
});

test("every arrow of the table goes down", () => {
  const table: Readonly<Record<string, { layer: number; mayImport: readonly string[] }>> = { ...LAYER_TABLE, [PUBLIC]: PUBLIC_FILES };
  const breaches = Object.entries(table).flatMap(([folder, { layer, mayImport }]) =>
    mayImport
      .filter((target) => (table[target]?.layer ?? Number.POSITIVE_INFINITY) >= layer)
      .map((target) => `${folder} may not import ${target}, which is not below it`),
  );
  expect(breaches).toEqual([]);
});

test("a breach is named with the allowed set", () => {
  const files = [
    sourceFile("runtime/wire/frame.ts", 'import { send } from "../rpc/connection.ts";\nimport { readFileSync } from "node:fs";\n'),
    sourceFile("runtime/rpc/connection.ts", 'import { id } from "../base/ids.js";\nimport parse from "acorn";\n'),
    sourceFile("runtime/base/ids.ts", ""),
    sourceFile("core/runtime.ts", ""),
    sourceFile("core/internal.ts", 'export { type Runtime } from "./runtime.ts";\n'),
    sourceFile("util/pool.ts", 'import type { Runtime } from "../core/runtime.ts";\nimport { count } from "../core/internal.ts";\n'),
    sourceFile("entry/worker.ts", 'import type { Runtime } from "../core/runtime.ts";\n'),
    sourceFile("helpers/more.ts", ""),
  ];
  expect(importBreaches(files)).toEqual([
    "src/runtime/wire/frame.ts imports ../rpc/connection.ts: runtime/wire (layer 2) may import runtime/wire, runtime/base, runtime/scheduling",
    "src/runtime/wire/frame.ts imports node:fs: only runtime/os, runtime/closure, runtime/nats, storage, serve, rl, entry, ops/http, ops/supervisor may import it",
    "src/runtime/rpc/connection.ts imports ../base/ids.js: there is no such file (imports name the .ts file)",
    "src/runtime/rpc/connection.ts imports acorn: only runtime/closure may import it",
    "src/util/pool.ts imports ../core/runtime.ts: other folders import core through core/index.ts, core/internal.ts",
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
  const found = sourceFile("runtime/base/x.ts", text).imports.flatMap(({ target }) => target ?? []);
  expect(found.sort()).toEqual([
    "runtime/base/again.ts",
    "runtime/base/effect.ts",
    "runtime/base/late.ts",
    "runtime/base/several-lines.ts",
    "runtime/base/types.ts",
  ]);
});
