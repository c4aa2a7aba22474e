/** The program `shoal` as a process: its output on both streams, its exit codes, a quick start, and a reader that goes away. */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { useFolder } from "./session.ts";

const PROGRAM = join(REPOSITORY, "dist", "ops", "cli", "main.js");
const { version } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")) as { version: string };
const folder = useFolder();

const shoal = (args: readonly string[], env: Record<string, string> = {}): ReturnType<typeof runProgram> =>
  runProgram([PROGRAM, ...args], { cwd: folder, env: { XDG_CACHE_HOME: join(folder, "cache"), SHOAL_NATS_BIN: "", ...env } });

test("help and version go to standard output, mistakes to standard error with code 2", async () => {
  expect(await shoal(["--help"])).toMatchObject({ exitCode: 0, stderr: "", stdout: expect.stringContaining("nats install") as string });
  const lines = (await shoal(["version"])).stdout;
  for (const option of ["--version", "-v"]) expect(await shoal([option])).toMatchObject({ exitCode: 0, stdout: lines, stderr: "" });
  const said = await shoal(["version", "--json"]);
  expect(said).toMatchObject({ exitCode: 0, stderr: "" });
  expect(JSON.parse(said.stdout)).toMatchObject({ shoal: version, node: process.versions.node });
  const wrong = await shoal(["nats", "instal"]);
  expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
  expect(wrong.stderr).toBe('shoal: Cannot run shoal: there is no command "nats instal". Did you mean nats install? See `shoal --help`.\n');
});

test("an installed nats-server is the one that is found afterwards", async () => {
  const file = join(folder, "program");
  writeFileSync(file, '#!/bin/sh\necho "nats-server: v2.15.9"\n');
  chmodSync(file, 0o755);
  const refused = await shoal(["nats", "install", "--from", file]);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toMatch(/^shoal: Cannot install nats-server: the SHA-256 of .*\n {2}When whoever made the file/);
  const sha256 = /is ([0-9a-f]{64})/.exec(refused.stderr)?.[1] ?? "";
  const installed = await shoal(["nats", "install", "--from", file, "--sha256", sha256, "--json"]);
  const path = join(folder, "cache", "shoal", "nats-server", "nats-server");
  expect(JSON.parse(installed.stdout)).toMatchObject({ path, version: "2.15.9", source: "file" });
  expect(installed.stderr).toContain(`Installed nats-server 2.15.9 as ${path}.`);
  expect((await shoal(["version"])).stdout).toContain(`nats-server 2.15.9: ${path}`);
});

test("a reader that goes away ends the output and is no failure", () => {
  const command = `"${process.execPath}" "${PROGRAM}" --help | true; "${process.execPath}" "${PROGRAM}" --help | head -n 1`;
  expect(execFileSync("sh", ["-c", command], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })).toBe(
    "Usage: shoal <command> [options]\n",
  );
});
