/**
 * `ConcurrencyLimiter`: limits the number of a searcher's running trials, so that it knows more results when it is asked.
 *
 * In batches, the next trials are requested only when all of a batch have ended, and the searcher is told of their ends together. The
 * searcher inside decides everything else.
 */
import { count, flag, readOptions } from "../../core/internal.ts";
import type { Searcher, Suggestion } from "../searcher.ts";
import type { SearchSpace } from "../spaces/space.ts";
import type { Definition, JsonValue, Mode, TrialResult } from "../trials/trial.ts";

export interface ConcurrencyLimiterOptions {
  /** Trials that run at once. */
  maxConcurrent: number;
  /** Whether all of them end before the next begin. Default: false. */
  batch?: boolean | undefined;
}

/** The end of a trial, which is reported to the searcher with its batch. */
interface Ended {
  readonly trialId: string;
  readonly result: TrialResult | null;
  readonly error: boolean;
}

export class ConcurrencyLimiter implements Searcher {
  readonly definition: Definition | undefined;
  readonly #searcher: Searcher;
  readonly #options: { readonly maxConcurrent: number; readonly batch: boolean };
  #running = new Set<string>();
  #ended: Ended[] = [];
  /** Whether a batch is full, so that its trials run to their ends. */
  #isBatchFull = false;

  /** @throws TypeError, RangeError */
  constructor(searcher: Searcher, options: ConcurrencyLimiterOptions) {
    const { maxConcurrent, batch } = readOptions(options, {
      of: "a ConcurrencyLimiter",
      options: { maxConcurrent: count<number | undefined>({ min: 1 }, undefined), batch: flag(false) },
    });
    if (maxConcurrent === undefined)
      throw new TypeError("Cannot make a ConcurrencyLimiter: maxConcurrent is needed, such as { maxConcurrent: 4 }");
    this.#searcher = searcher;
    this.#options = { maxConcurrent, batch };
    const { definition } = searcher;
    this.definition = definition && { type: "concurrency_limiter", options: { searcher: { ...definition }, maxConcurrent, batch } };
  }

  async setSearchProperties(metric: string | readonly string[], mode: Mode | readonly Mode[], space: SearchSpace): Promise<void> {
    await this.#searcher.setSearchProperties(metric, mode, space);
  }

  async suggest(trialId: string): Promise<Suggestion> {
    if (this.#isBatchFull || this.#running.size >= this.#options.maxConcurrent) return "later";
    const suggestion = await this.#searcher.suggest(trialId);
    if (suggestion === "later" || suggestion === "finished") return suggestion;
    this.#running.add(trialId);
    this.#isBatchFull = this.#options.batch && this.#running.size >= this.#options.maxConcurrent;
    return suggestion;
  }

  async onTrialResult(trialId: string, result: TrialResult): Promise<void> {
    if (this.#running.has(trialId)) await this.#searcher.onTrialResult?.(trialId, result);
  }

  async onTrialComplete(trialId: string, result?: TrialResult, error = false): Promise<void> {
    if (!this.#running.delete(trialId)) return;
    this.#ended.push({ trialId, result: result ?? null, error });
    if (this.#options.batch && this.#running.size > 0) return;
    const ended = this.#ended;
    this.#ended = [];
    this.#isBatchFull = false;
    for (const each of ended) await this.#searcher.onTrialComplete(each.trialId, each.result ?? undefined, each.error);
  }

  async save(): Promise<JsonValue> {
    const own = { running: [...this.#running], ended: this.#ended as unknown as JsonValue, isBatchFull: this.#isBatchFull };
    return { ...structuredClone(own), searcher: await this.#searcher.save() };
  }

  async restore(state: JsonValue): Promise<void> {
    const saved = structuredClone(state) as unknown as { running: string[]; ended: Ended[]; isBatchFull: boolean; searcher: JsonValue };
    this.#running = new Set(saved.running);
    this.#ended = saved.ended;
    this.#isBatchFull = saved.isBatchFull;
    await this.#searcher.restore(saved.searcher);
  }

  async close(): Promise<void> {
    await this.#searcher.close?.();
  }
}
