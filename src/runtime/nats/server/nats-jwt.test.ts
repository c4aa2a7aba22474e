/** Tests the content and signatures of tokens. Whether servers accept them is tested in test/control-plane/nats-operations.test.ts. */
import { createPublicKey, verify } from "node:crypto";
import { expect, test } from "vitest";
import { accountToken, operatorToken, userToken } from "./nats-jwt.ts";
import { createNatsKey, type NatsKey } from "./nats-keys.ts";

const operator = createNatsKey("operator");
const account = createNatsKey("account");
const user = createNatsKey("user");

function claimsOf(token: string): Record<string, unknown> & { nats: Record<string, unknown> } {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as ReturnType<typeof claimsOf>;
}

/** The raw public key is the 32 bytes after the kind in the text form. */
function isSignedBy(token: string, key: NatsKey): boolean {
  const bits = Array.from(key.publicKey, (letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join(
    "",
  );
  const raw = Buffer.from(Array.from({ length: 32 }, (_, index) => Number.parseInt(bits.slice(8 + index * 8, 16 + index * 8), 2)));
  const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const [header, body, signature = ""] = token.split(".");
  const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
  return verify(null, Buffer.from(`${header}.${body}`, "utf8"), publicKey, Buffer.from(signature, "base64url"));
}

test("an operator signs itself and names its system account", () => {
  const token = operatorToken(operator, { name: "o", issuedAt: 5, systemAccount: account.publicKey });
  expect(claimsOf(token)).toMatchObject({
    iss: operator.publicKey,
    sub: operator.publicKey,
    iat: 5,
    nats: { type: "operator", system_account: account.publicKey },
  });
  expect(isSignedBy(token, operator)).toBe(true);
  expect(isSignedBy(token, account)).toBe(false);
});

test("an account may use JetStream when it is to, and never leaf nodes", () => {
  const token = accountToken(operator, { name: "a", issuedAt: 6, publicKey: account.publicKey, hasJetStream: true });
  expect(claimsOf(token)).toMatchObject({ iss: operator.publicKey, sub: account.publicKey });
  expect(claimsOf(token).nats).toMatchObject({ type: "account", limits: { streams: -1, disk_storage: -1, leaf: 0 } });
  const plain = accountToken(operator, { name: "s", issuedAt: 6, publicKey: account.publicKey, hasJetStream: false });
  expect(claimsOf(plain).nats).toMatchObject({ limits: { streams: 0, disk_storage: 0, mem_storage: 0 } });
});

test("a user's token has no limits but its end", () => {
  const token = userToken(account, { name: "u", issuedAt: 8, publicKey: user.publicKey, expiresAt: 9 });
  expect(claimsOf(token)).toMatchObject({ iss: account.publicKey, exp: 9, nats: { type: "user", pub: {}, sub: {} } });
  expect(isSignedBy(token, account)).toBe(true);
  const free = claimsOf(userToken(account, { name: "u", issuedAt: 8, publicKey: user.publicKey }));
  expect(free["exp"]).toBeUndefined();
});
