/**
 * Small values that programs keep by name at the head, in namespaces: `kvPut` and its siblings.
 *
 * Pure: questions in, answers out. A cluster's head records the changes (`tables/recorded-tables.ts`), so an answer leaves only after its
 * change is committed. A question repeated to the next head carries its number, so that a conditional put is not mistaken for somebody
 * else's.
 */
import { copyBytes } from "../base/bytes.ts";
import { SetMap } from "../base/set-map.ts";
import type { HeadHandlers } from "../rpc/head-service.ts";
import type { KeyValueForm, KeyValueReply } from "../wire/key-value-messages.ts";
import { KEY_VALUE_BYTES_MAX } from "../wire/limits.ts";
import { MESSAGE } from "../wire/messages.ts";
import { STORED_NAME_MAX } from "../control-plane/limits.ts";
import { storeKey } from "../control-plane/store-keys.ts";
import { WireError } from "../wire/wire-error.ts";

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

  /** @returns whether it was put: without `overwrite` an existing value stays */
  put(value: KeyValue, { overwrite }: { overwrite: boolean }): boolean {
    const id = idOf(value);
    const known = this.#values.get(id);
    if (known?.by === value.by) return true;
    if (known !== undefined && !overwrite) return false;
    this.#values.set(id, value);
    this.#keys.add(value.namespace, value.key);
    return true;
  }

  get(name: { namespace: string; key: string }): KeyValue | undefined {
    return this.#values.get(idOf(name));
  }

  /** @returns whether the value existed */
  delete(name: { namespace: string; key: string }): boolean {
    if (!this.#values.delete(idOf(name))) return false;
    this.#keys.delete(name.namespace, name.key);
    return true;
  }

  /** The keys of a namespace that begin so, in their order as text. */
  list({ namespace, prefix }: { namespace: string; prefix: string }): string[] {
    return Array.from(this.#keys.get(namespace))
      .filter((key) => key.startsWith(prefix))
      .sort((a, b) => (a < b ? -1 : 1));
  }
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
