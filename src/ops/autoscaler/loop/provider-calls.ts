/**
 * Calls of a provider that are under way.
 *
 * No step waits for a call. The answer is taken at a later step, and a call without an answer in its time is given up, so a provider that
 * hangs stops nothing else. At most one list and one end are under way at a time; launches run beside each other.
 */
import { asError } from "../../../runtime/base/texts/describe.ts";
import { LAUNCH_ANSWERS_WITHIN_MS, LISTS_EVERY_MS, MESSAGE_LENGTH_MAX, PROVIDER_ANSWERS_WITHIN_MS } from "../limits.ts";
import type { LaunchAnswer, LaunchRequest, NodeProvider, ProviderNode } from "../provider.ts";

interface Launching {
  readonly ids: readonly string[];
  readonly startedMs: number;
}

/** An answer to a launch; `lost` where the call failed or took too long, so that only the list can tell. */
type LaunchOutcome = LaunchAnswer | { readonly instanceId: string; readonly lost: string };

interface ProviderEvents {
  readonly onEndFailed: (ids: readonly string[], text: string) => void;
  /** An answer has come: the next step has something to do. */
  readonly onAnswer: () => void;
}

export class ProviderCalls {
  readonly #provider: NodeProvider;
  readonly #launching = new Set<Launching>();
  #outcomes: LaunchOutcome[] = [];
  #listing: { readonly startedMs: number } | undefined;
  #listedMs = Number.NEGATIVE_INFINITY;
  #isChanged = true;
  #list: { readonly nodes: readonly ProviderNode[]; readonly askedMs: number } | undefined;
  #ending: { readonly startedMs: number } | undefined;
  #problem: string | undefined;

  readonly #toEnd = new Set<string>();
  readonly #events: ProviderEvents;

  constructor(provider: NodeProvider, events: ProviderEvents) {
    this.#provider = provider;
    this.#events = events;
  }

  /** The last list, and when it was asked for. */
  get list(): { readonly nodes: readonly ProviderNode[]; readonly askedMs: number } | undefined {
    return this.#list;
  }

  /** Why the last list failed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The list may have changed: the next look asks at once. */
  changed(): void {
    this.#isChanged = true;
  }

  isLaunching(id: string): boolean {
    return Array.from(this.#launching).some(({ ids }) => ids.includes(id));
  }

  /** Asks for a list where one is due, and gives up calls that take too long. */
  look(nowMs: number): void {
    for (const launch of this.#launching)
      if (nowMs - launch.startedMs > LAUNCH_ANSWERS_WITHIN_MS) this.#lost(launch, `no answer within ${LAUNCH_ANSWERS_WITHIN_MS / 1000} s`);
    if (this.#ending !== undefined && nowMs - this.#ending.startedMs > PROVIDER_ANSWERS_WITHIN_MS) this.#ending = undefined;
    if (this.#listing !== undefined && nowMs - this.#listing.startedMs > PROVIDER_ANSWERS_WITHIN_MS) {
      this.#problem = `no list within ${PROVIDER_ANSWERS_WITHIN_MS / 1000} s`;
      this.#listing = undefined;
    }
    if (this.#listing !== undefined || (!this.#isChanged && nowMs - this.#listedMs < LISTS_EVERY_MS)) return;
    this.#isChanged = false;
    this.#listedMs = nowMs;
    const listing = { startedMs: nowMs };
    this.#listing = listing;
    this.#call(() => this.#provider.list()).then(
      (nodes) => {
        if (this.#listing !== listing) return;
        this.#listing = undefined;
        this.#problem = undefined;
        this.#list = { nodes, askedMs: nowMs };
      },
      (error: unknown) => {
        if (this.#listing !== listing) return;
        this.#listing = undefined;
        this.#problem = textOf(error);
      },
    );
  }

  launch(wanted: readonly LaunchRequest[], nowMs: number): void {
    const launching = { ids: wanted.map(({ instanceId }) => instanceId), startedMs: nowMs };
    this.#launching.add(launching);
    this.#call(() => this.#provider.launch(wanted)).then(
      (answers) => {
        if (!this.#launching.delete(launching)) return;
        this.#isChanged = true;
        const answered = new Map(answers.map((answer) => [answer.instanceId, answer]));
        for (const instanceId of launching.ids) this.#outcomes.push(answered.get(instanceId) ?? { instanceId, lost: "no answer for it" });
      },
      (error: unknown) => this.#lost(launching, textOf(error)),
    );
  }

  /** Takes the outcomes since the last time. */
  takeOutcomes(): LaunchOutcome[] {
    const taken = this.#outcomes;
    this.#outcomes = [];
    return taken;
  }

  /** Ends instances; while a call is under way, later ones wait for its end. */
  terminate(ids: readonly string[], nowMs: number): void {
    for (const id of ids) this.#toEnd.add(id);
    if (this.#toEnd.size === 0 || this.#ending !== undefined) return;
    const ending = { startedMs: nowMs };
    this.#ending = ending;
    const taken = Array.from(this.#toEnd);
    this.#toEnd.clear();
    this.#call(() => this.#provider.terminate(taken))
      .catch((error: unknown) => this.#events.onEndFailed(taken, textOf(error)))
      .finally(() => {
        this.#isChanged = true;
        if (this.#ending === ending) this.#ending = undefined;
      });
  }

  #lost(launching: Launching, text: string): void {
    if (!this.#launching.delete(launching)) return;
    for (const instanceId of launching.ids) this.#outcomes.push({ instanceId, lost: text });
  }

  /** A provider may throw where it should reject. */
  async #call<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } finally {
      // After the handlers of this promise.
      setImmediate(() => this.#events.onAnswer());
    }
  }
}

function textOf(error: unknown): string {
  return asError(error).message.slice(0, MESSAGE_LENGTH_MAX);
}
