import { describe, expect, test } from "vitest";
import { type NodeTag, nodeTagOf, type ProcessId, programNamespace } from "../base/ids.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import { MESSAGE } from "../wire/messages.ts";
import { keyObstacle, type KeyValue, keyValueHandlers, KeyValues } from "./key-values.ts";

const textOf = (value: KeyValue | undefined): string => new TextDecoder().decode(value?.body);

function valueOf(
  text: string,
  { by = text, namespace = "n", key = "k" }: { by?: string; namespace?: string; key?: string } = {},
): KeyValue {
  return { namespace, key, form: "json", by, body: new TextEncoder().encode(text) };
}

describe("values by name", () => {
  test("are put, read, listed by prefix and deleted, each namespace for itself", () => {
    const values = new KeyValues();
    for (const key of ["b/2", "a", "b/1"]) expect(values.put(valueOf(key, { key }), { overwrite: true })).toBe(true);
    values.put(valueOf("other", { namespace: "m", key: "b/3" }), { overwrite: true });
    expect(values.list({ namespace: "n", prefix: "" })).toEqual(["a", "b/1", "b/2"]);
    expect(values.list({ namespace: "n", prefix: "b/" })).toEqual(["b/1", "b/2"]);
    expect(values.list({ namespace: "nobody's", prefix: "" })).toEqual([]);
    expect(textOf(values.get({ namespace: "m", key: "b/3" }))).toBe("other");
    expect([values.delete({ namespace: "n", key: "a" }), values.delete({ namespace: "n", key: "a" })]).toEqual([true, false]);
    expect(values.get({ namespace: "n", key: "a" })).toBeUndefined();
    // Namespace and key together are no name: these are two.
    values.put(valueOf("1", { namespace: "x", key: "yz" }), { overwrite: true });
    values.put(valueOf("2", { namespace: "xy", key: "z" }), { overwrite: true });
    expect(textOf(values.get({ namespace: "x", key: "yz" }))).toBe("1");
  });

  test("without overwrite one that is there stays, but the same question is answered as before", () => {
    const values = new KeyValues();
    expect(values.put(valueOf("first"), { overwrite: false })).toBe(true);
    expect(values.put(valueOf("second"), { overwrite: false })).toBe(false);
    expect(values.put(valueOf("first"), { overwrite: false })).toBe(true);
    expect(textOf(values.get({ namespace: "n", key: "k" }))).toBe("first");
    expect(values.put(valueOf("third"), { overwrite: true })).toBe(true);
    expect(textOf(values.get({ namespace: "n", key: "k" }))).toBe("third");
  });
});

test("all values together have a limit, which replacing and deleting give back", () => {
  const values = new KeyValues({ bytesMax: 2000 });
  const big = (key: string, length = 500): KeyValue => ({ ...valueOf("x".repeat(length), { key, by: `${key}/${length}` }) });
  for (const key of ["a", "b"]) expect(values.put(big(key), { overwrite: true })).toBe(true);
  expect(values.roomObstacle(big("c"))).toBe("all values of the cluster may take 2000 bytes, and they would take 2280");
  expect(values.roomObstacle(big("b", 600))).toBeUndefined();
  expect(values.roomObstacle(big("b", 1500))).toContain("they would take 2520");
  values.delete({ namespace: "n", key: "a" });
  expect(values.roomObstacle(big("c"))).toBeUndefined();
});

test("the keys of a program without a namespace go with it, and a text that only looks like such a namespace is nobody's", () => {
  const driver = "0123456789abcdef0123456789abcdef" as ProcessId;
  const values = new KeyValues();
  for (const namespace of [programNamespace(driver), "program-of-mine", "n"])
    values.put(valueOf("1", { namespace, by: namespace }), { overwrite: true });
  expect(values.programs()).toEqual([driver]);
  expect([values.programs(nodeTagOf(driver)), values.programs("fedcba9876543210" as NodeTag)]).toEqual([[driver], []]);
  values.programGone(driver);
  expect(["program-of-mine", "n", programNamespace(driver)].map((namespace) => values.isEmpty(namespace))).toEqual([false, false, true]);
});

test("a head refuses what it could not keep, whoever asks", () => {
  const said: unknown[] = [];
  const connection = { reply: (...said_: unknown[]) => said.push(said_), replyError: (...said_: unknown[]) => said.push(said_) };
  const peer = { id: "p" as ProcessId, holderId: "p" as ProcessId, connection } as unknown as HeadPeer;
  const values = new KeyValues();
  const put = (key: string, bytes: number): void => {
    const header = { namespace: "n", key, form: "bytes", overwrite: true } as const;
    keyValueHandlers(values)[MESSAGE.KV_PUT](header, peer, { type: MESSAGE.KV_PUT, callId: 1, flags: 0, body: new Uint8Array(bytes) });
  };
  put("k", 1024 * 1024);
  put("k", 1024 * 1024 + 1);
  put("k".repeat(1000), 1);
  put("", 1);
  expect(said[0]).toEqual([1, true]);
  expect(said[1]).toMatchObject([
    1,
    { code: "malformed", message: expect.stringContaining("a value may take 1048576 bytes: received 1048577") as string },
  ]);
  for (const answer of said.slice(2))
    expect(answer).toMatchObject([1, { code: "malformed", message: expect.stringContaining("a key has from 1 to") as string }]);
  expect(values.list({ namespace: "n", prefix: "" })).toEqual(["k"]);
  expect(keyObstacle({ namespace: "n".repeat(100), key: "k".repeat(700) })).toBeUndefined();
});
