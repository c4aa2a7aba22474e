/** The searcher and the scheduler of an experiment: an object of the user's, one by its name, or the default. */
import { FIFOScheduler } from "./schedulers/fifo-scheduler.ts";
import { BasicVariantGenerator } from "./search/basic-variant-generator.ts";
import type { TrialScheduler } from "./scheduler.ts";
import type { Searcher } from "./searcher.ts";
import type { ResolvedTuneConfig } from "./tune-config.ts";

/** A name, and after a colon the options as JSON: how a definition of a restored run comes here. */
function split(text: string): { readonly type: string; readonly options: Record<string, unknown> } {
  const colon = text.indexOf(":");
  if (colon < 0) return { type: text, options: {} };
  return { type: text.slice(0, colon), options: JSON.parse(text.slice(colon + 1)) as Record<string, unknown> };
}

/** @throws RangeError for a name that no searcher has */
export async function makeSearcher({ searchAlg, numSamples, seed }: ResolvedTuneConfig): Promise<Searcher> {
  let searcher: Searcher;
  if (searchAlg === undefined) searcher = new BasicVariantGenerator();
  else if (typeof searchAlg !== "string") searcher = searchAlg;
  else {
    const { type, options } = split(searchAlg);
    const { createSearcher } = await import("./search/create-searcher.ts");
    searcher = createSearcher(type, options);
  }
  if (searcher instanceof BasicVariantGenerator) searcher.setDefaults({ numSamples, seed });
  return searcher;
}

/** @throws RangeError for a name that no scheduler has */
export async function makeScheduler(scheduler: TrialScheduler | string | undefined): Promise<TrialScheduler> {
  if (scheduler === undefined) return new FIFOScheduler();
  if (typeof scheduler !== "string") return scheduler;
  const { type, options } = split(scheduler);
  const { createScheduler } = await import("./schedulers/create-scheduler.ts");
  return createScheduler(type, options);
}
