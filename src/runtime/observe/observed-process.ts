/**
 * Reads one process's observation file: running calls, calls that ended since the last look, and counts by function.
 *
 * The process may have written anything: every number is bounded before use, text is parsed as JSON of a fixed form, and a record whose
 * sequence number is wrong is dropped. A file that makes no sense shows nothing and ends nothing.
 */
import type { ActorId, JobId, ProcessId } from "../base/ids.ts";
import { DEFINITIONS_BYTES_MAX, FUNCTIONS_MAX, NAME_CHARACTERS_MAX, RING_SIZE_MAX, RING_SIZE_MIN, SLOTS_MAX } from "./limits.ts";
import {
  CALL,
  CALL_LENGTH,
  CALL_STATE,
  COUNTERS_AT,
  DEFINITIONS_AT,
  HEADER,
  HEADER_TIMES,
  MAGIC,
  OUTCOMES,
  RING_AT,
  SLOTS_AT,
  VERSION,
} from "./observation-layout.ts";

/** The bytes of an observation file. */
export interface ObservationSource {
  /** Reads into the whole target from a place; missing bytes stay as they are. */
  read(target: Uint8Array, at: number): void;
  /** Writes how many records have been read. */
  write(bytes: Uint8Array, at: number): void;
  close(): void;
}

export interface ProcessFacts {
  readonly id: ProcessId;
  readonly pid: number;
  readonly jobId: JobId;
}

/** The process that ran a call, as far as a record refers to it by numbers. */
export interface CallProcess {
  readonly facts: ProcessFacts;
  readonly nodeId: string;
  /** How the process ended. */
  readonly cause: string | undefined;
  /** Wall-clock time of the clock's 0. */
  readonly originMs: number;
  functionOf(number: number): { readonly name: string; readonly actor: ActorId | undefined };
  taskIdPrefix(caller: number): string;
}

interface FunctionFacts {
  readonly name: string;
  readonly actor: ActorId | undefined;
}

const OTHER: FunctionFacts = { name: "(other)", actor: undefined };
/** Times beyond this are no times: the year 5138. */
const TIME_MAX_MS = 1e14;

export class ObservedProcess implements CallProcess {
  readonly facts: ProcessFacts;
  readonly nodeId: string;
  /** How the process ended. */
  cause: string | undefined;
  readonly #source: ObservationSource;
  /** Header, slots and counters, as read last. */
  readonly #head: Buffer = Buffer.alloc(DEFINITIONS_AT);
  readonly #functions: FunctionFacts[] = [OTHER];
  readonly #callers: string[] = [""];
  #definitionsRead = 0;
  #recordsRead = 0;
  #isValid = false;

  constructor(facts: ProcessFacts, source: ObservationSource, nodeId: string) {
    this.facts = facts;
    this.nodeId = nodeId;
    this.#source = source;
  }

  functionOf(number: number): FunctionFacts {
    return this.#functions[number] ?? OTHER;
  }

  taskIdPrefix(caller: number): string {
    return this.#callers[caller] ?? "";
  }

  /** Returns the functions and callers behind so many of each, which are known already. */
  definitionsSince(functions: number, callers: number): { functions: [name: string, actor: string | null][]; callers: string[] } {
    return {
      functions: this.#functions.slice(functions + 1).map(({ name, actor }) => [name, actor ?? null]),
      callers: this.#callers.slice(callers + 1),
    };
  }

  /** Wall-clock time of the clock's 0. */
  get originMs(): number {
    return bounded(this.#head.readDoubleLE(HEADER_TIMES.origin * 8), TIME_MAX_MS);
  }

  /** Reads header, slots, counters, and new definitions. */
  look(): void {
    this.#source.read(this.#head, 0);
    this.#isValid = this.#word(HEADER.magic) === MAGIC && this.#word(HEADER.version) === VERSION;
    if (this.#isValid) this.#readDefinitions();
  }

  /** Calls `take` with each record that was written since the last time, the oldest first. @returns whether there were any */
  readRing(take: (record: Buffer) => void): boolean {
    if (!this.#isValid) return false;
    const written = bounded(this.#head.readDoubleLE(HEADER_TIMES.written * 8), Number.MAX_SAFE_INTEGER);
    const size = this.#word(HEADER.ringSize);
    if (size < RING_SIZE_MIN || size > RING_SIZE_MAX || (size & (size - 1)) !== 0) return false;
    const first = Math.max(this.#recordsRead, written - size);
    if (!Number.isInteger(written) || first >= written) return false;
    for (let number = first; number < written; ) {
      const place = number % size;
      const count = Math.min(size - place, written - number);
      const part = Buffer.alloc(count * CALL_LENGTH);
      this.#source.read(part, RING_AT + place * CALL_LENGTH);
      // Records that the process may have overwritten meanwhile, the one that it writes now among them, are not whole.
      const safeFrom = this.#writtenNow() - size + 1;
      for (let index = 0; index < count; index += 1) {
        const record = part.subarray(index * CALL_LENGTH, (index + 1) * CALL_LENGTH);
        const isWhole = number + index >= safeFrom && record.readUInt32LE(CALL.sequence * 4) === (number + index) >>> 0;
        const state = record.readUInt32LE(CALL.state * 4);
        if (isWhole && state >= CALL_STATE.finished && state <= CALL_STATE.cancelled) take(record);
      }
      number += count;
    }
    this.#recordsRead = written;
    const read = Buffer.alloc(8);
    read.writeDoubleLE(written);
    this.#source.write(read, HEADER_TIMES.read * 8);
    return true;
  }

  /** Returns the calls in slots, as of the last look. */
  running(): Buffer[] {
    if (!this.#isValid) return [];
    const found: Buffer[] = [];
    for (let slot = 0; slot < SLOTS_MAX; slot += 1) {
      const at = SLOTS_AT + slot * CALL_LENGTH;
      if (this.#head.readUInt32LE(at + CALL.state * 4) === CALL_STATE.running)
        found.push(Buffer.from(this.#head.subarray(at, at + CALL_LENGTH)));
    }
    return found;
  }

  /** Lists functions with the number of their calls by outcome, as of the last look. */
  *counts(): Generator<[fn: FunctionFacts, state: number, count: number]> {
    if (!this.#isValid) return;
    for (let number = 0; number < Math.min(this.#functions.length, FUNCTIONS_MAX); number += 1) {
      for (let state: number = CALL_STATE.finished; state < OUTCOMES; state += 1) {
        const count = this.#head.readUInt32LE(COUNTERS_AT + (number * OUTCOMES + state) * 4);
        if (count > 0) yield [this.functionOf(number), state, count];
      }
    }
  }

  close(): void {
    this.#source.close();
  }

  #writtenNow(): number {
    const written = Buffer.alloc(8);
    this.#source.read(written, HEADER_TIMES.written * 8);
    return written.readDoubleLE(0);
  }

  #word(at: number): number {
    return this.#head.readUInt32LE(at * 4);
  }

  #readDefinitions(): void {
    const end = Math.min(this.#word(HEADER.definitionBytes), DEFINITIONS_BYTES_MAX);
    if (end <= this.#definitionsRead) return;
    const added = Buffer.alloc(end - this.#definitionsRead);
    this.#source.read(added, DEFINITIONS_AT + this.#definitionsRead);
    this.#definitionsRead = end;
    for (const line of added.toString().split("\n")) if (line !== "") this.#readDefinition(line);
  }

  #readDefinition(line: string): void {
    const [kind, number, name, actor] = parsed(line);
    if (typeof number !== "number" || typeof name !== "string") return;
    // Numbers are given one after the other: another one is not of ours.
    if (kind === "f" && number === this.#functions.length && number < FUNCTIONS_MAX)
      this.#functions.push({ name: name.slice(0, NAME_CHARACTERS_MAX), actor: isId(actor) ? actor : undefined });
    if (kind === "c" && number === this.#callers.length && /^[0-9a-f]{0,12}$/.test(name)) this.#callers.push(name);
  }
}

function isId(value: unknown): value is ActorId {
  return typeof value === "string" && /^[0-9a-f]{32}$/.test(value);
}

function parsed(line: string): unknown[] {
  try {
    const read: unknown = JSON.parse(line);
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}

/** Returns a number from 0 to `max`; 0 for anything else. */
export function bounded(value: number, max: number): number {
  return value >= 0 && value <= max ? value : 0;
}
