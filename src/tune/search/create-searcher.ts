/** Searchers by their names. */
import type { Searcher } from "../searcher.ts";
import { BasicVariantGenerator } from "./basic-variant-generator.ts";

/** @throws RangeError for a name that no searcher has */
export function createSearcher(name: string, options: Record<string, unknown> = {}): Searcher {
  if (name === "random" || name === "variant_generator") return new BasicVariantGenerator(options);
  throw new RangeError(`Cannot set searchAlg of tuneConfig: there is no searcher ${JSON.stringify(name)}: there is random`);
}
