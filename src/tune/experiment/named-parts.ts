/** The searcher and the scheduler of an experiment: an object of the user's, one by its name, that of a run which is restored, or the default. */
import { optionsOf } from "../spaces/definition.ts";
import { FIFOScheduler } from "../schedulers/fifo-scheduler.ts";
import { BasicVariantGenerator } from "../search/basic-variant-generator.ts";
import type { TrialScheduler } from "../scheduler.ts";
import type { Searcher } from "../searcher.ts";
import type { Definition } from "../trials/trial.ts";
import type { ResolvedTuneConfig } from "../options/tune-config.ts";

/**
 * @param saved - the definition in a run's record, for a program that gives no searcher
 * @throws RangeError for a name that no searcher has
 */
export async function makeSearcher({ searchAlg, numSamples, seed }: ResolvedTuneConfig, saved: Definition | null): Promise<Searcher> {
  const { object, named } = partOf(searchAlg, saved);
  const searcher = named === undefined ? (object ?? new BasicVariantGenerator()) : await createSearcher(named);
  if (searcher instanceof BasicVariantGenerator) searcher.setDefaults({ numSamples, seed });
  return searcher;
}

/** @throws RangeError for a name that no scheduler has */
export async function makeScheduler(given: TrialScheduler | string | undefined, saved: Definition | null): Promise<TrialScheduler> {
  const { object, named } = partOf(given, saved);
  return named === undefined ? (object ?? new FIFOScheduler()) : await createScheduler(named);
}

/** A part that is given as an object, or the name of one. */
function partOf<T extends object>(given: T | string | undefined, saved: Definition | null): { object?: T; named?: Definition } {
  if (typeof given === "string") return { named: { type: given, options: {} } };
  if (given !== undefined) return { object: given };
  return saved === null ? {} : { named: saved };
}

// The modules of all searchers and schedulers are loaded where one is named.

async function createSearcher(definition: Definition): Promise<Searcher> {
  return (await import("../search/create-searcher.ts")).createSearcher(definition.type, optionsOf(definition));
}

async function createScheduler(definition: Definition): Promise<TrialScheduler> {
  return (await import("../schedulers/create-scheduler.ts")).createScheduler(definition.type, optionsOf(definition));
}
