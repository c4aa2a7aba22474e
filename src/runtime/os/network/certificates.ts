/**
 * The cluster's authority and the certificates that it makes for nodes: X.509, ECDSA over P-256, for both ends of TLS.
 *
 * The head keeps the authority's key and nothing else does; a node makes its own key and sends the public half. A node's certificate is good for 30 days and
 * made anew after two thirds of them, so a stolen one is not good for long; the authority's is good for ten years. Certificates
 * begin five minutes before they are made, as clocks differ. Written here because the smallest well-kept package that makes certificates
 * brings eleven others along (decision 0022).
 */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { isIP, isIPv6 } from "node:net";
import type { NodeId } from "../../base/ids.ts";
import { bits, boolean, objectId, octets, sequence, set, tagged, taggedPlain, text, time, unsignedInteger } from "./der.ts";
import { HEAD_NAME, nodeName } from "./tls-identity.ts";

const DAY_MS = 86_400_000;
const NODE_CERTIFICATE_MS: number = 30 * DAY_MS;
const AUTHORITY_MS = 3650 * DAY_MS;
const CLOCKS_DIFFER_MS = 5 * 60_000;

const ECDSA_WITH_SHA256 = sequence(objectId("1.2.840.10045.4.3.2"));
const COMMON_NAME = objectId("2.5.4.3");
const SUBJECT_KEY_ID = "2.5.29.14";
const KEY_USAGE = "2.5.29.15";
const SUBJECT_ALT_NAME = "2.5.29.17";
const BASIC_CONSTRAINTS = "2.5.29.19";
const AUTHORITY_KEY_ID = "2.5.29.35";
const EXTENDED_KEY_USAGE = "2.5.29.37";
const SERVER_AND_CLIENT = sequence(objectId("1.3.6.1.5.5.7.3.1"), objectId("1.3.6.1.5.5.7.3.2"));

/** Both PEM. */
export interface Authority {
  ca: string;
  key: string;
}

export function newAuthority(options: { nowMs: number; validForMs?: number }): Authority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  // The name differs between clusters, so that a certificate of another is not even tried.
  const commonName = `shoal cluster ${randomBytes(8).toString("hex")}`;
  const ca = certificate({
    issuer: commonName,
    subject: commonName,
    publicKey,
    signingKey: privateKey,
    nowMs: options.nowMs,
    validForMs: options.validForMs ?? AUTHORITY_MS,
    extensions: [
      extension(BASIC_CONSTRAINTS, sequence(boolean(true), unsignedInteger(Buffer.of(0))), true),
      // keyCertSign, cRLSign
      extension(KEY_USAGE, bits(Buffer.of(0b0000_0110), 1), true),
      extension(SUBJECT_KEY_ID, octets(keyId(publicKey))),
    ],
  });
  return { ca, key: privateKey.export({ type: "pkcs8", format: "pem" }) as string };
}

/** Makes a node's key; the private half never leaves the machine. */
export function newNodeKey(): { key: string; publicKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    publicKey: publicKey.export({ type: "spki", format: "pem" }) as string,
  };
}

interface CertifyOptions {
  nodeId: NodeId;
  /** PEM, from {@link newNodeKey}. */
  publicKey: string;
  /** Names the head, too: nodes send it data that they send to no other node. */
  isHead?: boolean;
  /** Names and IP addresses for clients that check them, such as NATS's. */
  hosts?: readonly string[];
  nowMs: number;
  validForMs?: number;
}

/**
 * Makes the certificate of a node.
 *
 * @throws RangeError when the public key or the node id is invalid.
 */
export function certifyNode(authority: Authority, options: CertifyOptions): string {
  const { nodeId, isHead, hosts = [], nowMs, validForMs = NODE_CERTIFICATE_MS } = options;
  if (!/^[0-9a-f]{32}$/.test(nodeId))
    throw new RangeError(`Cannot certify a node: its id is not 32 hex digits: received ${JSON.stringify(nodeId)}`);
  const publicKey = checkedPublicKey(options.publicKey);
  const ca = new X509Certificate(authority.ca);
  const names = [nodeName(nodeId), ...(isHead === true ? [HEAD_NAME] : []), ...hosts].map(generalName);
  return certificate({
    issuer: ca.subject.replace(/^CN=/, ""),
    subject: nodeName(nodeId),
    publicKey,
    signingKey: authority.key,
    nowMs,
    // Never beyond its authority.
    validForMs: Math.min(validForMs, Date.parse(ca.validTo) - nowMs),
    extensions: [
      extension(BASIC_CONSTRAINTS, sequence(), true),
      // digitalSignature
      extension(KEY_USAGE, bits(Buffer.of(0b1000_0000), 7), true),
      extension(EXTENDED_KEY_USAGE, SERVER_AND_CLIENT),
      extension(SUBJECT_ALT_NAME, sequence(...names)),
      extension(SUBJECT_KEY_ID, octets(keyId(publicKey))),
      extension(AUTHORITY_KEY_ID, sequence(taggedPlain(0, keyId(ca.publicKey)))),
    ],
  });
}

/** SHA-256 of an authority's certificate: join tokens carry it. */
export function authorityHash(ca: string): string {
  return createHash("sha256").update(new X509Certificate(ca).raw).digest("hex");
}

/** Returns the time to renew a certificate, two thirds into its life. */
export function renewalTimeMs(cert: string): number {
  const { validFrom, validTo } = new X509Certificate(cert);
  const from = Date.parse(validFrom) + CLOCKS_DIFFER_MS;
  return from + ((Date.parse(validTo) - from) * 2) / 3;
}

function certificate(parts: {
  issuer: string;
  subject: string;
  publicKey: KeyObject;
  signingKey: KeyObject | string;
  nowMs: number;
  validForMs: number;
  extensions: Buffer[];
}): string {
  const signed = sequence(
    // Version 3.
    tagged(0, unsignedInteger(Buffer.of(2))),
    unsignedInteger(randomBytes(16)),
    ECDSA_WITH_SHA256,
    name(parts.issuer),
    sequence(time(parts.nowMs - CLOCKS_DIFFER_MS), time(parts.nowMs + parts.validForMs)),
    name(parts.subject),
    parts.publicKey.export({ type: "spki", format: "der" }),
    tagged(3, sequence(...parts.extensions)),
  );
  const bytes = sequence(signed, ECDSA_WITH_SHA256, bits(sign("sha256", signed, parts.signingKey)));
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function name(commonName: string): Buffer {
  return sequence(set(sequence(COMMON_NAME, text(commonName))));
}

function extension(id: string, value: Uint8Array, isCritical = false): Buffer {
  return sequence(objectId(id), ...(isCritical ? [boolean(true)] : []), octets(value));
}

function generalName(host: string): Buffer {
  return isIP(host) === 0 ? taggedPlain(2, Buffer.from(host, "ascii")) : taggedPlain(7, addressBytes(host));
}

function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number));
  // The form of a URL has no embedded IPv4 and no zone, and one `::` at most.
  const plain = new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname.slice(1, -1);
  const [left = "", right = ""] = plain.split("::");
  const before = left === "" ? [] : left.split(":");
  const after = right === "" ? [] : right.split(":");
  const zeros = new Array<string>(8 - before.length - after.length).fill("0");
  const groups = [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
  return Buffer.from(groups.flatMap((group) => [group >>> 8, group & 0xff]));
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

function checkedPublicKey(pem: string): KeyObject {
  let key: KeyObject | undefined;
  try {
    // Node would accept the PEM of a private key, but sending one is a misunderstanding.
    if (pem.startsWith("-----BEGIN PUBLIC KEY-----")) key = createPublicKey(pem);
  } catch {
    // Told below.
  }
  if (key?.asymmetricKeyDetails?.namedCurve !== "prime256v1")
    throw new RangeError("Cannot certify a node: its public key is not a P-256 key in PEM");
  return key;
}
