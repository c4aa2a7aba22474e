/**
 * Cross-compiles native/shared-memory.c and native/kernels.c for every platform that has prebuilt binaries, the kernels for WebAssembly too.
 *
 * Run by a maintainer after a change of the C file (`npm run build:native`); the results in prebuilds/ are committed,
 * so nobody else needs a compiler. The compiler is Zig's C front end from PyPI, in a temporary Python environment
 * that is removed again: it carries the headers of all six targets. Runs on any Node, plain JavaScript.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ZIG_PACKAGE = "ziglang==0.17.0";
const LINUX_FLAGS = ["-Wl,-z,relro,-z,now", "-Wl,--build-id=none"];
const DARWIN_FLAGS = ["-Wl,-undefined,dynamic_lookup"];
const TARGETS = [
  { file: "linux-x64.node", target: "x86_64-linux-gnu.2.17", flags: LINUX_FLAGS },
  { file: "linux-arm64.node", target: "aarch64-linux-gnu.2.17", flags: LINUX_FLAGS },
  { file: "linux-x64-musl.node", target: "x86_64-linux-musl", flags: LINUX_FLAGS },
  { file: "linux-arm64-musl.node", target: "aarch64-linux-musl", flags: LINUX_FLAGS },
  { file: "darwin-x64.node", target: "x86_64-macos.11.0", flags: DARWIN_FLAGS },
  { file: "darwin-arm64.node", target: "aarch64-macos.11.0", flags: DARWIN_FLAGS },
];

/** The kernels behind their door, which alone runs on any processor of the architecture. */
const KERNEL_PROCESSORS = { x86_64: ["-mcpu=x86_64_v3"], aarch64: [] };
const C_OPTIONS = ["-std=c11", "-g0", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden"];
const WASM_OPTIONS =
  "-target wasm32-freestanding -mcpu=generic+simd128+bulk_memory+nontrapping_fptoint+sign_ext -std=c11 -O3 -g0 -s -Wall -Wextra -Werror -ffreestanding " +
  "-nostdlib -fno-builtin -Wl,--no-entry -Wl,--export=__heap_base -Wl,-z,stack-size=131072 -Wl,--initial-memory=1048576";

const root = fileURLToPath(new URL("..", import.meta.url));
const output = join(root, "prebuilds");

/** The folder with node_api.h: inside whichever platform package of Node is installed here. */
function nodeHeaders() {
  const modules = join(root, "node_modules");
  const candidates = readdirSync(modules)
    .filter((name) => name.startsWith("node-"))
    .map((name) => join(modules, name, "include", "node"));
  candidates.push(join(process.execPath, "..", "..", "include", "node"));
  const found = candidates.find((folder) => existsSync(join(folder, "node_api.h")));
  if (found === undefined)
    throw new Error("Cannot build the native part: node_api.h was not found under node_modules/node-*/include; run npm ci first");
  return found;
}

function installZig(folder) {
  const python = ["python3", "python"].find((name) => {
    try {
      execFileSync(name, ["--version"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
  if (python === undefined) throw new Error("Cannot build the native part: Python 3 is needed to install the compiler");
  execFileSync(python, ["-m", "venv", folder], { stdio: "inherit" });
  const environmentPython = join(folder, "bin", "python");
  execFileSync(environmentPython, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ZIG_PACKAGE], { stdio: "inherit" });
  return environmentPython;
}

/** On macOS a library without a name carries the path at which it was linked. */
function linkFlags(flags, name) {
  return flags === DARWIN_FLAGS ? [...flags, `-Wl,-install_name,@rpath/${name}.node`] : flags;
}

function note(checksums, file, path) {
  checksums[file] = createHash("sha256").update(readFileSync(path)).digest("hex");
  console.log(`${file}  ${statSync(path).size} bytes  ${checksums[file].slice(0, 12)}`);
}

/** The kernels as WebAssembly, in a text that the package imports: no file is read, and bundlers for browsers take it along. */
function writeWasm(binary) {
  const lines = [
    "/**",
    " * native/kernels.c as WebAssembly in base64, written by scripts/build-native.mjs.",
    " *",
    " * The checksum is in prebuilds/kernels-checksums.json. Do not change this file by hand.",
    " */",
    "export const KERNELS_WASM =",
    `  "${binary.toString("base64")}";`,
  ];
  writeFileSync(join(root, "src", "tensor", "kernels-wasm.ts"), `${lines.join("\n")}\n`);
}

const headers = nodeHeaders();
const temporary = mkdtempSync(join(tmpdir(), "shoal-native-"));
try {
  const python = installZig(join(temporary, "compiler"));
  mkdirSync(output, { recursive: true });
  const checksums = {};
  const kernels = {};
  const environment = { ...process.env, ZIG_GLOBAL_CACHE_DIR: join(temporary, "cache"), ZIG_LOCAL_CACHE_DIR: join(temporary, "cache") };
  const compile = (...options) =>
    execFileSync(python, ["-m", "ziglang", "cc", ...options], { cwd: join(root, "native"), stdio: "inherit", env: environment });
  for (const { file, target, flags } of TARGETS) {
    const path = join(output, file);
    compile(
      "-target",
      target,
      ...C_OPTIONS,
      "-O2",
      "-s",
      "-shared",
      ...linkFlags(flags, "shared-memory"),
      "-I",
      headers,
      "-o",
      path,
      "shared-memory.c",
    );
    note(checksums, file, path);
    const addon = join(output, `kernels-${file}`);
    const objects = [join(temporary, "kernels.o"), join(temporary, "door.o")];
    const processor = KERNEL_PROCESSORS[target.replace(/-.*/, "")];
    compile("-target", target, ...C_OPTIONS, "-O3", ...processor, "-c", "-o", objects[0], "kernels.c");
    compile("-target", target, ...C_OPTIONS, "-O2", "-I", headers, "-c", "-o", objects[1], "kernels-addon.c");
    compile("-target", target, "-s", "-shared", ...linkFlags(flags, "kernels"), "-o", addon, ...objects);
    note(kernels, `kernels-${file}`, addon);
  }
  const wasm = join(temporary, "kernels.wasm");
  compile(...WASM_OPTIONS.split(" "), "-o", wasm, "kernels.c");
  note(kernels, "kernels.wasm", wasm);
  writeWasm(readFileSync(wasm));
  writeFileSync(join(output, "checksums.json"), `${JSON.stringify(checksums, null, 2)}\n`);
  writeFileSync(join(output, "kernels-checksums.json"), `${JSON.stringify(kernels, null, 2)}\n`);
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
