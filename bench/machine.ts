/** The facts of the machine and of the software that a result is worth nothing without. No names of hosts or users. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { arch, cpus, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { RayEnvironment } from "./ray-environment.ts";

interface MachineFacts {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly system: string;
  readonly node: string;
  readonly shoal: string;
  readonly commit: string | null;
  readonly python: string | null;
  readonly ray: string | null;
}

export async function machineFacts(repositoryRoot: string, ray: RayEnvironment | null): Promise<MachineFacts> {
  const manifest = JSON.parse(await readFile(join(repositoryRoot, "package.json"), "utf8")) as { version: string };
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGigabytes: Math.round(totalmem() / 1e9),
    system: `${platform()} ${arch()} ${release()}`,
    node: process.versions.node,
    shoal: manifest.version,
    commit: await commitOf(repositoryRoot),
    python: ray?.pythonVersion ?? null,
    ray: ray?.rayVersion ?? null,
  };
}

async function commitOf(repositoryRoot: string): Promise<string | null> {
  try {
    const git = promisify(execFile);
    const head = await git("git", ["rev-parse", "--short=12", "HEAD"], { cwd: repositoryRoot });
    const changes = await git("git", ["status", "--porcelain", "--untracked-files=no"], { cwd: repositoryRoot });
    return head.stdout.trim() + (changes.stdout === "" ? "" : " with changes");
  } catch {
    return null;
  }
}
