import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { setForeignCode } from "../../runtime/closure/modules/foreign-code.ts";
import { digestOfModules, modulesOf } from "./module-files.ts";

let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "shoal-modules-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function found(...files: string[]): string[] {
  const modules = modulesOf({ files: files.map((file) => join(folder, file)), named: [] });
  return [...modules.files.map((file) => relative(folder, file)), ...modules.packages].toSorted();
}

test("imports of all forms are followed through the project, packages count by their versions", () => {
  write("app.ts", `import { a } from "./lib/a.js";\nimport "zod";\nexport * from './b.ts?raw';\nconst c = await import(\`./c.mjs\`);\n`);
  write("lib/a.ts", `const d = require("../d");\nimport none from "./none.ts";\nimport x from "../node_modules/x/x.js";\n`);
  write("b.ts", "export {};");
  write("c.mjs", `import "./app.ts";\nimport json from "./data.json" with { type: "json" };`);
  write("d/index.js", "");
  write("data.json", "{}");
  write("node_modules/x/x.js", "");
  write("node_modules/x/package.json", `{ "name": "x", "version": "1.2.3" }`);
  write("node_modules/zod/package.json", `{ "name": "zod", "version": "4.0.0" }`);
  write("other.ts", "");
  expect(found("app")).toEqual(["app.ts", "b.ts", "c.mjs", "d/index.js", "data.json", "lib/a.ts", "x@1.2.3", "zod@4.0.0"]);
});

test("the digest follows the content of each file, and is empty without any", () => {
  write("app.ts", `import "./a.ts";`);
  write("a.ts", "1");
  const digest = (): string => digestOfModules({ files: [join(folder, "app.ts")], named: [] }).digest;
  const first = digest();
  expect(digest()).toBe(first);
  write("a.ts", "2");
  expect(digest()).not.toBe(first);
  expect(digestOfModules({ files: [join(folder, "none.ts")], named: [] })).toEqual({ digest: "", files: [] });
});

test("the digest follows the version of an installed package, and not its files", () => {
  const install = (version: string): void => write("node_modules/zod/package.json", `{ "name": "zod", "version": "${version}" }`);
  write("app.ts", "");
  install("4.0.0");
  const digest = (): string => digestOfModules({ files: [], named: [{ specifier: "zod/mini", from: join(folder, "app.ts") }] }).digest;
  const first = digest();
  write("node_modules/zod/mini.js", "1");
  expect(digest()).toBe(first);
  install("4.0.11");
  expect(digest()).not.toBe(first);
});

test("a package.json that another of the same size and time has replaced is read anew", () => {
  const path = join(folder, "node_modules/zod/package.json");
  write("app.ts", `import "zod";`);
  write("node_modules/zod/package.json", `{ "name": "zod", "version": "4.0.1" }`);
  write("new.json", `{ "name": "zod", "version": "4.0.2" }`);
  for (const file of [path, join(folder, "new.json")]) utimesSync(file, 1, 1);
  expect(found("app.ts")).toEqual(["app.ts", "zod@4.0.1"]);
  renameSync(join(folder, "new.json"), path);
  expect(found("app.ts")).toEqual(["app.ts", "zod@4.0.2"]);
});

test("texts that are no names are none, however long; paths may have spaces", () => {
  const long = "a".repeat(5000);
  write("app.ts", `Buffer.from("zod"); import("${long}"); import "./${long}"; import "./my module.ts"; import "loop/x";`);
  write("my module.ts", "");
  write("node_modules/zod/package.json", `{ "name": "zod", "version": "4.0.0" }`);
  symlinkSync("loop", join(folder, "node_modules/loop"));
  expect(found("app.ts")).toEqual(["app.ts", "my module.ts"]);
});

test("imports of a linked file are resolved from where it lies, and a link to the folder itself is no other file", () => {
  write("project/app.ts", `import "./lib/x.ts"; import "./self/app.ts";`);
  write("project/y.ts", "beside the link");
  write("shared/lib/x.ts", `import "../y.ts";`);
  write("shared/y.ts", "1");
  symlinkSync("../shared/lib", join(folder, "project/lib"));
  symlinkSync(".", join(folder, "project/self"));
  expect(found("project/app.ts")).toEqual(["project/app.ts", "shared/lib/x.ts", "shared/y.ts"]);
  const digest = (): string => digestOfModules({ files: [join(folder, "project/app.ts")], named: [] }).digest;
  const first = digest();
  // As on another machine.
  renameSync(join(folder, "shared"), join(folder, "elsewhere"));
  rmSync(join(folder, "project/lib"));
  symlinkSync(join(folder, "elsewhere/lib"), join(folder, "project/lib"));
  expect(digest()).toBe(first);
  write("elsewhere/y.ts", "2");
  expect(digest()).not.toBe(first);
});

test("on a node with the driver's files elsewhere they are read there, and named as the driver does", () => {
  write("here/app.ts", `import "./a.ts";`);
  write("here/a.ts", "");
  write("here/node_modules/zod/package.json", `{ "name": "zod", "version": "4.0.0" }`);
  const node = { node: "n", hostname: "h" };
  setForeignCode({ there: "/driver", here: join(folder, "here"), driver: node, self: node, packageRoots: [], packages: [] });
  try {
    const { digest, files } = digestOfModules({ files: ["/driver/app.ts"], named: [{ specifier: "zod", from: "/driver/app.ts" }] });
    expect(files.map(([path]) => path)).toEqual(["/driver/app.ts", "/driver/a.ts"]);
    expect(digest).toMatch(/ zod@4\.0\.0$/u);
  } finally {
    setForeignCode(undefined);
  }
});

test("aliases of package.json lead to sources and to packages, whatever their conditions", () => {
  write(
    "package.json",
    `{ "imports": { "#db": { "types": "./db.d.ts", "production": "./db.js", "default": ["./db-local.ts"] },
      "#lib/*": "./lib/*.ts", "#lib/own/*": "./own/*/index.ts", "#zod": { "node": "zod", "default": "./zod.ts" }, "#again": "#db" } }`,
  );
  write(
    "src/app.ts",
    `import "#db";
import "#lib/a/b";
import "#lib/own/c";
import "#zod";
import "#again";
import "#none";`,
  );
  for (const file of ["db.d.ts", "db.js", "db-local.ts", "lib/a/b.ts", "lib/own/c.ts", "own/c/index.ts", "zod.ts"]) write(file, "");
  write("node_modules/zod/package.json", `{ "name": "zod", "version": "4.0.0" }`);
  expect(found("src/app.ts")).toEqual(["db-local.ts", "db.js", "lib/a/b.ts", "own/c/index.ts", "src/app.ts", "zod.ts", "zod@4.0.0"]);
});

test("linked packages and the project's own name are sources, installed ones beside them are not", () => {
  write("apps/web/package.json", `{ "name": "web", "exports": "./app.ts" }`);
  write(
    "apps/web/app.ts",
    `import "web";
import "@mine/models";
import "@mine/models/deep/x.js";
import "plain";
import "plain/b";
import "node:fs";
import "fs";`,
  );
  write(
    "libs/models/package.json",
    `{ "name": "@mine/models", "exports": { ".": { "import": "./index.js", "require": "./index.cjs" }, "./deep/*": "./src/*", "./private/*": null } }`,
  );
  write("libs/models/index.ts", `import "dep";`);
  write("libs/models/src/x.ts", `import "@mine/models/private/y";`);
  write("libs/models/private/y.ts", "");
  write("libs/models/node_modules/dep/package.json", `{ "name": "dep", "version": "2.0.0" }`);
  write("libs/plain/package.json", `{ "name": "plain", "main": "lib/main" }`);
  write("libs/plain/lib/main.js", "");
  write("libs/plain/b.js", "");
  // As pnpm lays out an installed package.
  write("node_modules/.pnpm/far@3/node_modules/far/package.json", `{ "name": "far", "version": "3.0.0" }`);
  write("node_modules/.pnpm/far@3/node_modules/far/esm/package.json", `{ "type": "module" }`);
  write("node_modules/.pnpm/far@3/node_modules/far/esm/far.js", "");
  write("libs/plain/lib/main.js", `import "far"; import "../../../node_modules/far/esm/far.js";`);
  mkdirSync(join(folder, "node_modules/@mine"));
  const link = (name: string, to: string): void => symlinkSync(join(folder, to), join(folder, "node_modules", name));
  link("@mine/models", "libs/models");
  link("plain", "libs/plain");
  link("far", "node_modules/.pnpm/far@3/node_modules/far");
  expect(found("apps/web/app.ts")).toEqual([
    "apps/web/app.ts",
    "dep@2.0.0",
    "far@3.0.0",
    "libs/models/index.ts",
    "libs/models/src/x.ts",
    "libs/plain/b.js",
    "libs/plain/lib/main.js",
  ]);
});

test("a package.json that is no JSON, or that has no such entry, says nothing; without a version the files count", () => {
  write("package.json", `{ "name": "project", "version": "1.0.0" }`);
  write(
    "app.ts",
    `import "#db";
import "torn";
import "zod";
import "far/x";
import "./node_modules/lone.js";
from "Ada Lovelace"; from "../up";`,
  );
  write("node_modules/torn/package.json", "{");
  write("node_modules/zod/package.json", "[]");
  write("node_modules/lone.js", "");
  write("node_modules/far/package.json", "{}");
  write("node_modules/far/x.js", "");
  expect(found("app.ts")).toEqual(["app.ts", "node_modules/far/x.js", "node_modules/lone.js"]);
});
