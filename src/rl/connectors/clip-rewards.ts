/**
 * `ClipRewards`: rewards as their signs, or held between two limits, for learning.
 *
 * Returns in results stay those of the environment.
 * `environment({ clipRewards })` puts this connector first.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Connector, type ConnectorColumns } from "./connector.ts";

export interface ClipRewardsOptions {
  /** The largest absolute reward. Default: none; rewards become -1, 0 or 1. */
  readonly limit?: number | undefined;
}

export class ClipRewards extends Connector {
  readonly options: ClipRewardsOptions;

  constructor(options: ClipRewardsOptions = {}) {
    super();
    const { limit } = options;
    if (limit !== undefined && !(limit > 0))
      throw new RangeError(`Cannot make ClipRewards: limit is a number above 0: received ${describeValue(limit)}`);
    this.options = options;
  }

  call(columns: ConnectorColumns): ConnectorColumns {
    const { limit } = this.options;
    const clipped = (reward: number): number => (limit === undefined ? Math.sign(reward) : Math.min(limit, Math.max(-limit, reward)));
    return { ...columns, rewards: columns.rewards.map(clipped) };
  }
}
