/**
 * CliffWalking: along a cliff to the goal; a step over the edge costs 100 and leads back to the start. Gymnasium's.
 *
 * Actions are up, right, down and left; each step costs 1. With `isSlippery` a step goes to either side as often as where it should.
 * There is no limit of steps.
 */
import { type Outcome, TableEnv, type TransitionTable } from "./transition-table.ts";

const ROWS = 4;
const COLUMNS = 12;
const START = (ROWS - 1) * COLUMNS;
const GOAL = ROWS * COLUMNS - 1;
/** Row and column of a step up, right, down and left. */
const MOVES = [
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
] as const;

interface CliffWalkingOptions {
  /** Default: false. */
  readonly isSlippery?: boolean | undefined;
}

export class CliffWalking extends TableEnv {
  constructor({ isSlippery = false }: CliffWalkingOptions = {}) {
    super(tableOf(isSlippery), [START]);
  }
}

export class CliffWalkingSlippery extends CliffWalking {
  constructor(options: CliffWalkingOptions = {}) {
    super({ isSlippery: true, ...options });
  }
}

function tableOf(isSlippery: boolean): TransitionTable {
  return Array.from({ length: ROWS * COLUMNS }, (_, place) =>
    MOVES.map((__, action) => {
      const taken = isSlippery ? [(action + 3) % 4, action, (action + 1) % 4] : [action];
      return taken.map((each) => outcome(place, each, 1 / taken.length));
    }),
  );
}

function outcome(place: number, action: number, probability: number): Outcome {
  const [down, right] = MOVES[action] as readonly [number, number];
  const row = Math.min(ROWS - 1, Math.max(0, Math.floor(place / COLUMNS) + down));
  const column = Math.min(COLUMNS - 1, Math.max(0, (place % COLUMNS) + right));
  const isCliff = row === ROWS - 1 && column > 0 && column < COLUMNS - 1;
  if (isCliff) return [probability, START, -100, false];
  const next = row * COLUMNS + column;
  return [probability, next, -1, next === GOAL];
}
