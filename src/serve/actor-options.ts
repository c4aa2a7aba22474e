/** Options of the actors in which replicas run: those of the core that a deployment may set, checked by the core itself. */
import { remote } from "../core/index.ts";
import { describeValue, isPlainObject } from "../core/internal.ts";

const ALLOWED: ReadonlySet<string> = new Set([
  "numCpus",
  "numGpus",
  "memoryBytes",
  "resources",
  "runtimeEnv",
  "labelSelector",
  "fallbackStrategy",
  "acceleratorType",
]);
/** A node has one of its kind of accelerator; so small a part of it only says which node. Ray's. */
const ACCELERATOR_SHARE = 0.001;

/** @throws TypeError, RangeError that name the option and what is allowed */
export function resolveActorOptionsFor(deployment: string, given: object | undefined): Readonly<Record<string, unknown>> {
  if (given === undefined) return {};
  for (const name of Object.keys(isPlainObject(given) ? given : {}))
    if (!ALLOWED.has(name))
      throw new TypeError(
        `Cannot set actorOptions of deployment ${deployment}: there is no option ${JSON.stringify(name)}: there are ${[...ALLOWED].join(", ")}`,
      );
  // The core checks the values, by the options of a class that is never made.
  const { acceleratorType, ...rest } = given as { acceleratorType?: unknown; resources?: object };
  remote(class Replica {}, rest as object);
  if (acceleratorType === undefined) return rest;
  if (typeof acceleratorType !== "string" || acceleratorType === "")
    throw new TypeError(
      `Cannot set actorOptions of deployment ${deployment}: acceleratorType is a kind of GPU such as "H100": received ${describeValue(acceleratorType)}`,
    );
  return { ...rest, resources: { ...rest.resources, [`accelerator_type:${acceleratorType}`]: ACCELERATOR_SHARE } };
}
