/**
 * The signed tokens that tell a nats-server who is who: an operator's, its accounts', and the accounts' users'.
 *
 * Decides their form (JSON of NATS's version 2, signed with Ed25519) and what an account of a cluster may use: everything of its own, and no leaf nodes, which would be a
 * way in that nobody looks at. Who may do what is the caller's, in `permissions`. Pure but for the signature: time comes in as seconds since 1970.
 */
import { natsDigest, type NatsKey } from "./nats-keys.ts";

/** Subjects that a user may use. Absent: all. What is allowed for one is denied for all that is not named. */
export interface NatsPermissions {
  readonly publish?: readonly string[];
  readonly subscribe?: readonly string[];
  /** Answers to a message that it got, each within this time, whatever the subject of the answer is. */
  readonly repliesWithinMs?: number;
}

interface Token {
  readonly name: string;
  readonly issuedAt: number;
}

interface AccountToken extends Token {
  readonly publicKey: string;
  readonly hasJetStream: boolean;
  /** For each user's public key the time: tokens issued before or at it are refused. */
  readonly revocations?: Readonly<Record<string, number>>;
}

interface UserToken extends Token {
  readonly publicKey: string;
  readonly permissions: NatsPermissions;
  /** Seconds since 1970. Absent: never. */
  readonly expiresAt?: number;
}

const HEADER = encode({ typ: "JWT", alg: "ed25519-nkey" });
const VERSION = 2;
const UNLIMITED = -1;
const NANOSECONDS_PER_MS = 1_000_000;

export function operatorToken(operator: NatsKey, { name, issuedAt, systemAccount }: Token & { readonly systemAccount: string }): string {
  const nats = { type: "operator", version: VERSION, system_account: systemAccount };
  return signed(operator, { name, issuedAt, subject: operator.publicKey, nats });
}

export function accountToken(operator: NatsKey, { name, issuedAt, publicKey, hasJetStream, revocations = {} }: AccountToken): string {
  const jetStream = hasJetStream ? UNLIMITED : 0;
  const limits = {
    subs: UNLIMITED,
    data: UNLIMITED,
    payload: UNLIMITED,
    imports: 0,
    exports: 0,
    wildcards: false,
    conn: UNLIMITED,
    leaf: 0,
    mem_storage: jetStream,
    disk_storage: jetStream,
    streams: jetStream,
    consumer: jetStream,
  };
  return signed(operator, { name, issuedAt, subject: publicKey, nats: { type: "account", version: VERSION, limits, revocations } });
}

export function userToken(account: NatsKey, { name, issuedAt, publicKey, permissions, expiresAt }: UserToken): string {
  const { publish, subscribe, repliesWithinMs } = permissions;
  const nats = {
    type: "user",
    version: VERSION,
    pub: publish === undefined ? {} : { allow: publish },
    sub: subscribe === undefined ? {} : { allow: subscribe },
    ...(repliesWithinMs !== undefined && { resp: { max: 1, ttl: repliesWithinMs * NANOSECONDS_PER_MS } }),
    subs: UNLIMITED,
    data: UNLIMITED,
    payload: UNLIMITED,
    allowed_connection_types: ["STANDARD"],
  };
  return signed(account, { name, issuedAt, subject: publicKey, expiresAt, nats });
}

/** What a token says, without looking at its signature: for tokens that this process, or a server that it trusts, made. @throws RangeError */
export function readNatsToken(token: string): NatsClaims {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as NatsClaims;
    if (typeof claims.sub === "string" && typeof claims.iat === "number") return claims;
  } catch {
    // Said below.
  }
  throw new RangeError("Cannot read a NATS token: it is not one, or damaged");
}

interface NatsClaims {
  readonly sub: string;
  readonly iss: string;
  readonly iat: number;
  readonly exp?: number;
  readonly nats: { readonly revocations?: Readonly<Record<string, number>> };
}

interface Claims extends Token {
  readonly subject: string;
  readonly expiresAt?: number | undefined;
  readonly nats: Readonly<Record<string, unknown>>;
}

function signed(key: NatsKey, { name, issuedAt, subject, expiresAt, nats }: Claims): string {
  const claims = { iat: issuedAt, iss: key.publicKey, name, sub: subject, ...(expiresAt !== undefined && { exp: expiresAt }), nats };
  const body = `${HEADER}.${encode({ jti: natsDigest(JSON.stringify(claims)), ...claims })}`;
  return `${body}.${Buffer.from(key.sign(Buffer.from(body, "utf8"))).toString("base64url")}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
}
