/**
 * The serialization interface that the lower layers use. `core/serializer.ts` implements it, because it knows refs and handles.
 *
 * `encode` reuses one result object and its scratch memory: use it, or make it a payload, before anything else is encoded.
 */
import type { ProcessId } from "../base/ids.ts";
import type { ByteRange } from "../wire/value/byte-reader.ts";
import type { LostObject } from "./lost-object.ts";
import type { ContainedRef, Payload } from "./payload.ts";

export interface EncodedMessage {
  bytes: Uint8Array;
  start: number;
  end: number;
  buffers: readonly Uint8Array[];
  graph: boolean;
  definitions: readonly string[];
  refs: readonly ContainedRef[];
  /** In-band bytes alone, below the store's threshold: the form that costs nothing but its bytes. */
  isPlain: boolean;
}

export interface FailedTask {
  name: string;
}

/**
 * Decides how a call waits for lost arguments. The call has not begun, and the tasks that make its arguments again may need its resources.
 *
 * @param recover asks for the arguments and resolves once all of them have values again
 * @returns once the call may begin with them. @throws ArgumentsLost when the call goes back to its caller
 */
export type ArgumentWait = (lost: readonly LostObject[], recover: () => Promise<void>) => Promise<void>;

export interface ValueCodec {
  /** @throws SerializationError naming the path of what cannot be sent */
  encode(value: unknown): EncodedMessage;
  /** Never throws: an error that cannot be sent arrives as one that says so. */
  encodeError(error: unknown, task: FailedTask): EncodedMessage;
  /** Copies the result of `encode`. Large values are written to the store as the owner's objects and announced to it over the link. */
  toPayload(encoded: EncodedMessage, options: { owner: ProcessId; error: boolean; link?: number | undefined }): Payload;
  /** Frees the store's bytes of a payload that will not be sent. */
  discard(payload: Payload): void;
  /** A promise only where definitions have to be fetched, modules imported or lost objects made again. */
  decodeArguments(args: Payload, dependencies: readonly Payload[], argumentWait?: ArgumentWait): unknown[] | Promise<unknown[]>;
  /** Plain bytes and their buffers, which become parts of the value: nobody else may use them. */
  decodeParts(inBand: Uint8Array, buffers: readonly Uint8Array[]): unknown;
  /** The hot form: plain in-band bytes without dependencies. */
  decodePlainArguments(bytes: Uint8Array): unknown[];
  /** The same for one value in larger memory. */
  decodePlain(bytes: Uint8Array, range: ByteRange): unknown;
}
