/**
 * Functions as bytes that outlive their maker: what a library writes down to run the function later, in whichever process is there then.
 *
 * The bytes hold the function's text and everything that it captured. A function that captured something which is counted (a reference, an actor's handle, a
 * remote function) cannot be written down: nobody would hold that for the bytes. Such a function travels as a remote function, and `localFunctionOf` runs it where it
 * arrived.
 */
import { SerializationError } from "../../runtime/base/errors.ts";
import { reviveDefinition } from "../../runtime/closure/revive.ts";
import { requireRuntime } from "../current-runtime.ts";
import { remoteFunctionState } from "./remote-function.ts";

type AnyFunction = (...args: never[]) => unknown;

const COUNT_BYTES = 4;

/**
 * The function with what it captured, as it is now.
 *
 * @returns undefined where it captured what is counted, and in in-process mode, where functions are never captured
 * @throws SerializationError naming the path to what cannot be sent
 */
export function codeOf(fn: AnyFunction): Uint8Array | undefined {
  const runtime = requireRuntime();
  if (runtime.options.mode === "inProcess") return undefined;
  const { definition, refs } = runtime.serializer.captureDefinition(fn as (...args: unknown[]) => unknown);
  if (refs.length > 0 || definition.dependencies.length > 0) return undefined;
  const parts = [definition.bytes, ...definition.buffers];
  const sizes = Buffer.alloc(COUNT_BYTES * (parts.length + 1));
  sizes.writeUInt32LE(parts.length, 0);
  for (const [index, part] of parts.entries()) sizes.writeUInt32LE(part.byteLength, COUNT_BYTES * (index + 1));
  return Buffer.concat([sizes, ...parts]);
}

/** The function of bytes that `codeOf` gave, anywhere in the cluster. @throws SerializationError where an import cannot be made here, or the bytes are of another version */
export async function functionOf(code: Uint8Array): Promise<AnyFunction> {
  const bytes = Buffer.from(code.buffer, code.byteOffset, code.byteLength);
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
  const [inBand, ...buffers] = parts as [Buffer, ...Buffer[]];
  const { serializer, values } = requireRuntime();
  const found = await reviveDefinition(inBand, buffers, {
    hooks: serializer.readingHooks([]),
    definition: (id) => values.definitions.load(id),
  });
  return found as AnyFunction;
}

/** The function behind a remote function, to be called in this process. */
export async function localFunctionOf(remoteFunction: object): Promise<AnyFunction> {
  const state = remoteFunctionState(remoteFunction);
  if (state === undefined) throw new TypeError("Cannot load a function: a remote function is needed");
  if (state.source !== undefined) return state.source as unknown as AnyFunction;
  const { values } = requireRuntime();
  const id = state.id as string;
  return (values.functions.localFunction(id) ?? (await values.definitions.load(id))) as AnyFunction;
}

function malformed(): SerializationError {
  return new SerializationError("Cannot read a function: its bytes are not those of a function", { reason: "malformed" });
}
