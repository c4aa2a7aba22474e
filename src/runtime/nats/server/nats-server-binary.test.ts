/**
 * Tests where a nats-server is looked for, in which order, and the error if there is none. Programs are small scripts that print a version.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findNatsServer, NatsServerNotFoundError, natsPackageName } from "./nats-server-binary.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-nats-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(path: string, version: string): string {
  const full = join(folder, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, `#!/bin/sh\necho "nats-server: v${version}"\n`);
  chmodSync(full, 0o755);
  return full;
}

function installed(version: string): string {
  const name = `project/node_modules/${natsPackageName()}`;
  const path = program(`${name}/bin/nats-server`, version);
  writeFileSync(join(folder, name, "package.json"), "{}");
  return path;
}

test("the named program comes first, then a package, then what was installed for this user, then PATH", async () => {
  const named = program("named", "2.15.1");
  const packaged = installed("2.14.0");
  const inPath = program("bin/nats-server", "2.12.0");
  const from = [join(folder, "project")];
  const PATH = join(folder, "bin");
  expect(await findNatsServer({ environment: { SHOAL_NATS_BIN: named, PATH }, from })).toEqual({
    path: named,
    version: "2.15.1",
    foundBy: "SHOAL_NATS_BIN",
  });
  expect(await findNatsServer({ environment: { PATH }, from })).toEqual({ path: packaged, version: "2.14.0", foundBy: "package" });
  const cached = program("cache/nats-server", "2.13.0");
  expect((await findNatsServer({ environment: { PATH }, from, installed: cached })).foundBy).toBe("package");
  expect(await findNatsServer({ environment: { PATH }, from: [], installed: cached })).toEqual({
    path: cached,
    version: "2.13.0",
    foundBy: "installed",
  });
  const missing = join(folder, "missing");
  expect(await findNatsServer({ environment: { PATH }, from: [], installed: missing })).toEqual({
    path: inPath,
    version: "2.12.0",
    foundBy: "PATH",
  });
});

test("one that is too old is passed over, and named when nothing better is found", async () => {
  const old = program("old/nats-server", "2.9.10");
  const good = program("new/nats-server", "2.12.3");
  expect((await findNatsServer({ environment: { PATH: `${dirname(old)}:${dirname(good)}` }, from: [] })).path).toBe(good);
  await expect(findNatsServer({ environment: { PATH: dirname(old) }, from: [] })).rejects.toThrow(`${old}: it is v2.9.10, and 2.12`);
});

test("a program that was named is the one or nothing: no other is taken silently", async () => {
  const good = program("bin/nats-server", "2.15.1");
  const environment = { SHOAL_NATS_BIN: join(folder, "missing"), PATH: dirname(good) };
  await expect(findNatsServer({ environment, from: [] })).rejects.toThrow(/SHOAL_NATS_BIN is .*missing: it does not start/);
});

test("when there is none, the error lists every way to get one", async () => {
  const error = await findNatsServer({ environment: { PATH: folder }, from: [folder] }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(NatsServerNotFoundError);
  const { hint = "", code } = error as NatsServerNotFoundError;
  expect(code).toBe("NATS_SERVER_NOT_FOUND");
  expect(hint).toMatch(/^One of: \(1\) `shoal nats install`/);
  for (const way of ["nats://", "SHOAL_NATS_BIN", "PATH"]) expect(hint).toContain(way);
});
