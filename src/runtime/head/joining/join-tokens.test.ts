/** Tests the join tokens of a head: validity, stored records, and the limit on attempts. */
import { expect, test } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import { newAuthority, newNodeKey } from "../../os/network/certificates.ts";
import { parseJoinToken } from "../../rpc/join-token.ts";
import { Joining } from "./join.ts";
import { type JoinTokenRecord, JoinTokens } from "./join-tokens.ts";

const NOW = Date.UTC(2030, 0, 1);
const FROM = "10.0.0.9";
const NODE = "0123456789abcdef0123456789abcdef" as NodeId;
const HEAD = "f".repeat(32) as NodeId;

test("a token is good until its age or its revocation, also in tables that were stored and read again", () => {
  const tokens = new JoinTokens();
  const aged = tokens.add("aged", { nowMs: NOW, ageMaxMs: 1000 });
  const lasting = tokens.add("lasting", { nowMs: NOW });
  expect(JSON.stringify(tokens.records)).not.toContain("lasting");
  const try_ = (secret: string, nowMs: number, of = tokens): string | undefined => of.refusalOf(secret, { from: FROM, nowMs });
  expect(try_("aged", NOW + 999)).toBeUndefined();
  expect(try_("aged", NOW + 1000)).toContain("it was good until 2030-01-01T00:00:01.000Z");
  expect(try_("lasting", NOW + 1e12)).toBeUndefined();
  expect(try_("no such", NOW + 2e12)).toContain("it is not one of this cluster");
  // Readers of the tables know the id, which is no secret.
  expect(try_(lasting.id, NOW + 3e12)).toContain("it is not one of this cluster");
  expect(tokens.revoke(lasting.id, NOW + 5)?.revokedAtMs).toBe(NOW + 5);
  expect(tokens.revoke("no such", NOW)).toBeUndefined();
  const read = new JoinTokens(JSON.parse(JSON.stringify(tokens.records)) as JoinTokenRecord[]);
  expect(try_("lasting", NOW + 4e12, read)).toContain("it was revoked at");
  expect(read.records.map(({ id }) => id)).toEqual([aged.id, lasting.id]);
});

test("one address may try five times a second, and does not take the tries of another", () => {
  const tokens = new JoinTokens();
  tokens.add("good", { nowMs: NOW });
  const tries = (from: string, nowMs: number): number => {
    let count = 0;
    while (tokens.refusalOf("bad", { from, nowMs })?.includes("not one of") === true) count += 1;
    return count;
  };
  expect(tries(FROM, NOW)).toBe(5);
  expect(tokens.refusalOf("good", { from: FROM, nowMs: NOW })).toContain("more than 5 tries a second");
  expect(tokens.refusalOf("good", { from: "10.0.0.8", nowMs: NOW })).toBeUndefined();
  expect(tries(FROM, NOW + 400)).toBe(2);
  expect(tries(FROM, NOW + 60_000)).toBe(5);
});

test("a token of the head lets a node in, once stored; ids that live or are dead are refused, as are bad keys", async () => {
  const stored: JoinTokenRecord[] = [];
  const authority = newAuthority({ nowMs: NOW });
  let nowMs = NOW;
  const dead = "d".repeat(32) as NodeId;
  const joining = new Joining({
    authority,
    headNodeId: HEAD,
    token: "the cluster's",
    livingNodes: () => [HEAD],
    isDead: (nodeId) => nodeId === dead,
    store: async (record) => void stored.push(record),
    nowMs: () => (nowMs += 1000),
  });
  const { joinToken, id } = await joining.newJoinToken({ ageMaxMs: 3_600_000 });
  const { secret } = parseJoinToken(joinToken);
  expect(stored.map((record) => record.id)).toEqual([id]);
  const { publicKey } = newNodeKey();
  const request = { version: 1, secret, nodeId: NODE, publicKey };
  const reply = joining.join(request, FROM);
  expect(reply).toMatchObject({ headNodeId: HEAD, token: "the cluster's" });
  expect(() => joining.join({ ...request, nodeId: `${"f".repeat(16)}${"0".repeat(16)}` as NodeId }, FROM)).toThrow("belongs to a node");
  expect(() => joining.join({ ...request, nodeId: dead }, FROM)).toThrow("declared dead");
  expect(() => joining.join({ ...request, publicKey: "none" }, FROM)).toThrow("not a P-256 key");
  expect(joining.renew(NODE, publicKey)).not.toBe(reply.certificate);
  expect(() => joining.renew(dead, publicKey)).toThrow("declared dead");
  expect(await joining.revoke(id)).toBe(true);
  expect(await joining.revoke("no such")).toBe(false);
  expect(stored.length).toBe(2);
  expect(() => joining.join(request, FROM)).toThrow("it was revoked");
});
