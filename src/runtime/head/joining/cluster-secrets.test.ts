import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import { parseJoinToken } from "../../rpc/join-token.ts";
import { openSecrets, type SecretsPlace, secretsInFolder, secretsInMemory, secretsInStore } from "./cluster-secrets.ts";
import { HeadSecurity } from "./head-security.ts";
import { MemoryStore } from "../../control-plane/memory-store.ts";
import { KeyTable } from "../../control-plane/key-table.ts";

const NOW = Date.UTC(2026, 0, 1);
let folder: string;
let tables: KeyTable;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "shoal-secrets-")), "head");
  tables = new KeyTable();
});
afterEach(() => {
  rmSync(join(folder, ".."), { recursive: true });
});

function head(place: SecretsPlace, nowMs = NOW): Promise<HeadSecurity> {
  return HeadSecurity.open({
    place,
    headId: "0".repeat(32) as NodeId,
    token: undefined,
    hosts: [],
    tlsOnLoopback: false,
    livingNodes: () => [],
    isDead: () => false,
    nowMs: () => nowMs,
  });
}

describe.each([
  ["a folder", () => secretsInFolder(folder)],
  ["the control store", () => secretsInStore(new MemoryStore(tables))],
])("in %s", (_, place) => {
  test("the next head is of the same cluster, and knows which join tokens are good", async () => {
    const first = await head(place());
    const made = await first.joinTokens({ do: "new", ageMaxMs: 1000 });
    const { joinToken } = first;
    const second = await head(place());
    expect([second.token, second.joinToken]).toEqual([first.token, joinToken]);
    expect(await second.joinTokens({ do: "list" })).toMatchObject({ tokens: [{ createdAtMs: NOW }, { expiresAtMs: NOW + 1000 }] });
    expect(made.kind === "new" && parseJoinToken(made.joinToken).authorityHash).toBe(parseJoinToken(joinToken as string).authorityHash);
  });

  test("a token that was revoked is not shown any more, after a restart, too", async () => {
    const first = await head(place());
    const listed = await first.joinTokens({ do: "list" });
    const id = listed.kind === "list" ? listed.tokens[0]?.id : undefined;
    expect(await first.joinTokens({ do: "revoke", id: id ?? "" })).toEqual({ kind: "revoked", wasKnown: true });
    expect(first.joinToken).toBeUndefined();
    expect((await head(place())).joinToken).toBeUndefined();
    expect(await first.joinTokens({ do: "revoke", id: "unknown" })).toEqual({ kind: "revoked", wasKnown: false });
  });

  test("of two heads that begin at once both have the same", async () => {
    const shared = place();
    const [one, other] = await Promise.all([openSecrets(shared, { nowMs: NOW }), openSecrets(shared, { nowMs: NOW })]);
    expect(one).toEqual(other);
  });
});

test("the folder and the file are readable by their user alone", async () => {
  await openSecrets(secretsInFolder(folder), { nowMs: NOW });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, "cluster-secrets.json")).mode & 0o777).toBe(0o600);
});

test("in memory a head keeps what it has made", async () => {
  const security = await head(secretsInMemory());
  await security.joinTokens({ do: "new" });
  expect(await security.joinTokens({ do: "list" })).toMatchObject({ tokens: [{}, { expiresAtMs: undefined }] });
});

test("malformed questions are refused", async () => {
  const security = await head(secretsInMemory());
  await expect(security.joinTokens(null as never)).rejects.toThrow("malformed");
  await expect(security.joinTokens({ do: "new", ageMaxMs: -1 })).rejects.toThrow("received -1");
});
