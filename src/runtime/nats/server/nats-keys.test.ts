/** Tests NATS's text form of keys with NATS's own client; damaged ones are refused. */
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { createNatsKey, natsKeyFromSeed } from "./nats-keys.ts";

/** Key functions of NATS's client, as an oracle. */
interface Oracle {
  fromSeed(seed: Uint8Array): { getPublicKey(): string; sign(data: Uint8Array): Uint8Array };
  fromPublic(publicKey: string): { verify(data: Uint8Array, signature: Uint8Array): boolean };
}
const fromClient = createRequire(createRequire(import.meta.url).resolve("@nats-io/transport-node"));
const oracle = fromClient("@nats-io/nkeys") as Oracle;

const data = Buffer.from("what is signed", "utf8");

test.each([
  ["operator", "SO", "O"],
  ["account", "SA", "A"],
  ["user", "SU", "U"],
] as const)("the key of an %s is one to NATS's client, and signs what the client verifies", (kind, seedBegin, publicBegin) => {
  for (let round = 0; round < 20; round += 1) {
    const key = createNatsKey(kind);
    expect(key.seed.slice(0, 2)).toBe(seedBegin);
    expect(key.publicKey[0]).toBe(publicBegin);
    expect(oracle.fromSeed(Buffer.from(key.seed, "utf8")).getPublicKey()).toBe(key.publicKey);
    expect(oracle.fromPublic(key.publicKey).verify(data, key.sign(data))).toBe(true);
  }
});

test("a seed gives the same key again", () => {
  const key = createNatsKey("account");
  const again = natsKeyFromSeed(key.seed);
  expect(again.kind).toBe("account");
  expect(again.publicKey).toBe(key.publicKey);
  expect(Buffer.from(again.sign(data))).toEqual(Buffer.from(key.sign(data)));
});

test("damaged and other texts are refused without being repeated", () => {
  const key = createNatsKey("user");
  const swapped = key.seed.slice(0, 10) + (key.seed[10] === "A" ? "B" : "A") + key.seed.slice(11);
  for (const seed of [swapped, key.seed.slice(0, -1), key.publicKey, "", "S", "not a seed!"]) {
    const failure = (() => {
      try {
        natsKeyFromSeed(seed);
        return undefined;
      } catch (error) {
        return error as Error;
      }
    })();
    expect(failure).toBeInstanceOf(RangeError);
    if (seed.length > 1) expect(failure?.message).not.toContain(seed);
  }
});
