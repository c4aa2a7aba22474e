import { expect, test } from "vitest";
import { deployment } from "../deployment.ts";
import type { HandleOf } from "../handle/handle-types.ts";
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
