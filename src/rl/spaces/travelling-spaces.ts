/** Registers the form in JSON as the one in which spaces travel between processes of Shoal. Apart from the spaces themselves, which browsers use without the core. */
import { registerSerializer } from "../../core/internal.ts";
import { Box } from "./box.ts";
import { Dict, Tuple } from "./composite.ts";
import { Discrete } from "./discrete.ts";
import { MultiBinary } from "./multi-binary.ts";
import { MultiDiscrete } from "./multi-discrete.ts";
import type { Space, SpaceJson } from "./space.ts";
import { spaceFromJson } from "./space-json.ts";
import { Text } from "./text.ts";

for (const registered of [Box, Discrete, MultiDiscrete, MultiBinary, Text, Dict, Tuple] as (new (
  ...args: never[]
) => Space)[])
  registerSerializer(registered, { serialize: (space: Space) => space.toJSON(), deserialize: receivedSpace });

/** Exported for the worker alone, which imports it to read a space. */
export function receivedSpace(json: SpaceJson): Space {
  return spaceFromJson(json);
}
