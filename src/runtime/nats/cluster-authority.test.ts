/**
 * Tests the authority's keys and tokens with a clock that the test drives. Whether servers obey them is tested in
 * test/control-plane/nats-operations.test.ts.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ClusterAuthority } from "./cluster-authority.ts";

let folder: string;
let nowMs = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-authority-"));
  nowMs = 1_000_000_000_000;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (cluster = "c"): ClusterAuthority => ClusterAuthority.open({ folder, cluster, nowMs: () => nowMs });
const expiryOf = (token: string): number =>
  (JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as { exp: number }).exp;

test("keys are made once, kept for this user alone, and found again", () => {
  const first = open();
  const file = join(folder, "nats-authority.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(open().account).toBe(first.account);
  expect(first.account).not.toBe(first.systemAccount);
  chmodSync(file, 0o644);
  expect(() => open()).toThrow(/other users may read/);
});

test("keys of another cluster and damaged keys are refused, with a way out", () => {
  open("c");
  expect(() => open("d")).toThrow(/those of the cluster "c", and this is "d"/);
  const file = join(folder, "nats-authority.json");
  writeFileSync(file, readFileSync(file, "utf8").replace(/S([OA])/, "S$1X"));
  expect(() => open("c")).toThrow(/damaged/);
});

test("servers get tokens and no key", () => {
  const authority = open();
  const text = JSON.stringify(authority.serverAuthority());
  const secrets = Object.values(JSON.parse(readFileSync(join(folder, "nats-authority.json"), "utf8")) as Record<string, string>).filter(
    (value) => /^S[OAU]/.test(value),
  );
  expect(secrets).toHaveLength(3);
  for (const secret of secrets) expect(text).not.toContain(secret);
  expect(Object.keys(authority.serverAuthority().accountTokens)).toEqual([authority.account, authority.systemAccount]);
});

test("the credentials of a head are made anew for each connection, with the same key", () => {
  const credentials = open().headCredentials("head");
  const first = credentials();
  nowMs += 60_000;
  const second = credentials();
  expect(second.seed).toBe(first.seed);
  expect(expiryOf(first.token)).toBe((nowMs - 60_000) / 1_000 + 24 * 3_600);
  expect(expiryOf(second.token)).toBe(expiryOf(first.token) + 60);
});
