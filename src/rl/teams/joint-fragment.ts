/**
 * Joint steps: the rows of all agents of an environment as one row, for learners that see a whole team.
 *
 * A joint observation has the observations of all agents side by side, in the order of `possibleAgents`; joint actions likewise. Agents of a team act at once, from the first step of an
 * episode to the last, so their sequences are equally long and end alike. Other games are refused.
 */
import { RLError } from "../errors.ts";
import type { Fragment } from "../sequences/fragment.ts";

/** A team member: sizes of the observation and the action are counts of numbers. */
export interface JointSeat {
  readonly agent: string;
  readonly moduleId: string;
  readonly obsSize: number;
  readonly actionSize: number;
}

/** A sequence of one agent: the first row, the length, the end, and its place in the table. */
interface Part {
  readonly fragment: Fragment;
  readonly start: number;
  readonly length: number;
  readonly end: number;
  readonly index: number;
}

/**
 * Joins the fragments of modules, each with a lane for every agent of every environment.
 *
 * @param rewardOf - the reward of a joint row, from those of the agents
 * @throws RLError where agents do not act at once
 */
export function joinAgents(
  fragments: ReadonlyMap<string, Fragment>,
  { seats, rewardOf }: { seats: readonly JointSeat[]; rewardOf: (rewards: readonly number[]) => number },
): Fragment {
  const games = gamesOf(fragments, seats);
  const rows = games.reduce((sum, { parts }) => sum + (parts[0] as Part).length, 0);
  const obsSize = seats.reduce((sum, seat) => sum + seat.obsSize, 0);
  const actionSize = seats.reduce((sum, seat) => sum + seat.actionSize, 0);
  const joint = {
    rows,
    obs: new Float32Array((rows + games.length) * obsSize),
    actions: new Float32Array(rows * actionSize),
    rewards: new Float32Array(rows),
    sequences: new Int32Array(3 * games.length),
    environments: Int32Array.from(games, ({ env }) => env),
  };
  let row = 0;
  for (const [index, { parts }] of games.entries()) {
    const { length, end } = parts[0] as Part;
    joint.sequences.set([row, length, end], 3 * index);
    for (let step = 0; step <= length; step += 1) {
      let at = (row + index + step) * obsSize;
      for (const [seat, part] of parts.entries()) {
        const { obsSize: size } = seats[seat] as JointSeat;
        const from = (part.start + part.index + step) * size;
        joint.obs.set(part.fragment.obs.subarray(from, from + size), at);
        at += size;
      }
    }
    for (let step = 0; step < length; step += 1) {
      let at = (row + step) * actionSize;
      for (const [seat, { fragment, start }] of parts.entries()) {
        const { actionSize: size } = seats[seat] as JointSeat;
        for (let element = 0; element < size; element += 1)
          joint.actions[at + element] = fragment.actions[(start + step) * size + element] as number;
        at += size;
      }
      joint.rewards[row + step] = rewardOf(parts.map(({ fragment, start }) => fragment.rewards[start + step] as number));
    }
    row += length;
  }
  const none = new Float32Array(0);
  return { ...joint, actionLogp: none, actionDistInputs: none, states: none };
}

/** The sequences of all agents that belong together, environment by environment. */
function gamesOf(fragments: ReadonlyMap<string, Fragment>, seats: readonly JointSeat[]): { env: number; parts: readonly Part[] }[] {
  const byLane = new Map<number, Part[]>();
  for (const [moduleId, fragment] of fragments)
    for (const [index, lane] of fragment.environments.entries()) {
      const [start, length, end] = fragment.sequences.subarray(3 * index, 3 * index + 3) as unknown as [number, number, number];
      const own = byLane.get(lane);
      const part = { fragment, start, length, end, index };
      if (own === undefined) byLane.set(lane, [part]);
      else own.push(part);
      const seat = seats[lane % seats.length] as JointSeat;
      if (seat.moduleId !== moduleId)
        throw new RLError(
          `Cannot learn: agent ${seat.agent} keeps its policy ${seat.moduleId} in all episodes of a team: received ${moduleId}. Let policyMappingFn return the same policy each time`,
        );
    }
  const envs = Array.from(new Set(Array.from(byLane.keys(), (lane) => Math.floor(lane / seats.length)))).toSorted((a, b) => a - b);
  return envs.flatMap((env) => {
    const lanes = seats.map((_, seat) => byLane.get(env * seats.length + seat) ?? []);
    const [first = []] = lanes;
    for (const [seat, own] of lanes.entries()) {
      const isLikeFirst =
        own.length === first.length && own.every(({ length, end }, at) => length === first[at]?.length && end === first[at].end);
      if (!isLikeFirst) throw apart(seats[0] as JointSeat, seats[seat] as JointSeat, { first, own });
    }
    return first.map((_, at) => ({ env, parts: lanes.map((own) => own[at] as Part) }));
  });
}

function apart(one: JointSeat, other: JointSeat, { first, own }: { first: readonly Part[]; own: readonly Part[] }): RLError {
  const shown = (parts: readonly Part[]): string => parts.map(({ length }) => length).join(" and ") || "no";
  return new RLError(
    `Cannot learn: the agents of a team act at once, from the first step to the last, and end together: received ${shown(first)} steps of ${one.agent} and ${shown(own)} of ${other.agent}. Use PPO or DQN with a policy for each agent`,
  );
}
