"use strict";
/**
 * Roughly how many bytes a value takes when it is sent, to name the largest of several.
 *
 * Decides nothing else: it counts text and buffers and charges a little for everything, and stops at a limit of visited objects.
 */
Object.defineProperty(exports, "__esModule", { value: true });
exports.estimateSizeBytes = estimateSizeBytes;
const OVERHEAD_BYTES = 8;
const VISITED_MAX = 200_000;
function estimateSizeBytes(value) {
  const seen = new Set();
  const pending = [value];
  let sizeBytes = 0;
  while (pending.length > 0 && seen.size < VISITED_MAX) {
    const item = pending.pop();
    sizeBytes += OVERHEAD_BYTES;
    if (typeof item === "string") sizeBytes += item.length;
    if (typeof item !== "object" || item === null || seen.has(item)) continue;
    seen.add(item);
    if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) sizeBytes += item.byteLength;
    else if (item instanceof Map) for (const entry of item) pending.push(...entry);
    else if (item instanceof Set) for (const member of item) pending.push(member);
    else for (const key of Object.keys(item)) pending.push(Object.getOwnPropertyDescriptor(item, key)?.value);
  }
  return sizeBytes;
}
//# sourceMappingURL=size-estimate.js.map
