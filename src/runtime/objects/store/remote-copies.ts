/**
 * Copies of other nodes' objects as one process uses them: the daemon fetches each copy, and this process releases it.
 *
 * Decides when the daemon is asked (once for each object, however many readers wait) and when a copy is released (when the object's entry goes, or its value
 * has moved). A copy that arrives after its last reader has gone is released at once. For an object on this node all this costs one comparison of texts.
 */
import { asError } from "../../base/texts/describe.ts";
import { NodeDiedError, ObjectLostError, ObjectStoreFullError, OutOfDiskError } from "../../base/errors.ts";
import { nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import type { WireLocation } from "../../wire/messages.ts";
import { isSameLocation, noteLost } from "../lost-object.ts";
import type { ObjectEntry } from "../object-entry.ts";
import { isWireError } from "../../wire/wire-error.ts";

interface RemoteCopiesOptions {
  processId: ProcessId;
  idOf: (entry: ObjectEntry) => ObjectId;
  /** Asks the daemon. @returns the location of a copy on this node */
  fetch: (object: { id: ObjectId; location: WireLocation; owner: ProcessId }, purpose: number) => Promise<WireLocation>;
  /** Tells it that a copy is not needed any more. */
  release: (location: WireLocation) => void;
}

interface Copy {
  /** Where the object itself is. */
  readonly of: WireLocation;
  /** Where it can be read; undefined while it is on its way. */
  here: WireLocation | undefined;
  arrival: Promise<void>;
  isUnwanted: boolean;
}

export class RemoteCopies {
  readonly #options: RemoteCopiesOptions;
  readonly #nodeTag: string;
  readonly #copies = new Map<ObjectEntry, Copy>();

  constructor(options: RemoteCopiesOptions) {
    this.#options = options;
    this.#nodeTag = nodeTagOf(options.processId);
  }

  /** Copies that this process reads or waits for. */
  get size(): number {
    return this.#copies.size;
  }

  /** Whether the bytes were written on this node. */
  isOfNode(location: WireLocation): boolean {
    return location[0].startsWith(this.#nodeTag);
  }

  /** Returns the place where this node can read an object: the copy, or else the object's own location. */
  readable(location: WireLocation, entry: ObjectEntry | undefined): WireLocation {
    if (entry === undefined || this.isOfNode(location)) return location;
    const copy = this.#copies.get(entry);
    return copy?.here !== undefined && isSameLocation(copy.of, location) ? copy.here : location;
  }

  /** Whether an object can be read without waiting for another node. */
  isHere(location: WireLocation, entry: ObjectEntry | undefined): boolean {
    return this.isOfNode(this.readable(location, entry));
  }

  /**
   * Resolves when a copy is on this node. The waiting caller pins the entry.
   *
   * @throws ObjectLostError with a note (`lost-object.ts`) when no node has the bytes; NodeDiedError when this node's daemon has ended;
   * ObjectStoreFullError and OutOfDiskError when this node has no room
   */
  bring(location: WireLocation, entry: ObjectEntry, purpose: number): Promise<void> {
    const known = this.#copies.get(entry);
    if (known !== undefined && isSameLocation(known.of, location)) return known.arrival;
    // The object was made again, at another place.
    this.letGo(entry);
    const copy: Copy = { of: location, here: undefined, arrival: Promise.resolve(), isUnwanted: false };
    this.#copies.set(entry, copy);
    copy.arrival = this.#fetch(entry, copy, purpose);
    return copy.arrival;
  }

  /** Releases the copy of an object that this process can reach no more. */
  letGo(entry: ObjectEntry): void {
    const copy = this.#copies.get(entry);
    if (copy === undefined) return;
    this.#copies.delete(entry);
    if (copy.here === undefined) copy.isUnwanted = true;
    else this.#options.release(copy.here);
  }

  async #fetch(entry: ObjectEntry, copy: Copy, purpose: number): Promise<void> {
    const { fetch, idOf, release, processId } = this.#options;
    try {
      // An object without an owner is known to this process alone, so this process owns it.
      const here = await fetch({ id: idOf(entry), location: copy.of, owner: entry.owner ?? processId }, purpose);
      if (copy.isUnwanted) release(here);
      else copy.here = here;
    } catch (error) {
      if (this.#copies.get(entry) === copy) this.#copies.delete(entry);
      throw error instanceof NodeDiedError ? error : fetchError(asError(error), entry, copy.of);
    }
  }
}

/** Turns the daemon's answer into the error that the user sees. */
function fetchError(error: Error, entry: ObjectEntry, location: WireLocation): Error {
  const { message: text } = error;
  const facts = { reason: text, details: { id: entry.id, location } };
  if (isWireError(error, "objectStoreFull")) return new ObjectStoreFullError(text, facts);
  if (isWireError(error, "outOfDisk")) return new OutOfDiskError(text, facts);
  if (!isWireError(error, "objectLost")) return new Error(`Cannot fetch an object from another node: ${text}`);
  const lost = new ObjectLostError(text, facts);
  noteLost(lost, { entry, location });
  return lost;
}
