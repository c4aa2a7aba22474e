/**
 * The bytes of TensorBoard's event files: records with their lengths and checksums, and the events in them.
 *
 * Encodes scalars and the events that the plugin HParams reads; `tensorboard-tracker.ts` decides which events to write, and when. Pure, so
 * it is compared with the real TensorBoard byte by byte. A record is its length (8 bytes), the checksum of that, the event, and the
 * checksum of the event; checksums are CRC-32C, masked. The first event names the version.
 */
import { maskedCrc32c } from "../../../storage/compression/crc32c.ts";
import { boolField, bytesField, doubleField, floatField, intField, message } from "./protocol-buffers.ts";

const VERSION = "brain.Event:2";
const HPARAMS = "hparams";
const SESSION_START = "_hparams_/session_start_info";
const SESSION_END = "_hparams_/session_end_info";
const STATUS = { finished: 1, failed: 2 };

/** Seconds since 1970. */
type WallTime = number;

/** An event as a record of a file. */
export function eventRecord(event: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(event.length));
  return Buffer.concat([length, maskedChecksum(length), event, maskedChecksum(event)]);
}

/** The first event of each file. */
export function versionEvent(wallTime: WallTime): Buffer {
  return message(doubleField(1, wallTime), bytesField(3, VERSION));
}

interface Scalars {
  readonly wallTime: WallTime;
  readonly step: number;
  readonly values: Iterable<readonly [tag: string, value: number]>;
}

export function scalarsEvent({ wallTime, step, values }: Scalars): Buffer {
  const summaries = Array.from(values, ([tag, value]) => bytesField(1, message(bytesField(1, tag), floatField(2, value))));
  return message(doubleField(1, wallTime), intField(2, step), bytesField(5, message(...summaries)));
}

/** The hyperparameters of a run, for the plugin HParams. */
export function sessionStartEvent(
  wallTime: WallTime,
  hyperparameters: Iterable<readonly [name: string, value: number | boolean | string]>,
): Buffer {
  const entries = Array.from(hyperparameters, ([name, value]) =>
    bytesField(1, message(bytesField(1, name), bytesField(2, protoValue(value)))),
  );
  return pluginEvent(wallTime, SESSION_START, message(intField(1, 0), bytesField(3, message(...entries, doubleField(5, wallTime)))));
}

export function sessionEndEvent(wallTime: WallTime, state: "finished" | "failed"): Buffer {
  return pluginEvent(
    wallTime,
    SESSION_END,
    message(intField(1, 0), bytesField(4, message(intField(1, STATUS[state]), doubleField(2, wallTime)))),
  );
}

function pluginEvent(wallTime: WallTime, tag: string, content: Uint8Array): Buffer {
  const metadata = message(bytesField(1, message(bytesField(1, HPARAMS), bytesField(2, content))));
  return message(doubleField(1, wallTime), bytesField(5, message(bytesField(1, message(bytesField(1, tag), bytesField(9, metadata))))));
}

/** A `google.protobuf.Value`. */
function protoValue(value: number | boolean | string): Buffer {
  if (typeof value === "number") return doubleField(2, value);
  return typeof value === "boolean" ? boolField(4, value) : bytesField(3, value);
}

/** The masked checksum in four bytes. */
function maskedChecksum(bytes: Uint8Array): Buffer {
  const masked = Buffer.alloc(4);
  masked.writeUInt32LE(maskedCrc32c(bytes));
  return masked;
}
