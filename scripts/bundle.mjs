/**
 * Writes the JavaScript of the package: the sources, joined into a few files.
 *
 * A process of Shoal loads all of its modules at its start, and three processes stand between a program and its first answer: loading 130 small files took each
 * of them 87 ms of CPU, loading what is written here 34 ms (docs/decisions/0019). Entry files keep their places, shared code lies in a folder of its
 * own, so no module may ask where it lies itself (os/own-files.ts). Called by setup.mjs with the folder to write into.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { bundlePage } from "./bundle-page.mjs";
import { ROOT } from "./setup.mjs";

const [outdir] = process.argv.slice(2);
const { exports, bin } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const published = Object.values(exports).flatMap((target) => target["shoal-source"]?.replace("./", "") ?? []);
const imported = importedOfBuiltins();
const entries = readdirSync(join(ROOT, "src", "entry"))
  .filter((name) => !name.endsWith(".test.ts"))
  .map((name) => `src/entry/${name}`);
const processes = [
  ...entries,
  "src/ops/supervisor/supervisor-process.ts",
  "src/ops/http/dashboard-process.ts",
  "src/ops/jobs/jobs-extension.ts",
  "src/ops/autoscaler/autoscaler-process.ts",
  "src/ops/autoscaler/head-extension.ts",
];

/**
 * Node's own modules are taken as `require` gives them. An `import` of one makes a module of it that reads each of its exports, and some of those load more when they
 * are read: `fs.promises`, `crypto.webcrypto`, `tls.rootCertificates`. Those that most processes never use are loaded by the first call; of these only
 * functions may be imported that nothing is asked of but to be called: `promisify(execFile)` asks for more, so `child_process` is none of them.
 */
const lazily = new Set(["node:fs/promises", "node:zlib"]);
const builtins = {
  name: "builtins",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtin", sideEffects: false }));
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => {
      const names = [...(imported.get(path) ?? [])];
      const load = `process.getBuiltinModule("${path}")`;
      if (lazily.has(path)) {
        const values = names.filter((name) => typeof process.getBuiltinModule(path)[name] !== "function");
        if (values.length > 0)
          return { errors: [{ text: `${values.join(", ")} of ${path} is no function, and only functions of it may be imported` }] };
        return { contents: names.map((name) => `export function ${name}(...args) {\n  return ${load}.${name}(...args);\n}`).join("\n") };
      }
      const constants = names.map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})();`);
      return { contents: [`const builtin = /* @__PURE__ */ ${load};`, "export default builtin;", ...constants].join("\n") };
    });
  },
};

/** parquet-wasm has three copies of 5 MB, one for each kind of modules: the package brings the one that Node loads, and needs no other. */
const parquetWasm = {
  name: "parquet-wasm",
  setup({ onResolve }) {
    onResolve({ filter: /^parquet-wasm$/ }, () => ({ path: "#parquet-wasm", external: true }));
  },
};
{
  const [from, to] = [join(ROOT, "node_modules", "parquet-wasm"), join(outdir, "vendor", "parquet-wasm")];
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, "node", "parquet_wasm.js"), join(to, "parquet_wasm.cjs"));
  for (const file of ["node/parquet_wasm_bg.wasm", "LICENSE_MIT", "LICENSE_APACHE"])
    copyFileSync(join(from, file), join(to, file.replace("node/", "")));
}

/** Test runners replace these in a program that is under test; Shoal goes by those that it was loaded with. */
const ownClock = {
  setTimeout: "ownSetTimeout",
  clearTimeout: "ownClearTimeout",
  setInterval: "ownSetInterval",
  clearInterval: "ownClearInterval",
  setImmediate: "ownSetImmediate",
  clearImmediate: "ownClearImmediate",
  queueMicrotask: "ownQueueMicrotask",
  "process.nextTick": "ownNextTick",
  "performance.now": "ownPerformanceNow",
  "Date.now": "ownDateNow",
};

const settings = {
  absWorkingDir: ROOT,
  outbase: join(ROOT, "src"),
  outdir,
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  // Runtimes that are too old have to understand enough to say so.
  target: "node18",
  // Positions alone, by which stacks name our files and lines. With the text of the sources they were more than half of the package.
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
  plugins: [builtins, parquetWasm],
  define: ownClock,
  inject: ["src/runtime/base/time/own-clock.ts"],
};
// What several entries of one build share is cut into a file for each set of them, and each file takes a process half a millisecond to find. So only what meets in
// one process is built together: what users import, with the workers that run it.
const workers = processes.filter((file) => /\/worker/.test(file));
const daemons = processes.filter((file) => /\/daemon/.test(file));
const others = processes.filter((file) => ![...workers, ...daemons].includes(file));
for (const entryPoints of [[...published, ...workers], daemons, others]) {
  await build({ ...settings, entryPoints, splitting: true, chunkNames: "shared/[name]-[hash]" });
}
const programs = Object.values(bin).map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts"));
await build({ ...settings, entryPoints: programs });
await build({ ...settings, entryPoints: ["src/runtime/os/refuse-runtime.ts", "src/ops/cli/refuse-runtime.ts"] });
// Tensors and the client of external environments run in browsers, too.
const inBrowsers = ["src/tensor/index.ts", "src/rl/client/index.ts"];
for (const file of published.filter((path) => !inBrowsers.includes(path))) importFirst(file, "runtime/os/refuse-runtime.js");
for (const file of programs) importFirst(file, "ops/cli/refuse-runtime.js");

await bundlePage(join(outdir, "page"));

/** On the first line that is code, so that the source map stays true. */
function importFirst(source, module) {
  const file = join(outdir, source.replace(/^src\//, "").replace(/ts$/, "js"));
  const path = relative(dirname(file), join(outdir, module)).replace(/^(?!\.)/, "./");
  writeFileSync(file, readFileSync(file, "utf8").replace(/^(#!.*\n)?/, `$1import "${path}"; `));
}

/** By module, the names that the sources import from it. */
function importedOfBuiltins() {
  const found = new Map();
  const sources = readdirSync(join(ROOT, "src"), { recursive: true }).filter((file) => /(?<!\.test)\.ts$/.test(file));
  for (const file of sources) {
    const text = readFileSync(join(ROOT, "src", file), "utf8");
    for (const [, list, module] of text.matchAll(/^import (?:\w+, )?\{([^}]*)\} from "(node:[^"]+)";/gm)) {
      const names = list.split(",").map((part) => part.trim().replace(/ as .*/, ""));
      const values = names.filter((name) => name !== "" && !name.startsWith("type "));
      found.set(module, new Set([...(found.get(module) ?? []), ...values]));
    }
  }
  return found;
}
