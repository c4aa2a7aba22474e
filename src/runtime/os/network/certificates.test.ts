/** Tests certificates: Node and OpenSSL's rules accept them, names and dates are as requested, and nothing else is certified. */
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import { authorityHash, certifyNode, newAuthority, newNodeKey, renewalTimeMs } from "./certificates.ts";
import { objectId, time, unsignedInteger } from "./der.ts";
import { certifiedName, forgetTlsIdentity, setTlsIdentity, tlsIdentity, watchTlsIdentity } from "./tls-identity.ts";

const NOW = Date.UTC(2030, 0, 2, 3, 4, 5);
const DAY = 86_400_000;
const NODE = "0123456789abcdef0123456789abcdef" as NodeId;
const OTHER = "f".repeat(32) as NodeId;
const authority = newAuthority({ nowMs: NOW });
const node = newNodeKey();

afterEach(forgetTlsIdentity);

test("a node's certificate is signed by the authority, names the node, fits the key, and has the dates", () => {
  const ca = new X509Certificate(authority.ca);
  const cert = new X509Certificate(certifyNode(authority, { nodeId: NODE, publicKey: node.publicKey, nowMs: NOW }));
  expect(ca.ca).toBe(true);
  expect(ca.verify(ca.publicKey)).toBe(true);
  expect(ca.checkPrivateKey(createPrivateKey(authority.key))).toBe(true);
  expect(cert.ca).toBe(false);
  expect(cert.checkIssued(ca)).toBe(true);
  expect(cert.verify(ca.publicKey)).toBe(true);
  expect(cert.checkPrivateKey(createPrivateKey(node.key))).toBe(true);
  expect(cert.subjectAltName).toBe(`DNS:${NODE}.node.shoal`);
  expect(certifiedName(cert.subjectAltName)).toEqual({ nodeId: NODE, isHead: false });
  expect(cert.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  expect([Date.parse(cert.validFrom), Date.parse(cert.validTo)]).toEqual([NOW - 300_000, NOW + 30 * DAY]);
  expect(Date.parse(ca.validTo)).toBe(NOW + 3650 * DAY);
  expect(renewalTimeMs(cert.toString())).toBe(NOW + 20 * DAY);
  expect(authorityHash(authority.ca)).toBe(ca.fingerprint256.replaceAll(":", "").toLowerCase());
});

test("the head is named as such, and hosts by name and by both kinds of IP address", () => {
  const hosts = ["head.example.org", "10.1.2.3", "::1", "fd00::7:8", "::ffff:10.0.0.1"];
  const cert = new X509Certificate(certifyNode(authority, { nodeId: NODE, publicKey: node.publicKey, nowMs: NOW, isHead: true, hosts }));
  expect(certifiedName(cert.subjectAltName)).toEqual({ nodeId: NODE, isHead: true });
  expect(cert.checkHost("head.example.org")).toBe("head.example.org");
  expect(["10.1.2.3", "::1", "fd00::7:8", "::ffff:10.0.0.1"].map((ip) => cert.checkIP(ip))).toEqual([
    "10.1.2.3",
    "::1",
    "fd00::7:8",
    "::ffff:10.0.0.1",
  ]);
  expect(cert.checkIP("10.1.2.4")).toBeUndefined();
});

test("no certificate outlives its authority, nor speaks for two nodes", () => {
  const short = newAuthority({ nowMs: NOW, validForMs: DAY });
  const cert = new X509Certificate(certifyNode(short, { nodeId: NODE, publicKey: node.publicKey, nowMs: NOW }));
  expect(Date.parse(cert.validTo)).toBe(NOW + DAY);
  expect(certifiedName(`DNS:${NODE}.node.shoal, DNS:${OTHER}.node.shoal`).nodeId).toBeUndefined();
  // A name that only contains a valid one, or that has another kind.
  expect(certifiedName(`DNS:${NODE}.node.shoal.example.org, URI:${NODE}.node.shoal, IP Address:1.2.3.4`).nodeId).toBeUndefined();
});

test("certifies only P-256 public keys, and only ids", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({ type: "spki", format: "pem" }) as string;
  for (const publicKey of [rsa, node.key, "", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"]) {
    expect(() => certifyNode(authority, { nodeId: NODE, publicKey, nowMs: NOW })).toThrow("not a P-256 key");
  }
  expect(() => certifyNode(authority, { nodeId: `${NODE}, DNS:head.shoal` as NodeId, publicKey: node.publicKey, nowMs: NOW })).toThrow(
    "not 32 hex digits",
  );
});

test("an identity is replaced only by a later one of the same node and cluster, which listeners are told", () => {
  const identity = (of: typeof authority, nodeId: NodeId) => ({
    ca: of.ca,
    cert: certifyNode(of, { nodeId, publicKey: node.publicKey, nowMs: NOW }),
    key: node.key,
  });
  const told: string[] = [];
  const unwatch = watchTlsIdentity(({ cert }) => told.push(cert));
  const first = identity(authority, NODE);
  const later = identity(authority, NODE);
  setTlsIdentity(first);
  setTlsIdentity(later);
  expect(told).toEqual([first.cert, later.cert]);
  expect(() => setTlsIdentity(identity(authority, OTHER))).toThrow(`it is ${NODE}`);
  expect(() => setTlsIdentity(identity(newAuthority({ nowMs: NOW }), NODE))).toThrow("another authority");
  expect(tlsIdentity()).toBe(later);
  unwatch();
});

test("DER: integers stay unsigned, ids of many digits, years from 2050 on", () => {
  expect(unsignedInteger(Buffer.of(0, 0, 0x80)).toString("hex")).toBe("02020080");
  expect(unsignedInteger(Buffer.of(0)).toString("hex")).toBe("020100");
  expect(objectId("1.2.840.10045.4.3.2").toString("hex")).toBe("06082a8648ce3d040302");
  expect(
    time(Date.UTC(2049, 11, 31, 23, 59, 59))
      .subarray(2)
      .toString(),
  ).toBe("491231235959Z");
  expect(
    time(Date.UTC(2050, 0, 1))
      .subarray(2)
      .toString(),
  ).toBe("20500101000000Z");
});
