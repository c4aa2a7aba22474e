/**
 * Where the files of this package are, seen from its running code: the native part, the programs of daemon and workers, the manifest.
 *
 * The only file that reads `import.meta.url` when it is loaded. A bundler that makes one file of a program and its packages leaves these
 * files behind. `import.meta.url` is then the bundle's, a path of the machine that bundled, or undefined. The modules load nevertheless,
 * and the first use explains the remedy.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ShoalError } from "../base/errors.ts";

/** Shoal was made part of a bundle, without the files that it needs. */
class BundledError extends ShoalError {
  static override readonly code = "BUNDLED";
}

/** Known inside the modules of a bundle that webpack or Rspack made. */
declare const __webpack_require__: unknown;

// Never `new URL("...", import.meta.url)` in modules that users load: webpack takes that for a file to copy, and fails if it is a folder or
// a module.
const HERE = import.meta.url as string | undefined;
const NOWHERE = "file:///not-in-a-file/of/shoal.js";

const EXTENSION = HERE?.endsWith(".ts") === true ? "ts" : "js";

/** In it are `dist` and `prebuilds`, or `src` in a checkout. Ends with a slash. */
export const PACKAGE_URL: URL = nearestPackage();
/** The folder of the code itself. Ends with a slash. */
export const CODE_URL: URL = new URL(EXTENSION === "ts" ? "src/" : "dist/", PACKAGE_URL);

/**
 * The main module of a process of ours.
 *
 * @param path below the folder of the code, without its extension: `entry/worker`
 */
export function ownModule(path: string): string {
  return fileURLToPath(new URL(`${path}.${EXTENSION}`, CODE_URL));
}

/** The folder with the package.json; a bundler decides how deep below it this module is. */
function nearestPackage(): URL {
  let folder = new URL("./", HERE ?? NOWHERE);
  for (;;) {
    const above = new URL("../", folder);
    if (above.href === folder.href || existsSync(new URL("package.json", folder))) return folder;
    folder = above;
  }
}

/** Whether code at that address or path is part of Node or of this package. */
export function isInternalCode(file: string): boolean {
  if (/^(?:node|shoal):/.test(file) || file.startsWith(CODE_URL.href)) return true;
  return file.startsWith(fileURLToPath(new URL("python/", PACKAGE_URL)));
}

/** The version in this package's manifest. */
export function packageVersion(): string {
  return manifest().version as string;
}

/** The folder of the dashboard's page, which a build makes. */
export function pageFolder(): string {
  return fileURLToPath(new URL("dist/page/", PACKAGE_URL));
}

/** The folder of this package, from which packages installed beside it are found. */
export function packageFolder(): string {
  return fileURLToPath(PACKAGE_URL);
}

const EXTERNAL: readonly string[] = [
  'esbuild: --external:shoal, or packages: "external"',
  'webpack: target: "node", externals: [/^shoal/], externalsType: "commonjs" ("module" where the output is a module)',
  "Rollup: external: [/^shoal/]",
  'Vite: ssr: { external: ["shoal"] }, or build: { rollupOptions: { external: [/^shoal/] } }',
  'Next: serverExternalPackages: ["shoal"]',
  "Bun: --external shoal",
  'tsup: external: ["shoal"]',
];

/**
 * Before the first process is started.
 *
 * @throws BundledError when this package's files are not beside this module
 */
export function requireOwnFiles(): void {
  if (!isBundled()) return;
  const found = runningFile();
  const reason = "its code was bundled with the program, without the files of its daemon and its workers";
  throw new BundledError(
    `Cannot start Shoal: ${reason}: received ${found ?? HERE ?? "a file without import.meta.url"}. Mark shoal as external in the bundler, and install it where the program runs.`,
    { reason, hint: EXTERNAL.join("\n") },
  );
}

/** Whether this code runs without its files and packages. */
export function isBundled(): boolean {
  const found = runningFile();
  const isElsewhere = found !== undefined && !found.startsWith(fileURLToPath(PACKAGE_URL));
  // While developing webpack evaluates each module as text, which runs in no file.
  return !isWhole() || isElsewhere || typeof __webpack_require__ !== "undefined";
}

function isWhole(): boolean {
  if (HERE === undefined) return false;
  return existsSync(ownModule("entry/worker")) && packageName() === "shoal";
}

function packageName(): unknown {
  try {
    return manifest().name;
  } catch {
    return undefined;
  }
}

function manifest(): { name?: unknown; version?: unknown } {
  return JSON.parse(readFileSync(new URL("package.json", PACKAGE_URL), "utf8")) as { name?: unknown; version?: unknown };
}

/** The engine's name of the file that this function runs in: webpack keeps `import.meta.url` as it was before bundling. */
function runningFile(): string | undefined {
  const holder: { stack?: unknown } = {};
  const prepare = Error.prepareStackTrace;
  try {
    Error.prepareStackTrace = (_error, frames) => frames[0]?.getFileName();
    Error.captureStackTrace(holder);
    const file = holder.stack;
    if (typeof file !== "string") return undefined;
    if (file.startsWith("file:")) return fileURLToPath(file);
    return file.startsWith("/") ? file : undefined;
  } finally {
    Error.prepareStackTrace = prepare;
  }
}
