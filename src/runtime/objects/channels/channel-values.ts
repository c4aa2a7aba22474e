/**
 * Turns values into records of a channel, and records back into values.
 *
 * Plain bytes go into the ring as the codec wrote them. Buffers follow their value, aligned. A value with references or definitions travels as a payload,
 * with holds for each reader. A value too large for the ring gets a separate file, which readers map and the last reader removes. An error is a record with
 * a mark. Both ends use this file: the process that compiled the graph, and the loops of its actors.
 */
import { copyBytes } from "../../base/collections/bytes.ts";
import { ObjectStoreFullError } from "../../base/errors.ts";
import { Fifo } from "../../base/collections/fifo.ts";
import type { ProcessId } from "../../base/ids.ts";
import { LOOP_BYTES_MAX } from "../../base/limits.ts";
import { sharedMemory } from "../../os/shared-memory.ts";
import { storeFiles } from "../../os/files/store/store-file.ts";
import { decodeHeader, encodeHeader } from "../../wire/header.ts";
import { payload as payloadShape } from "../../wire/messages.ts";
import { DecodeError } from "../../wire/value/decode-error.ts";
import { bodyBytesMax, ChannelReader, ChannelWriter } from "./channel.ts";
import { type GraphMap, type GraphMemory, valueFileOf } from "./graph-memory.ts";
import { BUFFER_ALIGNMENT_BYTES, MAP_MIN_BYTES } from "../limits.ts";
import type { ObjectTable } from "../object-table.ts";
import { type Payload, PayloadReader, payloadHeader, payloadParts } from "../payload.ts";
import type { EncodedMessage, ValueCodec } from "../value-codec.ts";

/** Kinds of records; an error has the bit ERROR besides. */
const KIND = { PLAIN: 1, WITH_BUFFERS: 2, PAYLOAD: 3, FILE: 4 } as const;
const ERROR = 0x10;
/** `readers left | kind of the content | number of the file`, each 32 bits, and the content's size as a float 64 at 16. */
const FILE_BODY_BYTES = 24;
const PADDING = new Uint8Array(BUFFER_ALIGNMENT_BYTES);

export interface ValueChannelOptions {
  readonly map: GraphMap;
  readonly memory: GraphMemory;
  /** Number of the channel in the map. */
  readonly channel: number;
  readonly codec: ValueCodec;
  readonly table: Pick<ObjectTable, "holdFor">;
  /** The process of each endpoint: under which names references are held. */
  readonly processIds: readonly ProcessId[];
}

/** A record that found no room: written as soon as there is some. */
interface KeptRecord {
  kind: number;
  body: Uint8Array;
}

export class ValueWriter {
  readonly #options: ValueChannelOptions;
  readonly #writer: ChannelWriter;
  readonly #readers: readonly number[];
  readonly #bodyBytesMax: number;
  readonly #bytes: Uint8Array;
  readonly #kept = new Fifo<KeptRecord>();
  #files = 0;

  constructor(options: ValueChannelOptions) {
    this.#options = options;
    const { map, memory, channel } = options;
    const place = memory.places[channel] as GraphMemory["places"][number];
    this.#writer = new ChannelWriter(memory, place);
    this.#readers = (map.channels[channel] as GraphMap["channels"][number]).readers;
    this.#bodyBytesMax = bodyBytesMax(place.capacityBytes);
    this.#bytes = memory.bytes;
  }

  /** Whether records wait for room; `flush` writes them. */
  get isWaiting(): boolean {
    return this.#kept.size > 0;
  }

  /**
   * Takes the value as it is now. Without room it is kept, and written by {@link flush}.
   *
   * @throws SerializationError for what cannot be sent, and what the system says when a file for it cannot be written
   */
  write(value: unknown): void {
    const { codec } = this.#options;
    const encoded = codec.encode(value);
    const isPayload = encoded.graph || encoded.refs.length > 0 || encoded.definitions.length > 0;
    // In a box: a value may be thenable, and reading a payload may take a promise.
    if (isPayload) this.#writePayload(codec.encode([value]), 0);
    else this.#writePlain(encoded, 0);
  }

  writeError(error: unknown, taskName: string): void {
    const { codec } = this.#options;
    const encoded = codec.encodeError(error, { name: taskName });
    if (encoded.graph || encoded.refs.length > 0 || encoded.definitions.length > 0) this.#writePayload(encoded, ERROR);
    else this.#writePlain(encoded, ERROR);
  }

  /** Writes the values that wait for room. @returns whether all were written; otherwise the doorbell rings once there is room */
  flush(): boolean {
    while (this.#kept.size > 0) {
      const { kind, body } = this.#kept.peek() as KeptRecord;
      if (!this.#tryBody(kind, body)) {
        this.#writer.waitForRoom(true);
        if (!this.#tryBody(kind, body)) return false;
        this.#writer.waitForRoom(false);
      }
      this.#kept.shift();
    }
    return true;
  }

  #writePlain(encoded: EncodedMessage, flag: number): void {
    const { bytes, start, end, buffers } = encoded;
    const size = end - start;
    if (buffers.length > 0 || size > this.#bodyBytesMax) {
      this.#writePieces(KIND.WITH_BUFFERS | flag, withBuffers(bytes.subarray(start, end), buffers));
      return;
    }
    const at = this.#kept.size > 0 ? -1 : this.#writer.begin(size);
    if (at < 0) {
      this.#keep(KIND.PLAIN | flag, copyBytes(bytes, start, end));
      return;
    }
    const target = this.#bytes;
    if (size <= LOOP_BYTES_MAX) for (let index = 0; index < size; index += 1) target[at + index] = bytes[start + index] as number;
    else target.set(bytes.subarray(start, end), at);
    this.#writer.commit(KIND.PLAIN | flag, size);
    this.#ringReaders();
  }

  #writePayload(encoded: EncodedMessage, flag: number): void {
    const { bytes, start, end, buffers, graph, definitions, refs } = encoded;
    const inBand = bytes.subarray(start, end);
    const payload: Payload = { inBand, buffers, graph, definitions, refs, error: flag === ERROR, stored: undefined };
    const { table, processIds } = this.#options;
    for (const reader of this.#readers) table.holdFor(processIds[reader] as ProcessId, payload);
    // Copied: the bytes lie in the codec's scratch memory, in which the header is encoded next.
    const parts = payloadParts({ ...payload, inBand: copyBytes(inBand) });
    const header = encodeHeader(payloadHeader(payload));
    const size = Uint32Array.of(header.length);
    this.#writePieces(KIND.PAYLOAD | flag, [new Uint8Array(size.buffer), copyBytes(header), ...parts]);
  }

  #writePieces(kind: number, pieces: readonly Uint8Array[]): void {
    let size = 0;
    for (const piece of pieces) size += piece.byteLength;
    if (size > this.#bodyBytesMax) {
      this.#writeFile(kind, pieces, size);
      return;
    }
    if (this.#kept.size === 0 && this.#tryPieces(kind, pieces, size)) return;
    const body = new Uint8Array(size);
    copyPieces(pieces, body, 0);
    this.#keep(kind, body);
  }

  #writeFile(kind: number, pieces: readonly Uint8Array[], size: number): void {
    const { map, channel } = this.#options;
    this.#files += 1;
    const path = valueFileOf(map, channel, this.#files);
    const file = storeFiles.create(path);
    try {
      file.write(0, pieces);
    } catch (error) {
      storeFiles.remove(path);
      throw noRoom(error, size);
    } finally {
      file.close();
    }
    const body = new Uint8Array(FILE_BODY_BYTES);
    new Int32Array(body.buffer).set([this.#readers.length, kind, this.#files]);
    new Float64Array(body.buffer)[2] = size;
    if (this.#kept.size > 0 || !this.#tryBody(KIND.FILE | (kind & ERROR), body)) this.#keep(KIND.FILE | (kind & ERROR), body);
  }

  #tryBody(kind: number, body: Uint8Array): boolean {
    return this.#tryPieces(kind, [body], body.byteLength);
  }

  #tryPieces(kind: number, pieces: readonly Uint8Array[], size: number): boolean {
    const at = this.#writer.begin(size);
    if (at < 0) return false;
    copyPieces(pieces, this.#bytes, at);
    this.#writer.commit(kind, size);
    this.#ringReaders();
    return true;
  }

  #keep(kind: number, body: Uint8Array): void {
    this.#kept.push({ kind, body });
    this.flush();
  }

  #ringReaders(): void {
    for (const reader of this.#readers) this.#options.memory.ring(reader);
  }
}

export class ValueReader {
  readonly #options: ValueChannelOptions;
  readonly #reader: ChannelReader;
  readonly #writerEndpoint: number;
  readonly #range = { start: 0, end: 0 };
  /** Whether the current record has been decoded. */
  #isDecoded = false;
  /** The value of the current record once it was read; the error, if it is one. */
  value: unknown;

  constructor(options: ValueChannelOptions, self: number) {
    this.#options = options;
    const { map, memory, channel } = options;
    const { readers, writer } = map.channels[channel] as GraphMap["channels"][number];
    this.#writerEndpoint = writer;
    this.#reader = new ChannelReader(memory, memory.places[channel] as GraphMemory["places"][number], readers.indexOf(self));
  }

  /** Whether there is a record; it is the current one until {@link advance}. */
  next(): boolean {
    return this.#reader.next();
  }

  get isError(): boolean {
    return (this.#reader.kind & ERROR) !== 0;
  }

  /**
   * Makes `value` from the current record: a fresh value at each call where that is possible, else the same one.
   *
   * @returns a promise where definitions have to be fetched first
   */
  read(): Promise<void> | undefined {
    const { bytes } = this.#options.memory;
    const { bodyStart, bodyBytes, kind } = this.#reader;
    const content = kind & ~ERROR;
    if (content === KIND.PLAIN) {
      // A single byte is a small number more often than not.
      const byte = bytes[bodyStart] as number;
      if (bodyBytes === 1 && byte < 0x80) {
        this.value = byte;
        return undefined;
      }
      this.#range.start = bodyStart;
      this.#range.end = bodyStart + bodyBytes;
      this.value = this.#options.codec.decodePlain(bytes, this.#range);
      return undefined;
    }
    if (this.#isDecoded) return undefined;
    // Payloads carry holds, and files are removed, once.
    this.#isDecoded = content !== KIND.WITH_BUFFERS;
    const body = bytes.subarray(bodyStart, bodyStart + bodyBytes);
    if (content !== KIND.FILE) return this.#readBody(content, body, true);
    const inner = new Int32Array(body.buffer, bodyStart, 3)[1] as number;
    return this.#readBody(inner & ~ERROR, this.#readFile(body), false);
  }

  /** Gives the room of the current record back. */
  advance(): void {
    this.value = undefined;
    this.#isDecoded = false;
    if (this.#reader.advance()) this.#options.memory.ring(this.#writerEndpoint);
  }

  #readBody(kind: number, body: Uint8Array, isShared: boolean): Promise<void> | undefined {
    const { codec } = this.#options;
    if (kind === KIND.WITH_BUFFERS) {
      const { inBand, buffers } = splitBuffers(body, isShared);
      this.value = codec.decodeParts(inBand, buffers);
      return undefined;
    }
    const headerBytes = new DataView(body.buffer, body.byteOffset).getUint32(0, true);
    const header = decodeHeader(body.subarray(4, 4 + headerBytes));
    if (!payloadShape(header)) throw new DecodeError("a value in a channel is malformed");
    const payload = new PayloadReader(body.subarray(4 + headerBytes), { copy: true }).next(header);
    const box = codec.decodeArguments(payload, []);
    const unbox = (boxed: unknown): void => {
      this.value = payload.error ? boxed : (boxed as [unknown])[0];
    };
    if (box instanceof Promise) return box.then(unbox);
    unbox(box);
    return undefined;
  }

  #readFile(body: Uint8Array): Uint8Array {
    const words = new Int32Array(body.buffer, body.byteOffset, 3);
    const sizeBytes = new Float64Array(body.buffer, body.byteOffset, 3)[2] as number;
    const path = valueFileOf(this.#options.map, this.#options.channel, words[2] as number);
    const file = storeFiles.openToRead(path);
    if (file === undefined) throw new Error("Cannot read a value of a compiled graph: its file is gone");
    try {
      const memory = sizeBytes >= MAP_MIN_BYTES ? sharedMemory() : undefined;
      if (memory !== undefined) return new Uint8Array(memory.map({ fd: file.fd, offset: 0, sizeBytes, mode: "private" }));
      const bytes = Buffer.allocUnsafeSlow(sizeBytes);
      if (!file.read(0, bytes)) throw new Error("Cannot read a value of a compiled graph: its file is shorter than it was");
      return bytes;
    } finally {
      file.close();
      if (Atomics.sub(words, 0, 1) === 1) storeFiles.remove(path);
    }
  }
}

function noRoom(error: unknown, sizeBytes: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  return new ObjectStoreFullError(
    `Cannot pass a value on in a compiled graph: shared memory has no room for it: received ${sizeBytes} bytes`,
    {
      reason: "shared memory is full",
      hint: "Let fewer executions be under way, or pass smaller values.",
      cause: error,
    },
  );
}

/** `in-band length | number of buffers | their lengths | in-band bytes`, then the buffers, each aligned from the start. */
function withBuffers(inBand: Uint8Array, buffers: readonly Uint8Array[]): Uint8Array[] {
  const head = new Uint8Array(Uint32Array.from([inBand.byteLength, buffers.length, ...buffers.map((buffer) => buffer.byteLength)]).buffer);
  const pieces: Uint8Array[] = [head, inBand];
  let size = head.byteLength + inBand.byteLength;
  for (const buffer of buffers) {
    const padding = aligned(size) - size;
    if (padding > 0) pieces.push(PADDING.subarray(0, padding));
    pieces.push(buffer);
    size += padding + buffer.byteLength;
  }
  return pieces;
}

/** Splits a record into its in-band bytes and buffers. Parts in shared memory are copied, because the writer reuses their room. */
function splitBuffers(body: Uint8Array, isShared: boolean): { inBand: Uint8Array; buffers: Uint8Array[] } {
  const view = new DataView(body.buffer, body.byteOffset);
  const count = view.getUint32(4, true);
  const start = 8 + count * 4;
  let at = start + view.getUint32(0, true);
  const inBand = body.subarray(start, at);
  const buffers: Uint8Array[] = [];
  for (let index = 0; index < count; index += 1) {
    at = aligned(at);
    const end = at + view.getUint32(8 + index * 4, true);
    // `slice` copies each buffer into separate memory. A mapped file needs no copy: it belongs to this reader alone.
    buffers.push(isShared ? Uint8Array.prototype.slice.call(body, at, end) : body.subarray(at, end));
    at = end;
  }
  return { inBand, buffers };
}

function aligned(size: number): number {
  return Math.ceil(size / BUFFER_ALIGNMENT_BYTES) * BUFFER_ALIGNMENT_BYTES;
}

function copyPieces(pieces: readonly Uint8Array[], target: Uint8Array, start: number): void {
  let at = start;
  for (const piece of pieces) {
    target.set(piece, at);
    at += piece.byteLength;
  }
}
