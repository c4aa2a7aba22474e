/**
 * Programs in Go that test servers: built once by `go install` and kept below `.test-cache/`.
 *
 * Versions are pinned. Where Go is missing or a program cannot be built, the tests that need it are skipped, and their titles say why.
 * A build takes about a minute on a quiet machine.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../house/source-files.ts";

const BUILD_MS = 900_000;
const PROGRAMS = {
  h2spec: { package: "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible", program: "h2spec" },
  helm: { package: "helm.sh/helm/v3/cmd/helm@v3.22.0", program: "helm" },
  grpcInterop: { package: "google.golang.org/grpc/interop/client@v1.85.0", program: "client" },
} as const;

/** A program, or the reason why there is none. */
export function goProgram(name: keyof typeof PROGRAMS): { path: string; missing: string | undefined } {
  const { package: source, program } = PROGRAMS[name];
  const folder = join(REPOSITORY, ".test-cache", "go", source.replaceAll(/[^\w.-]/g, "_"));
  const path = join(folder, program);
  if (existsSync(path)) return { path, missing: undefined };
  mkdirSync(folder, { recursive: true });
  const built = spawnSync("go", ["install", source], { env: { ...process.env, GOBIN: folder }, encoding: "utf8", timeout: BUILD_MS });
  if (existsSync(path)) return { path, missing: undefined };
  return {
    path,
    missing: built.error === undefined ? `go install failed: ${built.stderr.trim().split("\n").at(-1) ?? ""}` : "there is no Go",
  };
}
