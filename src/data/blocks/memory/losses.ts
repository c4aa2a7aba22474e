/**
 * Counts the items that errors cost where `onError` lets a run go on, the characters that were replaced, and the use of language models.
 *
 * Readers and steps note losses beside the next block that they give, as they note its origin. The task takes the notes as blocks pass, and sends the sum with the facts
 * of a block. So the driver counts the losses of a task once, however often the task runs.
 */
import { TaskCancelledError, TaskTimeoutError } from "../../../core/index.ts";
import { ERRORS_KEPT_MAX } from "../../limits.ts";
import type { Block } from "../block.ts";
import { addUsage, type Usage } from "../usage.ts";

/** How a run goes on behind an item that fails: not at all, without it, or with null in its place. */
export const ON_ERROR = ["raise", "skip", "null"] as const;
export type OnError = (typeof ON_ERROR)[number];

export interface Losses {
  /** Rows, records and files that were left out or are null. */
  readonly items: number;
  /** Characters that stand for bytes outside the encoding. */
  readonly replaced: number;
  /** The messages of the first errors. */
  readonly messages: readonly string[];
  /** Use of a language model. Default: none. */
  readonly usage?: Usage | undefined;
}

const notes = new WeakMap<Block, Losses>();

const EMPTY: Block = { rowCount: 0, names: [], vectors: [] };

/** Sums losses until a block takes them along. */
export class LossSum {
  #items = 0;
  #replaced = 0;
  #messages: string[] = [];
  #usage: Usage | undefined;

  get isEmpty(): boolean {
    return this.#items === 0 && this.#replaced === 0 && this.#usage === undefined;
  }

  /** @throws the error itself where it ends the task from outside */
  addError(error: unknown, items = 1): void {
    if (error instanceof TaskCancelledError || error instanceof TaskTimeoutError) throw error;
    this.add({ items, replaced: 0, messages: [error instanceof Error ? error.message : String(error)] });
  }

  /** Adds one item. The error is only made where its message is kept. */
  addItem(makeError: () => Error): void {
    this.add({ items: 1, replaced: 0, messages: this.#messages.length < ERRORS_KEPT_MAX ? [makeError().message] : [] });
  }

  add({ items, replaced, messages, usage }: Losses): void {
    this.#usage = addUsage(this.#usage, usage);
    this.#items += items;
    this.#replaced += replaced;
    for (const message of messages) if (this.#messages.length < ERRORS_KEPT_MAX) this.#messages.push(message);
  }

  /** Counts replaced characters, where an option asks for them. */
  replacing(encodingErrors: "raise" | "replace" | undefined): ((count: number) => void) | undefined {
    return encodingErrors === "replace" ? (replaced) => this.add({ items: 0, replaced, messages: [] }) : undefined;
  }

  /** The losses since the last call; undefined where there are none. */
  take(): Losses | undefined {
    if (this.isEmpty) return undefined;
    const losses = { items: this.#items, replaced: this.#replaced, messages: this.#messages, usage: this.#usage };
    [this.#items, this.#replaced, this.#messages, this.#usage] = [0, 0, [], undefined];
    return losses;
  }

  /** Notes the sum beside a block that leaves. */
  beside(block: Block): Block {
    const losses = this.take();
    if (losses !== undefined) notes.set(block, losses);
    return block;
  }

  /** A block without rows that carries the sum, where no other block follows. */
  *rest(): Generator<Block, void, undefined> {
    if (!this.isEmpty) yield this.beside({ ...EMPTY });
  }

  /** Takes the note of a block. */
  takeFrom(block: Block): void {
    const losses = notes.get(block);
    if (losses === undefined) return;
    notes.delete(block);
    this.add(losses);
  }

  /** The same blocks, whose notes are added here. */
  async *collectedFrom(blocks: AsyncIterable<Block>): AsyncGenerator<Block, void, undefined> {
    for await (const block of blocks) {
      this.takeFrom(block);
      yield block;
    }
  }
}
