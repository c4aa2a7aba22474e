import { expect, test } from "vitest";
import { importanceOf } from "./importance.ts";
import type { FinishedTrial } from "./live-trial.ts";
import { Random } from "./random.ts";
import { htmlReport } from "./report.ts";

const trial = (index: number, config: Record<string, unknown>, loss?: number): FinishedTrial => ({
  id: `t_${index}`,
  index,
  name: `t_${index}`,
  dirname: `t_${index}`,
  status: loss === undefined ? "errored" : "terminated",
  config,
  resources: { bundles: [{ CPU: 1 }], strategy: "PACK" },
  metrics: loss === undefined ? undefined : { loss },
  iteration: 3,
  timeTotalMs: 61_000,
  timestampMs: 0,
  failures: 0,
  failure: loss === undefined ? { name: "Error", message: "<script>alert(1)</script>" } : undefined,
  checkpoints: [],
  nextCheckpoint: 0,
  aggregates: {},
});

test("importance finds what decides, and gives noise nothing", () => {
  const random = new Random(1);
  const rows = Array.from({ length: 200 }, () => {
    const [lr, noise, act] = [random.next(), random.next(), random.pick(["a", "b"])];
    return {
      parameters: new Map<string, number | string>([
        ["lr", lr],
        ["noise", noise],
        ["act", act],
      ]),
      metric: (lr - 0.5) ** 2 * 10 + (act === "a" ? 0 : 1),
    };
  });
  const shares = Object.fromEntries(importanceOf(rows).map(({ name, share }) => [name, share]));
  expect(shares.lr).toBeGreaterThan(0.4);
  expect(shares.act).toBeGreaterThan(0.1);
  expect(shares.noise).toBeLessThan(0.06);
  expect(importanceOf(rows.slice(0, 5))).toEqual([]);
});

test("a report holds all parts, without scripts, and nothing of the user's is markup", () => {
  const trials = [...Array.from({ length: 12 }, (_, i) => trial(i, { "<u>": i, act: i % 2 === 0 ? "relu" : "\"'&" }, i)), trial(12, {})];
  const html = htmlReport({ trials, folder: "/runs/<i>mine", metrics: ["loss"], modes: ["min"] }, [
    {
      label: "t_0",
      points: [
        [1, 3],
        [2, 1],
      ],
    },
  ]);
  for (const title of ["Parallel coordinates", "Learning curves", "Importance", "Failures"]) expect(html).toContain(`<h2>${title}</h2>`);
  expect(html).not.toMatch(/<script|<u>|<i>mine|https?:/);
  expect(html).toContain("13 trials, 1 failed; the lowest <b>");
  expect(html).not.toContain("NaN");
  expect(htmlReport({ trials: [], folder: "/runs/none", metrics: [], modes: [] }, [])).toContain("0 trials, 0 failed");
});
