/**
 * The borrows in flight from one end of a link to the other: registers their holds, and numbers the messages that carry them.
 *
 * If this process or the link ends between registering and reading, nobody would release those holds. The numbers tell the daemon which messages were never read
 * (`runtime/node/references/unacknowledged-borrows.ts`). Messages without refs, which are the most, have no number. There is one of these for each direction of
 * a link: the worker's for results and streams, the caller's for calls and definitions.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { ObjectTable } from "../object-table.ts";
import type { PayloadHeader, WireLocation } from "../../wire/messages.ts";
import { PLACES_MAX } from "../limits.ts";
import { type Payload, payloadHeader } from "../payload.ts";

interface InFlightBorrowsOptions {
  table: Pick<ObjectTable, "placeOf" | "holdFor" | "heldEnded" | "storeLinkEnded" | "flushChannel">;
  receiverId: ProcessId;
  /** The caller's number of the link, negative for its calls; undefined where both ends are one process. */
  link: number | undefined;
}

export class InFlightBorrows {
  readonly #table: InFlightBorrowsOptions["table"];
  readonly #receiverId: ProcessId;
  readonly #link: number | undefined;
  #last = 0;
  #hasStored = false;

  constructor({ table, receiverId, link }: InFlightBorrowsOptions) {
    this.#table = table;
    this.#receiverId = receiverId;
    this.#link = link;
  }

  /** The link under which the daemon counts objects stored for the receiver until the receiver knows them. A caller knows its own values. */
  get storedLink(): number | undefined {
    return this.#link === undefined || this.#link < 0 ? undefined : this.#link;
  }

  /** Registers the holds of a message. Call it right before the message is sent. @returns the fields for its header */
  hold(payloads: readonly Payload[]): { held?: number } {
    const held = this.#hold(payloads);
    // An answer outlives this process once it is sent, so the daemon must know its objects first.
    if (this.storedLink !== undefined && payloads.some(({ refs, stored }) => refs.length > 0 || stored !== undefined))
      this.#table.flushChannel();
    return held === undefined ? {} : { held };
  }

  /**
   * The header of a payload that is about to leave, with the places of the refs inside. Places are those of this moment: a payload that is kept would name
   * places whose pages others have by the time that it is sent again.
   */
  headerOf(payload: Payload): PayloadHeader {
    const header = payloadHeader(payload);
    const { refs } = payload;
    if (refs.length === 0 || refs.length > PLACES_MAX) return header;
    const places: [number, WireLocation][] = [];
    for (const [index, { id }] of refs.entries()) {
      const place = this.#table.placeOf(id);
      if (place !== undefined) places.push([index, place]);
    }
    return places.length === 0 ? header : { ...header, places };
  }

  #hold(payloads: readonly Payload[]): number | undefined {
    const link = this.#link;
    this.#hasStored ||= payloads.some(({ stored }) => stored !== undefined);
    if (link === undefined || !payloads.some(isHolding)) {
      for (const payload of payloads) this.#table.holdFor(this.#receiverId, payload);
      return undefined;
    }
    this.#last += 1;
    for (const payload of payloads) this.#table.holdFor(this.#receiverId, payload, { link, number: this.#last });
    return this.#last;
  }

  /** The link has ended. */
  close(): void {
    if (this.#link !== undefined && this.#last > 0) this.#table.heldEnded(this.#receiverId, this.#link);
    if (this.storedLink !== undefined && this.#hasStored) this.#table.storeLinkEnded(this.#receiverId, this.storedLink);
  }
}

function isHolding({ refs, stored }: Payload): boolean {
  return refs.length > 0 || (stored !== undefined && stored.owner !== "");
}
