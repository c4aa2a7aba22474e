/** The environment of the Python searchers' libraries, pinned, installed below `.test-cache/` by the first run. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../house/source-files.ts";

/** Packages of the searchers. Nevergrad depends on bayesian-optimization at this version. */
const LIBRARIES = [
  "optuna==5.0.0",
  "cmaes==0.13.1",
  "scipy",
  "hyperopt==0.3.0",
  "nevergrad==1.0.12",
  "bayesian-optimization==1.4.0",
  "setuptools<81",
];
const RAY = ["ray[tune]==2.60.0", "scikit-learn"];

function environment(name: string, packages: readonly string[]): string {
  const folder = join(REPOSITORY, ".test-cache", name);
  const done = join(folder, "complete");
  const python = join(folder, "bin", "python3");
  if (existsSync(done)) return python;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
  for (const [program, ...args] of [["python3", "-m", "venv", folder], install])
    execFileSync(program as string, args, { stdio: ["ignore", "ignore", "inherit"] });
  writeFileSync(done, "");
  return python;
}

/** A Python with Optuna, cmaes, Hyperopt, Nevergrad and bayesian-optimization. */
export function pythonWithSearchers(): string {
  return environment("tune-searchers", LIBRARIES);
}

/** A Python with Ray Tune. */
export function pythonWithRay(): string {
  return environment("tune-ray-2.60.0", RAY);
}
