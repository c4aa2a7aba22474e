/**
 * The keys of NATS's decentralized authentication: Ed25519 pairs in the text form that its servers and clients read.
 *
 * Decides nothing about permissions, which are in the tokens that these keys sign (`nats-jwt.ts`). Built on Node's cryptography: the text
 * form is a kind, 32 bytes and a checksum in base32. A seed is the secret and grants the role of the operator, the account or the user.
 * Texts from outside are checked first, so that a damaged file is named and not mistaken for a wrong signature.
 */
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign } from "node:crypto";

type NatsKeyKind = "operator" | "account" | "user";

export interface NatsKey {
  readonly kind: NatsKeyKind;
  /** The secret. */
  readonly seed: string;
  /** By which everybody calls the key. */
  readonly publicKey: string;
  sign(data: Uint8Array): Uint8Array;
}

/** The first byte of a public key, whose five upper bits are its first letter: O, A, U. */
const KIND_BYTES: Readonly<Record<NatsKeyKind, number>> = { operator: 14 << 3, account: 0, user: 20 << 3 };
const SEED_BYTE = 18 << 3;
const RAW_KEY_BYTES = 32;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** Prefix of the 32 bytes of an Ed25519 secret in PKCS #8. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

export function createNatsKey(kind: NatsKeyKind): NatsKey {
  return keyOf(kind, randomBytes(RAW_KEY_BYTES));
}

/** @throws RangeError when the text is no seed */
export function natsKeyFromSeed(seed: string): NatsKey {
  const bytes = decode(seed, "a seed");
  const kindByte = (((bytes[0] ?? 0) & 7) << 5) | ((bytes[1] ?? 0) >> 3);
  const kind = kindOf(kindByte);
  if (bytes.length !== RAW_KEY_BYTES + 2 || ((bytes[0] ?? 0) & 0xf8) !== SEED_BYTE || kind === undefined) throw unreadable("a seed");
  return keyOf(kind, bytes.subarray(2));
}

/** The digest by which NATS names a token. */
export function natsDigest(text: string): string {
  return base32(createHash("sha512-256").update(text).digest());
}

function keyOf(kind: NatsKeyKind, secret: Uint8Array): NatsKey {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, secret]), format: "der", type: "pkcs8" });
  const raw = createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(-RAW_KEY_BYTES);
  const kindByte = KIND_BYTES[kind];
  return {
    kind,
    seed: encode(Buffer.concat([Buffer.from([SEED_BYTE | (kindByte >> 5), (kindByte & 31) << 3]), secret])),
    publicKey: encode(Buffer.concat([Buffer.from([kindByte]), raw])),
    sign: (data) => sign(null, data, privateKey),
  };
}

function kindOf(byte: number): NatsKeyKind | undefined {
  return (Object.keys(KIND_BYTES) as NatsKeyKind[]).find((kind) => KIND_BYTES[kind] === byte);
}

function encode(bytes: Buffer): string {
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(bytes));
  return base32(Buffer.concat([bytes, checksum]));
}

function decode(text: string, what: string): Buffer {
  const bytes: number[] = [];
  let value = 0;
  let bits = 0;
  for (const letter of text) {
    const digit = ALPHABET.indexOf(letter);
    if (digit < 0) throw unreadable(what);
    value = ((value << 5) | digit) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
  }
  const all = Buffer.from(bytes);
  const body = all.subarray(0, -2);
  if (all.length < 3 || crc16(body) !== all.readUInt16LE(all.length - 2)) throw unreadable(what);
  return body;
}

/** The text itself is left out of the message: it may be a secret. */
function unreadable(what: string): RangeError {
  return new RangeError(`Cannot read ${what}: its form or its checksum is wrong`);
}

function base32(bytes: Uint8Array): string {
  let text = "";
  let value = 0;
  let bits = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >> bits) & 31];
    }
  }
  return bits === 0 ? text : text + ALPHABET[(value << (5 - bits)) & 31];
}

/** CRC-16 with the polynomial 0x1021, beginning at 0. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}
