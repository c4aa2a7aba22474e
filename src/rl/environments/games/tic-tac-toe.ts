/**
 * Tic-tac-toe by the rules of RLlib 2.60: two players in turns, three in a row win.
 *
 * A player sees the board from its own side: 1 its own fields, -1 the other's, 0 free ones. A line earns 1 and costs the other 1. A taken field costs 0.5 and the turn. A game is truncated after 30 turns.
 * The first player is drawn. RLlib's text says that a taken field costs 1; its code takes 0.5.
 */
import { describeValue } from "../../../core/internal.ts";
import { Random, type RandomState } from "../../../tensor/index.ts";
import { EnvironmentError } from "../../errors.ts";
import { Box } from "../../spaces/box.ts";
import { Discrete } from "../../spaces/discrete.ts";
import type { ResetOptions } from "../env.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../multi-agent/multi-agent-env.ts";

const PLAYERS = ["player1", "player2"] as const;
const TURNS_MAX = 30;
const LINES = [
  [0, 1, 2],
  [3, 4, 5],
  [6, 7, 8],
  [0, 3, 6],
  [1, 4, 7],
  [2, 5, 8],
  [0, 4, 8],
  [2, 4, 6],
] as const;
const SYMBOLS = ["O", " ", "X"];

interface TicTacToeState {
  readonly board: readonly number[];
  /** The place of the player whose turn it is. */
  readonly current: number;
  readonly turns: number;
  readonly random: RandomState;
}

export class TicTacToe implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = PLAYERS;
  readonly observationSpaces: Readonly<Record<string, Box>> = byPlayer(() => new Box({ low: -1, high: 1, shape: [9] }));
  readonly actionSpaces: Readonly<Record<string, Discrete>> = byPlayer(() => new Discrete(9));
  /** From the side of the player whose turn it is. */
  #board: Float32Array = new Float32Array(9);
  #current = 0;
  #turns = 0;
  #random = new Random();

  reset({ seed }: ResetOptions = {}): MultiAgentResetResult {
    if (seed !== undefined) this.#random = new Random(seed, "first player");
    this.#board = new Float32Array(9);
    this.#turns = 0;
    this.#current = this.#random.integer(2);
    return { observations: { [PLAYERS[this.#current] as string]: this.#board.slice() } };
  }

  step(actions: Readonly<Record<string, number>>): MultiAgentStepResult {
    const mover = PLAYERS[this.#current] as string;
    const action = actions[mover];
    if (typeof action !== "number" || !Number.isInteger(action) || action < 0 || action > 8)
      throw new EnvironmentError(
        `Cannot step TicTacToe: it is the turn of ${mover}, whose action is a field from 0 to 8: received ${describeValue(actions)}`,
      );
    this.#turns += 1;
    const isLast = this.#turns >= TURNS_MAX;
    if (this.#board[action] !== 0) return isLast ? this.#over({ reward: -0.5, other: 0, isTerminated: false }) : this.#next(-0.5);
    this.#board[action] = 1;
    if (LINES.some((line) => line.every((field) => this.#board[field] === 1)))
      return this.#over({ reward: 1, other: -1, isTerminated: true });
    if (!this.#board.includes(0)) return this.#over({ reward: 0, other: 0, isTerminated: true });
    return isLast ? this.#over({ reward: 0, other: 0, isTerminated: false }) : this.#next(0);
  }

  /** Gives the turn to the other player. */
  #next(reward: number): MultiAgentStepResult {
    const mover = PLAYERS[this.#current] as string;
    this.#board = flipped(this.#board);
    this.#current = 1 - this.#current;
    return {
      observations: { [PLAYERS[this.#current] as string]: this.#board.slice() },
      rewards: { [mover]: reward },
      terminateds: { __all__: false },
      truncateds: { __all__: false },
    };
  }

  #over({ reward, other, isTerminated }: { reward: number; other: number; isTerminated: boolean }): MultiAgentStepResult {
    const [mover, opponent] = [PLAYERS[this.#current] as string, PLAYERS[1 - this.#current] as string];
    return {
      observations: { [mover]: this.#board.slice(), [opponent]: flipped(this.#board) },
      rewards: { [mover]: reward, [opponent]: other },
      terminateds: { __all__: isTerminated },
      truncateds: { __all__: !isTerminated },
    };
  }

  /** The board as text: X the player whose turn it is. */
  render(): string {
    const row = (from: number): string =>
      ` ${Array.from(this.#board.subarray(from, from + 3), (field) => SYMBOLS[field + 1]).join(" | ")} `;
    return [0, 3, 6].map(row).join("\n-----------\n");
  }

  getState(): TicTacToeState {
    return { board: Array.from(this.#board), current: this.#current, turns: this.#turns, random: this.#random.getState() };
  }

  setState({ board, current, turns, random }: TicTacToeState): void {
    this.#board = Float32Array.from(board);
    this.#current = current;
    this.#turns = turns;
    this.#random.setState(random);
  }
}

function flipped(board: Float32Array): Float32Array {
  // No -0: it would be written as such into records.
  return board.map((field) => (field === 0 ? 0 : -field));
}

function byPlayer<S>(make: () => S): Readonly<Record<string, S>> {
  return Object.fromEntries(PLAYERS.map((player) => [player, make()]));
}
