/** Options of the actors in which replicas run: those of the core that a deployment may set, checked by the core itself. */
import { remote } from "../core/index.ts";
import { isPlainObject } from "../core/internal.ts";

const ALLOWED: ReadonlySet<string> = new Set([
  "numCpus",
  "numGpus",
  "memoryBytes",
  "resources",
  "runtimeEnv",
  "labelSelector",
  "fallbackStrategy",
]);

/** @throws TypeError, RangeError that name the option and what is allowed */
export function resolveActorOptionsFor(deployment: string, given: object | undefined): Readonly<Record<string, unknown>> {
  if (given === undefined) return {};
  for (const name of Object.keys(isPlainObject(given) ? given : {}))
    if (!ALLOWED.has(name))
      throw new TypeError(
        `Cannot set actorOptions of deployment ${deployment}: there is no option ${JSON.stringify(name)}: there are ${[...ALLOWED].join(", ")}`,
      );
  // The core checks the values, by the options of a class that is never made.
  remote(class Replica {}, given);
  return given as Readonly<Record<string, unknown>>;
}
