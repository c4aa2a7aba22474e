/**
 * The functions and classes that this process made remote: captured at their first use, sent to the node daemon, and let go of.
 *
 * `remote()` gives the id, which does not depend on the captures, so functions may refer to themselves and to each other. Text and captures
 * travel under the id. A row lives while its function, a call or lineage that may run the function again can be reached. The node daemon counts
 * a reference for each definition. The row and all values with the function in them hold that reference; without a holder, the cluster forgets
 * the definition. A function from another process is known by its id and its reference.
 */
import { STORE_FROM_BYTES } from "../../../runtime/objects/limits.ts";
import type { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../../runtime/objects/object-table.ts";
import type { Definition } from "../../../runtime/closure/capture.ts";
import { type ContainedRef, inBandPayload, NO_BYTES, type Payload } from "../../../runtime/objects/payload.ts";
import type { DefinitionHeader } from "../../../runtime/wire/calls/definition-messages.ts";
import { STORE_TEXT_FROM_BYTES } from "../../limits.ts";
import { isPythonId } from "../../python/python-code.ts";
import { DefinitionSites } from "./definition-sites.ts";
import { type CallTarget, fetchedDefinition } from "../call-record.ts";

type AnyFunction = (...args: never[]) => unknown;

export interface FunctionRow extends CallTarget {
  /** Found at the capture where the function has none. */
  name: string;
  /** Undefined where it came from another process. */
  readonly source: AnyFunction | undefined;
  /** Keeps the definition of a function from another process. */
  held?: object | undefined;
  /** The captures, after the first use. */
  captured?: Captured | undefined;
  /** The same function with limits of calls, by limit. */
  limited?: Map<number, FunctionRow> | undefined;
}

/** The name of a function that has none. */
export const ANONYMOUS = "anonymous";

/** Definitions above this are refused; Ray's limit. */
const DEFINITION_SIZE_MAX = 100 * 1024 * 1024;

interface FunctionTableOptions {
  idPrefix: string;
  capture: (target: (...args: unknown[]) => unknown) => CapturedDefinition;
  /** A new counted reference for a definition, pinned. */
  newReference: () => ObjectEntry;
  table: Pick<ObjectTable, "pin" | "unpin" | "publish">;
  publish: (message: Captured) => void;
  /** Tells workers that the function is called no more, so that they can forget it. */
  onGone: (id: string) => void;
  onNote: (note: string) => void;
  /** Puts a large definition into the store. The entry is pinned. */
  store: (definition: Definition) => { payload: Payload; entry: ObjectEntry };
  /** In-process mode: functions run as they are and are never captured. */
  runsLocally: boolean;
  /** Looks at a function that runs as it is: at its first call. */
  checkLocal: ((source: object) => void) | undefined;
}

/** A definition with the refs that it captured. */
interface CapturedDefinition {
  definition: Definition;
  refs: readonly ContainedRef[];
  entries: readonly ObjectEntry[];
}

interface Captured {
  header: Omit<DefinitionHeader, "number">;
  parts: readonly Uint8Array[];
  payloads: readonly Payload[];
  /** The owner of the definition's reference. */
  reference: ObjectEntry;
  /** Everything that is pinned for it, the reference among them. */
  pinned: readonly ObjectEntry[];
}

interface Capturing {
  /** Whether the function captures itself. */
  isMet: boolean;
  isKept: boolean;
}

/** The work that is left for a row that cannot be reached any more. */
interface Remains {
  readonly id: string;
  readonly pinned: readonly ObjectEntry[];
}

export class FunctionTable {
  readonly #options: FunctionTableOptions;
  readonly #rows = new Map<string, WeakRef<FunctionRow>>();
  /** In-process mode: others know a function by its id alone, so that it must not go. */
  readonly #local = new Map<string, FunctionRow>();
  readonly #bySource = new WeakMap<object, FunctionRow>();
  readonly #byDefinition = new WeakMap<Definition, Captured>();
  /** Rows whose capture is going on, outermost first. */
  readonly #capturing = new Map<FunctionRow, Capturing>();
  readonly #sites: DefinitionSites;
  readonly #gone = new FinalizationRegistry<Remains>((remains) => this.#letGo(remains));
  readonly #rowGone = new FinalizationRegistry<string>((id) => {
    if (this.#rows.get(id)?.deref() === undefined) this.#rows.delete(id);
  });
  #nextNumber = 1;

  constructor(options: FunctionTableOptions) {
    this.#options = options;
    this.#sites = new DefinitionSites((warning) => options.onNote(warning));
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

  /** Returns the row: of a function of this process by its source, of another process's function by its id. */
  rowOf({
    source,
    id,
    name,
    held,
  }: {
    source: object | undefined;
    id: string | undefined;
    name: string;
    held?: object | undefined;
  }): FunctionRow {
    if (source !== undefined) return this.own(source, name);
    const row = this.#rows.get(id as string)?.deref() ?? this.#newRow(id as string, name, undefined);
    row.held ??= held;
    return row;
  }

  /** The same function with a limit of calls for each worker; undefined is without limit. */
  limited(row: FunctionRow, maxCalls: number | undefined): FunctionRow {
    if (maxCalls === undefined) return row;
    row.limited ??= new Map();
    let limited = row.limited.get(maxCalls);
    if (limited === undefined) {
      // The target's `definition` keeps the row alive.
      limited = { ...row, limited: undefined, maxCalls, meanMs: Number.POSITIVE_INFINITY };
      row.limited.set(maxCalls, limited);
    }
    return limited;
  }

  localFunction(id: string): ((...args: unknown[]) => unknown) | undefined {
    return this.#local.get(id)?.source as ((...args: unknown[]) => unknown) | undefined;
  }

  /** Captures the function before its first call is sent, so that a faulty function fails there. */
  prepare(row: FunctionRow): void {
    if (row.source === undefined) return;
    if (this.#options.runsLocally) this.#options.checkLocal?.(row.source);
    else if (row.captured === undefined) this.#capture(row);
  }

  /**
   * Sends the definition to the node daemon, once, for other processes.
   *
   * @returns the reference that goes with a value in which the function is; undefined where nothing is counted
   */
  publish(row: FunctionRow): ObjectEntry | undefined {
    if (row.source === undefined || this.#options.runsLocally) return undefined;
    const capturing = this.#capturing.get(row);
    if (capturing !== undefined) {
      // A function that refers to itself would never go with a reference to itself. The definition is sent right after the capture.
      capturing.isMet = true;
      const rows = [...this.#capturing.keys()];
      const around = rows.slice(rows.indexOf(row));
      // Functions that refer to each other cannot count each other: the cluster keeps them for good.
      if (around.length > 1) for (const other of around) (this.#capturing.get(other) as Capturing).isKept = true;
      return undefined;
    }
    return (row.captured ?? this.#capture(row)).reference;
  }

  /** A class that values refer to. @returns the reference that goes with such a value */
  publishClass(definition: Definition): ObjectEntry {
    const known = this.#byDefinition.get(definition);
    if (known !== undefined) return known.reference;
    const { id, name } = definition;
    const captured = this.#toMessage({ id, name }, { definition, refs: [], entries: [] }, { isMet: false, isKept: false });
    this.#byDefinition.set(definition, captured);
    this.#gone.register(definition, { id, pinned: captured.pinned });
    this.#options.publish(captured);
    return captured.reference;
  }

  #newRow(id: string, name: string, source: AnyFunction | undefined): FunctionRow {
    const { runsLocally } = this.#options;
    const row: FunctionRow = {
      kind: "task",
      id,
      name,
      source,
      maxCalls: undefined,
      meanMs: Number.POSITIVE_INFINITY,
      definition: () => {
        if (source === undefined || runsLocally) return fetchedDefinition(row);
        return row.captured ?? this.#capture(row);
      },
    };
    this.#rows.set(id, new WeakRef(row));
    if (runsLocally) this.#local.set(id, row);
    this.#rowGone.register(row, id);
    // Python finds its functions by their names, and keeps nothing for a caller.
    if (source === undefined && !isPythonId(id)) this.#gone.register(row, { id, pinned: [] });
    return row;
  }

  #capture(row: FunctionRow): Captured {
    const capturing: Capturing = { isMet: false, isKept: false };
    this.#capturing.set(row, capturing);
    try {
      const source = row.source as unknown as (...args: unknown[]) => unknown;
      this.#sites.made(source);
      const captured = this.#options.capture(source);
      const { definition } = captured;
      if (definition.sizeBytes > DEFINITION_SIZE_MAX) {
        throw new RangeError(
          `Cannot send ${row.name}: its definition with everything that it captures is above 100 MB: received ${definition.sizeBytes} bytes. Put large data with put() and pass the ref.`,
        );
      }
      // An arrow function is known to its user by the variable that it went into.
      if (row.name === ANONYMOUS && definition.name !== "") row.name = definition.name;
      for (const note of definition.notes) this.#options.onNote(note);
      // A function that can be reached may be called, so its captures stay as long.
      for (const entry of captured.entries) this.#options.table.pin(entry);
      const message = this.#toMessage(row, captured, capturing);
      row.captured = message;
      this.#gone.register(row, { id: row.id, pinned: message.pinned });
      // Kept even if nobody asks for the id: results may hold instances of classes that this definition alone has.
      this.#options.publish(message);
      return message;
    } finally {
      this.#capturing.delete(row);
    }
  }

  #letGo({ id, pinned }: Remains): void {
    // A function of another process may have arrived twice.
    if (this.#rows.get(id)?.deref() === undefined) this.#options.onGone(id);
    for (const entry of pinned) this.#options.table.unpin(entry);
  }

  #toMessage(
    { id, name }: { id: string; name: string },
    { definition, refs, entries }: CapturedDefinition,
    { isMet, isKept }: Capturing,
  ): Captured {
    const { bytes, buffers, dependencies } = definition;
    const reference = this.#options.newReference();
    const own = this.#options.table.publish(reference);
    // Workers hold the reference for values that they pass on: instances of the definition's classes, or the function itself.
    const isOwnNeeded = definition.hasClasses || isMet;
    const needed = isOwnNeeded ? [...refs, own] : refs;
    const header = {
      id,
      contentId: definition.id,
      name,
      inBand: bytes.length,
      buffers: buffers.map((buffer) => buffer.byteLength),
      dependencies,
      refs: needed.map((ref): [typeof ref.id, typeof ref.owner] => [ref.id, ref.owner]),
      stored: undefined,
      reference: isKept ? undefined : own.id,
      own: isOwnNeeded ? refs.length : undefined,
    };
    const held: Payload[] = needed.length === 0 ? [] : [{ ...inBandPayload(NO_BYTES, { graph: true, error: false }), refs: needed }];
    const pinned = [reference, ...entries];
    const storeFromBytes = buffers.length === 0 ? STORE_TEXT_FROM_BYTES : STORE_FROM_BYTES;
    if (definition.sizeBytes < storeFromBytes) return { header, parts: [bytes, ...buffers], payloads: held, reference, pinned };
    const stored = this.#options.store(definition);
    pinned.push(stored.entry);
    return {
      header: { ...header, inBand: 0, buffers: [], stored: stored.payload.stored },
      parts: [],
      payloads: [...held, stored.payload],
      reference,
      pinned,
    };
  }
}
