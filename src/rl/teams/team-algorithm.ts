/**
 * The training step of a team: agents act by their own observations, and learn from what all of them see and do.
 *
 * The buffer of a module has joint rows. Each learner gets to know the others when the algorithm is made. Everything else is that of algorithms with a buffer.
 */
import type { AlgorithmParts } from "../algorithms/algorithm.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { ReplayAlgorithm, type ReplayRow, type ReplayTraining } from "../off-policy/replay-algorithm.ts";
import { type ReplayConfig, ReplayLearner } from "../learners/replay-learner.ts";
import { joinAgents, type JointSeat } from "./joint-fragment.ts";

/** An agent of a team, with its network and the learner of that. */
export interface TeamSeat extends JointSeat {
  readonly built: BuiltModule;
  readonly learner: TeamLearner;
}

/** A learner that sees joint rows. */
export abstract class TeamLearner<Config extends ReplayConfig = ReplayConfig> extends ReplayLearner<Config> {
  /** Makes the networks that see the whole team. Called once, before anything else. */
  abstract join(seats: readonly TeamSeat[]): void;

  /** The reward of a joint row, from those of the agents in their order. */
  abstract rewardOf(rewards: readonly number[]): number;
}

export abstract class TeamAlgorithm<Training extends ReplayTraining> extends ReplayAlgorithm<Training> {
  readonly #seats: readonly TeamSeat[];

  constructor(parts: AlgorithmParts<Training>) {
    super(parts);
    this.#seats = (this.policies?.agents ?? []).map(([agent, moduleId]) => {
      const { built, learner } = this.modules.get(moduleId) as NonNullable<ReturnType<typeof this.modules.get>>;
      const { encoder, distribution } = built;
      const sizes = { obsSize: encoder.size, actionSize: distribution.actions.size ?? 1 };
      return { agent, moduleId, ...sizes, built, learner: learner as unknown as TeamLearner };
    });
    for (const { learner } of this.modules.values()) (learner as unknown as TeamLearner).join(this.#seats);
  }

  protected override get hasFixedAgents(): boolean {
    return true;
  }

  protected override rowOf(): ReplayRow {
    const sum = (size: "obsSize" | "actionSize"): number => this.#seats.reduce((total, seat) => total + seat[size], 0);
    const actions = sum("actionSize");
    return { obs: sum("obsSize"), actions, makeActions: (rows) => new Float32Array(rows * actions) };
  }

  protected override learningFrom(fragments: ReadonlyMap<string, Fragment>): ReturnType<ReplayAlgorithm<Training>["learningFrom"]> {
    const own = super.learningFrom(fragments);
    return own.map((each) => {
      const learner = each.module.learner as unknown as TeamLearner;
      return { ...each, fragment: joinAgents(fragments, { seats: this.#seats, rewardOf: (rewards) => learner.rewardOf(rewards) }) };
    });
  }
}
