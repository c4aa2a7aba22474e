import { expect, test } from "vitest";
import { metrics } from "./user-metrics.ts";

test.each(["application", "deployment", "replica"])("the tag %s, which each metric has, is refused: Prometheus refuses it twice", (key) => {
  expect(() => new metrics.Counter("orders", { tagKeys: ["shop", key] })).toThrow(
    `Cannot make metric orders: the tags application, deployment, replica are set for each replica: received "${key}" in tagKeys`,
  );
});
