/** Makes spaces from their form in JSON, which checkpoints and the link to external environments have. */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Box } from "./box.ts";
import { Dict, Tuple } from "./composite.ts";
import { Discrete } from "./discrete.ts";
import type { Dtype } from "./dtype.ts";
import { MultiBinary } from "./multi-binary.ts";
import { MultiDiscrete } from "./multi-discrete.ts";
import { type Space, type SpaceJson } from "./space.ts";
import { Text } from "./text.ts";

const MAKERS: Readonly<Record<string, (json: SpaceJson) => Space>> = {
  Box: ({ low, high, shape, dtype }) =>
    new Box({ low: bound(low), high: bound(high), shape: shape as readonly number[], dtype: dtype as Dtype }),
  Discrete: ({ n, start }) => new Discrete(n as number, { start: start as number }),
  MultiDiscrete: ({ counts }) => new MultiDiscrete(counts as readonly number[]),
  MultiBinary: ({ n }) => new MultiBinary(n as number),
  Text: ({ maxLength, minLength, charset }) =>
    new Text({ maxLength: maxLength as number, minLength: minLength as number, charset: charset as string }),
  Dict: ({ spaces }) =>
    new Dict(Object.fromEntries((spaces as [string, SpaceJson][]).map(([key, space]) => [key, spaceFromJson(space)] as const))),
  Tuple: ({ spaces }) => new Tuple((spaces as SpaceJson[]).map(spaceFromJson)),
};

/** The space that `toJSON` wrote. @throws TypeError for anything else */
export function spaceFromJson(json: SpaceJson): Space {
  const make = Object.hasOwn(MAKERS, json?.type) ? MAKERS[json.type] : undefined;
  if (make === undefined)
    throw new TypeError(`Cannot read a space: its type is one of ${Object.keys(MAKERS).join(", ")}: received ${describeValue(json)}`);
  return make(json);
}

function bound(given: unknown): number | number[] {
  return Array.isArray(given) ? given.map(Number) : Number(given);
}
