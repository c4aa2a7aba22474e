import { expect, test } from "vitest";
import { spreadOptions } from "./spread-options.ts";

test("without full nodes the options stay as they are", () => {
  const options = { numCpus: 1, labelSelector: { zone: "a" }, fallbackStrategy: [{ labelSelector: {} }] };
  expect(spreadOptions(options, [])).toEqual({ ...options, schedulingStrategy: "spread" });
});

test("full nodes are left out by the selector and by each fallback", () => {
  const not = { "shoal.io/node-id": "!in(n1,n2)" };
  expect(
    spreadOptions({ labelSelector: { zone: "a" }, fallbackStrategy: [{ labelSelector: { zone: "b" } }, { labelSelector: {} }] }, [
      "n1",
      "n2",
    ]),
  ).toEqual({
    schedulingStrategy: "spread",
    labelSelector: { zone: "a", ...not },
    fallbackStrategy: [{ labelSelector: { zone: "b", ...not } }, { labelSelector: not }],
  });
  expect(spreadOptions({ numCpus: 1 }, ["n1", "n2"])).toEqual({ numCpus: 1, schedulingStrategy: "spread", labelSelector: not });
});
