/**
 * Functions that travel refer to the runtime's own exports by name, so that they meet the worker's instance instead of taking a copy along.
 *
 * Decides the names: the subpath of the package, a colon, the export. Those of `shoal` are known in every process; those of other subpaths in a process
 * that has loaded the subpath, which a worker does when the first of them arrives (`entry/worker.ts`).
 */
import { registerWellKnown } from "../closure/well-known.ts";
import * as errors from "../base/errors.ts";
import * as api from "./api.ts";
import * as keyValues from "./key-values.ts";
import { ArrowData, NdArray } from "./objects/foreign-data.ts";
import { getObjectLocations } from "./objects/object-locations.ts";
import { objectStoreStatistics } from "./objects/store-statistics.ts";
import { init, isInitialized, shutdown } from "./session/init.ts";
import * as placementGroups from "./groups/placement-group.ts";
import { deregisterSerializer, registerSerializer } from "./objects/registered-serializers.ts";

/** Called by each subpath at its load, with its exports and with the classes of its own that it sends to workers. */
export function registerExports(subpath: string, values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) if (typeof value === "function") registerWellKnown(`${subpath}:${name}`, value);
}

registerExports("shoal", {
  ...errors,
  ...api,
  ...placementGroups,
  ...keyValues,
  ArrowData,
  NdArray,
  deregisterSerializer,
  getObjectLocations,
  init,
  isInitialized,
  objectStoreStatistics,
  registerSerializer,
  shutdown,
});
