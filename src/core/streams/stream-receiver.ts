/**
 * One stream in the calling process: the items that have arrived and were not taken, and the messages to the producer.
 *
 * The call ends like any other. Its only result is the stream's `completion`, which settles after the last item, with the generator's failure if there was one. Each
 * item is a separate object (return index 1 and on; 0 is the completion), pinned while it waits here. Taken items are counted and reported to the producer in batches. A
 * stopped stream drops its present and later items. When the call is tried again after a crash, items that came before are skipped by index, so each is delivered once.
 */
import { Fifo } from "../../runtime/base/collections/fifo.ts";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import { type Payload, payloadSize } from "../../runtime/objects/payload.ts";
import type { StreamHeader } from "../../runtime/wire/messages.ts";
import type { StreamLimits } from "../options/options.ts";
import { failLike, type PlainFlags, type PlainReader, settlePlain } from "../objects/values/plain-value.ts";

/** The way to whoever produces the items now. */
export interface Producer {
  credit(consumed: number): void;
  stop(): void;
}

/** The receiver of a call's items. */
export interface ItemSink {
  /** Whether reading has stopped, so that the call is not made again. */
  readonly isStopped: boolean;
  /** Returns the stream's header, for each sending of the call. */
  header(): StreamHeader;
  sentTo(producer: Producer): void;
  arrivedPlain(index: number, bytes: Uint8Array, flags: PlainFlags): void;
  arrivedPayload(index: number, payload: Payload): void;
}

interface StreamReceiverOptions {
  completion: ObjectEntry;
  /** The completion's handle: an unread failure is reported when it is collected. */
  completionHandle: object;
  limits: StreamLimits;
  table: ObjectTable;
  serializer: PlainReader;
  /** Takes the call back where it has not been sent. */
  withdraw: () => void;
  /** The producer was told to stop. */
  stopped: () => void;
  /** An item lies in the store or contains refs: it can be lost, and made again. */
  onStored: (item: ObjectEntry) => void;
}

interface Arrived {
  readonly entry: ObjectEntry;
  readonly sizeBytes: number;
}

export class StreamReceiver implements ItemSink {
  readonly completion: ObjectEntry;
  readonly #options: StreamReceiverOptions;
  readonly #arrived = new Fifo<Arrived>();
  #producer: Producer | undefined;
  /** Settles when an item or the end is there; made when somebody asks. */
  #readiness: ObjectEntry | undefined;
  #received = 0;
  #consumed = 0;
  #toldConsumed = 0;
  #untoldBytes = 0;
  #isStopped = false;
  /** The failure has been thrown, or handed out as a ref: it is the last thing of the stream. */
  #failureTaken = false;
  /** Whether the failure is reported elsewhere, such as a shutdown's, which is reported once for all calls. */
  #isFailureTold = false;
  #onRest: (() => void) | undefined;

  constructor(options: StreamReceiverOptions) {
    const { completion } = options;
    this.completion = completion;
    this.#options = options;
    completion.addWaiter({
      entrySettled: () => {
        this.#announce();
        this.#onRest?.();
      },
    });
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Whether `take` or `takeFailure` has something, or nothing will come any more. */
  get isReady(): boolean {
    return this.#arrived.size > 0 || this.completion.isSettled || this.#isStopped;
  }

  /** Whether the producer waits until items are taken, as it is so many ahead as it may be, or has ended. A limit in bytes is not looked at. */
  get isProducerAtRest(): boolean {
    return this.completion.isSettled || this.#received - this.#toldConsumed >= this.#options.limits.items;
  }

  /** Calls back each time that the producer has come to rest. One listener. */
  onProducerRest(listener: () => void): void {
    this.#onRest = listener;
  }

  /** Returns the stream's header: a retried call begins after the received items. */
  header(): StreamHeader {
    this.#toldConsumed = this.#consumed;
    this.#untoldBytes = 0;
    return {
      skip: this.#received,
      consumed: this.#consumed,
      itemsAhead: this.#options.limits.items,
      bytesAhead: this.#options.limits.bytes,
    };
  }

  /** The call was sent, once more perhaps. */
  sentTo(producer: Producer): void {
    this.#producer = producer;
    if (this.#isStopped) producer.stop();
  }

  /** Returns an entry that settles once the stream is ready, for waits for the next item. */
  readiness(): ObjectEntry {
    if (this.#readiness === undefined || (this.#readiness.isSettled && !this.isReady)) {
      this.#readiness = new ObjectEntry(this.completion.sequence, 0);
      this.#readiness.actor = this.completion.actor;
    }
    if (this.isReady && !this.#readiness.isSettled) this.#readiness.settlePrimitive(undefined);
    return this.#readiness;
  }

  // ---- from the producer

  /** An item of in-band bytes, which are valid during the call only. */
  arrivedPlain(index: number, bytes: Uint8Array, flags: PlainFlags): void {
    const entry = this.#expect(index);
    if (entry === undefined) return;
    settlePlain(entry, bytes, flags.graph, this.#options.serializer);
    this.#keep(entry, bytes.length);
  }

  arrivedPayload(index: number, payload: Payload): void {
    const entry = this.#expect(index);
    const contained = payload.refs.map((ref) => this.#options.table.receive(ref));
    if (entry === undefined) {
      for (const inner of contained) this.#options.table.unpin(inner);
      return;
    }
    this.#options.table.contain(entry, contained);
    if (payload.stored !== undefined) this.#options.table.track(entry, undefined);
    entry.settlePayload(payload);
    if (!this.#isOver && (payload.stored !== undefined || contained.length > 0)) this.#options.onStored(entry);
    this.#keep(entry, payloadSize(payload));
  }

  /** The entry for the item with this index; undefined when it has come already. */
  #expect(index: number): ObjectEntry | undefined {
    if (index !== this.#received) return undefined;
    this.#received += 1;
    const { sequence, label, actor } = this.completion;
    const entry = new ObjectEntry(sequence, index + 1);
    entry.label = label;
    entry.actor = actor;
    this.#options.table.pin(entry);
    return entry;
  }

  /** Whether the stream has settled, for example by a cancellation of which the generator does not know yet. */
  get #isOver(): boolean {
    return this.#isStopped || this.completion.isSettled;
  }

  #keep(entry: ObjectEntry, sizeBytes: number): void {
    if (this.#isOver) {
      this.#options.table.unpin(entry);
      return;
    }
    this.#arrived.push({ entry, sizeBytes });
    this.#announce();
    if (this.isProducerAtRest) this.#onRest?.();
  }

  #announce(): void {
    this.#readiness?.settlePrimitive(undefined);
  }

  // ---- to the consumer

  /** The next item, still pinned: the taker unpins it. */
  take(): ObjectEntry | undefined {
    const next = this.#arrived.shift();
    if (next === undefined) return undefined;
    this.#consumed += 1;
    this.#untoldBytes += next.sizeBytes;
    const { items, bytes } = this.#options.limits;
    // From half of the limit on, so that a producer that is stopped by it always learns of room, and seldom has to stop.
    if (this.#consumed - this.#toldConsumed >= items / 2 || this.#untoldBytes >= bytes / 2) {
      this.#toldConsumed = this.#consumed;
      this.#untoldBytes = 0;
      this.#producer?.credit(this.#consumed);
    }
    return next.entry;
  }

  /** The failure that ended the stream, once; it counts as seen. */
  takeFailure(): ObjectEntry | undefined {
    if (this.completion.state !== "failed" || this.#failureTaken || this.#isStopped) return undefined;
    this.#failureTaken = true;
    this.#isFailureTold = this.completion.failureSeen;
    this.completion.failureSeen = true;
    return this.completion;
  }

  /** An object that failed as the stream did: what `refs()` ends with. Made from what `takeFailure` gave. */
  failedItem(): ObjectEntry {
    const { sequence, label } = this.completion;
    const entry = new ObjectEntry(sequence, this.#received + 1);
    entry.label = label;
    entry.failureSeen = this.#isFailureTold;
    failLike(entry, this.completion, this.#options.table);
    return entry;
  }

  /** Stops reading: frees the items here, and the generator ends at its next yield. Its end is not reported. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.completion.failureSeen = true;
    for (let item = this.#arrived.shift(); item !== undefined; item = this.#arrived.shift()) this.#options.table.unpin(item.entry);
    if (!this.completion.isSettled) {
      if (this.#producer === undefined) this.#options.withdraw();
      else {
        this.#producer.stop();
        this.#options.stopped();
      }
    }
    this.#announce();
  }

  /** Handles a collected stream. A failure that has arrived by then was missed, and is reported like any call's. */
  dropped(): void {
    const isMissed = this.completion.state === "failed" && !this.completion.failureSeen;
    this.stop();
    if (isMissed) this.completion.failureSeen = false;
  }
}
