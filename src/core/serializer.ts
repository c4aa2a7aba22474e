/**
 * Values of the user to bytes and back: where an argument is encoded.
 *
 * Plain data, refs, handles, remote functions, errors and registered classes take the value codec (wire/value). A value that
 * it has no form for (functions, class instances, accessors, symbols) is encoded again as a closure graph, with the classes that it needs as
 * definitions. Decides which application types exist (KIND) and keeps the lists that go with a value: the refs inside it and its
 * definitions. Reading refs takes over the holds that the sender registered.
 */
import { copyBytes } from "../runtime/base/collections/bytes.ts";
import { messageOf } from "../runtime/base/texts/describe.ts";
import type { ObjectId, ProcessId } from "../runtime/base/ids.ts";
import {
  ObjectLostError,
  type ShoalError,
  fromWire,
  isRegisteredError,
  standInFor,
  taskErrorFrom,
  toWire,
  withoutStack,
} from "../runtime/base/errors.ts";
import { captureDefinition, captureValue, captureWhole, definitionOf } from "../runtime/closure/capture.ts";
import { reviveValue } from "../runtime/closure/revive.ts";
import type { DefinitionCache } from "../runtime/objects/definition-cache.ts";
import { IN_FRAME_BYTES_MAX, STORE_FROM_BYTES } from "../runtime/objects/limits.ts";
import type { LocalStore } from "../runtime/objects/store/local-store.ts";
import type { ObjectEntry } from "../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../runtime/objects/object-table.ts";
import { lostObjectOf, noteLost } from "../runtime/objects/lost-object.ts";
import { type ContainedRef, inBandPayload, NO_BUFFERS, NO_DEFINITIONS, NO_REFS, type Payload } from "../runtime/objects/payload.ts";
import type { ArgumentWait, EncodedMessage, FailedTask, ValueCodec } from "../runtime/objects/value-codec.ts";
import type { Definition } from "../runtime/closure/capture.ts";
import { FETCH_FOR } from "../runtime/wire/objects/transfer-messages.ts";
import type { ByteRange } from "../runtime/wire/value/byte-reader.ts";
import { type DecodeHooks, decodeRange, decodeValue } from "../runtime/wire/value/decode.ts";
import { type EncodeHooks, encodeValue, type Reduced, UnsupportedValueError } from "../runtime/wire/value/encode.ts";
import { ERROR_BYTES_MAX } from "./limits.ts";
import { handleGroup } from "./objects/handle-group.ts";
import { entryOf, isObjectRef } from "./objects/object-ref.ts";
import { userStack, withUserStacks } from "./user-stacks.ts";

/** Application types inside a value; the numbers are part of the protocol. */
export const KIND = {
  REF: 0,
  ACTOR: 1,
  REMOTE_FUNCTION: 2,
  ACTOR_CLASS: 3,
  DEPENDENCY: 4,
  REGISTERED: 5,
  SHOAL_ERROR: 6,
  LOCAL: 7,
  PLACEMENT_GROUP: 20,
  CONTEXT: 12,
  ND_ARRAY: 30,
  ARROW: 31,
  PYTHON_TEXT: 32,
  TENSOR: 33,
  PYTHON_NAMED: 34,
  PYTHON_OBJECT: 35,
  PYTHON_TUPLE: 36,
  PYTHON_EXACT: 37,
  PYTHON_KEYWORDS: 38,
  TEMPORAL: 39,
} as const;

/** Takes the place of a top-level ref among the arguments. */
export class DependencyMark {
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
}

/** A type that other files of core know how to reduce: handles, remote functions, registered classes. */
export interface Reducer {
  reduce(value: object): Reduced | undefined;
  /** `held`: the handle of the reference that came with a remote function or class. */
  revive(kind: number, payload: unknown, held: object | undefined): unknown;
}

/** Index of a remote function's or class's reference in its payload. */
const REFERENCE_AT: ReadonlyMap<number, number> = new Map([
  [KIND.REMOTE_FUNCTION, 3],
  [KIND.ACTOR_CLASS, 5],
]);

const NO_REDUCER: Reducer = { reduce: () => undefined, revive: () => undefined };

interface SerializerOptions {
  processId: ProcessId;
  nodeId: string;
  pid: number;
  table: ObjectTable;
  store: LocalStore;
  definitions: DefinitionCache;
  /** Sends a definition to the node daemon, once. @returns its reference, which goes with the value */
  publishDefinition: (definition: Definition) => ObjectEntry;
  /** Brings back an object whose bytes a read found gone: what to wait for, or undefined when the error is about something else. */
  recover: (error: unknown) => Promise<void> | undefined;
}

/** Facts besides its bytes that the decoding of a value needs. */
export interface DecodeContext {
  /** The refs inside the value, in the order of its list. */
  refs?: readonly ObjectEntry[];
  /** The values of top-level refs among arguments. */
  dependencies?: readonly unknown[];
  /** The object whose bytes these are: kept for as long as a mapped view of them lives. */
  keeper?: ObjectEntry;
  /** The purpose of a fetch from another node. Default: a `get`. */
  purpose?: number;
}

const NO_CONTEXT: DecodeContext = {};
const NO_VALUES: readonly unknown[] = [];

interface Collected {
  refs: ContainedRef[];
  entries: ObjectEntry[];
  definitions: string[];
}

const NO_ENTRIES: readonly ObjectEntry[] = [];
const DONE: Promise<void> = Promise.resolve();

export interface Encoded extends EncodedMessage {
  /** The entries of `refs`, which the holder of the bytes pins. */
  entries: readonly ObjectEntry[];
}

const justWait: ArgumentWait = (_lost, recover) => recover();

function lostFor(payload: Payload): ObjectLostError {
  const reason = "it was freed while it was made again";
  return new ObjectLostError(`Cannot read an argument: ${reason}`, { reason, details: { id: payload.stored?.id } });
}

const BRIEF_CHARACTERS = 4000;

export class Serializer implements ValueCodec {
  /** Set by the code that builds the runtime's upper parts. */
  reducer: Reducer = NO_REDUCER;
  readonly #options: SerializerOptions;
  /** Why nothing is read from the store any more. */
  #storeEnded: Error | undefined;
  #collected: Collected | undefined;
  readonly #encoded: Encoded = {
    bytes: new Uint8Array(0),
    start: 0,
    end: 0,
    buffers: NO_BUFFERS,
    graph: false,
    definitions: NO_DEFINITIONS,
    refs: NO_REFS,
    isPlain: true,
    entries: NO_ENTRIES,
  };
  readonly hooks: EncodeHooks & DecodeHooks = {
    reduce: (value) => this.#reduce(value),
    inBandMax: IN_FRAME_BYTES_MAX,
    // Set once something has come from Python: until then no object is looked up.
    origin: undefined,
    revive: (kind, payload) => this.#revive(kind, payload),
  };

  constructor(options: SerializerOptions) {
    this.#options = options;
  }

  encode(value: unknown): Encoded {
    const outer = this.#collected;
    this.#collected = undefined;
    const encoded = this.#encoded;
    try {
      try {
        const plain = encodeValue(value, this.hooks);
        encoded.bytes = plain.bytes;
        encoded.start = plain.start;
        encoded.end = plain.end;
        encoded.buffers = plain.buffers;
        encoded.graph = false;
        encoded.definitions = this.#definitionsCollected();
      } catch (error) {
        if (!(error instanceof UnsupportedValueError)) throw error;
        this.#collected = undefined;
        this.#encodeGraph(value, encoded);
      }
      const collected = this.#collected as Collected | undefined;
      encoded.refs = collected === undefined ? NO_REFS : collected.refs;
      encoded.entries = collected === undefined ? NO_ENTRIES : collected.entries;
    } finally {
      this.#collected = outer;
    }
    encoded.isPlain =
      encoded.buffers.length === 0 &&
      encoded.definitions.length === 0 &&
      encoded.refs.length === 0 &&
      encoded.end - encoded.start < STORE_FROM_BYTES;
    return encoded;
  }

  /** Where in a value that which is no plain data lies, and why: for those who cannot read closures. */
  whyNotPlain(value: unknown): UnsupportedValueError {
    const outer = this.#collected;
    try {
      encodeValue(value, this.hooks);
    } catch (error) {
      if (error instanceof UnsupportedValueError) return error;
      throw error;
    } finally {
      this.#collected = outer;
    }
    return new UnsupportedValueError(value, "it changed while it was read");
  }

  encodeError(error: unknown, task: FailedTask): EncodedMessage {
    const restore = withUserStacks(error);
    try {
      return this.#encodeReadableError(error, task);
    } catch {
      // Reads nothing of the error: each question to it may throw again.
      const { pid, nodeId } = this.#options;
      const unreadable = withoutStack(() => new Error("what it threw cannot be read"));
      return this.encode(taskErrorFrom(unreadable, { taskName: task.name, pid, nodeId, remoteStack: undefined }));
    } finally {
      restore();
    }
  }

  #encodeReadableError(error: unknown, task: FailedTask): EncodedMessage {
    const where = { taskName: task.name, pid: this.#options.pid, nodeId: this.#options.nodeId, remoteStack: userStack(error) };
    const failure: ShoalError = isRegisteredError(error) ? error : taskErrorFrom(error, where);
    try {
      const encoded = this.encode(failure);
      const sizeBytes = sizeOf(encoded);
      if (sizeBytes <= ERROR_BYTES_MAX) return encoded;
      const reason = `it takes ${sizeBytes} bytes, and an error may take ${ERROR_BYTES_MAX}`;
      return this.encode(taskErrorFrom(standInFor(briefly(error), reason), { ...where, remoteStack: undefined }));
    } catch (reason) {
      return this.encode(taskErrorFrom(standInFor(error, messageOf(reason)), where));
    }
  }

  toPayload(encoded: EncodedMessage, options: { owner: ProcessId; error: boolean; link?: number | undefined }): Payload {
    const { graph, definitions, refs } = encoded;
    const inBand = copyBytes(encoded.bytes, encoded.start, encoded.end);
    // A failure goes to all results of a call and on to those that depend on them: nobody in particular would free its bytes.
    if (options.error || sizeOf(encoded) < STORE_FROM_BYTES) {
      if (encoded.isPlain) return inBandPayload(inBand, { graph, error: options.error });
      return {
        inBand,
        buffers: encoded.buffers.map((buffer) => copyBytes(buffer)),
        graph,
        error: options.error,
        definitions,
        refs,
        stored: undefined,
      };
    }
    const location = this.#options.store.write(inBand, encoded.buffers, options);
    const stored = { id: "" as never, owner: "" as ProcessId, location };
    return { inBand: inBand.subarray(0, 0), buffers: NO_BUFFERS, graph, error: options.error, definitions, refs, stored };
  }

  discard(payload: Payload): void {
    if (payload.stored !== undefined) this.#options.store.freed(payload.stored.location);
  }

  decodePlainArguments(bytes: Uint8Array): unknown[] {
    return decodeValue(bytes, NO_BUFFERS, this.hooks) as unknown[];
  }

  decodePlain(bytes: Uint8Array, range: ByteRange): unknown {
    return decodeRange(bytes, range, this.hooks);
  }

  decodeParts(inBand: Uint8Array, buffers: readonly Uint8Array[]): unknown {
    return decodeValue(inBand, buffers, this.hooks);
  }

  decodeArguments(args: Payload, dependencies: readonly Payload[], argumentWait: ArgumentWait = justWait): unknown[] | Promise<unknown[]> {
    const pinned: ObjectEntry[] = [];
    const argRefs = this.#receive(args, pinned);
    const dependencyRefs = dependencies.map((payload) => this.#receive(payload, pinned));
    const unpin = (): void => {
      for (const entry of pinned) this.#options.table.unpin(entry);
    };
    if (this.canDecodeNow(args) && dependencies.every((payload) => this.canDecodeNow(payload))) {
      let isLost = false;
      try {
        const values = dependencies.map((payload, index) => this.decodeNow(payload, { refs: dependencyRefs[index] ?? NO_ENTRIES }));
        return this.decodeNow(args, { refs: argRefs, dependencies: values }) as unknown[];
      } catch (error) {
        isLost = lostObjectOf(error) !== undefined;
        if (!isLost) throw error;
      } finally {
        if (!isLost) unpin();
      }
    }
    const decode = async (): Promise<unknown[]> => {
      const needed = [...dependencies, args];
      for (const payload of needed) void this.prefetch(payload, undefined, FETCH_FOR.WAIT);
      const values: unknown[] = [];
      for (const [index, payload] of needed.entries()) {
        const refs = payload === args ? argRefs : (dependencyRefs[index] ?? NO_ENTRIES);
        const context = { refs, dependencies: payload === args ? values : NO_VALUES, purpose: FETCH_FOR.WAIT };
        const whenLost = (error: unknown): Promise<void> | undefined => this.#waitForLost(error, needed.slice(index), argumentWait);
        const { value } = await this.#decodeOf(payload, context, whenLost);
        if (payload === args) return value as unknown[];
        values.push(value);
      }
      return [];
    };
    return decode().finally(unpin);
  }

  /** One of the arguments of a call was found lost: waits for it, and for those of the others that are lost, too. @returns undefined for an error that is about something else */
  #waitForLost(error: unknown, needed: readonly Payload[], argumentWait: ArgumentWait): Promise<void> | undefined {
    if (lostObjectOf(error) === undefined) return undefined;
    const wait = async (): Promise<void> => {
      const errors = [error, ...(await this.#lostAmong(needed.slice(1)))];
      const lost = errors.map(lostObjectOf).filter((object) => object !== undefined);
      await argumentWait(lost, async () => void (await Promise.all(errors.map(async (one) => this.#options.recover(one)))));
    };
    return wait();
  }

  /** Where one argument was lost, others may be with it: all of them are made again at once. */
  async #lostAmong(payloads: readonly Payload[]): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (const payload of payloads) {
      try {
        await this.#bring(payload, undefined, FETCH_FOR.WAIT);
        if (payload.stored !== undefined) this.#bytesOf(payload, undefined);
      } catch (error) {
        if (lostObjectOf(error) !== undefined) errors.push(error);
      }
    }
    return errors;
  }

  /** Decodes a payload that came with a message; where its bytes are lost, the value that its object gets instead. */
  async #decodeOf(
    payload: Payload,
    context: DecodeContext,
    whenLost: (error: unknown) => Promise<void> | undefined,
  ): Promise<{ value: unknown }> {
    try {
      return await this.decode(payload, context);
    } catch (error) {
      const waited = whenLost(error);
      if (waited === undefined) throw error;
      await waited;
    }
    const entry = this.#options.table.lookup(payload.stored?.id as ObjectId);
    if (entry?.payload === undefined) {
      if (entry?.state === "failed") throw entry.failure;
      if (entry?.isPrimitive === true) return { value: entry.primitive };
      throw lostFor(payload);
    }
    const { dependencies } = context;
    const again = await this.#decodeOf(
      entry.payload,
      {
        keeper: entry,
        refs: entry.contained ?? NO_ENTRIES,
        ...(dependencies === undefined ? {} : { dependencies }),
      },
      whenLost,
    );
    if (entry.state === "failed") throw again.value;
    return again;
  }

  /** Whether `decodeNow` can read it. */
  canDecodeNow(payload: Payload): boolean {
    if (payload.stored !== undefined && !this.#options.store.copies.isOfNode(payload.stored.location)) return false;
    return !payload.graph && (payload.definitions.length === 0 || this.#options.definitions.areReady(payload.definitions));
  }

  decodeNow(payload: Payload, context: DecodeContext = NO_CONTEXT): unknown {
    const { inBand, buffers } = this.#bytesOf(payload, context.keeper);
    return decodeValue(inBand, buffers, this.#hooksWith(context));
  }

  /** The value in a box, as a value may be thenable. */
  async decode(payload: Payload, context: DecodeContext = NO_CONTEXT): Promise<{ value: unknown }> {
    await this.#options.definitions.loadAll(payload.definitions);
    await this.#bring(payload, context.keeper, context.purpose ?? FETCH_FOR.GET);
    if (!payload.graph) return { value: this.decodeNow(payload, context) };
    const { inBand, buffers } = this.#bytesOf(payload, context.keeper);
    const value = await reviveValue(inBand, buffers, {
      hooks: this.#hooksWith(context),
      definition: (id) => this.#options.definitions.load(id),
    });
    return { value };
  }

  /** Whether the value's bytes are on this node. */
  isHere(payload: Payload, keeper: ObjectEntry): boolean {
    return payload.stored === undefined || this.#options.store.copies.isHere(payload.stored.location, keeper);
  }

  /**
   * Begins to fetch a value's bytes from another node, if they are there.
   *
   * @returns once the bytes are here or the fetch has failed, which a reader then learns
   */
  prefetch(payload: Payload, keeper: ObjectEntry | undefined, purpose: number): Promise<void> {
    return this.#bring(payload, keeper, purpose)?.catch(() => {}) ?? DONE;
  }

  #bring({ stored }: Payload, keeper: ObjectEntry | undefined, purpose: number): Promise<void> | undefined {
    const { store, table } = this.#options;
    if (stored === undefined || store.copies.isOfNode(stored.location)) return undefined;
    const entry = keeper ?? table.lookup(stored.id);
    return entry === undefined ? undefined : this.#bringTo(entry, stored.location, purpose);
  }

  /** Fetches an object. An object from an earlier session of this process looks like another node's, and no node has it. */
  async #bringTo(entry: ObjectEntry, location: NonNullable<Payload["stored"]>["location"], purpose: number): Promise<void> {
    this.#options.table.requireOfSession(entry);
    await this.#options.store.copies.bring(location, entry, purpose);
  }

  /** Captures a function or class. Its references are listed like a value's. */
  captureDefinition(target: (...args: unknown[]) => unknown): {
    definition: Definition;
    refs: readonly ContainedRef[];
    entries: readonly ObjectEntry[];
  } {
    const outer = this.#collected;
    this.#collected = undefined;
    try {
      const captured = captureDefinition(target, this.hooks);
      const collected = this.#collected as Collected | undefined;
      // Instances of registered classes that it captures are read with their deserializers, which must be there before.
      const dependencies = [...this.#definitionsCollected(), ...captured.dependencies];
      const definition = { ...captured, dependencies };
      return { definition, refs: collected?.refs ?? NO_REFS, entries: collected?.entries ?? NO_ENTRIES };
    } finally {
      this.#collected = outer;
    }
  }

  /** A value with all that it needs, as far as that can stand by itself. */
  captureWhole(value: unknown): { parts: readonly Uint8Array[]; isWhole: boolean } {
    const outer = this.#collected;
    this.#collected = undefined;
    try {
      const { bytes, buffers, definitions } = captureWhole(value, this.hooks);
      const collected = this.#collected as Collected | undefined;
      const needs = definitions.length + (collected === undefined ? 0 : collected.refs.length + collected.definitions.length);
      return { parts: [bytes, ...buffers], isWhole: needs === 0 };
    } finally {
      this.#collected = outer;
    }
  }

  /** Hooks for reading something with these refs in it. */
  readingHooks(refs: readonly ObjectEntry[]): DecodeHooks {
    return this.#hooksWith({ refs });
  }

  #hooksWith({ refs = NO_ENTRIES, dependencies = NO_VALUES }: DecodeContext): DecodeHooks {
    if (refs.length === 0 && dependencies.length === 0) return this.hooks;
    const newHandle = handleGroup(this.#options.table);
    return {
      revive: (kind, payload) => {
        if (kind === KIND.DEPENDENCY) return dependencies[payload as number];
        if (kind === KIND.REF) return newHandle(refs[payload as number]);
        const at = REFERENCE_AT.get(kind);
        const place = at === undefined ? undefined : (payload as unknown[])[at];
        return this.#revive(kind, payload, place === undefined ? undefined : newHandle(refs[place as number]));
      },
    };
  }

  /** The daemon is lost: it has let go of what this process held, and other objects may lie there by now. */
  endStore(error: Error): void {
    this.#storeEnded = error;
  }

  #bytesOf(payload: Payload, keeper: ObjectEntry | undefined): { inBand: Uint8Array; buffers: readonly Uint8Array[] } {
    if (payload.stored === undefined) {
      // A reader may write to its value, so each reader gets separate buffers.
      return payload.buffers.length === 0
        ? payload
        : { inBand: payload.inBand, buffers: payload.buffers.map((buffer) => copyBytes(buffer)) };
    }
    if (this.#storeEnded !== undefined) throw this.#storeEnded;
    const { store, table } = this.#options;
    const { id, location } = payload.stored;
    const entry = keeper ?? table.lookup(id);
    try {
      return store.read(location, entry);
    } catch (error) {
      if (error instanceof ObjectLostError && entry !== undefined) noteLost(error, { entry, location });
      throw error;
    }
  }

  /** Takes over the holds that came with a message: each ref, and the stored bytes, are pinned once. @returns the refs inside */
  #receive(payload: Payload, pinned: ObjectEntry[]): readonly ObjectEntry[] {
    const { table } = this.#options;
    const refs = payload.refs.length === 0 ? NO_ENTRIES : payload.refs.map((ref) => table.receive(ref));
    // The object is known here from now on, and may be read again through a ref to it: it needs the refs inside then.
    if (payload.stored !== undefined) pinned.push(table.receiveStored(payload.stored, payload, refs));
    for (const entry of refs) pinned.push(entry);
    return refs;
  }

  #encodeGraph(value: unknown, encoded: Encoded): void {
    let captured: Pick<ReturnType<typeof captureValue>, "bytes" | "buffers" | "definitions" | "classes"> = captureValue(value, this.hooks);
    if (captured.classes.some((target) => definitionOf(target)?.hasForms === true)) {
      // A separate definition would be read without the references that the class captured. They travel with the value, and so does the class.
      this.#collected = undefined;
      captured = { ...captureWhole(value, this.hooks), classes: [] };
    }
    for (const target of captured.classes) {
      const definition = definitionOf(target);
      const reference =
        definition === undefined ? this.#options.definitions.referenceOf(target) : this.#options.publishDefinition(definition);
      if (reference !== undefined) this.collect(this.#options.table.publish(reference), reference);
    }
    encoded.bytes = captured.bytes;
    encoded.start = 0;
    encoded.end = captured.bytes.length;
    encoded.buffers = captured.buffers;
    encoded.graph = true;
    encoded.definitions = [...this.#definitionsCollected(), ...captured.definitions];
  }

  #definitionsCollected(): readonly string[] {
    const collected = this.#collected;
    return collected === undefined ? NO_DEFINITIONS : collected.definitions;
  }

  #reduce(value: object | symbol): Reduced | undefined {
    if (typeof value === "symbol") return undefined;
    if (isObjectRef(value)) {
      const entry = entryOf(value);
      const { table } = this.#options;
      if (!entry.tracked) table.track(entry, value);
      const index = this.collect(table.publish(entry), entry);
      return { kind: KIND.REF, payload: index };
    }
    if (value instanceof DependencyMark) return { kind: KIND.DEPENDENCY, payload: value.index };
    if (isRegisteredError(value)) return { kind: KIND.SHOAL_ERROR, payload: toWire(value) };
    return this.reducer.reduce(value);
  }

  /** A definition that must be known before the value that is being encoded can be read. @returns whether it is the first time */
  collectDefinition(id: string): boolean {
    this.#collected ??= { refs: [], entries: [], definitions: [] };
    if (this.#collected.definitions.includes(id)) return false;
    this.#collected.definitions.push(id);
    return true;
  }

  /** Also for handles, which are counted like refs. @returns its place in the list that travels beside the value, which is how the value refers to it */
  collect(ref: ContainedRef, entry: ObjectEntry): number {
    this.#collected ??= { refs: [], entries: [], definitions: [] };
    this.#collected.refs.push(ref);
    return this.#collected.entries.push(entry) - 1;
  }

  #revive(kind: number, payload: unknown, held?: object): unknown {
    return kind === KIND.SHOAL_ERROR ? fromWire(payload) : this.reducer.revive(kind, payload, held);
  }
}

/** Returns a thrown value with only the beginning of its texts. */
function briefly(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return typeof thrown;
  const brief = new Error(thrown.message.slice(0, BRIEF_CHARACTERS));
  brief.name = thrown.name.slice(0, BRIEF_CHARACTERS);
  brief.stack = String(thrown.stack).slice(0, BRIEF_CHARACTERS);
  return brief;
}

function sizeOf(encoded: EncodedMessage): number {
  let sizeBytes = encoded.end - encoded.start;
  for (const buffer of encoded.buffers) sizeBytes += buffer.byteLength;
  return sizeBytes;
}
