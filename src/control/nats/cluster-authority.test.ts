/** What the authority keeps, makes and forgets, with a clock of the test's own; that servers heed it is in test/control-plane/nats-operations.test.ts. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readNatsToken } from "../../platform/nats/nats-jwt.ts";
import { createNatsKey } from "../../platform/nats/nats-keys.ts";
import { ClusterAuthority, TOKEN_TTL_MS_MAX } from "./cluster-authority.ts";

let folder: string;
let nowMs = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-authority-"));
  nowMs = 1_000_000_000_000;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (cluster = "c"): ClusterAuthority => ClusterAuthority.open({ folder, cluster, nowMs: () => nowMs });
const user = (): string => createNatsKey("user").publicKey;
const revocationsOf = (token: string): unknown => readNatsToken(token).nats.revocations;

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

test("another head has the same keys", () => {
  const first = open();
  const second = ClusterAuthority.join({ folder: join(folder, "second"), cluster: "c" }, first.secretText());
  expect(second.account).toBe(first.account);
  expect(ClusterAuthority.open({ folder: join(folder, "second"), cluster: "c" }).account).toBe(first.account);
});

test("servers get tokens and no key", () => {
  const authority = open();
  const text = JSON.stringify(authority.serverAuthority());
  const secrets = Object.values(JSON.parse(authority.secretText()) as Record<string, string>).filter((value) => /^S[OAU]/.test(value));
  expect(secrets).toHaveLength(3);
  for (const secret of secrets) expect(text).not.toContain(secret);
  expect(Object.keys(authority.serverAuthority().accountTokens)).toEqual([authority.account, authority.systemAccount]);
});

test("a node's token ends, and is made only for a user's key and a time with a bound", () => {
  const authority = open();
  const { token, expiresAtMs } = authority.nodeToken("n1", user(), { ttlMs: 5_000 });
  expect(expiresAtMs).toBe(nowMs + 5_000);
  expect(readNatsToken(token)).toMatchObject({ iss: authority.account, exp: (nowMs + 5_000) / 1_000 });
  expect(() => authority.nodeToken("n1", authority.account)).toThrow(RangeError);
  expect(() => authority.nodeToken("*", user())).toThrow(RangeError);
  for (const ttlMs of [0, -1, Number.NaN, TOKEN_TTL_MS_MAX + 1])
    expect(() => authority.nodeToken("n1", user(), { ttlMs })).toThrow(RangeError);
});

test("the credentials of a head are made anew for each connection, with the same key", () => {
  const credentials = open().headCredentials("head");
  const first = credentials();
  nowMs += 60_000;
  const second = credentials();
  expect(second.seed).toBe(first.seed);
  expect(readNatsToken(second.token).exp).toBe((readNatsToken(first.token).exp ?? 0) + 60);
});

test("revocations add up over restarts and heads, are newer each time, and are forgotten when tokens have ended anyway", () => {
  const [a, b, c, d] = [user(), user(), user(), user()];
  const at = nowMs / 1_000;
  const first = open().revoke([a]);
  const second = open().revoke([b]);
  expect(revocationsOf(second)).toEqual({ [a]: at, [b]: at });
  expect(readNatsToken(second).iat).toBeGreaterThan(readNatsToken(first).iat);
  const other = ClusterAuthority.join({ folder: join(folder, "other"), cluster: "c", nowMs: () => nowMs }, open().secretText());
  const theirs = other.revoke([c]);
  nowMs += 1_000;
  expect(revocationsOf(open().revoke([a], theirs))).toEqual({ [a]: at + 1, [b]: at, [c]: at });
  nowMs += TOKEN_TTL_MS_MAX;
  expect(revocationsOf(open().revoke([d]))).toEqual({ [a]: at + 1, [d]: nowMs / 1_000 });
  expect(Object.values(open().serverAuthority().accountTokens)[0]).toContain(".");
});
