/**
 * Small values that programs keep by name at the head, in namespaces: `kvPut` and its siblings.
 *
 * Pure: questions in, answers out. A cluster's head records the changes (`tables/recorded-tables.ts`), so an answer leaves only after its
 * change is committed. A question repeated to the next head carries its number, so that a conditional put is not mistaken for somebody
 * else's.
 */
import { copyBytes } from "../base/collections/bytes.ts";
import { type NodeTag, nodeTagOf, type ProcessId, programNamespace, programOfNamespace } from "../base/ids.ts";
import { SetMap } from "../base/collections/set-map.ts";
import type { HeadHandlers } from "../rpc/head-service.ts";
import type { KeyValueForm, KeyValueReply } from "../wire/cluster/key-value-messages.ts";
import { KEY_VALUE_BYTES_MAX } from "../wire/limits.ts";
import { MESSAGE } from "../wire/messages.ts";
import { STORED_NAME_MAX } from "../control-plane/limits.ts";
import { storeKey } from "../control-plane/store-keys.ts";
import { WireError } from "../wire/wire-error.ts";
import { KEY_VALUE_OVERHEAD_BYTES, KEY_VALUES_BYTES_MAX } from "./limits.ts";

export interface KeyValue {
  readonly namespace: string;
  readonly key: string;
  readonly form: KeyValueForm;
  /** The question that put it. */
  readonly by: string;
  readonly body: Uint8Array;
}

export class KeyValues {
  readonly #values = new Map<string, KeyValue>();
  /** By namespace, in the order in which they were put first. */
  readonly #keys = new SetMap<string, string>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor({ bytesMax = KEY_VALUES_BYTES_MAX }: { bytesMax?: number } = {}) {
    this.#bytesMax = bytesMax;
  }

  /** Why there is no room for a value; it may take the room of the value whose place it takes. */
  roomObstacle(value: KeyValue): string | undefined {
    const known = this.#values.get(idOf(value));
    const bytes = this.#bytes - bytesOf(known) + bytesOf(value);
    if (bytes <= this.#bytesMax || known?.by === value.by) return undefined;
    return `all values of the cluster may take ${this.#bytesMax} bytes, and they would take ${bytes}`;
  }

  /** @returns whether it was put: without `overwrite` an existing value stays */
  put(value: KeyValue, { overwrite }: { overwrite: boolean }): boolean {
    const id = idOf(value);
    const known = this.#values.get(id);
    if (known?.by === value.by) return true;
    if (known !== undefined && !overwrite) return false;
    this.#values.set(id, value);
    this.#bytes += bytesOf(value) - bytesOf(known);
    this.#keys.add(value.namespace, value.key);
    return true;
  }

  get(name: { namespace: string; key: string }): KeyValue | undefined {
    return this.#values.get(idOf(name));
  }

  /** @returns whether the value existed */
  delete(name: { namespace: string; key: string }): boolean {
    const known = this.#values.get(idOf(name));
    if (known === undefined) return false;
    this.#values.delete(idOf(name));
    this.#bytes -= bytesOf(known);
    this.#keys.delete(name.namespace, name.key);
    return true;
  }

  isEmpty(namespace: string): boolean {
    return this.#keys.get(namespace).size === 0;
  }

  /** Deletes the keys of a program that named no namespace. */
  programGone(driver: ProcessId): void {
    const namespace = programNamespace(driver);
    for (const key of Array.from(this.#keys.get(namespace))) this.delete({ namespace, key });
  }

  /** The programs with keys in a namespace of their own. @param tag - only those whose driver is on that node */
  programs(tag?: NodeTag): ProcessId[] {
    return Array.from(this.#keys.keys())
      .map(programOfNamespace)
      .filter((driver) => driver !== undefined && (tag === undefined || nodeTagOf(driver) === tag)) as ProcessId[];
  }

  /** The keys of a namespace that begin so, in their order as text. */
  list({ namespace, prefix }: { namespace: string; prefix: string }): string[] {
    return Array.from(this.#keys.get(namespace))
      .filter((key) => key.startsWith(prefix))
      .sort((a, b) => (a < b ? -1 : 1));
  }
}

function bytesOf(value: KeyValue | undefined): number {
  if (value === undefined) return 0;
  return value.body.byteLength + 2 * (value.namespace.length + value.key.length) + KEY_VALUE_OVERHEAD_BYTES;
}

/** Why there can be no value of that name. */
export function keyObstacle(name: { namespace: string; key: string }): string | undefined {
  const length = storeKey(idOf(name)).length;
  if (name.key !== "" && length <= STORED_NAME_MAX) return undefined;
  return `a key has from 1 to some 800 characters, together with its namespace (others than A-Z, a-z, 0-9, _ and - count three for each byte): received ${name.key.length} characters`;
}

export function sizeObstacle(bytes: number): string | undefined {
  if (bytes <= KEY_VALUE_BYTES_MAX) return undefined;
  return `a value may take ${KEY_VALUE_BYTES_MAX} bytes: received ${bytes}: put() large values into the object store`;
}

/** No namespace contains the separator. */
export function idOf({ namespace, key }: { namespace: string; key: string }): string {
  return `${namespace.length}:${namespace}${key}`;
}

/** Handlers of processes' requests for values. */
export function keyValueHandlers(
  values: KeyValues,
): HeadHandlers<typeof MESSAGE.KV_PUT | typeof MESSAGE.KV_GET | typeof MESSAGE.KV_DELETE | typeof MESSAGE.KV_LIST> {
  return {
    [MESSAGE.KV_PUT]: ({ namespace, key, form, overwrite }, peer, { callId, body }) => {
      const obstacle = keyObstacle({ namespace, key }) ?? sizeObstacle(body.byteLength);
      if (obstacle !== undefined) {
        peer.connection.replyError(callId, new WireError("malformed", obstacle));
        return;
      }
      const value = { namespace, key, form, by: `${peer.id}/${callId}`, body: copyBytes(body) };
      const full = values.roomObstacle(value);
      if (full !== undefined) {
        peer.connection.replyError(callId, new WireError("keyValuesFull", full));
        return;
      }
      peer.connection.reply(callId, values.put(value, { overwrite }));
    },
    [MESSAGE.KV_GET]: (asked, peer, { callId }) => {
      const found = values.get(asked);
      const reply: KeyValueReply = found?.form;
      peer.connection.reply(callId, reply, found === undefined || !asked.withValue ? [] : [found.body]);
    },
    [MESSAGE.KV_DELETE]: (name, peer, { callId }) => peer.connection.reply(callId, values.delete(name)),
    [MESSAGE.KV_LIST]: (asked, peer, { callId }) => peer.connection.reply(callId, values.list(asked)),
  };
}
