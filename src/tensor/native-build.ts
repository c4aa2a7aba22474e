/**
 * The kernels as an addon of Node, where this platform has one and its processor the instructions.
 *
 * Decides which prebuilt binary fits, and loads it if its checksum is right; without one there is WebAssembly. Takes Node's modules from the process
 * instead of importing them, so that the same file loads in browsers. `SHOAL_NATIVE=0` turns the addon off.
 */
import { KERNEL_NAMES, type KernelBuild, type Kernels } from "./kernels.ts";
import { NATIVE_BYTES_AT_FIRST } from "./limits.ts";

type Addon = Kernels & { readonly isSupported: boolean; bind(memory: ArrayBuffer): void };
type LoadBuiltin = typeof process.getBuiltinModule;

const WORDS_BYTES = 64;
/** In the published package and in a checkout the binaries lie one to three folders above this module. */
const FOLDERS_UP_MAX = 4;

/** The native build; `undefined` in browsers, with `SHOAL_NATIVE=0`, on other platforms, and where the binary is damaged. */
export function nativeBuild(): KernelBuild | undefined {
  if (typeof process === "undefined" || process.env?.["SHOAL_NATIVE"] === "0") return undefined;
  const addon = loadAddon(process.getBuiltinModule?.bind(process));
  return addon === undefined ? undefined : buildOf(addon);
}

function buildOf(addon: Addon): KernelBuild {
  let buffer = new ArrayBuffer(NATIVE_BYTES_AT_FIRST);
  addon.bind(buffer);
  return {
    name: "native",
    kernels: Object.fromEntries(KERNEL_NAMES.map((name) => [name, addon[name]])) as Kernels,
    words: 0,
    start: WORDS_BYTES,
    buffer: () => buffer,
    grow(sizeBytes) {
      if (sizeBytes <= buffer.byteLength) return;
      buffer = buffer.transfer(sizeBytes);
      addon.bind(buffer);
    },
  };
}

function loadAddon(load: LoadBuiltin | undefined): Addon | undefined {
  const here = import.meta.url as string | undefined;
  if (load === undefined || here?.startsWith("file:") !== true) return undefined;
  const { existsSync, readFileSync } = load("node:fs");
  const { createHash } = load("node:crypto");
  const { createRequire } = load("node:module");
  const folder = findPrebuilds(here, existsSync);
  if (folder === undefined) return undefined;
  const checksums = JSON.parse(readFileSync(new URL("kernels-checksums.json", folder), "utf8")) as Record<string, string>;
  const name = `kernels-${process.platform}-${process.arch}`;
  // Linux has two C libraries; the binary for the other does not load.
  for (const file of [`${name}.node`, `${name}-musl.node`]) {
    const url = new URL(file, folder);
    if (checksums[file] === undefined || !existsSync(url)) continue;
    if (createHash("sha256").update(readFileSync(url)).digest("hex") !== checksums[file]) continue;
    try {
      const addon = createRequire(here)(load("node:url").fileURLToPath(url)) as Addon;
      if (addon.isSupported) return addon;
    } catch {
      // WebAssembly does the same.
    }
  }
  return undefined;
}

function findPrebuilds(here: string, exists: (url: URL) => boolean): URL | undefined {
  let above = "./";
  for (let folders = 0; folders <= FOLDERS_UP_MAX; folders++) {
    const folder = new URL(`${above}prebuilds/`, here);
    if (exists(new URL("kernels-checksums.json", folder))) return folder;
    above += "../";
  }
  return undefined;
}
