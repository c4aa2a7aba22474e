/**
 * Runs a generator once more for its lost items: takes these, drops all others, and stops after the last one.
 *
 * Readers wait for the items' entries, which are pending since the report of the loss. A replay is a separate call with its own number and a hidden completion. Items
 * that it does not give, because the generator ended earlier or failed this time, fail. `Calls.rerun` makes it.
 */
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import type { Payload } from "../../runtime/objects/payload.ts";
import type { StreamHeader } from "../../runtime/wire/messages.ts";
import { failLike, type PlainFlags, type PlainReader, settlePlain } from "../objects/values/plain-value.ts";
import type { ItemSink, Producer } from "./stream-receiver.ts";

interface StreamReplayOptions {
  /** The lost items, pending. */
  wanted: readonly ObjectEntry[];
  completion: ObjectEntry;
  table: Pick<ObjectTable, "contain" | "madeHere" | "pin" | "receive" | "track">;
  serializer: PlainReader;
  /** An item came again that is still there. */
  discard: (payload: Payload) => void;
  /** The producer was told to stop. */
  stopped: () => void;
  /** Makes the error of an item that the generator did not give this time. */
  notGiven: (item: ObjectEntry) => Error;
}

export class StreamReplay implements ItemSink {
  readonly #options: StreamReplayOptions;
  /** By the item's place in the stream. */
  readonly #wanted: Map<number, ObjectEntry>;
  #producer: Producer | undefined;
  #isStopped = false;

  constructor(options: StreamReplayOptions) {
    this.#options = options;
    // The return index of an item is its place, counted from 1.
    this.#wanted = new Map(options.wanted.map((entry) => [entry.index - 1, entry]));
    options.completion.failureSeen = true;
    options.completion.addWaiter({ entrySettled: () => this.#ended() });
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Nothing holds it back, and what comes before the first lost item is not sent. */
  header(): StreamHeader {
    const skip = Math.min(...this.#wanted.keys());
    return { skip, consumed: skip, itemsAhead: Number.POSITIVE_INFINITY, bytesAhead: Number.POSITIVE_INFINITY };
  }

  sentTo(producer: Producer): void {
    this.#producer = producer;
    if (this.#isStopped) producer.stop();
  }

  arrivedPlain(index: number, bytes: Uint8Array, flags: PlainFlags): void {
    const entry = this.#take(index);
    if (entry === undefined) return;
    settlePlain(entry, bytes, flags.graph, this.#options.serializer);
    this.#settled(entry);
  }

  arrivedPayload(index: number, payload: Payload): void {
    const { table, discard } = this.#options;
    const entry = this.#take(index);
    if (entry === undefined) {
      discard(payload);
      return;
    }
    table.contain(
      entry,
      payload.refs.map((ref) => table.receive(ref)),
    );
    entry.settlePayload(payload);
    this.#settled(entry);
  }

  /** Takes the entry of a lost item. An entry that failed meanwhile, as by a cancellation, takes no value. */
  #take(index: number): ObjectEntry | undefined {
    const entry = this.#wanted.get(index);
    this.#wanted.delete(index);
    return entry?.isSettled === true ? undefined : entry;
  }

  #settled(entry: ObjectEntry): void {
    this.#options.table.madeHere(entry);
    entry.maker = undefined;
    if (this.#wanted.size > 0 || this.#isStopped) return;
    this.#isStopped = true;
    this.#producer?.stop();
    this.#options.stopped();
  }

  #ended(): void {
    this.#isStopped = true;
    const { completion, table, notGiven } = this.#options;
    for (const entry of this.#wanted.values()) {
      entry.maker = undefined;
      if (entry.isSettled) continue;
      if (completion.state === "failed") failLike(entry, completion, table);
      else entry.fail(notGiven(entry));
      table.madeHere(entry);
    }
    this.#wanted.clear();
  }
}
