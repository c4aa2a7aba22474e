/**
 * Values with functions and classes as bytes that outlive their maker, for libraries that store values and use them later in any process.
 *
 * The bytes hold the text of functions and classes and all their captured values. Counted values (a reference, an actor's handle, a remote function) are refused,
 * because no process would hold them for the bytes. A value that contains them travels by `put`.
 */
import { SerializationError } from "../../runtime/base/errors.ts";
import { type ComparableCapture, comparableOf } from "../../runtime/closure/comparable.ts";
import { reviveValue } from "../../runtime/closure/revive.ts";
import { requireRuntime } from "../current-runtime.ts";

const COUNT_BYTES = 4;

/**
 * The value as it is now, with the functions and classes in it.
 *
 * @returns undefined where something in it is counted, and in in-process mode, where functions are never captured
 * @throws SerializationError naming the path to what cannot be sent
 */
export function keptBytesOf(value: unknown): Uint8Array | undefined {
  const runtime = requireRuntime();
  if (runtime.options.mode === "inProcess") return undefined;
  const { parts, isWhole } = runtime.serializer.captureWhole(value);
  if (!isWhole) return undefined;
  const sizes = Buffer.alloc(COUNT_BYTES * (parts.length + 1));
  sizes.writeUInt32LE(parts.length, 0);
  for (const [index, part] of parts.entries()) sizes.writeUInt32LE(part.byteLength, COUNT_BYTES * (index + 1));
  return Buffer.concat([sizes, ...parts]);
}

/**
 * The value of bytes that `keptBytesOf` gave, anywhere in the cluster.
 *
 * @throws SerializationError where an import cannot be made here, or the bytes are of another version or none
 */
export async function valueOfKept(kept: Uint8Array): Promise<unknown> {
  const [inBand, ...buffers] = partsOf(kept);
  const { serializer, values } = requireRuntime();
  return await reviveValue(inBand, buffers, { hooks: serializer.readingHooks([]), definition: (id) => values.definitions.load(id) });
}

/**
 * The bytes of `keptBytesOf` without what tells the process that made them, to compare them with those of another process.
 *
 * @throws SerializationError where the bytes are of another version or none
 */
export function comparableOfKept(kept: Uint8Array): ComparableCapture {
  const [inBand, ...buffers] = partsOf(kept);
  return comparableOf(inBand, buffers);
}

function partsOf(kept: Uint8Array): [inBand: Buffer, ...buffers: Buffer[]] {
  const bytes = Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength);
  const count = bytes.length < COUNT_BYTES ? 0 : bytes.readUInt32LE(0);
  let offset = COUNT_BYTES * (count + 1);
  if (count === 0 || offset > bytes.length) throw malformed();
  const parts: Buffer[] = [];
  for (let index = 1; index <= count; index += 1) {
    const size = bytes.readUInt32LE(COUNT_BYTES * index);
    if (offset + size > bytes.length) throw malformed();
    parts.push(Buffer.from(bytes.subarray(offset, offset + size)));
    offset += size;
  }
  return parts as [Buffer, ...Buffer[]];
}

function malformed(): SerializationError {
  return new SerializationError("Cannot read a kept value: its bytes are not those of one", { reason: "malformed" });
}
