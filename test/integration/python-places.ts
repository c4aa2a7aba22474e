/**
 * The Python of this machine for the tests that need one, and a virtual environment with NumPy, pandas and pyarrow, made once and kept in an ignored folder.
 *
 * Without Python, or without a registry to install from, the tests that need it are skipped, and their titles say why; all others run.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../house/source-files.ts";

const VERSION_MIN = [3, 9];

/** Where the Python files of the tests lie. */
export const PYTHON_FOLDER: string = join(REPOSITORY, "test", "integration", "python");

const version =
  spawnSync("python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], { encoding: "utf8" }).stdout?.trim() ?? "";

/** Why there is no Python to test with; undefined where there is one. */
export const WITHOUT_PYTHON: string | undefined = whyNot();

function whyNot(): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (version === "") return "no python3 in PATH";
  return major > 3 || (major === 3 && minor >= (VERSION_MIN[1] as number)) ? undefined : `python3 is ${version}, older than 3.9`;
}

/** Returns the ending of a skipped test's title. */
export function unless(problem: string | undefined): string {
  return problem === undefined ? "" : ` (skipped: ${problem})`;
}

/** Runs a file of Python's own unit tests. @returns the status, and the report, which ends with "OK" where all pass */
export function pythonUnitTests(name: string): { status: number | null; stderr: string } {
  return spawnSync("python3", [join(REPOSITORY, "python", "tests", name)], {
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH: join(REPOSITORY, "python"), PYTHONDONTWRITEBYTECODE: "1" },
  });
}

/** The virtual environment, or why there is none. */
export function scientificPython(): { venv: string } | { problem: string } {
  if (WITHOUT_PYTHON !== undefined) return { problem: WITHOUT_PYTHON };
  const venv = join(REPOSITORY, ".test-cache", `python-${version}-pandas`);
  const done = join(venv, "complete");
  if (existsSync(done)) return { venv };
  mkdirSync(join(REPOSITORY, ".test-cache"), { recursive: true });
  for (const [program, ...args] of [
    ["python3", "-m", "venv", "--clear", venv],
    [join(venv, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy", "pandas", "pyarrow"],
  ]) {
    const { status, stderr } = spawnSync(program as string, args, { encoding: "utf8", timeout: 300_000 });
    if (status !== 0) return { problem: `${args.slice(0, 3).join(" ")} failed: ${(stderr ?? "").trim().split("\n").at(-1)}` };
  }
  writeFileSync(done, "");
  return { venv };
}
