/**
 * Taxi-v4: a taxi fetches a passenger at one of four places and brings them to another. Gymnasium's.
 *
 * Actions are south, north, east, west, pick up and drop off; `info.actionMask` says which of them change anything. A step costs 1, a wrong stop 10, and the right one earns 20.
 * With `isRainy` a move goes astray to either side; with `ficklePassenger` the passenger may change the destination after the first move. Episodes are truncated after 200 steps.
 */
import type { Info } from "../env.ts";
import { type Outcome, TableEnv, type TableState } from "./transition-table.ts";

/** A colon is a passage, a bar a wall, between the cells of a row. */
const PASSAGES = ["R: | : :G", " : | : : ", " : : : : ", " | : | : ", "Y| : |B: "];
const SIZE = 5;
const STOPS = [
  [0, 0],
  [0, 4],
  [4, 0],
  [4, 3],
] as const;
const RIDING = STOPS.length;
/** South, north, east and west, as row and column. */
const MOVES = [
  [1, 0],
  [-1, 0],
  [0, 1],
  [0, -1],
] as const;
/** For each move: the moves to its left and to its right. */
const SIDES = [
  [2, 3],
  [3, 2],
  [1, 0],
  [0, 1],
] as const;
const PICK_UP = 4;
const DROP_OFF = 5;

interface TaxiOptions {
  readonly isRainy?: boolean | undefined;
  readonly ficklePassenger?: boolean | undefined;
  /** How often a move in the rain goes where it should. Default: 0.8. */
  readonly rainyProbability?: number | undefined;
  /** How often the passenger is fickle. Default: 0.3. */
  readonly fickleProbability?: number | undefined;
}

interface TaxiState extends TableState {
  readonly isFickle: boolean;
}

/** The parts of a state: the taxi, the stop of the passenger, or 4 in the taxi, and the stop to go to. */
interface Ride {
  readonly row: number;
  readonly column: number;
  readonly passenger: number;
  readonly destination: number;
}

export class Taxi extends TableEnv {
  readonly #ficklePassenger: boolean;
  readonly #fickleProbability: number;
  #isFickle = false;

  constructor({ isRainy = false, ficklePassenger = false, rainyProbability = 0.8, fickleProbability = 0.3 }: TaxiOptions = {}) {
    const states = Array.from({ length: SIZE * SIZE * (STOPS.length + 1) * STOPS.length }, (_, state) => rideOf(state));
    const actions = Array.from({ length: MOVES.length + 2 }, (_, action) => action);
    const table = states.map((ride) => actions.map((action) => outcomes(ride, action, isRainy ? rainyProbability : 1)));
    const starts = states.filter(({ passenger, destination }) => passenger !== RIDING && passenger !== destination).map(stateOf);
    super(table, starts);
    this.#ficklePassenger = ficklePassenger;
    this.#fickleProbability = fickleProbability;
  }

  protected override infoOf(state: number): Info {
    return { actionMask: maskOf(rideOf(state)) };
  }

  protected override begun(): void {
    this.#isFickle = this.#ficklePassenger && this.random.uniform() < this.#fickleProbability;
  }

  protected override arrived(from: number, next: number): number {
    const [before, after] = [rideOf(from), rideOf(next)];
    const hasMoved = before.row !== after.row || before.column !== after.column;
    if (!this.#isFickle || before.passenger !== RIDING || !hasMoved) return next;
    this.#isFickle = false;
    const others = STOPS.map((_, stop) => stop).filter((stop) => stop !== before.destination);
    return stateOf({ ...after, destination: others[this.random.integer(others.length)] as number });
  }

  override getState(): TaxiState {
    return { ...super.getState(), isFickle: this.#isFickle };
  }

  override setState(state: TableState): void {
    super.setState(state);
    this.#isFickle = (state as TaxiState).isFickle;
  }
}

function stateOf({ row, column, passenger, destination }: Ride): number {
  return ((row * SIZE + column) * (STOPS.length + 1) + passenger) * STOPS.length + destination;
}

function rideOf(state: number): Ride {
  const place = Math.floor(state / (STOPS.length * (STOPS.length + 1)));
  const passenger = Math.floor(state / STOPS.length) % (STOPS.length + 1);
  return { row: Math.floor(place / SIZE), column: place % SIZE, passenger, destination: state % STOPS.length };
}

/** The stop at a place; -1 where there is none. */
function stopAt(row: number, column: number): number {
  return STOPS.findIndex(([stopRow, stopColumn]) => stopRow === row && stopColumn === column);
}

function isOpen(row: number, column: number, action: number): boolean {
  if (action === 0) return row < SIZE - 1;
  if (action === 1) return row > 0;
  return PASSAGES[row]?.[2 * column + (action === 2 ? 1 : -1)] === ":";
}

function maskOf({ row, column, passenger }: Ride): Int8Array {
  const isAtPassenger = passenger !== RIDING && stopAt(row, column) === passenger;
  const mayLeave = passenger === RIDING && stopAt(row, column) >= 0;
  return Int8Array.from([...MOVES.map((_, action) => isOpen(row, column, action)), isAtPassenger, mayLeave], Number);
}

function outcomes(ride: Ride, action: number, hitRate: number): readonly Outcome[] {
  if (action === PICK_UP || action === DROP_OFF) return [stopOutcome(ride, action)];
  const { row, column } = ride;
  const at = ([nextRow, nextColumn]: readonly [number, number], probability: number): Outcome => [
    probability,
    stateOf({ ...ride, row: nextRow, column: nextColumn }),
    -1,
    false,
  ];
  const here = [row, column] as const;
  const canMove = isOpen(row, column, action);
  const intended = canMove ? moved(here, action) : here;
  if (hitRate === 1) return [at(intended, 1)];
  const astray = (1 - hitRate) / 2;
  const sides = SIDES[action] as readonly [number, number];
  return [at(intended, hitRate), ...sides.map((side) => at(canMove ? drifted(here, side) : here, astray))];
}

function stopOutcome(ride: Ride, action: number): Outcome {
  const stop = stopAt(ride.row, ride.column);
  const isPickUp = action === PICK_UP && ride.passenger !== RIDING && stop === ride.passenger;
  if (isPickUp) return [1, stateOf({ ...ride, passenger: RIDING }), -1, false];
  if (action === PICK_UP || ride.passenger !== RIDING || stop < 0) return [1, stateOf(ride), -10, false];
  const isDone = stop === ride.destination;
  return [1, stateOf({ ...ride, passenger: stop }), isDone ? 20 : -1, isDone];
}

function moved([row, column]: readonly [number, number], action: number): readonly [number, number] {
  const [down, right] = MOVES[action] as readonly [number, number];
  const inside = (place: number): number => Math.min(SIZE - 1, Math.max(0, place));
  return [inside(row + down), inside(column + right)];
}

/** Gymnasium looks for the wall of a sideward drift on the far side of the cell that it leads to. */
function drifted(here: readonly [number, number], action: number): readonly [number, number] {
  const there = moved(here, action);
  if (action === 2 && PASSAGES[there[0]]?.[2 * there[1] - 1] !== ":") return here;
  if (action === 3 && PASSAGES[there[0]]?.[2 * there[1] + 1] !== ":") return here;
  return there;
}
