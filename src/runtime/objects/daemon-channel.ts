/**
 * Tells the node daemon about references and stored objects, in one batch a tick and without waiting.
 *
 * Order matters within a batch. Holds go before releases, so a ref that this process hands on and then drops is never unheld. Releases of pages go before
 * the objects written over them. Messages that other processes wait for (a question, a value) send the batch first.
 */
import { messageOf } from "../base/texts/describe.ts";
import { NodeDiedError } from "../base/errors.ts";
import type { ObjectId, ProcessId } from "../base/ids.ts";
import type { Connection } from "../rpc/connection.ts";
import { type DisownedRow, MESSAGE, type PayloadHeader, type RefHoldHeader, type WireLocation } from "../wire/messages.ts";
import type { StoreUseHeader } from "../wire/objects/store-messages.ts";
import type { ObjectFetchHeader } from "../wire/objects/transfer-messages.ts";
import { IDS_IN_MESSAGE_MAX } from "./limits.ts";
import type { HeldNumber, HeldRead, RefChannel } from "./object-table.ts";
import { type Payload, payloadHeader, payloadParts } from "./payload.ts";

/** The error of each operation that needs the node, once its daemon has ended. */
export function daemonEnded(reason: string): NodeDiedError {
  return new NodeDiedError(`The connection to the node daemon ended: ${reason}`, {
    reason,
    hint: "Call init() again. Where it ended by itself, the system's log may tell what ended it.",
  });
}

export class DaemonChannel implements RefChannel {
  readonly #connection: Connection;
  readonly #daemonId: ProcessId;
  #holds: RefHoldHeader[] = [];
  #releases: [ObjectId, number, ProcessId][] = [];
  #freed: [WireLocation, boolean][] = [];
  #sealed: [WireLocation, ProcessId, number?][] = [];
  #copies: WireLocation[] = [];
  #known: [ObjectId, Payload][] = [];
  #scheduled = false;

  constructor(options: { connection: Connection; daemonId: ProcessId }) {
    this.#connection = options.connection;
    this.#daemonId = options.daemonId;
  }

  hold({ id, owner, holder, message }: { id: ObjectId; owner: ProcessId; holder: ProcessId; message?: HeldNumber | undefined }): void {
    this.#holds.push(message === undefined ? [id, owner, holder] : [id, owner, holder, message.link, message.number]);
    this.#schedule(this.#holds.length);
  }

  release(ref: { id: ObjectId; owner: ProcessId }, count: number): void {
    this.#releases.push([ref.id, count, ref.owner]);
    this.#schedule(this.#releases.length);
  }

  watch(id: ObjectId, owner: ProcessId): void {
    this.flush();
    this.#connection.send(MESSAGE.REF_WATCH, [id, owner]);
  }

  provide(id: ObjectId, payload: Payload): void {
    this.answer(id, this.#daemonId, payload);
  }

  /** Sends the value of an object that this process owns to the process that asked. */
  answer(id: ObjectId, receiver: ProcessId, payload: Payload): void {
    for (const ref of payload.refs) this.hold({ id: ref.id, owner: ref.owner, holder: receiver });
    this.flush();
    this.#connection.send(MESSAGE.REF_VALUE, [id, receiver, payloadHeader(payload)], { parts: payloadParts(payload) });
  }

  known(id: ObjectId, payload: Payload): void {
    this.#known.push([id, payload]);
    this.#schedule(this.#known.length);
  }

  adopt(id: ObjectId): void {
    this.#connection.send(MESSAGE.REF_ADOPT, [id]);
  }

  /** Reports that the bytes of another process's object are gone: its owner makes the object again and sends the value. */
  lost(id: ObjectId, owner: ProcessId, location: WireLocation): void {
    this.flush();
    this.#connection.send(MESSAGE.REF_LOST, [id, owner, location]);
  }

  /** A file of the store lacks what should be in it: nobody may write there again. */
  arenaLost(location: WireLocation): void {
    this.flush();
    this.#connection.send(MESSAGE.ARENA_LOST, location);
  }

  /** Announces a stored object. @param link the link that tells the owner */
  sealed(location: WireLocation, owner: ProcessId, link: number | undefined): void {
    // The object may lie on pages that were just freed: the daemon must hear of the release first.
    if (this.#freed.length > 0) this.#sendFreed();
    this.#sealed.push(link === undefined ? [location, owner] : [location, owner, link]);
    this.#schedule(this.#sealed.length);
  }

  /** `reused`: this process wrote the object and has its pages back already. */
  freed(location: WireLocation, reused: boolean): void {
    this.#freed.push([location, reused]);
    this.#schedule(this.#freed.length);
  }

  /** Fetches an object from another node. @returns the place of the copy on this node. @throws NodeDiedError */
  async fetch({ id, location, owner }: { id: ObjectId; location: WireLocation; owner: ProcessId }, purpose: number): Promise<WireLocation> {
    // The daemon must know of this process's hold first, because it makes the copy for this process.
    this.flush();
    const asked: ObjectFetchHeader = [id, location, purpose, owner];
    try {
      return (await this.#connection.request(MESSAGE.OBJECT_FETCH, asked, { timeoutMs: 0 })).header;
    } catch (error) {
      throw this.#connection.isClosed ? daemonEnded(messageOf(error)) : error;
    }
  }

  /** Releases a copy that this process no longer needs. Sent after the release of the object itself. */
  copyReleased(location: WireLocation): void {
    this.#copies.push(location);
    this.#schedule(this.#copies.length);
  }

  #sendKnown(): void {
    const rows = this.#known.map(([id, payload]): [ObjectId, PayloadHeader] => [id, payloadHeader(payload)]);
    this.#connection.send(MESSAGE.REF_KNOWN, rows, { parts: this.#known.flatMap(([, payload]) => payloadParts(payload)) });
    this.#known = [];
  }

  #sendFreed(): void {
    if (this.#sealed.length > 0) this.#connection.send(MESSAGE.STORE_SEALED, this.#sealed);
    this.#connection.send(MESSAGE.STORE_FREED, this.#freed);
    this.#sealed = [];
    this.#freed = [];
  }

  /** Confirms that this process writes to these arenas no more and has announced every object in them. */
  retired(arenas: readonly string[]): void {
    this.flush();
    this.#connection.send(MESSAGE.STORE_RETIRE, arenas);
  }

  /** The garbage was collected, and what it kept was released. */
  collected(): void {
    this.flush();
    this.#connection.send(MESSAGE.STORE_COLLECT, undefined);
  }

  /** Objects of which the daemon says that they are this process', and which it knows nothing of. */
  disown(locations: readonly WireLocation[], link?: number): void {
    this.flush();
    const rows = locations.map((location): DisownedRow => (link === undefined ? [location] : [location, link]));
    this.#connection.send(MESSAGE.STORE_CLAIM, rows);
  }

  heldRead({ sender, link, number, asker }: HeldRead): void {
    this.flush();
    this.#connection.send(MESSAGE.HELD_READ, asker === undefined ? [sender, link, number] : [sender, link, number, asker]);
  }

  heldEnded(receiver: ProcessId, link: number): void {
    this.flush();
    this.#connection.send(MESSAGE.HELD_ENDED, [receiver, link]);
  }

  /** Ends a link: its receiver hears of no further stored objects over it. */
  storeLinkEnded(receiver: ProcessId, link: number): void {
    this.flush();
    this.#connection.send(MESSAGE.STORE_LINK_ENDED, [receiver, link]);
  }

  used(use: StoreUseHeader): void {
    this.#connection.send(MESSAGE.STORE_USE, use);
  }

  arenaChanged(arena: string, kind: "memory" | "disk", sizeBytes: number): void {
    this.#connection.send(MESSAGE.STORE_ARENA, [arena, kind, sizeBytes]);
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#sealed.length > 0) this.#connection.send(MESSAGE.STORE_SEALED, this.#sealed);
    if (this.#holds.length > 0) this.#connection.send(MESSAGE.REF_HOLD, this.#holds);
    if (this.#known.length > 0) this.#sendKnown();
    if (this.#releases.length > 0) this.#connection.send(MESSAGE.REF_RELEASE, this.#releases);
    if (this.#freed.length > 0) this.#connection.send(MESSAGE.STORE_FREED, this.#freed);
    if (this.#copies.length > 0) this.#connection.send(MESSAGE.COPY_RELEASE, this.#copies);
    this.#copies = [];
    this.#sealed = [];
    this.#holds = [];
    this.#releases = [];
    this.#freed = [];
  }

  /** Writes holds and stored objects at once, because the daemon must know them before a message that leaves now. */
  flushNow(): void {
    this.flush();
    this.#connection.flushEarly(Number.POSITIVE_INFINITY);
  }

  #schedule(length: number): void {
    if (length >= IDS_IN_MESSAGE_MAX) {
      this.flush();
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(() => {
        if (!this.#scheduled) return;
        this.flush();
        // Not at the end of the tick: the daemon must know the object before the answer that names it leaves, even if this process dies.
        this.#connection.flush();
      });
    }
  }
}
