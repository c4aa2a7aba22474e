/**
 * The functions and classes that this process made remote, by id: captured at their first use, published when others may need them.
 *
 * An id is given when `remote()` is called and does not depend on what is captured, so that functions may refer to themselves and to each
 * other; their text and captures travel under it. A function that came from elsewhere is known by its id alone; whoever
 * runs it fetches the rest from the node daemon.
 */
import type { Definition } from "../../closure/capture.ts";
import type { ObjectEntry } from "../../object/object-entry.ts";
import { type ContainedRef, inBandPayload, NO_BYTES, type Payload } from "../../object/payload.ts";
import { STORE_FROM_BYTES } from "../../object/value-codec.ts";
import type { DefinitionHeader } from "../../wire/messages.ts";
import type { CallTarget } from "./worker-link.ts";

type AnyFunction = (...args: never[]) => unknown;

export interface FunctionRow extends CallTarget {
  /** Of a function without one it is found when it is captured. */
  name: string;
  /** Undefined where it came from another process. */
  readonly source: AnyFunction | undefined;
}

/** The name of a function that has none. */
export const ANONYMOUS = "anonymous";

/** Definitions above this are refused; Ray's limit. */
const DEFINITION_SIZE_MAX = 100 * 1024 * 1024;

export interface FunctionTableOptions {
  idPrefix: string;
  capture: (target: (...args: unknown[]) => unknown) => CapturedDefinition;
  pin: (entry: ObjectEntry) => void;
  publish: (message: Captured) => void;
  onNote: (note: string) => void;
  /** Puts a large definition into the store, for as long as the session lasts. */
  store: (definition: Definition) => Payload;
  /** In-process mode: functions run as they are and are never captured. */
  runsLocally: boolean;
}

/** A definition with the refs that it captured. */
export interface CapturedDefinition {
  definition: Definition;
  refs: readonly ContainedRef[];
  entries: readonly ObjectEntry[];
}

export interface Captured {
  header: Omit<DefinitionHeader, "number">;
  parts: readonly Uint8Array[];
  payloads: readonly Payload[];
}

export class FunctionTable {
  readonly #options: FunctionTableOptions;
  readonly #rows = new Map<string, FunctionRow>();
  readonly #bySource = new WeakMap<object, FunctionRow>();
  readonly #limited = new Map<string, FunctionRow>();
  readonly #captured = new Map<string, Captured>();
  readonly #capturing = new Set<string>();
  readonly #published = new Set<string>();
  #nextNumber = 1;

  constructor(options: FunctionTableOptions) {
    this.#options = options;
  }

  /** The row of a function or class of this process. */
  own(source: object, name: string): FunctionRow {
    const known = this.#bySource.get(source);
    if (known !== undefined) return known;
    const row = this.#newRow(`${this.#options.idPrefix}:${this.#nextNumber}`, name, source as unknown as AnyFunction);
    this.#nextNumber += 1;
    this.#bySource.set(source, row);
    return row;
  }

  /** The row of a function that another process made. */
  foreign(id: string, name: string): FunctionRow {
    return this.#rows.get(id) ?? this.#newRow(id, name, undefined);
  }

  /** The same function where a worker takes so many calls of it and no more; undefined is without limit. */
  limited(row: FunctionRow, maxCalls: number | undefined): FunctionRow {
    if (maxCalls === undefined) return row;
    const key = `${maxCalls} ${row.id}`;
    let limited = this.#limited.get(key);
    if (limited === undefined) {
      limited = { ...row, maxCalls, meanMs: Number.POSITIVE_INFINITY };
      this.#limited.set(key, limited);
    }
    return limited;
  }

  localFunction(id: string): ((...args: unknown[]) => unknown) | undefined {
    return this.#options.runsLocally ? (this.#rows.get(id)?.source as ((...args: unknown[]) => unknown) | undefined) : undefined;
  }

  /** Makes sure that what is wrong with a function is said at its first call, before anything is sent. */
  prepare(row: FunctionRow): void {
    if (row.source !== undefined && !this.#options.runsLocally && !this.#captured.has(row.id)) this.#capture(row);
  }

  /** Others may need it: the node daemon gets it, once. */
  publish(row: FunctionRow): void {
    if (row.source === undefined || this.#published.has(row.id) || this.#options.runsLocally) return;
    // It refers to itself: sent as soon as it has been captured.
    if (this.#capturing.has(row.id)) return;
    this.#published.add(row.id);
    const captured = this.#captured.get(row.id) ?? this.#capture(row);
    this.#options.publish(captured);
  }

  /** A class that values refer to. */
  publishClass(definition: Definition): void {
    if (this.#published.has(definition.id)) return;
    this.#published.add(definition.id);
    const captured = this.#toMessage(definition.id, definition.name, { definition, refs: [], entries: [] });
    this.#options.publish(captured);
  }

  #newRow(id: string, name: string, source: AnyFunction | undefined): FunctionRow {
    const row: FunctionRow = {
      kind: "task",
      id,
      name,
      source,
      maxCalls: undefined,
      meanMs: Number.POSITIVE_INFINITY,
      definition: () => {
        // A length of -1 tells the worker to fetch it.
        if (source === undefined || this.#options.runsLocally)
          return {
            header: { id, contentId: id, name: row.name, inBand: -1, buffers: [], dependencies: [], refs: [], stored: undefined },
            parts: [],
            payloads: [],
          };
        return this.#captured.get(id) ?? this.#capture(row);
      },
    };
    this.#rows.set(id, row);
    return row;
  }

  #capture(row: FunctionRow): Captured {
    this.#capturing.add(row.id);
    try {
      const captured = this.#options.capture(row.source as unknown as (...args: unknown[]) => unknown);
      const { definition } = captured;
      // A function may be called as long as the session lasts, so what it captured is kept as long.
      for (const entry of captured.entries) this.#options.pin(entry);
      if (definition.sizeBytes > DEFINITION_SIZE_MAX) {
        throw new RangeError(
          `Cannot send ${row.name}: its definition with everything that it captures is above 100 MB: received ${definition.sizeBytes} bytes. Put large data with put() and pass the ref.`,
        );
      }
      // An arrow function is known to its user by the variable that it went into.
      if (row.name === ANONYMOUS && definition.name !== "") row.name = definition.name;
      for (const note of definition.notes) this.#options.onNote(note);
      const message = this.#toMessage(row.id, row.name, captured);
      this.#captured.set(row.id, message);
      return message;
    } finally {
      this.#capturing.delete(row.id);
      // Not only when somebody asks for it by its id: what it returns may hold instances of classes that only this definition has.
      if (this.#captured.has(row.id)) this.publish(row);
    }
  }

  #toMessage(id: string, name: string, { definition, refs }: CapturedDefinition): Captured {
    const { bytes, buffers, dependencies } = definition;
    const header = {
      id,
      contentId: definition.id,
      name,
      inBand: bytes.length,
      buffers: buffers.map((buffer) => buffer.byteLength),
      dependencies,
      refs: refs.map((ref): [typeof ref.id, typeof ref.owner] => [ref.id, ref.owner]),
      stored: undefined,
    };
    const held: Payload[] = refs.length === 0 ? [] : [{ ...inBandPayload(NO_BYTES, { graph: true, error: false }), refs }];
    if (definition.sizeBytes < STORE_FROM_BYTES || buffers.length === 0) return { header, parts: [bytes, ...buffers], payloads: held };
    const payload = this.#options.store(definition);
    return { header: { ...header, inBand: 0, buffers: [], stored: payload.stored }, parts: [], payloads: [...held, payload] };
  }
}
