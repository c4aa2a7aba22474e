/**
 * Queries a Python interpreter, and makes virtual environments with packages: once for each list, interpreter and platform.
 *
 * As for npm packages (`package-install.ts`), a complete install is marked and reused. A virtual environment contains its own path, so it
 * is made in its final place, which a lock file claims. The user's own pip and its configuration are used; pip's output is kept for the
 * error.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { mkdir, open, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { sha256Hex } from "../digest.ts";
import { INSTALL_OUTPUT_LINES_MAX, PROGRAM_ANSWERS_WITHIN_MS } from "../limits.ts";
import { PackageInstallError } from "./package-install.ts";

const COMPLETE = "shoal-complete";
const OUTPUT_CHARACTERS_MAX = 65_536;
/** The first version of pip that knows `--python`. */
const PIP_FOR_OTHERS = [22, 3] as const;
/** Interval at which a process checks whether a parallel install is done. */
const LOOK_EVERY_MS = 200;

interface PythonInstallOptions {
  /** As pip takes them: `numpy`, `numpy==2.1.0`. */
  readonly packages: readonly string[];
  readonly interpreter: string;
  readonly version: string;
  readonly cacheFolder: string;
  readonly timeoutMs: number;
}

/** A program by its name, as a shell would find it. */
export function findProgram(name: string, path: string): string | undefined {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (folder !== "" && statSync(file).isFile()) return file;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** @throws PackageInstallError when it does not start */
export async function pythonFacts(interpreter: string): Promise<{ version: string }> {
  const script = 'import sys; print("%d.%d.%d" % sys.version_info[:3])';
  const { text } = await run(interpreter, ["-I", "-S", "-c", script], {
    timeoutMs: PROGRAM_ANSWERS_WITHIN_MS,
    what: `the Python at ${interpreter}`,
  });
  return { version: text.trim() };
}

/** @returns the interpreter of the environment. @throws PackageInstallError with pip's output */
export async function installPythonPackages(options: PythonInstallOptions): Promise<string> {
  const { packages, interpreter, version, cacheFolder, timeoutMs } = options;
  const key = JSON.stringify([process.platform, process.arch, interpreter, version, packages]);
  const folder = join(cacheFolder, `python-${sha256Hex(key).slice(0, 32)}`);
  const made = join(folder, process.platform === "win32" ? "Scripts/python.exe" : "bin/python3");
  await mkdir(cacheFolder, { recursive: true, mode: 0o700 });
  const unlock = await lock(`${folder}.lock`, timeoutMs);
  try {
    if (existsSync(join(folder, COMPLETE))) {
      const now = new Date();
      await utimes(join(folder, COMPLETE), now, now);
      return made;
    }
    await rm(folder, { recursive: true, force: true });
    const isServed = await installsElsewhere(interpreter);
    await run(interpreter, ["-m", "venv", ...(isServed ? ["--without-pip"] : []), folder], { timeoutMs, what: `${interpreter} -m venv` });
    const pip = ["install", "--disable-pip-version-check", "--no-input", "--quiet", ...packages];
    const [program, ...first] = isServed ? [interpreter, "-m", "pip", "--python", made] : [made, "-m", "pip"];
    await run(program, [...first, ...pip], { timeoutMs, what: `pip install ${packages.join(" ")}` });
    await writeFile(join(folder, COMPLETE), packages.join("\n"));
    return made;
  } finally {
    await unlock();
  }
}

/**
 * Whether an interpreter's pip can install into another environment. The new environment then needs no pip, and installing one takes most
 * of the time.
 */
async function installsElsewhere(interpreter: string): Promise<boolean> {
  const script = 'from importlib.metadata import version; print(version("pip"))';
  const asked = run(interpreter, ["-I", "-c", script], { timeoutMs: PROGRAM_ANSWERS_WITHIN_MS, what: `${interpreter} -c` });
  const [major = 0, minor = 0] = await asked.then(
    ({ text }) => text.trim().split(".").map(Number),
    () => [],
  );
  return major > PIP_FOR_OTHERS[0] || (major === PIP_FOR_OTHERS[0] && minor >= PIP_FOR_OTHERS[1]);
}

/** Held by one process; that of one that has died is taken over. */
async function lock(path: string, timeoutMs: number): Promise<() => Promise<void>> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      const file = await open(path, "wx", 0o600);
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = Number(await readFile(path, "utf8").catch(() => ""));
    const age = Date.now() - (await stat(path).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;
    if ((holder > 0 && !isRunning(holder)) || age > timeoutMs) await rm(path, { force: true });
    else if (Date.now() > end)
      throw new PackageInstallError(`process ${holder} had not made the same environment after ${timeoutMs / 1000} s`, []);
    else await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function run(
  program: string,
  args: readonly string[],
  { timeoutMs, what }: { timeoutMs: number; what: string },
): Promise<{ text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs, killSignal: "SIGKILL" });
    let text = "";
    const read = (chunk: Buffer): void => {
      text = (text + chunk.toString()).slice(-OUTPUT_CHARACTERS_MAX);
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", read);
    // pip explains the cause first and names the failed step last.
    const fail = (reason: string): void =>
      reject(new PackageInstallError(reason, text.trim().split("\n").slice(-INSTALL_OUTPUT_LINES_MAX)));
    child.on("error", (error) => fail(`${program} could not be started: ${error.message}`));
    child.on("close", (code, signal) => {
      if (code === 0) resolve({ text });
      else if (signal === "SIGKILL") fail(`${what} was not done after ${timeoutMs / 1000} s`);
      else fail(`${what} ended with code ${code ?? signal}`);
    });
  });
}
