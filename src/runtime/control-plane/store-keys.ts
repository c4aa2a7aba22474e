/**
 * Keys of the control store: words joined by dots, as NATS subjects are, so that a prefix is a number of whole words.
 *
 * Names that users choose go through `storeKey`, which writes every character that a word cannot hold as `=XX` (its UTF-8 bytes in hex).
 * Two different lists of words never give the same key. Invalid keys are refused here, before anything is sent.
 */
import { describeValue } from "../base/texts/describe.ts";
import { KEY_LENGTH_MAX, TRANSACTION_WRITES_MAX, VALUE_BYTES_MAX } from "./limits.ts";
import type { StoreTransaction } from "./control-store.ts";

const KEY = /^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/;

/** @example storeKey("name", "my team", "α") // "name.my=20team.=CE=B1" */
export function storeKey(...words: readonly string[]): string {
  return words.map(escapeWord).join(".");
}

function escapeWord(word: string): string {
  // An empty word would make two dots in a row; a lone `=` can come from nothing else.
  if (word === "") return "=";
  return word.replace(/[^A-Za-z0-9_-]/gu, (character) =>
    [...Buffer.from(character, "utf8")].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

/** Whether the key begins with all words of the prefix. */
export function isUnder(prefix: string, key: string): boolean {
  return prefix === "" || key === prefix || (key.startsWith(prefix) && key.charCodeAt(prefix.length) === 46);
}

export function checkKey(key: string, action: string): void {
  if (typeof key !== "string") throw new TypeError(`Cannot ${action}: a key is a string: received ${describeValue(key)}`);
  if (key.length > KEY_LENGTH_MAX) {
    throw new RangeError(`Cannot ${action}: a key has at most ${KEY_LENGTH_MAX} characters: received ${key.length}`);
  }
  if (!KEY.test(key)) {
    throw new RangeError(
      `Cannot ${action}: a key is words of letters, digits, "_", "-" and "=" with dots between them: received ${describeValue(key)}. ` +
        "Make keys of other text with storeKey(...words).",
    );
  }
}

export function checkPrefix(prefix: string, action: string): void {
  if (prefix !== "") checkKey(prefix, action);
}

function checkRevision(revision: number, action: string): void {
  if (!Number.isSafeInteger(revision) || revision < 0) {
    throw new RangeError(`Cannot ${action}: a revision is a whole number from 0 on: received ${describeValue(revision)}`);
  }
}

export function checkTransaction({ checks = [], writes }: StoreTransaction): void {
  const action = "run a transaction";
  if (writes.length === 0) throw new RangeError(`Cannot ${action}: it needs at least one write: received none`);
  if (writes.length > TRANSACTION_WRITES_MAX) {
    throw new RangeError(`Cannot ${action}: it may have ${TRANSACTION_WRITES_MAX} writes: received ${writes.length}`);
  }
  const written = new Set<string>();
  for (const { key, value } of writes) {
    checkKey(key, action);
    if (value !== undefined && value.byteLength > VALUE_BYTES_MAX) {
      throw new RangeError(`Cannot ${action}: the value of ${key} may have ${VALUE_BYTES_MAX} bytes: received ${value.byteLength}`);
    }
    if (written.has(key)) throw new RangeError(`Cannot ${action}: each key is written once: received ${key} twice`);
    written.add(key);
  }
  for (const { key, revision } of checks) {
    checkRevision(revision, action);
    if (!written.delete(key))
      throw new RangeError(`Cannot ${action}: what is checked is a key that it writes, once: received ${describeValue(key)}`);
  }
}
