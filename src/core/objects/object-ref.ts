/**
 * The user's handle of an object: it has a promise's methods, is disposable, and has nothing else.
 *
 * `await ref` is `get(ref)`. A ref never shows its entry; the runtime reads it with `entryOf`. Whether the entry counts its handles is
 * the object table's decision, made when bytes or other processes depend on it.
 */
import { insideLibrary } from "../../runtime/base/library-code.ts";
import type { HandleToken, ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import type { GetOptions, ObjectRef as ObjectRefType } from "../types/ref-types.ts";
import { RuntimeSlot } from "../runtime-slot.ts";

/** The parts of the process's runtime that a ref needs. */
export interface RefRuntime {
  readonly isClosed: boolean;
  readonly table: ObjectTable;
  getOne(ref: object, limits: GetOptions): Promise<unknown>;
}

const slot = new RuntimeSlot<RefRuntime>();

export let entryOf: (ref: object) => ObjectEntry;
/** Returns the entry of any value that is a ref; undefined for other values. */
export let entryIfRef: (value: unknown) => ObjectEntry | undefined;
/** Whether a value is an ObjectRef. */
export let isObjectRef: (value: unknown) => value is ObjectRefType<unknown>;
export let isDisposed: (handle: object) => boolean;

export class ObjectRefHandle {
  readonly #entry: ObjectEntry;
  readonly #token: HandleToken | undefined;
  #isDisposed = false;

  static {
    entryOf = (ref) => {
      const handle = ref as ObjectRefHandle;
      if (handle.#isDisposed) throw new TypeError("Cannot use an ObjectRef after its end: it was disposed of (`using`, or Symbol.dispose)");
      return handle.#entry;
    };
    entryIfRef = (value) => {
      if (typeof value !== "object" || value === null || !(#entry in value)) return undefined;
      return value.#isDisposed ? entryOf(value) : value.#entry;
    };
    isDisposed = (handle) => (handle as ObjectRefHandle).#isDisposed;
    isObjectRef = (value): value is ObjectRefType<unknown> => typeof value === "object" && value !== null && #entry in value;
  }

  /** `token`: shared with the other handles that were read with it (`handle-group.ts`). */
  constructor(entry: ObjectEntry, token?: HandleToken) {
    this.#entry = entry;
    this.#token = token;
  }

  /** The object's id: 20 bytes in hex, unique in the cluster. */
  get id(): string {
    return this.#entry.id ?? insideLibrary(() => slot.requireRunning().table.idOf(this.#entry));
  }

  // biome-ignore lint/suspicious/noThenProperty: a ref is thenable by design (api.md, decision 1)
  then<A, B>(
    onFulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#value().then<A, B>(onFulfilled, onRejected);
  }

  /** As of a promise. */
  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<unknown> {
    return this.#value().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<unknown> {
    return this.#value().finally(onFinally);
  }

  /** A ref that cannot be read any more rejects, as a promise does: `then` throws nothing. */
  #value(): Promise<unknown> {
    try {
      return slot.requireRunning().getOne(this, {});
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Throws a clear error: types cannot tell a function that passes on a generator from a generator itself, so a loop over the result of such a call compiles. The
   * task's own error comes first, which names the option.
   */
  [Symbol.asyncIterator](): AsyncIterator<never> {
    return {
      next: async () => {
        await this;
        throw new TypeError(
          'Cannot iterate an ObjectRef: it is one value: await it; for a stream of items the call needs numReturns: "streaming"',
        );
      },
    };
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    const table = slot.current?.table;
    insideLibrary(() => {
      if (this.#token === undefined) table?.disposeHandle(this.#entry, this);
      else table?.removeFromToken(this.#token, this.#entry);
    });
  }

  /** Returns the text for `console.log`. */
  static inspect(handle: ObjectRefHandle): string {
    return `ObjectRef(${handle.id}, ${handle.#entry.state})`;
  }
}

Object.defineProperty(ObjectRefHandle.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: ObjectRefHandle): string {
    return ObjectRefHandle.inspect(this);
  },
});
