import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { digestOfModules, modulesOf } from "./module-files.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-modules-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

test("imports of all forms are followed through the project, packages are left out", () => {
  write("app.ts", `import { a } from "./lib/a.js";\nimport "zod";\nexport * from './b.ts?raw';\nconst c = await import(\`./c.mjs\`);\n`);
  write("lib/a.ts", `const d = require("../d");\nimport none from "./none.ts";\nimport x from "../node_modules/x/x.js";\n`);
  write("b.ts", "export {};");
  write("c.mjs", `import "./app.ts";\nimport json from "./data.json" with { type: "json" };`);
  write("d/index.js", "");
  write("data.json", "{}");
  write("node_modules/x/x.js", "");
  write("other.ts", "");
  const found = modulesOf([join(folder, "app")]).map((file) => relative(folder, file));
  expect(found.toSorted()).toEqual(["app.ts", "b.ts", "c.mjs", "d/index.js", "data.json", "lib/a.ts"]);
});

test("the digest follows the content of each file, and is empty without any", () => {
  write("app.ts", `import "./a.ts";`);
  write("a.ts", "1");
  const digest = (): string => digestOfModules([join(folder, "app.ts")]);
  const first = digest();
  expect(digest()).toBe(first);
  write("a.ts", "2");
  expect(digest()).not.toBe(first);
  expect(digestOfModules([join(folder, "none.ts")])).toBe("");
});
