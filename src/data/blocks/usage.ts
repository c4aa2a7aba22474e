/**
 * The use of a service by the rows of a step: requests, tokens and their price.
 *
 * A step notes it beside the batch that it returns. The task takes the note along with the losses of the block, so `stats()` counts the requests of a task
 * once, however often the task runs.
 */

export interface Usage {
  /** Requests that were sent, with repeated ones. */
  readonly requests: number;
  /** Requests that were repeated after a failure. */
  readonly retries: number;
  /** Rows without an answer. */
  readonly failures: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** In the currency of the option `price`. */
  readonly cost: number;
}

export const NO_USAGE: Usage = { requests: 0, retries: 0, failures: 0, promptTokens: 0, completionTokens: 0, cost: 0 };

export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    requests: a.requests + b.requests,
    retries: a.retries + b.retries,
    failures: a.failures + b.failures,
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    cost: a.cost + b.cost,
  };
}

const notes = new WeakMap<object, Usage>();

/** Notes the usage beside a batch that a step returns. */
export function withUsage<T extends object>(batch: T, usage: Usage): T {
  notes.set(batch, usage);
  return batch;
}

/** The usage that is noted beside a batch. */
export function usageOf(batch: unknown): Usage | undefined {
  return typeof batch === "object" && batch !== null ? notes.get(batch) : undefined;
}
