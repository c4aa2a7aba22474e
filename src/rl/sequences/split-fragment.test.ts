import { expect, test } from "vitest";
import { type Fragment, SEQUENCE_END } from "./fragment.ts";
import { splitFragment } from "./split-fragment.ts";

const { CUT, TERMINATED, TRUNCATED } = SEQUENCE_END;

/** Sequences of the given lengths, whose rows are numbered and whose observations say the row, or -1 behind the end. */
function fragmentOf(lengths: readonly number[], { stateSize = 0, maxSeqLen = 1 } = {}): Fragment {
  const rows = lengths.reduce((sum, length) => sum + length, 0);
  const row = Array.from({ length: rows }, (_, at) => at);
  let at = 0;
  const sequences = lengths.flatMap((length, index) => {
    at += length;
    return [at - length, length, [TERMINATED, TRUNCATED, CUT][index % 3] as number];
  });
  const starts = sequences.filter((_, place) => place % 3 === 0);
  const obs = starts.flatMap((start, index) => [...row.slice(start, start + (lengths[index] as number)), -1 - index]);
  const chunks = starts.flatMap((start, index) =>
    Array.from({ length: Math.ceil((lengths[index] as number) / maxSeqLen) }, (_, chunk) => start + chunk * maxSeqLen),
  );
  return {
    rows,
    obs: Float32Array.from(obs),
    actions: Int32Array.from(row),
    rewards: Float32Array.from(row),
    actionLogp: Float32Array.from(row),
    actionDistInputs: Float32Array.from(row.flatMap((each) => [each, -each])),
    sequences: Int32Array.from(sequences),
    environments: Int32Array.from(lengths, (_, index) => index),
    states: stateSize === 0 ? new Float32Array() : Float32Array.from(chunks),
  };
}

const plain = { obsSize: 1, stateSize: 0, maxSeqLen: 1 };

test.each([
  [[4, 4], 2],
  [[3, 5, 2, 7], 2],
  [[10], 3],
  [[1, 1, 1, 1, 9], 4],
])("sequences of %j are cut into %i shards of equal length, with every row once", (lengths, shards) => {
  const fragment = fragmentOf(lengths);
  const parts = splitFragment(fragment, { ...plain, shards });
  expect(parts.flatMap(({ rewards }) => Array.from(rewards))).toEqual(Array.from(fragment.rewards));
  const sizes = parts.map(({ rows }) => rows);
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  for (const { rows, obs, actions, actionDistInputs, sequences, environments } of parts) {
    expect([actions.length, actionDistInputs.length, obs.length]).toEqual([rows, 2 * rows, rows + environments.length]);
    // Each row has its own observation, at the row plus the sequence.
    for (let index = 0; index < environments.length; index += 1) {
      const [start = 0, length = 0, end] = sequences.subarray(3 * index, 3 * index + 3);
      for (let row = start; row < start + length; row += 1) expect(obs[row + index]).toBe(actions[row]);
      const behind = obs[start + length + index] as number;
      if (behind >= 0) expect([behind, end]).toEqual([(actions[start + length - 1] as number) + 1, CUT]);
    }
  }
});

test("a border between sequences leaves their ends alone", () => {
  const [first, second] = splitFragment(fragmentOf([4, 4]), { ...plain, shards: 2 }) as [Fragment, Fragment];
  expect(Array.from(first.sequences)).toEqual([0, 4, TERMINATED]);
  expect(Array.from(second.sequences)).toEqual([0, 4, TRUNCATED]);
});

test("where the module remembers, borders lie between chunks, and each chunk keeps its state", () => {
  const fragment = fragmentOf([7, 4, 6], { stateSize: 1, maxSeqLen: 3 });
  const parts = splitFragment(fragment, { obsSize: 1, stateSize: 1, maxSeqLen: 3, shards: 2 });
  expect(parts.flatMap(({ rewards }) => Array.from(rewards))).toEqual(Array.from(fragment.rewards));
  for (const { sequences, states, rewards } of parts) {
    const chunks: number[] = [];
    for (let index = 0; index < sequences.length; index += 3)
      for (let row = 0; row < (sequences[index + 1] as number); row += 3)
        chunks.push(rewards[(sequences[index] as number) + row] as number);
    expect(Array.from(states)).toEqual(chunks);
  }
});

test("with fewer rows than shards each has the whole fragment", () => {
  const fragment = fragmentOf([2]);
  expect(splitFragment(fragment, { ...plain, shards: 3 })).toEqual([fragment, fragment, fragment]);
});
