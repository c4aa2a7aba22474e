/**
 * The columns of episode files, in their two forms: one row a step, or one row an episode with lists.
 *
 * Files are written with these names. Ray's names, with underscores, are read too.
 */
import type { RecordedEpisode } from "./episode-recorder.ts";

/** The names of the columns, each with its other spellings. */
export const COLUMN_NAMES = {
  epsId: ["epsId", "eps_id"],
  agentId: ["agentId", "agent_id"],
  t: ["t"],
  obs: ["obs"],
  newObs: ["newObs", "new_obs"],
  actions: ["actions"],
  rewards: ["rewards"],
  actionLogp: ["actionLogp", "action_logp"],
  terminateds: ["terminateds"],
  truncateds: ["truncateds"],
  terminated: ["terminated"],
  truncated: ["truncated"],
} as const;

export type ColumnName = keyof typeof COLUMN_NAMES;

/** The columns of each form. */
export const FORMS: Readonly<Record<"episodes" | "steps", { needed: readonly ColumnName[]; optional: readonly ColumnName[] }>> = {
  episodes: { needed: ["epsId", "obs", "actions", "rewards", "terminated", "truncated"], optional: ["actionLogp"] },
  steps: {
    needed: ["epsId", "obs", "newObs", "actions", "rewards", "terminateds", "truncateds"],
    optional: ["agentId", "t", "actionLogp"],
  },
};

/** The row of an episode. */
export function rowOfEpisode({ epsId, obs, actions, rewards, actionLogp, terminated, truncated }: RecordedEpisode): object {
  return {
    epsId,
    obs: listOf(obs),
    actions: listOf(actions),
    rewards: Float64Array.from(rewards),
    actionLogp: Float32Array.from(actionLogp),
    terminated,
    truncated,
  };
}

/** The rows of an episode's steps. `newObs` is in the last one alone. */
export function* rowsOfSteps(episode: RecordedEpisode): Generator<object> {
  const { epsId, obs, actions, rewards, actionLogp } = episode;
  for (const [t, reward] of rewards.entries()) {
    const isLast = t === rewards.length - 1;
    yield {
      epsId,
      t,
      obs: obs[t],
      newObs: isLast ? obs[t + 1] : null,
      actions: actions[t],
      rewards: reward,
      actionLogp: actionLogp[t],
      terminateds: isLast && episode.terminated,
      truncateds: isLast && episode.truncated,
    };
  }
}

/** A list of values; whole numbers as int32, so that files have them in four bytes each. */
function listOf(values: readonly unknown[]): unknown {
  return values.every((value) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31)
    ? Int32Array.from(values as number[])
    : values;
}
