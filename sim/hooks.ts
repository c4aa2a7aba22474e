/**
 * Changes modules as the simulation loads them: where processes listen and connect, and, in a run of a mutant, a piece of their text.
 *
 * Must be imported before anything of `src`. `mutants.ts` has the texts; one that is not found ends the run, as a mutant that changes nothing proves nothing.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

export interface Mutant {
  /** Below `src`. */
  readonly file: string;
  readonly text: string;
  readonly becomes: string;
}

const ENDPOINT = new URL("../src/runtime/os/network/endpoint.ts", import.meta.url).href;
const SIMULATED_ENDPOINT = new URL("./endpoint.ts", import.meta.url).href;

let mutant: Mutant | undefined;
let isMutated = false;

/** From now on the module is loaded with the other text. */
export function mutate(change: Mutant): void {
  mutant = change;
}

/** Whether the mutant's module was loaded, and changed. */
export function wasMutated(): boolean {
  return isMutated;
}

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context);
    return resolved.url === ENDPOINT ? { ...resolved, url: SIMULATED_ENDPOINT } : resolved;
  },
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (mutant === undefined || !url.endsWith(`/src/${mutant.file}`)) return loaded;
    const source = readFileSync(new URL(url), "utf8");
    if (source.split(mutant.text).length !== 2) throw new Error(`${mutant.file} does not have once: ${mutant.text}`);
    isMutated = true;
    return { ...loaded, source: source.replace(mutant.text, () => (mutant as Mutant).becomes) };
  },
});
