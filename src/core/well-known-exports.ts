/** Functions that travel refer to the runtime's own exports by name, so that they meet the worker's instance instead of taking a copy along. */
import { registerWellKnown } from "../closure/well-known.ts";
import * as api from "./api.ts";
import { init, isInitialized, shutdown } from "./init.ts";
import * as placementGroups from "./placement-group.ts";
import { deregisterSerializer, registerSerializer } from "./registered-serializers.ts";

for (const [name, value] of Object.entries({
  ...api,
  ...placementGroups,
  deregisterSerializer,
  init,
  isInitialized,
  registerSerializer,
  shutdown,
})) {
  if (typeof value === "function") registerWellKnown(`shoal:${name}`, value);
}
