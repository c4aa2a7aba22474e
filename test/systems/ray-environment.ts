/** Installs Ray's Python package in a separate environment, for its clients of Serve and of jobs. */
import { join } from "node:path";
import { installed } from "./installed.ts";

/** The folder with the programs `python` and `ray`. The first use installs them. */
export function rayPrograms(): string {
  const environment = installed("ray-serve-2.60.0", (folder) => [
    ["python3", "-m", "venv", folder],
    [
      join(folder, "bin", "python"),
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      "ray[default,serve]==2.60.0",
      "prometheus_client",
    ],
  ]);
  return join(environment, "bin");
}
