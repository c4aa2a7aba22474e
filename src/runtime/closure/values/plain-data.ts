/**
 * Whether a value is data that the value codec carries exactly, with everything inside it.
 *
 * Decides which values skip the graph. Anything that it does not know is left to the graph, which is slower and always right: functions,
 * symbols, accessors, class instances, errors, proxies, deep nesting. Called by `capture-value`.
 */
import { types } from "node:util";

/** Deeper data goes node by node: the codec limits nesting, the graph does not. */
const DEPTH_MAX = 200;
/** Listing the keys of longer arrays costs more (50 ms for a million) than the rare named property on them is worth. */
const CHECKED_ARRAY_MAX = 100_000;

export function isPlainData(value: object): boolean {
  const seen = new Set<object>();
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return false;
    const inner: object[] = [];
    for (const item of level) {
      if (seen.has(item)) continue;
      seen.add(item);
      if (!isPlainItem(item, inner)) return false;
    }
    level = inner;
  }
  return true;
}

/** Queues a member; false for a value that is no data. */
function queue(member: unknown, inner: object[]): boolean {
  if (typeof member === "function" || typeof member === "symbol") return false;
  if (typeof member === "object" && member !== null) inner.push(member);
  return true;
}

function isPlainItem(item: object, inner: object[]): boolean {
  if (types.isProxy(item)) return false;
  const prototype = Object.getPrototypeOf(item) as object | null;
  if (Array.isArray(item)) return prototype === Array.prototype && isPlainArray(item, inner);
  if (prototype === Object.prototype) return types.isArgumentsObject(item) ? false : isPlainRecord(item, inner);
  if (ArrayBuffer.isView(item)) return isPlainView(item, prototype);
  if (Reflect.ownKeys(item).length > (types.isRegExp(item) ? 1 : 0)) return false;
  if (prototype === Map.prototype && types.isMap(item)) {
    for (const [key, member] of item) if (!queue(key, inner) || !queue(member, inner)) return false;
    return true;
  }
  if (prototype === Set.prototype && types.isSet(item)) {
    for (const member of item) if (!queue(member, inner)) return false;
    return true;
  }
  if (prototype === Date.prototype) return types.isDate(item);
  if (prototype === RegExp.prototype) return types.isRegExp(item);
  return prototype === ArrayBuffer.prototype && types.isArrayBuffer(item) && !item.detached;
}

function isPlainArray(array: readonly unknown[], inner: object[]): boolean {
  if (array.length <= CHECKED_ARRAY_MAX && Object.keys(array).length !== indexedCount(array)) return false;
  // A loop over a sparse array of a billion holes would never end, so only existing items are visited.
  if (array.length > CHECKED_ARRAY_MAX && !(array.length - 1 in array)) return Object.values(array).every((member) => queue(member, inner));
  for (const member of array) if (!queue(member, inner)) return false;
  return true;
}

function indexedCount(array: readonly unknown[]): number {
  let count = 0;
  for (let index = 0; index < array.length; index++) if (index in array) count += 1;
  return count;
}

function isPlainRecord(record: object, inner: object[]): boolean {
  for (const key of Reflect.ownKeys(record)) {
    if (typeof key === "symbol") return false;
    const descriptor = Object.getOwnPropertyDescriptor(record, key);
    if (!descriptor?.enumerable || !("value" in descriptor) || !queue(descriptor.value, inner)) return false;
  }
  return true;
}

function isPlainView(view: ArrayBufferView, prototype: object | null): boolean {
  // Memory that is shared, or was transferred away, is refused with its path.
  if (types.isSharedArrayBuffer(view.buffer) || view.buffer.detached) return false;
  if (Buffer.isBuffer(view)) return prototype === Buffer.prototype;
  const name = types.isDataView(view) ? "DataView" : (view as Uint8Array)[Symbol.toStringTag];
  const constructor = (globalThis as unknown as Record<string, { prototype?: object } | undefined>)[name as string];
  return prototype === constructor?.prototype;
}
