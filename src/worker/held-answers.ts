/**
 * The holds of the answers to one caller: registers them, and numbers the answers that come with some.
 *
 * When this worker ends between the two, nobody would release what an answer that never left was to hold; by the numbers the daemon finds out
 * (`node/references/unread-answers.ts`). Answers without refs, which most are, have no number. One for each connection of a caller, shared by its results and its streams.
 */
import type { ProcessId } from "../base/ids.ts";
import type { ObjectTable } from "../object/object-table.ts";
import type { Payload } from "../object/payload.ts";

export interface HeldAnswersOptions {
  table: Pick<ObjectTable, "holdFor" | "answersEnded">;
  callerId: ProcessId;
  /** The caller's number of the connection; undefined where both ends are one process. */
  link: number | undefined;
}

export class HeldAnswers {
  readonly #table: HeldAnswersOptions["table"];
  readonly #callerId: ProcessId;
  readonly #link: number | undefined;
  #last = 0;

  constructor({ table, callerId, link }: HeldAnswersOptions) {
    this.#table = table;
    this.#callerId = callerId;
    this.#link = link;
  }

  /** To be called right before the answer is sent. @returns what goes into its header */
  hold(payloads: readonly Payload[]): { held?: number } {
    const link = this.#link;
    if (link === undefined || !payloads.some(({ refs }) => refs.length > 0)) {
      for (const payload of payloads) this.#table.holdFor(this.#callerId, payload);
      return {};
    }
    this.#last += 1;
    for (const payload of payloads) this.#table.holdFor(this.#callerId, payload, { link, number: this.#last });
    return { held: this.#last };
  }

  /** The connection has ended. */
  close(): void {
    if (this.#link !== undefined && this.#last > 0) this.#table.answersEnded(this.#callerId, this.#link);
  }
}
