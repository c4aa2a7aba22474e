/**
 * Picks the Python of an environment's workers: the one that it names, a virtual environment made for its packages, or the machine's.
 *
 * Called by `build.ts`, in the process that builds the environment. Looks before anything is started whether there is an interpreter and whether it is new enough, so that
 * the error names both the interpreter and the remedy. Packages are installed once for each list and interpreter, and kept for later sessions.
 */
import { isVersionFrom } from "../os/engine/supported-runtime.ts";
import { isDirectory, isFile, joinPath } from "../os/files/paths.ts";
import { findProgram, installPythonPackages, pythonFacts } from "../os/packages/python-install.ts";
import type { RuntimeEnvSpec } from "./runtime-env.ts";

/** Programs looked for in PATH if the environment names none. */
const DEFAULT_INTERPRETERS = ["python3", "python"];
const VERSION_MIN: readonly [number, number] = [3, 9];

interface PythonInterpreterOptions {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly cacheFolder: string;
  readonly timeoutMs: number;
}

/**
 * The interpreter of an environment whose workers speak Python.
 *
 * @throws Error with the missing part and the remedy
 */
export async function pythonInterpreter(spec: RuntimeEnvSpec, options: PythonInterpreterOptions): Promise<string> {
  const { python } = spec;
  const { variables, ...install } = options;
  const interpreter = typeof python === "string" ? interpreterAt(python) : machineInterpreter(variables);
  const version = await checkedVersion(interpreter);
  if (python === undefined || typeof python === "string") return interpreter;
  return await installPythonPackages({ packages: python, interpreter, version, ...install });
}

/** Returns the interpreter of a virtual environment, or the path itself if it is an interpreter. */
function interpreterAt(place: string): string {
  if (isFile(place)) return place;
  const candidates = [joinPath(place, "bin", "python3"), joinPath(place, "bin", "python"), joinPath(place, "Scripts", "python.exe")];
  const found = candidates.find(isFile);
  if (found !== undefined) return found;
  if (isDirectory(place))
    throw new Error(`${place} is no virtual environment: it has no bin/python3. Make one with: python3 -m venv ${inShell(place)}`);
  throw new Error(
    `there is no Python at ${place} on this machine. Make a virtual environment there with: python3 -m venv ${inShell(place)}`,
  );
}

/** Quotes a path for a shell command. */
function inShell(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function machineInterpreter(variables: Readonly<Record<string, string | undefined>>): string {
  for (const name of DEFAULT_INTERPRETERS) {
    const found = findProgram(name, variables["PATH"] ?? "");
    if (found !== undefined) return found;
  }
  throw new Error(
    `there is no python3 in PATH. Install Python ${VERSION_MIN.join(".")} or later, or name one with runtimeEnv: { python: "path/to/venv" }`,
  );
}

async function checkedVersion(interpreter: string): Promise<string> {
  const { version } = await pythonFacts(interpreter);
  if (isVersionFrom(version, VERSION_MIN)) return version;
  throw new Error(
    `${interpreter} is Python ${version}, and ${VERSION_MIN.join(".")} or later is needed: name another one with runtimeEnv: { python: ... }`,
  );
}
