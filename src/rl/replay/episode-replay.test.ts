import fc from "fast-check";
import { expect, test } from "vitest";
import { Random } from "../../tensor/index.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { EpisodeReplay } from "./episode-replay.ts";
import { PriorityChoice, UniformChoice } from "./slot-choice.ts";

const GAMMA = 0.5;
const { CUT, TERMINATED, TRUNCATED } = SEQUENCE_END;

function buffer(capacity: number, choice: UniformChoice | PriorityChoice = new UniformChoice()): EpisodeReplay {
  return new EpisodeReplay(
    { capacity, obs: 1, actions: 1 },
    { choice, random: new Random(1), makeActions: (rows) => new Int32Array(rows) },
  );
}

/** Sequences of environments, whose observations count up; a reward is ten times the observation before it, and so is an action. */
function fragment(...parts: readonly (readonly [environment: number, first: number, length: number, end: number])[]): Fragment {
  const obs = parts.flatMap(([, first, length]) => Array.from({ length: length + 1 }, (_, at) => first + at));
  const rows = parts.flatMap(([, first, length]) => Array.from({ length }, (_, at) => first + at));
  let start = 0;
  const sequences = parts.flatMap(([, , length, end]) => {
    start += length;
    return [start - length, length, end];
  });
  const empty = new Float32Array(rows.length);
  return {
    rows: rows.length,
    obs: Float32Array.from(obs),
    actions: Int32Array.from(rows, (at) => 10 * at),
    rewards: Float32Array.from(rows, (at) => 10 * at),
    actionLogp: empty,
    actionDistInputs: empty,
    sequences: Int32Array.from(sequences),
    environments: Int32Array.from(parts, ([environment]) => environment),
    states: empty,
  };
}

/** All rows that can be drawn, by their observation. */
function rowsOf(replay: EpisodeReplay, nStep: number | readonly [number, number] = 1): unknown[] {
  const drawn = new Map<number, unknown>();
  const batch = replay.sample({ rows: 2000, beta: 0, gamma: GAMMA, nStep });
  for (let row = 0; row < batch.rows; row += 1)
    drawn.set(batch.obs[row] as number, [batch.obs[row], batch.actions[row], batch.rewards[row], batch.nextObs[row], batch.discounts[row]]);
  return Array.from(drawn.entries())
    .toSorted(([a], [b]) => a - b)
    .map(([, row]) => row);
}

test("steps of single-step fragments are joined across them, for each environment", () => {
  const replay = buffer(100);
  replay.add(fragment([0, 1, 1, CUT], [1, 51, 1, CUT]));
  replay.add(fragment([0, 2, 1, CUT], [1, 52, 1, CUT]));
  replay.add(fragment([0, 3, 1, TERMINATED], [1, 53, 1, TRUNCATED]));
  replay.add(fragment([0, 8, 1, CUT], [1, 58, 1, CUT]));
  expect([replay.size, replay.steps]).toEqual([8, 8]);
  expect(rowsOf(replay)).toEqual([
    [1, 10, 10, 2, 0.5],
    [2, 20, 20, 3, 0.5],
    [3, 30, 30, 4, 0],
    [8, 80, 80, 9, 0.5],
    [51, 510, 510, 52, 0.5],
    [52, 520, 520, 53, 0.5],
    [53, 530, 530, 54, 0.5],
    [58, 580, 580, 59, 0.5],
  ]);
});

test("returns over several steps end with the episode, and are discounted by the steps that were taken", () => {
  const replay = buffer(100);
  replay.add(fragment([0, 1, 3, TERMINATED], [0, 11, 2, TRUNCATED], [0, 21, 2, CUT]));
  expect(rowsOf(replay, 2)).toEqual([
    [1, 10, 10 + 10, 3, 0.25],
    [2, 20, 20 + 15, 4, 0],
    [3, 30, 30, 4, 0],
    [11, 110, 110 + 60, 13, 0.25],
    [12, 120, 120, 13, 0.5],
    [21, 210, 210 + 110, 23, 0.25],
    [22, 220, 220, 23, 0.5],
  ]);
  const { discounts } = replay.sample({ rows: 1000, beta: 0, gamma: GAMMA, nStep: [1, 3] });
  expect(new Set(discounts)).toEqual(new Set([0, 0.5, 0.25]));
});

test("an environment that began anew is not joined to its steps before", () => {
  const replay = buffer(100);
  replay.add(fragment([0, 1, 1, CUT]));
  replay.add(fragment([0, 7, 1, CUT]));
  expect(rowsOf(replay, 5)).toEqual([
    [1, 10, 10, 2, 0.5],
    [7, 70, 70, 8, 0.5],
  ]);
});

test("a full buffer keeps the newest steps, each with its next observation", () => {
  const part = fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 4 }), fc.constantFrom(CUT, TERMINATED, TRUNCATED));
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 30 }), fc.integer({ min: 3, max: 12 }), (parts, capacity) => {
      const replay = buffer(capacity, new PriorityChoice(0.6));
      const at = [0, 1000, 2000];
      let steps = 0;
      for (const [environment, length, end] of parts) {
        const first = at[environment] as number;
        replay.add(fragment([environment, first, length, end]));
        at[environment] = first + length + (end === CUT ? 0 : 5);
        steps += length;
      }
      expect(replay.steps).toBe(steps);
      expect(replay.size).toBeLessThan(capacity);
      for (const row of rowsOf(replay) as number[][]) {
        expect(row.slice(1, 4)).toEqual([10 * (row[0] as number), 10 * (row[0] as number), (row[0] as number) + 1]);
      }
    }),
    { numRuns: 200 },
  );
});

test.each([() => new UniformChoice(), () => new PriorityChoice(0.6)])("a restored buffer draws as the first does", (choice) => {
  const replay = buffer(20, choice());
  for (let at = 0; at < 30; at += 1) replay.add(fragment([0, at, 1, at % 7 === 6 ? TERMINATED : CUT], [1, 100 + at, 1, CUT]));
  const request = { rows: 16, beta: 0.4, gamma: GAMMA, nStep: 2 };
  replay.updatePriorities(
    replay.sample(request).indices,
    Float32Array.from({ length: 16 }, (_, row) => row / 4),
  );
  const other = buffer(20, choice());
  other.add(fragment([0, 500, 3, CUT]));
  other.setState(replay.getState());
  for (const each of [replay, other]) each.add(fragment([0, 30, 1, CUT], [1, 130, 1, CUT]));
  expect(other.sample(request)).toEqual(replay.sample(request));
  expect([other.size, other.steps]).toEqual([replay.size, replay.steps]);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  "a priority of %d makes its entry the least likely, and spoils no other draw",
  (priority) => {
    const choice = new PriorityChoice(0.6);
    for (let slot = 0; slot < 8; slot += 1) choice.add(slot);
    choice.update(3, priority);
    const { slots, weights } = choice.sample(400, new Random(1), 0.4);
    expect(Array.from(new Set(slots)).toSorted((one, other) => one - other)).toEqual([0, 1, 2, 4, 5, 6, 7]);
    expect(weights.every(Number.isFinite)).toBe(true);
  },
);

test("a state of a buffer of another capacity is refused", () => {
  const replay = buffer(20);
  replay.add(fragment([0, 1, 19, CUT]));
  expect(() => buffer(10).setState(replay.getState())).toThrow("the buffer would have 10 numbers of obs: received 20");
});
