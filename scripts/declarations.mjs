/**
 * Deletes the declarations that nobody can reach: those of the package's inner files, which the compiler writes like all others.
 *
 * Users' compilers begin at the files that `exports` of package.json names and follow imports, so what is not reached from there is weight alone: seven tenths of
 * all declarations. Called by setup.mjs with the folder that the compiler has written into.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./setup.mjs";

const DECLARATIONS = ".d.ts";

const [folder] = process.argv.slice(2);
const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const reached = new Set();
for (const { types } of Object.values(exports)) if (types !== undefined) reach(types.replace("./dist/", ""));
for (const path of readdirSync(folder, { recursive: true })) {
  if (path.endsWith(DECLARATIONS) && !reached.has(path)) rmSync(join(folder, path));
}

function reach(path) {
  if (reached.has(path)) return;
  reached.add(path);
  const text = readFileSync(join(folder, path), "utf8");
  for (const [, specifier] of text.matchAll(/\b(?:from|import|import\() ?"(\.[^"]+)"/g)) {
    reach(join(dirname(path), specifier.replace(/\.ts$/, DECLARATIONS)));
  }
}
