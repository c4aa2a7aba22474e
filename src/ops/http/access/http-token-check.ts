/**
 * The tokens that open the HTTP server: the cluster's, and those that `shoal token create --for http` made.
 *
 * The cluster's token lies in the head's folder, readable by its user alone. Of made tokens the head keeps the hash, the role and the
 * expiry. A given token is compared in constant time, or looked up by its hash, so the time of an answer tells nothing about a token.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../../../runtime/os/files/private-files.ts";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import type { ClusterQuestions } from "../../connection/cluster-link.ts";
import { HTTP_TOKENS_NAMESPACE, httpTokenFileName, type HttpTokenRecord } from "../../connection/http-token-record.ts";
import { TOKEN_STATE_MS, TOKEN_STATES_MAX } from "../limits.ts";

export type TokenRole = "view" | "admin";
type TokenState = TokenRole | "wrong";

/** 256 bits. */
const TOKEN_BYTES = 32;
const CLUSTER_TOKEN_KEY = "cluster-token";

/**
 * Returns the cluster's token, made at the first start. Heads of one cluster share it through the head's tables.
 *
 * @throws OpenSecretError where others may read its file
 */
export async function clusterToken(folder: string, shared: ClusterQuestions | undefined): Promise<string> {
  makePrivateFolder(folder);
  const file = join(folder, httpTokenFileName);
  const known = readPrivateFile(file)?.trim();
  const token = isToken(known) ? known : randomBytes(TOKEN_BYTES).toString("hex");
  const agreed = shared === undefined ? token : await agreeOn(token, shared);
  if (agreed !== known) writePrivateFile(file, `${agreed}\n`);
  return agreed;
}

function isToken(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{64}$/.test(text);
}

/** The first head's token is that of all. */
async function agreeOn(token: string, link: ClusterQuestions): Promise<string> {
  const name = { namespace: HTTP_TOKENS_NAMESPACE, key: CLUSTER_TOKEN_KEY };
  await link.ask(MESSAGE.KV_PUT, { ...name, form: "json", overwrite: false }, { parts: [Buffer.from(JSON.stringify(token))] });
  const { body } = await link.request(MESSAGE.KV_GET, { ...name, withValue: true });
  return JSON.parse(Buffer.from(body).toString("utf8")) as string;
}

export class HttpTokens {
  readonly #clusterDigest: Buffer;
  readonly #link: ClusterQuestions | undefined;
  /** States of made tokens by their hashes, for a short time. */
  readonly #states = new Map<string, { readonly state: TokenState; readonly untilMs: number }>();

  /** @param link - has the tokens that were made; undefined: there is the cluster's alone */
  constructor(token: string, link: ClusterQuestions | undefined) {
    this.#clusterDigest = digestOf(token);
    this.#link = link;
  }

  /** @throws ShoalError when the head does not answer for a token that is not the cluster's */
  async roleOf(token: string): Promise<TokenState> {
    const digest = digestOf(token);
    if (timingSafeEqual(digest, this.#clusterDigest)) return "admin";
    const hash = digest.toString("hex");
    const known = this.#states.get(hash);
    if (known !== undefined && known.untilMs > Date.now()) return known.state;
    const state = await this.#lookUp(hash);
    if (this.#states.size >= TOKEN_STATES_MAX) this.#states.delete(this.#states.keys().next().value as string);
    this.#states.set(hash, { state, untilMs: Date.now() + TOKEN_STATE_MS });
    return state;
  }

  async #lookUp(hash: string): Promise<TokenState> {
    if (this.#link === undefined) return "wrong";
    const { header, body } = await this.#link.request(MESSAGE.KV_GET, { namespace: HTTP_TOKENS_NAMESPACE, key: hash, withValue: true });
    if (header === undefined || header === null) return "wrong";
    const record = JSON.parse(Buffer.from(body).toString("utf8")) as HttpTokenRecord;
    if (record.expiresAtMs !== undefined && record.expiresAtMs <= Date.now()) return "wrong";
    return record.role === "admin" ? "admin" : "view";
  }
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
