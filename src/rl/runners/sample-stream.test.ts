/** A stream over runners that answer when the test says so. */
import { expect, test } from "vitest";
import type { ObjectRef } from "../../core/index.ts";
import type { Weights } from "./env-runner.ts";
import { SampleStream } from "./sample-stream.ts";

interface Answer {
  readonly name: string;
  readonly steps: number;
}

interface Call {
  readonly place: number;
  readonly version: number;
  answer(sample: Answer | undefined): void;
  fail(error: Error): void;
}

/** Runners whose calls wait, and weights that say when they were freed. */
function stage({ places = 2, inFlightMax = 1, waitingStepsMax = 10 } = {}) {
  const calls: Call[] = [];
  const dropped: string[] = [];
  const freed: number[] = [];
  const gone = new Set<number>();
  const stream = new SampleStream<Answer>({
    runners: {
      places: Array.from({ length: places }, (_, place) => place),
      waitFor: async (place) => !gone.has(place),
      sampleAt: async (place, weights) => {
        const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
        calls.push({ place, version: (weights as unknown as { version: number }).version, answer: resolve, fail: reject });
        return await promise;
      },
    },
    inFlightMax,
    waitingStepsMax,
    drop: ({ name }) => void dropped.push(name),
    putWeights: (weights) => {
      const version = (weights["m"] as Float32Array)[0] as number;
      return { version, [Symbol.dispose]: () => void freed.push(version) } as unknown as ObjectRef<Weights>;
    },
  });
  const settled = async (): Promise<void> => await new Promise((resolve) => void setImmediate(resolve));
  const next = async (): Promise<string> => (await stream.next(async (waiting) => await waiting)).name;
  return { stream, calls, dropped, freed, gone, settled, next };
}

const weights = (version: number): Weights => ({ m: Float32Array.of(version) });

test("samples arrive in any order, and a runner that stands still holds up nobody", async () => {
  const { stream, calls, settled, next } = stage();
  stream.resume(weights(1));
  await settled();
  expect(calls.map(({ place }) => place)).toEqual([0, 1]);
  for (let round = 0; round < 3; round += 1) {
    calls.at(-1)?.answer({ name: `fast ${round}`, steps: 1 });
    expect(await next()).toBe(`fast ${round}`);
    await settled();
  }
  expect(calls.map(({ place }) => place)).toEqual([0, 1, 1, 1, 1]);
  calls[0]?.answer({ name: "slow", steps: 1 });
  expect(await next()).toBe("slow");
});

test("each runner has at most so many calls under way", async () => {
  const { stream, calls, settled } = stage({ places: 2, inFlightMax: 3 });
  stream.resume(weights(1));
  stream.resume(weights(2));
  await settled();
  expect(calls.length).toBe(6);
  calls[0]?.answer({ name: "one", steps: 1 });
  await settled();
  expect(calls.length).toBe(7);
});

test("the oldest samples are dropped where the learner is slow, and the newest stays, however large", async () => {
  const { stream, calls, settled, dropped, next } = stage({ places: 1, waitingStepsMax: 10 });
  stream.resume(weights(1));
  for (const [name, steps] of [
    ["a", 4],
    ["b", 4],
    ["c", 4],
    ["d", 30],
  ] as const) {
    await settled();
    calls.at(-1)?.answer({ name, steps });
  }
  await settled();
  expect(dropped).toEqual(["a", "b", "c"]);
  expect(await next()).toBe("d");
});

test("after pause no call begins, and weights are freed once no call needs them", async () => {
  const { stream, calls, settled, freed, next } = stage({ places: 1 });
  stream.resume(weights(1));
  await settled();
  stream.setWeights(weights(2));
  expect(freed).toEqual([]);
  calls[0]?.answer({ name: "old", steps: 1 });
  await settled();
  expect(freed).toEqual([1]);
  expect(calls[1]?.version).toBe(2);
  stream.pause();
  calls[1]?.answer({ name: "new", steps: 1 });
  await settled();
  expect(calls.length).toBe(2);
  expect([await next(), await next()]).toEqual(["old", "new"]);
  stream.stop();
  expect(freed).toEqual([1, 2]);
});

test("a lost runner is asked again, and the error of one arrives", async () => {
  const { stream, calls, settled, gone, next } = stage({ places: 2 });
  stream.resume(weights(1));
  await settled();
  calls[0]?.answer(undefined);
  await settled();
  expect(calls[2]?.place).toBe(0);
  gone.add(0);
  calls[2]?.answer(undefined);
  await settled();
  calls[1]?.fail(new Error("the floor is gone"));
  await expect(next()).rejects.toThrow("the floor is gone");
  await expect(next()).rejects.toThrow("Cannot sample: all runners have ended");
});

test("clear waits for the calls under way, and forgets their samples", async () => {
  const { stream, calls, settled, next } = stage({ places: 1 });
  stream.resume(weights(1));
  await settled();
  const cleared = stream.clear();
  calls[0]?.answer({ name: "before", steps: 1 });
  await cleared;
  stream.resume(weights(2));
  await settled();
  calls[1]?.answer({ name: "after", steps: 1 });
  expect(await next()).toBe("after");
});
