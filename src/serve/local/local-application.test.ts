import { expect, test } from "vitest";
import { deployment } from "../deployments/deployment.ts";
import type { HandleOf } from "../handle/handle-types.ts";
import { getMultiplexedModelId } from "../replica/multiplexed.ts";
import { runLocally } from "./local-application.ts";

class Numbers {
  async double(value: number): Promise<number> {
    if (value < 0) throw new RangeError("below 0");
    return value * 2;
  }
  sum(values: { first: number; others: number[] }): number {
    return values.others.reduce((sum, value) => sum + value, values.first);
  }
}

test("in local testing mode responses that are passed on unawaited arrive as their values, at any depth", async () => {
  const numbers = (await runLocally(deployment(Numbers).bind(), "local")) as HandleOf<typeof Numbers>;
  expect(await numbers.double.remote(numbers.double.remote(3))).toBe(12);
  const others = [numbers.double.remote(1), numbers.double.remote(2)];
  expect(await numbers.sum.remote({ first: numbers.double.remote(5), others: others as never })).toBe(16);
  await expect(numbers.double.remote(numbers.double.remote(-1))).rejects.toThrow("below 0");
});

class Waiter {
  async model(): Promise<string> {
    return getMultiplexedModelId();
  }
  async wait(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 10_000).unref());
  }
}

test("in local testing mode handles keep their options, and refuse those that no handle has", async () => {
  const waiter = (await runLocally(deployment(Waiter).bind(), "options")) as HandleOf<typeof Waiter>;
  const other = waiter.options({ multiplexedModelId: "m" });
  expect([
    await other.model.remote(),
    await other.model.options({ multiplexedModelId: "n" }).remote(),
    await waiter.model.remote(),
  ]).toEqual(["m", "n", ""]);
  await expect(waiter.wait.options({ timeoutMs: 20 }).remote()).rejects.toThrow("Call Waiter.wait failed: it took longer than 20 ms");
  const stop = new AbortController();
  const stopped = waiter.options({ signal: stop.signal }).wait.remote();
  stop.abort(new Error("enough"));
  await expect(stopped).rejects.toThrow("enough");
  await expect(waiter.wait.options({ signal: stop.signal }).remote()).rejects.toThrow("enough");
  expect(() => waiter.options({ timeout: 3 } as object)).toThrow("timeout");
});
