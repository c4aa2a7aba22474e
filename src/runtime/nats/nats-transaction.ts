/**
 * Applies one transaction on JetStream: sends it, interprets the answer, and finds out the result if no answer arrives.
 *
 * After an attempt the transaction was applied, refused, or not looked at; the last case is repeated. Without an answer the result is
 * unknown. A transaction with a check cannot be applied twice, so it is sent again. Every message carries the transaction's id: if the
 * second attempt is refused because the first was applied, the id proves it. If neither helps, the outcome is reported as unknown.
 */
import { UnknownOutcomeError } from "../control-plane/control-plane-errors.ts";
import { STORE_ATTEMPT_MS, TRANSACTION_TIMEOUT_MS } from "../control-plane/limits.ts";
import type { StoreTransaction, TransactionResult } from "../control-plane/control-store.ts";
import { HEADER, isDeletion, type NatsSubjects } from "./nats-subjects.ts";
import { type ApiFailure, Backoff, ERROR, type StreamApi, unavailable } from "./stream-api.ts";
import { messagesOf, type TransactionMessage } from "./transaction-messages.ts";

/** A second transaction on the same key is under way. It may still fail, so the result is open. */
const KEY_IN_USE = 10164;
/** Not applied, and the next attempt may be: a batch of which a part was lost, too many batches at once, a stream without a leader. */
const REPEATABLE: ReadonlySet<number> = new Set([KEY_IN_USE, 10176, 10210, 10008, 10009, 10023]);

type Attempt =
  | { readonly kind: "applied"; readonly lastSequence: number }
  | { readonly kind: "refused" }
  | { readonly kind: "untouched"; readonly cause: unknown; readonly isFinal: boolean }
  | { readonly kind: "unknown"; readonly cause: unknown };

interface TransactionContext {
  readonly api: StreamApi;
  readonly subjects: NatsSubjects;
  readonly newId: () => string;
}

export async function runTransaction(context: TransactionContext, transaction: StoreTransaction): Promise<TransactionResult> {
  return await new RunningTransaction(context, transaction).run();
}

class RunningTransaction {
  readonly #context: TransactionContext;
  readonly #transaction: StoreTransaction;
  readonly #id: string;
  readonly #deletions = new Map<string, number>();
  /** An attempt went unanswered. */
  #isUnsure = false;

  constructor(context: TransactionContext, transaction: StoreTransaction) {
    this.#context = context;
    this.#transaction = transaction;
    this.#id = context.newId();
  }

  async run(): Promise<TransactionResult> {
    const { timeoutMs = TRANSACTION_TIMEOUT_MS } = this.#transaction;
    const giveUpAt = performance.now() + timeoutMs;
    const backoff = new Backoff();
    for (;;) {
      const leftMs = giveUpAt - performance.now();
      const attempt = await this.#attempt(Math.max(1, Math.min(STORE_ATTEMPT_MS, leftMs)));
      if (attempt.kind === "applied") return this.#committed(attempt.lastSequence);
      if (attempt.kind === "refused") {
        if (await this.#learnDeletions()) continue;
        return this.#isUnsure ? await this.#recall("was refused at its second attempt") : { committed: false };
      }
      if (attempt.kind === "unknown") {
        this.#isUnsure = true;
        if (!this.#canRepeat()) return await this.#recall("was not answered", attempt.cause);
      } else if (attempt.isFinal && !this.#isUnsure) {
        throw unavailable(String(attempt.cause), attempt.cause);
      }
      if (performance.now() >= giveUpAt || (attempt.kind === "untouched" && attempt.isFinal)) {
        if (this.#isUnsure) return await this.#recall("was not answered", attempt.cause);
        throw unavailable(`a transaction was not accepted within ${timeoutMs} ms`, attempt.cause);
      }
      await backoff.wait();
    }
  }

  /** Applied twice, it would have to find the same revision of a key twice, and it changes that revision itself. */
  #canRepeat(): boolean {
    return (this.#transaction.checks ?? []).length > 0;
  }

  async #attempt(timeoutMs: number): Promise<Attempt> {
    const { api, subjects, newId } = this.#context;
    const { link } = api;
    // Sent now, it would wait in the client for a server longer than anybody waits here, and would be applied unexpectedly.
    if (!link.isConnected) return { kind: "untouched", cause: "no server is connected", isFinal: link.connection.isClosed() };
    const messages = messagesOf(this.#transaction, { subjects, id: this.#id, batchId: newId(), deletions: this.#deletions });
    const last = messages.at(-1) as TransactionMessage;
    try {
      for (const { subject, data, headers } of messages.slice(0, -1)) {
        link.connection.publish(subject, data, { headers: link.headers(headers) });
      }
      const answer = await link.request(last.subject, last.data, { headers: link.headers(last.headers), timeoutMs });
      const { error, seq } = answer.json<{ error?: ApiFailure; seq?: number }>();
      if (error === undefined) return { kind: "applied", lastSequence: seq as number };
      const code = error.err_code ?? 0;
      if (code === ERROR.WRONG_SEQUENCE) return { kind: "refused" };
      return { kind: "untouched", cause: error.description ?? code, isFinal: !REPEATABLE.has(code) };
    } catch (cause) {
      if (link.isNoResponders(cause)) return { kind: "untouched", cause, isFinal: false };
      return { kind: "unknown", cause };
    }
  }

  #committed(lastSequence: number): TransactionResult {
    const { writes } = this.#transaction;
    const first = lastSequence - writes.length + 1;
    return { committed: true, revisions: writes.map((_, index) => first + index) };
  }

  /**
   * Learns of deletions after a check for absence was refused, which is rare. The stream counts a deletion as the key's last message, while
   * the store counts it as no key. @returns whether the next attempt will know more
   */
  async #learnDeletions(): Promise<boolean> {
    const { api, subjects } = this.#context;
    const absent = (this.#transaction.checks ?? []).filter(({ revision }) => revision === 0);
    const found = await Promise.all(absent.map(async ({ key }) => ({ key, last: await api.lastMessage(subjects.ofKey(key)) })));
    if (found.some(({ last }) => last !== undefined && !isDeletion(last))) return false;
    let hasLearned = false;
    for (const { key, last } of found) {
      const sequence = last?.sequence ?? 0;
      if ((this.#deletions.get(key) ?? 0) === sequence) continue;
      this.#deletions.set(key, sequence);
      hasLearned = true;
    }
    return hasLearned;
  }

  /**
   * Looks for the transaction's messages. One of them proves that all were applied; finding none proves nothing, as all may have been
   * overwritten.
   */
  async #recall(what: string, cause?: unknown): Promise<TransactionResult> {
    const { api, subjects } = this.#context;
    const { writes } = this.#transaction;
    for (const [index, { key }] of writes.entries()) {
      const last = await api.lastMessage(subjects.ofKey(key)).catch(() => undefined);
      if (last?.headers.get(HEADER.TRANSACTION) !== this.#id) continue;
      return { committed: true, revisions: writes.map((_, other) => last.sequence + other - index) };
    }
    throw new UnknownOutcomeError(`A transaction on ${writes[0]?.key ?? ""} ${what}, and its keys do not tell whether it was applied.`, {
      reason: "unknown outcome",
      hint: "Read the keys and decide again. It is not applied twice.",
      cause,
    });
  }
}
