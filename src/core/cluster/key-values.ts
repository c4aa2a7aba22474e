/**
 * `kvPut`, `kvGet`, `kvExists`, `kvDelete`, `kvList`: small values that programs of a cluster keep by name at its head.
 *
 * Decides what a value may be and in which form it travels: bytes as they are, all else as JSON. The head keeps them (`runtime/head/key-values.ts`); here they are only asked
 * for, and what it would refuse is refused before anything is sent. Nothing is remembered: two processes that ask one after the other are told the same.
 */
import { describeValue, messageOf } from "../../runtime/base/texts/describe.ts";
import { KeyValuesFullError } from "../../runtime/base/errors.ts";
import { keyObstacle, sizeObstacle } from "../../runtime/head/key-values.ts";
import type {
  KeyValueGetHeader,
  KeyValueListHeader,
  KeyValueNameHeader,
  KeyValuePutHeader,
} from "../../runtime/wire/cluster/key-value-messages.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { isWireError } from "../../runtime/wire/wire-error.ts";
import { askNode, requireRuntime } from "../current-runtime.ts";
import { readOptions } from "../options/option-kinds.ts";
import { KV, KV_PUT } from "../options/operation-options.ts";
import type { KvOptions, KvPutOptions, KvValue } from "../types/cluster-types.ts";

/**
 * Keeps a small value by name at the head of the cluster, where every process of every program finds it. Heads with a store (`shoal start
 * --head` with NATS) keep it there before this resolves, and it outlives heads. Otherwise it lives as long as the head, and on one machine
 * as long as the program.
 *
 * @param value bytes (`Uint8Array`), or a value that `JSON.stringify` can write; up to 1 MiB
 * @returns whether it was put: with `overwrite: false` an existing value stays
 * @throws TypeError for a value that is neither bytes nor JSON
 * @throws RangeError for a key or a value that is too long
 * @throws KeyValuesFullError when all values of the cluster have no more room
 * @throws NodeDiedError if the node ends before the answer
 * @example
 * await kvPut("model/version", { name: "v7", at: Date.now() });
 * await kvGet("model/version"); // { name: "v7", at: 1763... }
 */
export async function kvPut(key: string, value: KvValue, options?: KvPutOptions): Promise<boolean> {
  const { namespace, overwrite } = readOptions(options, KV_PUT);
  const name = nameOf("put", key, { namespace });
  const isBytes = value instanceof Uint8Array;
  const bytes = isBytes ? value : new TextEncoder().encode(jsonOf(value, key));
  const obstacle = sizeObstacle(bytes.byteLength);
  if (obstacle !== undefined) throw new RangeError(`Cannot put ${JSON.stringify(key)}: ${obstacle}`);
  const header: KeyValuePutHeader = { ...name, form: isBytes ? "bytes" : "json", overwrite };
  // A copy, because the caller may change the bytes while they are on their way.
  try {
    return (await ask(MESSAGE.KV_PUT, header, [bytes.slice()])).header;
  } catch (error) {
    if (!isWireError(error, "keyValuesFull")) throw error;
    throw new KeyValuesFullError(`Cannot put ${JSON.stringify(key)} of ${bytes.byteLength} bytes: ${error.message}`, {
      reason: error.message,
      hint: "Delete values with kvDelete, or keep large ones as objects of a detached actor.",
    });
  }
}

/**
 * The value of that name, bytes as bytes and all else as JSON reads it; undefined where there is none.
 *
 * @throws TypeError, RangeError for what can be no key, NodeDiedError when the node ends before the answer
 */
export async function kvGet<T = unknown>(key: string, options?: KvOptions): Promise<T | undefined> {
  const header: KeyValueGetHeader = { ...nameOf("get", key, options), withValue: true };
  const { header: form, body } = await ask(MESSAGE.KV_GET, header);
  if (form === undefined) return undefined;
  return (form === "bytes" ? new Uint8Array(body) : JSON.parse(new TextDecoder().decode(body))) as T;
}

/**
 * Whether there is a value of that name.
 *
 * @throws TypeError, RangeError for what can be no key, NodeDiedError when the node ends before the answer
 */
export async function kvExists(key: string, options?: KvOptions): Promise<boolean> {
  const header: KeyValueGetHeader = { ...nameOf("look for", key, options), withValue: false };
  return (await ask(MESSAGE.KV_GET, header)).header !== undefined;
}

/**
 * Forgets the value of that name.
 *
 * @returns whether there was one; may be false for one that this call forgot, when another head took over before it had answered
 * @throws TypeError, RangeError for what can be no key, NodeDiedError when the node ends before the answer
 */
export async function kvDelete(key: string, options?: KvOptions): Promise<boolean> {
  const header: KeyValueNameHeader = nameOf("delete", key, options);
  return (await ask(MESSAGE.KV_DELETE, header)).header;
}

/**
 * The keys of a namespace that begin with a prefix, sorted.
 *
 * @throws TypeError for a prefix that is not a text, NodeDiedError if the node ends before the answer
 */
export async function kvList(prefix = "", options?: KvOptions): Promise<string[]> {
  if (typeof prefix !== "string") throw new TypeError(`Cannot list keys: a prefix is text: received ${describeValue(prefix)}`);
  const header: KeyValueListHeader = { namespace: namespaceOf(options), prefix };
  return (await ask(MESSAGE.KV_LIST, header)).header;
}

/** A head that is away answers when it, or another one, is there. */
function ask<N extends number>(type: N, header: unknown, parts: readonly Uint8Array[] = []): ReturnType<typeof askNode<N>> {
  return askNode(type, header, { parts, timeoutMs: 0 });
}

function namespaceOf(options: KvOptions | undefined): string {
  const namespace = readOptions(options, KV).namespace ?? requireRuntime().options.namespace;
  if (!namespace.startsWith(OWN_NAMESPACES)) return namespace;
  throw new RangeError(
    `Cannot use the namespace ${JSON.stringify(namespace)}: those that begin with ${JSON.stringify(OWN_NAMESPACES)} are Shoal's own: received ${JSON.stringify(namespace)}. Take another.`,
  );
}

/** Namespaces of Shoal's own parts, such as the tokens of the HTTP server. */
const OWN_NAMESPACES = "shoal:";

function nameOf(what: string, key: string, options: KvOptions | undefined): KeyValueNameHeader {
  if (typeof key !== "string") throw new TypeError(`Cannot ${what} a value: its key is text: received ${describeValue(key)}`);
  const name = { namespace: namespaceOf(options), key };
  const obstacle = keyObstacle(name);
  if (obstacle !== undefined) throw new RangeError(`Cannot ${what} a value: ${obstacle}`);
  return name;
}

function jsonOf(value: unknown, key: string): string {
  let text: string | undefined;
  let reason = "";
  try {
    text = JSON.stringify(value);
  } catch (error) {
    reason = ` (${messageOf(error)})`;
  }
  if (text !== undefined) return text;
  throw new TypeError(
    `Cannot put ${JSON.stringify(key)}: a Uint8Array or what JSON can write is needed${reason}: received ${describeValue(value)}`,
  );
}
