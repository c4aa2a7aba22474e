/**
 * Signs the tokens that identify an operator, accounts and users to a nats-server.
 *
 * Uses JSON of NATS's version 2, signed with Ed25519. The account of a cluster may use all subjects inside the account, but no leaf nodes,
 * which would be an unwatched way in. Its users may do everything there. Pure but for the signature: time is passed in as seconds since
 * 1970.
 */
import { natsDigest, type NatsKey } from "./nats-keys.ts";

interface Token {
  readonly name: string;
  readonly issuedAt: number;
}

interface AccountToken extends Token {
  readonly publicKey: string;
  readonly hasJetStream: boolean;
}

interface UserToken extends Token {
  readonly publicKey: string;
  /** Seconds since 1970. Absent: never. */
  readonly expiresAt?: number;
}

const HEADER = encode({ typ: "JWT", alg: "ed25519-nkey" });
const VERSION = 2;
const UNLIMITED = -1;

export function operatorToken(operator: NatsKey, { name, issuedAt, systemAccount }: Token & { readonly systemAccount: string }): string {
  const nats = { type: "operator", version: VERSION, system_account: systemAccount };
  return signed(operator, { name, issuedAt, subject: operator.publicKey, nats });
}

export function accountToken(operator: NatsKey, { name, issuedAt, publicKey, hasJetStream }: AccountToken): string {
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
  return signed(operator, { name, issuedAt, subject: publicKey, nats: { type: "account", version: VERSION, limits } });
}

export function userToken(account: NatsKey, { name, issuedAt, publicKey, expiresAt }: UserToken): string {
  const nats = {
    type: "user",
    version: VERSION,
    pub: {},
    sub: {},
    subs: UNLIMITED,
    data: UNLIMITED,
    payload: UNLIMITED,
    allowed_connection_types: ["STANDARD"],
  };
  return signed(account, { name, issuedAt, subject: publicKey, expiresAt, nats });
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
