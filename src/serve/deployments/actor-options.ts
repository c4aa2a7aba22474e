/** Options of the actors in which replicas run: those of the core that a deployment may set, checked by the core itself; and what such an actor needs as a bundle. */
import { remote } from "../../core/index.ts";
import { describeValue, isPlainObject } from "../../core/internal.ts";

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
/** A node has one unit of its accelerator type. This small part selects such a node and reserves almost nothing. Ray's value. */
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

/** The resources of one replica as a bundle: those of a replica of a gang, where its deployment names no bundles. */
export function bundleOf(options: Readonly<Record<string, unknown>>): Record<string, number> {
  const {
    numCpus = 1,
    numGpus = 0,
    memoryBytes = 0,
    resources = {},
  } = options as {
    numCpus?: number;
    numGpus?: number;
    memoryBytes?: number;
    resources?: Readonly<Record<string, number>>;
  };
  const all = { CPU: numCpus, GPU: numGpus, memory: memoryBytes, ...resources };
  return Object.fromEntries(Object.entries(all).filter(([, amount]) => amount > 0));
}
