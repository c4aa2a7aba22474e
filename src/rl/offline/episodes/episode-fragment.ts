/**
 * Joins recorded episodes into one fragment, as learners take them: the encoded observations go through the module's connectors.
 *
 * Connectors such as `MeanStdFilter` learn in a first pass over all episodes, and keep still in the second one.
 * So equal observations become equal numbers. Forbidden actions of a mask are refused.
 */
import type { Observer } from "../../connectors/observation-pipeline.ts";
import { EnvironmentError } from "../../errors.ts";
import type { BuiltModule } from "../../modules/module-spec.ts";
import type { Fragment } from "../../sequences/fragment.ts";
import type { NumericArray } from "../../spaces/dtype.ts";
import type { EncodedEpisode } from "./read-episodes.ts";

/** Makes a sequence of each episode. The files have no numbers of the distribution behind the actions, so that column is empty. Connectors learn unless `isLearning` is false. */
export function episodeFragment(
  episodes: readonly EncodedEpisode[],
  built: BuiltModule,
  { isLearning = true }: { isLearning?: boolean } = {},
): Fragment {
  const { encoder, distribution } = built;
  const rows = episodes.reduce((sum, { rewards }) => sum + rewards.length, 0);
  const obs = new Float32Array((rows + episodes.length) * encoder.size);
  const actions = distribution.actions.allocate(rows) as NumericArray;
  const width = actions.length / rows;
  const [rewards, actionLogp] = [new Float32Array(rows), new Float32Array(rows)];
  const sequences = new Int32Array(3 * episodes.length);
  if (isLearning && encoder.connectors.length > 0) learnConnectors(episodes, built);
  const observer = encoder.connectors.length === 0 ? undefined : encoder.observe(1, { training: false });
  let row = 0;
  for (const [index, episode] of episodes.entries()) {
    const { length } = episode.rewards;
    const seen = observer === undefined ? undefined : observed(episode, built, observer);
    obs.set(seen?.obs ?? episode.obs, (row + index) * encoder.size);
    actions.set(episode.actions, row * width);
    rewards.set(seen?.rewards ?? episode.rewards, row);
    actionLogp.set(episode.actionLogp, row);
    sequences.set([row, length, episode.end], 3 * index);
    checkAllowed(episode, built);
    row += length;
  }
  return {
    rows,
    obs,
    actions,
    rewards,
    actionLogp,
    actionDistInputs: new Float32Array(0),
    sequences,
    environments: Int32Array.from(episodes, (_, index) => index),
    states: new Float32Array(0),
  };
}

/** Lets the connectors learn from all observations. */
function learnConnectors(episodes: readonly EncodedEpisode[], built: BuiltModule): void {
  const observer = built.encoder.observe(1, { training: true });
  for (const episode of episodes) observed(episode, built, observer);
  built.encoder.merge(observer.increments());
}

/** Sends an episode through the connectors. @returns the module's observations, and the rewards to learn from */
function observed(
  { obs, actions, rewards }: EncodedEpisode,
  { encoder, distribution }: BuiltModule,
  observer: Observer,
): { obs: Float32Array; rewards: Float64Array } {
  const raw = encoder.encoder.size;
  const steps = rewards.length;
  const width = actions.length / steps;
  const into = new Float32Array((steps + 1) * encoder.size);
  const learnt = new Float64Array(steps);
  for (let t = 0; t <= steps; t += 1) {
    const drawn = distribution.actions.allocate(1) as NumericArray;
    if (t > 0) drawn.set(actions.subarray((t - 1) * width, t * width));
    const step = {
      envs: [0],
      encoded: obs.slice(t * raw, (t + 1) * raw),
      actions: drawn,
      rewards: Float64Array.of(t === 0 ? 0 : (rewards[t - 1] as number)),
      starts: Uint8Array.of(t === 0 ? 1 : 0),
    };
    const [reward] = observer.observeSome(step, into.subarray(t * encoder.size, (t + 1) * encoder.size));
    if (t > 0) learnt[t - 1] = reward as number;
  }
  return { obs: into, rewards: learnt };
}

/** Refuses actions that the mask of their observation forbids. */
function checkAllowed({ epsId, obs, actions, rewards }: EncodedEpisode, { encoder, maskedChoices }: BuiltModule): void {
  if (maskedChoices.length === 0) return;
  const { size, maskSize } = encoder.encoder;
  for (let t = 0; t < rewards.length; t += 1) {
    let at = (t + 1) * size - maskSize;
    for (const [part, count] of maskedChoices.entries()) {
      const action = actions[t * maskedChoices.length + part] as number;
      if (obs[at + action] === 0)
        throw new EnvironmentError(
          `Cannot learn from episode ${epsId}: the action mask of step ${t} forbids the recorded action ${action}. Leave the episode out`,
        );
      at += count;
    }
  }
}
