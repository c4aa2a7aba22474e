/**
 * Writes the JavaScript of the package: the sources, joined into a few files.
 *
 * A process of Shoal loads all of its modules at its start, and three processes stand between a program and its first answer: loading 130 small files took each
 * of them 87 ms of CPU, loading what is written here 34 ms (docs/decisions/0019). Entry files keep their places, shared code lies one folder
 * deep, as the sources do, so that paths relative to a module are the same in both. Called by setup.mjs with the folder to write into.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "./setup.mjs";

const [outdir] = process.argv.slice(2);
const { exports, bin } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const published = sourcesOf(Object.values(exports).map((target) => target.default));
const processes = readdirSync(join(ROOT, "src", "entry"))
  .filter((name) => !name.endsWith(".test.ts"))
  .map((name) => `src/entry/${name}`);

const settings = {
  absWorkingDir: ROOT,
  outbase: join(ROOT, "src"),
  outdir,
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node22",
  sourcemap: true,
  logLevel: "warning",
};
await build({ ...settings, entryPoints: [...published, ...processes], splitting: true, chunkNames: "shared/[name]-[hash]" });
// By itself: what the command line shares with the others would cut their files into more and smaller ones.
await build({ ...settings, entryPoints: sourcesOf(Object.values(bin)) });

function sourcesOf(targets) {
  return targets.filter((file) => file !== undefined).map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts"));
}
