/** Tests that a value goes to the right series, whichever series the value before went to, and that wrong tags are refused each time. */
import { expect, test, vi } from "vitest";
import { metricSnapshots } from "./registry.ts";
import { Counter } from "./user-metrics.ts";

// Nothing is reported: there is no runtime.
vi.useFakeTimers();

function valuesOf(name: string): Record<string, number> {
  const series = metricSnapshots().find((metric) => metric.name === name)?.series ?? [];
  return Object.fromEntries(series.map(({ tags, value }) => [tags.join(), value]));
}

test("values go to the series of their tags, in any order of tags and calls", () => {
  const counter = new Counter("series_total", { tagKeys: ["route", "code"] });
  const shared = { route: "/", code: "200" };
  counter.inc(1, shared);
  counter.inc(2, { code: "200", route: "/" });
  counter.inc(4, { route: "/", code: "500" });
  counter.inc(8, shared);
  shared.code = "404";
  counter.inc(16, shared);
  expect(valuesOf("series_total")).toEqual({ "/,200": 11, "/,500": 4, "/,404": 16 });
});

test("new default tags hold from the next value on, and two counters of a name are one", () => {
  const counter = new Counter("defaults_total", { tagKeys: ["zone"] });
  counter.setDefaultTags({ zone: "a" });
  counter.inc();
  counter.inc();
  counter.setDefaultTags({ zone: "b" });
  counter.inc();
  new Counter("defaults_total", { tagKeys: ["zone"] }).inc(5, { zone: "a" });
  counter.inc(10, { zone: "a" });
  expect(valuesOf("defaults_total")).toEqual({ a: 17, b: 1 });
});

test("wrong tags are refused behind right ones, and the right ones still count", () => {
  const counter = new Counter("wrong_total", { tagKeys: ["route"] });
  counter.inc(1, { route: "/" });
  for (const tags of [{ other: "/" }, { route: "/", other: "x" }, {}, undefined, { route: undefined }, { other: undefined }])
    expect(() => counter.inc(1, tags as never)).toThrow("Cannot record metric wrong_total");
  expect(() => counter.inc(Number.POSITIVE_INFINITY, { route: "/" })).toThrow("a finite number is needed");
  counter.inc(1, { route: "/" });
  expect(valuesOf("wrong_total")).toEqual({ "/": 2 });
});
