/**
 * FrozenLake: from the start to the goal over slippery ice with holes. Gymnasium's.
 *
 * Actions are left, down, right and up. On slippery ice a step goes where it should with `successRate`, and else to one of both sides.
 * `FrozenLake-v1` has 100 steps, `FrozenLake8x8-v1` 200.
 */
import { describeValue } from "../../../core/internal.ts";
import { type Outcome, TableEnv, type TransitionTable } from "./transition-table.ts";

const MAPS: Readonly<Record<string, readonly string[]>> = {
  "4x4": ["SFFF", "FHFH", "FFFH", "HFFG"],
  "8x8": ["SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"],
};
/** Row and column of a step left, down, right and up. */
const MOVES = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
] as const;

interface FrozenLakeOptions {
  /** Rows of S (start), F (frozen), H (hole) and G (goal). Default: that of `mapName`. */
  readonly desc?: readonly string[] | undefined;
  /** Default: `"4x4"`. */
  readonly mapName?: "4x4" | "8x8" | undefined;
  /** Default: true. */
  readonly isSlippery?: boolean | undefined;
  /** Default: 1/3. */
  readonly successRate?: number | undefined;
  /** Rewards of the goal, a hole and ice. Default: `[1, 0, 0]`. */
  readonly rewardSchedule?: readonly [number, number, number] | undefined;
}

export class FrozenLake extends TableEnv {
  constructor(options: FrozenLakeOptions = {}) {
    const lake = readLake(options);
    super(tableOf(lake, options), startsOf(lake));
  }
}

/** The larger lake. */
export class FrozenLake8x8 extends FrozenLake {
  constructor(options: FrozenLakeOptions = {}) {
    super({ mapName: "8x8", ...options });
  }
}

function readLake({ desc, mapName = "4x4", successRate = 1 / 3 }: FrozenLakeOptions): readonly string[] {
  const lake = desc ?? MAPS[mapName];
  if (lake === undefined)
    throw new RangeError(`Cannot make FrozenLake: mapName is ${Object.keys(MAPS).join(" or ")}: received ${describeValue(mapName)}`);
  const width = lake[0]?.length ?? 0;
  if (width === 0 || !lake.every((row) => row.length === width && /^[SFHG]+$/.test(row)) || !lake.join("").includes("S"))
    throw new RangeError(
      `Cannot make FrozenLake: desc is a list of texts of one length with S, F, H and G, one S at least: received ${describeValue(lake)}`,
    );
  if (!(successRate >= 0 && successRate <= 1))
    throw new RangeError(`Cannot make FrozenLake: successRate is a number from 0 to 1: received ${describeValue(successRate)}`);
  return lake;
}

function startsOf(lake: readonly string[]): number[] {
  return Array.from(lake.join("").matchAll(/S/g), ({ index }) => index);
}

function tableOf(
  lake: readonly string[],
  { isSlippery = true, successRate = 1 / 3, rewardSchedule = [1, 0, 0] }: FrozenLakeOptions,
): TransitionTable {
  const width = (lake[0] as string).length;
  const places = lake.join("");
  const failRate = (1 - successRate) / 2;
  const [goal, hole, ice] = rewardSchedule;
  const outcome = (place: number, action: number, probability: number): Outcome => {
    const [down, right] = MOVES[action] as readonly [number, number];
    const row = Math.min(lake.length - 1, Math.max(0, Math.floor(place / width) + down));
    const next = row * width + Math.min(width - 1, Math.max(0, (place % width) + right));
    const letter = places[next];
    return [probability, next, letter === "G" ? goal : letter === "H" ? hole : ice, letter === "G" || letter === "H"];
  };
  return Array.from(places, (letter, place) =>
    MOVES.map((_, action): readonly Outcome[] => {
      if (letter === "G" || letter === "H") return [[1, place, 0, true]];
      if (!isSlippery) return [outcome(place, action, 1)];
      return [(action + 3) % 4, action, (action + 1) % 4].map((taken) => outcome(place, taken, taken === action ? successRate : failRate));
    }),
  );
}
