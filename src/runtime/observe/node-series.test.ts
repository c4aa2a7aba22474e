import { expect, test } from "vitest";
import { NodeSeries } from "./node-series.ts";

const HOUR_MS = 3_600_000;
const START_MS = 1_000 * HOUR_MS;

test("an hour has points each five seconds, a day has means of minutes, and older points go", () => {
  const series = new NodeSeries();
  for (let at = 0; at < 26 * HOUR_MS; at += 5_000) series.add(START_MS + at, { cpu: (at / 5_000) % 12 });
  const nowMs = START_MS + 26 * HOUR_MS;
  const hour = series.select(["cpu"], nowMs - HOUR_MS);
  expect(hour.t).toHaveLength(720);
  expect(hour.series[0]?.v.slice(0, 3)).toEqual([0, 1, 2]);
  const day = series.select(["cpu"], nowMs - 2 * HOUR_MS);
  expect(day.t).toHaveLength(120);
  expect(new Set(day.series[0]?.v)).toEqual(new Set([5.5]));
  expect(series.select(["cpu"], 0).t).toHaveLength(1_440);
});

test("a node that is younger than the span shows its finest points", () => {
  const series = new NodeSeries();
  // A minute's point begins up to a minute before the first measurement.
  for (let at = 35_000; at < 95_000; at += 5_000) series.add(START_MS + at, { cpu: at });
  expect(series.select(["cpu"], START_MS - HOUR_MS).t).toHaveLength(12);
});

test("a value that was not measured is a gap, and unknown names are left out", () => {
  const series = new NodeSeries();
  series.add(START_MS, { cpu: 1 });
  series.add(START_MS + 5_000, { cpu: 2, disk: 7, odd: Number.NaN });
  series.add(START_MS + 10_000, { disk: 8 });
  expect(series.select(["cpu", "disk", "odd", "none"], START_MS)).toEqual({
    t: [START_MS, START_MS + 5_000, START_MS + 10_000],
    series: [
      { name: "cpu", v: [1, 2, null] },
      { name: "disk", v: [null, 7, 8] },
      { name: "odd", v: [null, null, null] },
    ],
  });
});

test("a clock that goes back adds to the last point", () => {
  const series = new NodeSeries();
  series.add(START_MS, { cpu: 1 });
  series.add(START_MS - 60_000, { cpu: 3 });
  expect(series.select(["cpu"], 0)).toEqual({ t: [START_MS], series: [{ name: "cpu", v: [2] }] });
});
