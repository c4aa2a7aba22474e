/**
 * Rock, paper, scissors by the rules of RLlib 2.60: two players move at once, ten times.
 *
 * A player sees the other's last move, 0 (rock) at first. The winner of a move earns 1 and the loser -1. With `sheldonCooperMode` there are lizard and Spock, too.
 */
import { describeValue } from "../../../core/internal.ts";
import { EnvironmentError } from "../../errors.ts";
import { Discrete } from "../../spaces/discrete.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../multi-agent/multi-agent-env.ts";

const PLAYERS = ["player1", "player2"] as const;
const MOVES_MAX = 10;
/** By move: the moves that it beats. Rock, paper, scissors, lizard, Spock. */
const BEATS: readonly (readonly number[])[] = [
  [2, 3],
  [0, 4],
  [1, 3],
  [1, 4],
  [0, 2],
];

interface RockPaperScissorsOptions {
  readonly sheldonCooperMode?: boolean | undefined;
}

export class RockPaperScissors implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = PLAYERS;
  readonly observationSpaces: Readonly<Record<string, Discrete>>;
  readonly actionSpaces: Readonly<Record<string, Discrete>>;
  readonly #choices: number;
  #moves = 0;

  constructor({ sheldonCooperMode = false }: RockPaperScissorsOptions = {}) {
    if (typeof sheldonCooperMode !== "boolean")
      throw new TypeError(
        `Cannot make RockPaperScissors: sheldonCooperMode is true or false: received ${describeValue(sheldonCooperMode)}`,
      );
    this.#choices = sheldonCooperMode ? 5 : 3;
    this.observationSpaces = Object.fromEntries(PLAYERS.map((player) => [player, new Discrete(this.#choices)]));
    this.actionSpaces = Object.fromEntries(PLAYERS.map((player) => [player, new Discrete(this.#choices)]));
  }

  reset(): MultiAgentResetResult {
    this.#moves = 0;
    return { observations: { player1: 0, player2: 0 } };
  }

  step(actions: Readonly<Record<string, number>>): MultiAgentStepResult {
    const { player1: first, player2: second } = actions;
    if (!this.#isMove(first) || !this.#isMove(second))
      throw new EnvironmentError(
        `Cannot step RockPaperScissors: both players move, each by a number from 0 to ${this.#choices - 1}: received ${describeValue(actions)}`,
      );
    this.#moves += 1;
    const earned = BEATS[first]?.includes(second) ? 1 : BEATS[second]?.includes(first) ? -1 : 0;
    return {
      observations: { player1: second, player2: first },
      rewards: { player1: earned, player2: earned === 0 ? 0 : -earned },
      terminateds: { __all__: this.#moves >= MOVES_MAX },
    };
  }

  #isMove(action: number | undefined): action is number {
    return Number.isInteger(action) && (action as number) >= 0 && (action as number) < this.#choices;
  }

  getState(): { moves: number } {
    return { moves: this.#moves };
  }

  setState({ moves }: { moves: number }): void {
    this.#moves = moves;
  }
}
