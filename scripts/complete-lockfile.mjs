/**
 * Adds to package-lock.json the optional packages of other platforms that npm left out, and checks that no registry host got in.
 *
 * npm leaves an optional dependency out of the lockfile when the registry at hand does not have it, as mirrors that keep one
 * platform do, and `npm ci` then refuses that lockfile everywhere. What is missing is known without the registry: the exact version
 * stands in the package that wants it, and the platform is in the name. Part of `npm run lock`, run after every change of dependencies.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./setup.mjs";

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
/** Longest first: `arm64` must not be taken for `arm`. */
const PROCESSORS = ["riscv64", "loong64", "mips64el", "ppc64", "arm64", "s390x", "wasm32", "ia32", "x64", "arm"];

const file = join(ROOT, "package-lock.json");
const lock = JSON.parse(readFileSync(file, "utf8"));
const added = [];

for (const [parentPath, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    if (lock.packages[path] !== undefined || lock.packages[`${parentPath}/${path}`] !== undefined) continue;
    const platform = platformOf(name);
    if (platform === undefined || !/^\d+\.\d+\.\d+/.test(version)) {
      throw new Error(`Cannot complete package-lock.json: the platform or the version of ${name}@${version} is not known`);
    }
    // In npm's own order of keys, so that its next run changes nothing.
    const entry = { ...platform, ...(parent.dev ? { dev: true } : {}), optional: true };
    lock.packages[path] = { version, ...Object.fromEntries(Object.entries(entry).sort(byName)) };
    added.push(name);
  }
}

for (const [path, entry] of Object.entries(lock.packages)) {
  if (entry.resolved !== undefined) throw new Error(`Cannot accept package-lock.json: ${path} names the host that it came from`);
}

const [root, ...rest] = Object.entries(lock.packages);
lock.packages = Object.fromEntries([root, ...rest.sort(byName)]);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
process.stderr.write(`package-lock.json: ${added.length} packages of other platforms added\n`);

/** From names like `@oxlint/binding-linux-arm64-musl`: what npm compares with the machine before it installs an optional package. */
function platformOf(name) {
  const parts = name.split("/").at(-1).split("-");
  const os = SYSTEMS.find((system) => parts.includes(system));
  const cpu = PROCESSORS.find((processor) => parts.includes(processor));
  if (cpu === undefined || (os === undefined && cpu !== "wasm32")) return undefined;
  const libc = parts.includes("musl") ? { libc: ["musl"] } : parts.includes("gnu") ? { libc: ["glibc"] } : {};
  return { ...(os === undefined ? {} : { os: [os] }), cpu: [cpu], ...libc };
}

function byName([left], [right]) {
  return left < right ? -1 : 1;
}
