/**
 * Waiting for refs: `get`, `await ref` and `wait`.
 *
 * A wait asks the owner of a borrowed ref for the value, keeps a driver alive, parks its task, and refuses a wait without an end (a serial actor that waits for
 * itself). Each reader gets a separately decoded value, so no two share a mutable object.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { DeadlockError, GetTimeoutError, ObjectLostError, submittedFrom } from "../../runtime/base/errors.ts";
import type { ObjectEntry, Waiter } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import type { Payload } from "../../runtime/objects/payload.ts";
import { FETCH_FOR } from "../../runtime/wire/objects/transfer-messages.ts";
import { type TaskContext, taskContext } from "../../runtime/worker/tasks/task-context.ts";
import { entryIfRef, entryOf, isObjectRef } from "./object-ref.ts";
import type { LongWait, LongWaits } from "../why/long-waits.ts";
import { afterLimit } from "./waiting-limits.ts";
import { isObjectRefGenerator, readinessOf } from "../streams/object-ref-generator.ts";
import type { GetOptions } from "../types/ref-types.ts";
import type { Serializer, DecodeContext } from "../serializer.ts";
import { userFrames, userStack } from "../user-stacks.ts";

export interface WaitOptionsResolved extends GetOptions {
  numReturns: number;
  /** Ready is what is on this node. */
  fetchLocal: boolean;
}

export interface WaitingOptions {
  table: ObjectTable;
  serializer: Serializer;
  longWaits: LongWaits;
  /** Whether the object store is nearly full: readers then yield to code that frees it. */
  store: { readonly isShort: boolean };
  /** Called with true when the first wait begins and with false when the last has ended. */
  onWaiting: (waiting: boolean) => void;
  /** An object's bytes are gone: the entry to wait for, or undefined when the error is about something else. */
  recovery: { begin(error: unknown): ObjectEntry | undefined };
}

export class Waiting {
  readonly #options: WaitingOptions;
  /** Entries that could not be fetched for a waiting reader. */
  readonly #unreachable = new WeakSet<ObjectEntry>();
  #waits = 0;
  #stamp = 0;

  constructor(options: WaitingOptions) {
    this.#options = options;
  }

  getOne(ref: object, limits: GetOptions): Promise<unknown> {
    const entry = entryOf(ref);
    if (entry.state === "ready" && entry.isPrimitive) return Promise.resolve(entry.primitive);
    if (entry.isSettled) return this.#read(entry, limits);
    // A ref that is waited for is kept: its handle is held by the closure below, and it may be disposed of meanwhile.
    const { table } = this.#options;
    table.pin(entry);
    const waited = this.#untilRead(entry, limits).then(() => this.#read(entry, limits));
    return waited.finally(() => {
      void ref;
      table.unpin(entry);
    });
  }

  /** Waits for an entry without a user's ref, as `get` waits for a ref, but does not read the value. */
  async untilSettled(entry: ObjectEntry): Promise<void> {
    if (!entry.isSettled) await this.#until([entry], 1, {});
  }

  /** The value of a settled entry; rejects with its failure. */
  read(entry: ObjectEntry): Promise<unknown> {
    return this.#read(entry, NO_LIMITS);
  }

  /** Values in order; the first failure, in order of settling, rejects at once. */
  async getMany(refs: readonly object[], limits: GetOptions): Promise<unknown[]> {
    const entries = refs.map(entryOf);
    const pending = entries.filter((entry) => !entry.isSettled);
    const { table } = this.#options;
    for (const entry of pending) table.pin(entry);
    try {
      return await this.#valuesOf(entries, pending, limits);
    } finally {
      for (const entry of pending) table.unpin(entry);
    }
  }

  async #valuesOf(entries: readonly ObjectEntry[], pending: readonly ObjectEntry[], limits: GetOptions): Promise<unknown[]> {
    if (pending.length > 0) {
      const failed = await this.#untilAllOrFailure(pending, limits);
      if (failed !== undefined) {
        markSeen(entries);
        return [await this.#read(failed, limits)];
      }
      const left = pending.filter((entry) => !entry.isSettled);
      if (left.length > 0 && limits.timeoutMs === undefined) return await this.#valuesOf(entries, left, limits);
      if (left.length > 0) throw timedOut(limits.timeoutMs, entries.length - left.length, entries.length);
    }
    for (const entry of entries) {
      // All at once, however many nodes they are on.
      if (entry.payload?.stored !== undefined) void this.#options.serializer.prefetch(entry.payload, entry, FETCH_FOR.GET);
    }
    const values = new Array<unknown>(entries.length);
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index] as ObjectEntry;
      if (entry.isPrimitive && entry.state === "ready") values[index] = entry.primitive;
      else if (entry.state === "ready" && entry.payload !== undefined && this.#canReadNow(entry.payload)) {
        try {
          values[index] = this.#options.serializer.decodeNow(entry.payload, decodeContextOf(entry));
        } catch (error) {
          values[index] = await this.#readAgain(entry, error, limits);
        }
      } else {
        if (entry.state === "failed") markSeen(entries);
        values[index] = await this.#read(entry, limits);
      }
    }
    return values;
  }

  async wait<R extends object>(refs: readonly R[], options: WaitOptionsResolved): Promise<[R[], R[]]> {
    const split = this.#split(refs, options);
    if (split !== undefined) return split;
    const entries = refs.map(awaitedEntryOf);
    const { table } = this.#options;
    for (const entry of entries) table.pin(entry);
    try {
      await this.#until(entries, options.numReturns, options);
    } finally {
      for (const entry of entries) table.unpin(entry);
    }
    const ready: R[] = [];
    const pending: R[] = [];
    for (let index = 0; index < refs.length; index += 1) {
      const isReady = ready.length < options.numReturns && this.#isReady(entries[index] as ObjectEntry, options.fetchLocal);
      (isReady ? ready : pending).push(refs[index] as R);
    }
    return [ready, pending];
  }

  /**
   * Checks the refs, and splits them if enough are ready. One pass, and no array except the results: a loop that waits for one of a thousand refs at a time visits each
   * ref a thousand times.
   */
  #split<R extends object>(
    refs: readonly R[],
    { numReturns, fetchLocal }: { numReturns: number; fetchLocal: boolean },
  ): [R[], R[]] | undefined {
    this.#stamp += 1;
    const stamp = this.#stamp;
    const ready: R[] = [];
    let lastReady = -1;
    for (let index = 0; index < refs.length; index += 1) {
      const ref = refs[index] as R;
      const entry = entryIfRef(ref) ?? readinessOfStream(ref, index);
      // A stamp on the entry instead of a set per call.
      if (entry.waitStamp === stamp) throw givenTwice(ref);
      entry.waitStamp = stamp;
      if (ready.length < numReturns && this.#isReady(entry, fetchLocal)) {
        ready.push(ref);
        lastReady = index;
      }
    }
    if (ready.length < numReturns) return undefined;
    if (ready.length === 1) return [ready, lastReady === 0 ? refs.slice(1) : refs.slice(0, lastReady).concat(refs.slice(lastReady + 1))];
    const taken = new Set(ready);
    return [ready, refs.filter((ref) => !taken.has(ref))];
  }

  #isReady(entry: ObjectEntry, fetchLocal: boolean): boolean {
    if (!entry.isSettled) return false;
    return (
      !fetchLocal || entry.payload === undefined || this.#options.serializer.isHere(entry.payload, entry) || this.#unreachable.has(entry)
    );
  }

  /** Fetches a settled object from the node that has it, and tells when it is here, or cannot be had: its reader learns why. */
  #fetched(entry: ObjectEntry, then: () => void): void {
    const { serializer } = this.#options;
    const { payload } = entry;
    if (payload === undefined || serializer.isHere(payload, entry)) {
      then();
      return;
    }
    void serializer.prefetch(payload, entry, FETCH_FOR.WAIT).then(() => {
      if (!serializer.isHere(payload, entry)) this.#unreachable.add(entry);
      then();
    });
  }

  /** Counts as a wait of this process, without parking a task. */
  async holdWhile<T>(work: Promise<T>): Promise<T> {
    this.#began();
    try {
      return await work;
    } finally {
      this.#ended();
    }
  }

  #began(): void {
    this.#waits += 1;
    if (this.#waits === 1) this.#options.onWaiting(true);
  }

  #ended(): void {
    this.#waits -= 1;
    if (this.#waits === 0) this.#options.onWaiting(false);
  }

  /** Resolves when `count` of the entries have settled, or the limits are reached. */
  #until(entries: readonly ObjectEntry[], count: number, limits: GetOptions & { fetchLocal?: boolean }): Promise<void> {
    const needed = count === entries.length ? entries : undefined;
    return this.#suspend({ ...limits, needed }, (done) => {
      let missing = count;
      const arrived = (): void => {
        missing -= 1;
        if (missing <= 0) done();
      };
      const waiter: Waiter =
        limits.fetchLocal === true ? { entrySettled: (entry) => this.#fetched(entry, arrived) } : { entrySettled: arrived };
      const pending: ObjectEntry[] = [];
      let settled = 0;
      for (const entry of entries) {
        if (!entry.isSettled) pending.push(entry);
        else {
          settled += 1;
          waiter.entrySettled(entry);
        }
      }
      if (missing <= 0) {
        done();
        return () => {};
      }
      if (settled < count) this.#refuseDeadlock(pending, count - settled);
      return this.#watch(pending, waiter);
    });
  }

  /**
   * Resolves when an entry has settled. Its value may be lost again between its arrival and the turn of the task that waits for it: it waits once more then.
   *
   * @throws GetTimeoutError
   */
  #untilRead(entry: ObjectEntry, limits: GetOptions): Promise<void> {
    const { timeoutMs } = limits;
    const endMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
    const goOn = (): Promise<void> | undefined => {
      if (entry.isSettled) return undefined;
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) throw timedOut(timeoutMs, 0, 1);
      return this.#until([entry], 1, timeoutMs === undefined ? limits : { ...limits, timeoutMs: leftMs }).then(goOn);
    };
    return this.#until([entry], 1, limits).then(goOn);
  }

  async #untilAllOrFailure(pending: readonly ObjectEntry[], limits: GetOptions): Promise<ObjectEntry | undefined> {
    let failed: ObjectEntry | undefined;
    await this.#suspend({ ...limits, needed: pending }, (done) => {
      let missing = pending.length;
      this.#refuseDeadlock(pending, missing);
      const waiter: Waiter = {
        entrySettled: (entry) => {
          missing -= 1;
          if (entry.state === "failed") failed ??= entry;
          if (missing === 0 || failed !== undefined) done();
        },
      };
      return this.#watch(pending, waiter);
    });
    return failed;
  }

  /** Watches pending entries. @returns a function that ends the watch */
  #watch(pending: readonly ObjectEntry[], waiter: Waiter): () => void {
    for (const entry of pending) {
      entry.addWaiter(waiter);
      this.#options.table.watch(entry);
    }
    return () => {
      for (const entry of pending) if (!entry.isSettled) entry.removeWaiter(waiter);
    };
  }

  /** Suspends a wait: with its limits, parking the task and keeping the driver alive. */
  #suspend(limits: GetOptions & { needed: readonly ObjectEntry[] | undefined }, begin: (done: () => void) => () => void): Promise<void> {
    const context: TaskContext | undefined = taskContext.current;
    const { signal, timeoutMs, needed } = limits;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      let isOver = false;
      let end: () => void = () => {};
      let timer: NodeJS.Timeout | undefined;
      const cancellation = context === undefined || context.isFinished ? undefined : context.cancellation;
      const parks = context?.place.executor !== undefined && !context.isFinished;
      let hasBegun = false;
      let lasting: LongWait | undefined;
      const finish = (settle: () => void): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        cancellation?.waitEnds(breakOff);
        end();
        if (!hasBegun) {
          settle();
          return;
        }
        this.#ended();
        if (lasting !== undefined) this.#options.longWaits.end(lasting);
        if (parks) context.place.executor?.waitEnds(context, settle);
        else settle();
      };
      const onAbort = (): void => finish(() => reject(signal?.reason as Error));
      const breakOff = (reason: Error): void => finish(() => reject(reason));
      try {
        end = begin(() => finish(resolve));
      } catch (error) {
        reject(error);
        return;
      }
      if (isOver) return;
      hasBegun = true;
      this.#began();
      if (parks) context.place.executor?.waitBegins(context);
      // A wait that only an answer ends may be part of a cycle of waits.
      if (context !== undefined && needed !== undefined && signal === undefined && timeoutMs === undefined && !context.isFinished)
        lasting = this.#options.longWaits.begin(context, needed);
      if (timeoutMs !== undefined) timer = afterLimit(timeoutMs, () => finish(resolve));
      signal?.addEventListener("abort", onAbort, { once: true });
      cancellation?.waitBegins(breakOff);
    });
  }

  #refuseDeadlock(pending: readonly ObjectEntry[], missing: number): void {
    const place = taskContext.current?.place;
    const actor = place?.actor;
    // Where calls overlap, the one that is waited for may begin.
    if (actor === undefined || place?.isSerial === false) return;
    let own = 0;
    for (const entry of pending) if (entry.actor === actor) own += 1;
    if (pending.length - own >= missing) return;
    throw new DeadlockError(
      `Cannot wait: ${taskContext.current?.name} waits for a call to the actor it runs in, which cannot begin before it has ended`,
      {
        reason: "a serial actor waits for itself",
        hint: "Call the method directly (this.method()), or do not await the ref inside the actor.",
      },
    );
  }

  /** Resolves once an object whose bytes a read found gone has a value again. @returns undefined when the error is about something else */
  recovered(error: unknown): Promise<void> | undefined {
    const entry = this.#options.recovery.begin(error);
    return entry === undefined ? undefined : this.#until([entry], 1, {});
  }

  /** The bytes are gone: the value that the object gets instead, within the limits of the read. */
  async #readAgain(entry: ObjectEntry, error: unknown, limits: GetOptions): Promise<unknown> {
    const lost = this.#options.recovery.begin(error);
    if (lost === undefined) throw error;
    this.#options.table.pin(entry);
    try {
      await this.#untilRead(lost, limits);
      return await this.#read(entry, limits);
    } finally {
      this.#options.table.unpin(entry);
    }
  }

  #read(entry: ObjectEntry, limits: GetOptions): Promise<unknown> {
    if (entry.state === "failed") return this.#readFailure(entry);
    if (!entry.isSettled) {
      // Lost since it had settled, and on its way again.
      return this.#untilRead(entry, limits).then(() => this.#read(entry, limits));
    }
    if (entry.state === "ready" && entry.isPrimitive) return Promise.resolve(entry.primitive);
    if (entry.state === "freed" || entry.payload === undefined) {
      const reason = "its last reference was given up";
      return Promise.reject(
        new ObjectLostError(`Cannot get an object: it was freed: ${reason}`, {
          reason,
          hint: "Keep an ObjectRef to it for as long as it is needed.",
        }),
      );
    }
    const { payload } = entry;
    const { serializer, table } = this.#options;
    if (this.#canReadNow(payload)) {
      try {
        // In a box: resolving with the value itself would call a `then` that it may have.
        const value = serializer.decodeNow(payload, decodeContextOf(entry));
        return Promise.resolve(value);
      } catch (error) {
        return this.#readAgain(entry, error, limits);
      }
    }
    table.pin(entry);
    const decode = async (): Promise<{ value: unknown }> => {
      if (payload.stored !== undefined && this.#options.store.isShort) await turn();
      return serializer.decode(payload, decodeContextOf(entry));
    };
    // Definitions may have to be fetched and modules imported: the driver must not end meanwhile.
    return this.holdWhile(decode())
      .then(
        (box) => box.value,
        (error: unknown) => this.#readAgain(entry, error, limits),
      )
      .finally(() => table.unpin(entry));
  }

  #canReadNow(payload: Payload): boolean {
    return this.#options.serializer.canDecodeNow(payload) && (payload.stored === undefined || !this.#options.store.isShort);
  }

  async #readFailure(entry: ObjectEntry): Promise<never> {
    entry.failureSeen = true;
    if (entry.payload === undefined) throw entry.failure;
    const { value } = await this.holdWhile(this.#options.serializer.decode(entry.payload, decodeContextOf(entry)));
    throw submittedFrom(value, userFrames(entry.callSite), userStack(value));
  }
}

/** A turn of the event loop: messages are read and finalizers run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function readinessOfStream(value: object, index: number): ObjectEntry {
  if (isObjectRefGenerator(value)) return readinessOf(value);
  throw new TypeError(`Cannot wait: element ${index} is not an ObjectRef: received ${describeValue(value)}`);
}

function givenTwice(ref: object): RangeError {
  return new RangeError(`Cannot wait: the refs must be unique: received ${isObjectRef(ref) ? ref.id : "a stream"} twice`);
}

/** A stream is awaited for its next item or its end. */
function awaitedEntryOf(ref: object): ObjectEntry {
  return isObjectRefGenerator(ref) ? readinessOf(ref) : entryOf(ref);
}

const NO_LIMITS: GetOptions = {};

/** Marks failures as seen: as with Promise.all, the first failure of a joint `get` speaks for all. */
function markSeen(entries: readonly ObjectEntry[]): void {
  for (const entry of entries) entry.failureSeen = true;
}

function decodeContextOf(entry: ObjectEntry): DecodeContext {
  return entry.contained === undefined ? { keeper: entry } : { keeper: entry, refs: entry.contained };
}

function timedOut(timeoutMs: number | undefined, settled: number, total: number): GetTimeoutError {
  const what = total === 1 ? "the object was not ready" : `${total - settled} of ${total} objects were not ready`;
  return new GetTimeoutError(`Cannot get: ${what} after ${timeoutMs ?? 0} ms`, {
    reason: "the time limit was reached",
    hint: "The task goes on; get the ref again, or raise timeoutMs.",
    details: { timeoutMs, settled, total },
  });
}
