/**
 * Objects of other nodes as one process reads them: by copies on this node, which its daemon fetches and this process lets go of.
 *
 * Decides when the daemon is asked (once for each object, whoever of this process wants it) and when a copy is given back (when the object's entry goes, or has its value
 * elsewhere by now). A copy that comes when nobody wants it any more is given back at once. What is on this node costs a comparison of text and nothing else.
 */
import { NodeDiedError, ObjectLostError, ObjectStoreFullError, OutOfDiskError } from "../base/errors.ts";
import { nodeTagOf, type ObjectId, type ProcessId } from "../base/ids.ts";
import type { WireLocation } from "../wire/messages.ts";
import { isSameLocation, noteLost } from "./lost-object.ts";
import type { ObjectEntry } from "./object-entry.ts";
import { isWireError } from "../wire/wire-error.ts";

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

  /** Where an object can be read on this node; its own location where there is no copy of it. */
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
   * Resolves when a copy is on this node. The entry is pinned by whoever waits.
   *
   * @throws ObjectLostError, noted as such, when the bytes are nowhere; NodeDiedError when this node is; ObjectStoreFullError and OutOfDiskError when they fit nowhere here
   */
  bring(location: WireLocation, entry: ObjectEntry, purpose: number): Promise<void> {
    const known = this.#copies.get(entry);
    if (known !== undefined && isSameLocation(known.of, location)) return known.arrival;
    // It was made again, and lies elsewhere now.
    this.letGo(entry);
    const copy: Copy = { of: location, here: undefined, arrival: Promise.resolve(), isUnwanted: false };
    this.#copies.set(entry, copy);
    copy.arrival = this.#fetch(entry, copy, purpose);
    return copy.arrival;
  }

  /** Nobody in this process reaches the object any more. */
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
      // What this process alone knows is its own.
      const here = await fetch({ id: idOf(entry), location: copy.of, owner: entry.owner ?? processId }, purpose);
      if (copy.isUnwanted) release(here);
      else copy.here = here;
    } catch (error) {
      if (this.#copies.get(entry) === copy) this.#copies.delete(entry);
      throw error instanceof NodeDiedError ? error : fetchError(error as Error, entry, copy.of);
    }
  }
}

/** What the daemon answered, for the user. */
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
