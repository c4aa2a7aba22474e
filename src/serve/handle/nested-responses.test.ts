import { expect, test } from "vitest";
import { DeploymentResponse } from "./deployment-response.ts";
import { withAnswers } from "./nested-responses.ts";

function responseOf<T>(value: Promise<T>): DeploymentResponse<T> {
  value.catch(() => {});
  return new DeploymentResponse<T>({ value, reference: async () => ({ ref: await value }), cancel: () => {} });
}

test("values take the place of responses at any depth, and the same response is the same value", async () => {
  const box = { made: true };
  const response = responseOf(Promise.resolve(box));
  const date = new Date(0);
  const [one, many] = (await withAnswers([1, { list: [response, { deep: response }], date }])) as [number, any];
  expect([one, many]).toEqual([1, { list: [box, { deep: box }], date }]);
  expect([many.list[0], many.list[1].deep, many.date]).toEqual([box, box, date]);
  expect(many.list[0]).toBe(many.list[1].deep);
});

test("arguments that lie in themselves are copied once", async () => {
  const ring: { self?: unknown; answer: unknown } = { answer: responseOf(Promise.resolve(7)) };
  ring.self = ring;
  const [copy] = (await withAnswers([ring])) as [{ self: unknown; answer: number }];
  expect(copy.answer).toBe(7);
  expect(copy.self).toBe(copy);
});

test("without a response nothing is copied; the failure of one is thrown", async () => {
  const ring: unknown[] = [];
  ring.push(ring, { a: [new Map([[1, 2]])] });
  expect(withAnswers(ring)).toBeUndefined();
  await expect(withAnswers([[responseOf(Promise.reject(new Error("no answer")))]])).rejects.toThrow("no answer");
});
