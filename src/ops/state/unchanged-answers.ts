/**
 * Keeps the answers of a history for as long as its files stay as they are, so a page that asks again and again reads each file once.
 *
 * The files may still grow where the cluster lives, which ends all kept answers. Their number is bounded, and errors are not kept. A
 * timeline is always read anew.
 */
import type { HistoryReader } from "./history-reader.ts";
import { KEPT_ANSWERS_MAX } from "./limits.ts";
import type { ListAnswer, ListQuery, SpanBatch, SpanQuery, StateReader, StateResource, SummaryAnswer } from "./state-reader.ts";
import type { StateRow } from "../../runtime/observe/select-rows.ts";

export class UnchangedAnswers implements StateReader {
  readonly #reader: HistoryReader;
  readonly #answers = new Map<string, Promise<unknown>>();
  #version = "";

  constructor(reader: HistoryReader) {
    this.#reader = reader;
  }

  list(resource: StateResource, query: ListQuery = {}): Promise<ListAnswer> {
    return this.#kept(["list", resource, query], () => this.#reader.list(resource, query));
  }

  get(resource: StateResource, id: string): Promise<StateRow | undefined> {
    return this.#kept(["get", resource, id], () => this.#reader.get(resource, id));
  }

  summarize(resource: StateResource): Promise<SummaryAnswer> {
    return this.#kept(["summarize", resource], () => this.#reader.summarize(resource));
  }

  spans(query?: SpanQuery): AsyncGenerator<SpanBatch, void, undefined> {
    return this.#reader.spans(query);
  }

  #kept<T>(question: readonly unknown[], read: () => Promise<T>): Promise<T> {
    const version = this.#reader.version();
    if (version !== this.#version) this.#answers.clear();
    this.#version = version;
    const key = JSON.stringify(question);
    const known = this.#answers.get(key);
    // Questions of another kind, whose answers have another type, have another key.
    if (known !== undefined) return known as Promise<T>;
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size < KEPT_ANSWERS_MAX) break;
      this.#answers.delete(oldest);
    }
    const answer = read();
    this.#answers.set(key, answer);
    answer.catch(() => this.#answers.delete(key));
    return answer;
  }
}
