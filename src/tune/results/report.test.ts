import { describe, expect, test } from "vitest";
import { importanceOf } from "./importance.ts";
import type { FinishedTrial } from "../trials/live-trial.ts";
import { Random } from "../spaces/random.ts";
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

describe("a report", () => {
  const reportOf = (trials: readonly FinishedTrial[], metrics: readonly string[] = ["loss"]) =>
    htmlReport({ trials, folder: "/runs/mine", metrics, modes: metrics.map(() => "min" as const) }, [
      { label: "t_0", points: [[1, 3]] },
    ]).replaceAll(/<style>.*<\/style>/gs, "");
  const cells = (html: string): string[][] =>
    Array.from(html.matchAll(/<tr[^>]*>(.*?)<\/tr>/g), ([, row = ""]) =>
      Array.from(row.matchAll(/<t[hd]>(.*?)<\/t[hd]>/g), ([, cell = ""]) => cell),
    );

  test("of one trial has no lines to compare", () => {
    const html = reportOf([trial(0, { x: 1 }, 5)]);
    expect(html).toContain("1 trial, 0 failed");
    expect(html).toContain("of the best trial.");
    expect(html).not.toContain("Parallel coordinates");
  });

  test("of failed trials alone has their configurations, and each message once", () => {
    const named = { ...trial(1, { x: 2 }), failure: { name: "TuneError", message: "Trial t_1 has hung", namesTrial: true } };
    const html = reportOf([trial(0, { x: 1 }), named]);
    expect(cells(html)).toEqual([
      ["trial", "status", "loss", "x", "iterations", "time"],
      ["t_0", "errored", "", "1", "3", "1 min 1 s"],
      ["t_1", "errored", "", "2", "3", "1 min 1 s"],
    ]);
    expect(html).toContain("<pre>t_0: &#60;script");
    expect(html).toContain("<pre>Trial t_1 has hung</pre>");
  });

  test("of trials of which some cannot be compared has them behind the others", () => {
    const trials = [trial(0, { x: 1 }, Number.POSITIVE_INFINITY), trial(1, { x: 2 }, 7), trial(2, { x: 3 }), trial(3, { x: 4 }, 6)];
    expect(cells(reportOf(trials)).map(([id, , loss]) => [id, loss])).toEqual([
      ["trial", "loss"],
      ["t_3", "6"],
      ["t_1", "7"],
      ["t_0", "Infinity"],
      ["t_2", ""],
    ]);
    const many = Array.from({ length: 30 }, (_, index) => trial(index, { x: index }, index));
    expect(reportOf(many)).toContain("The first 20 of 30, the best first.");
  });

  test("leads lines of trials that lack a parameter below its axis", () => {
    const html = reportOf([
      trial(0, { model: { kind: "tree", depth: 3 } }, 1),
      trial(1, { model: { kind: "linear" } }, 2),
      trial(2, { model: { kind: "tree", depth: 5 } }, 3),
    ]);
    expect(html.match(/>none<title/g)).toHaveLength(1);
    const depths = Array.from(html.matchAll(/<polyline class="line"[^>]*points="([^"]*)"><title>t_(\d): loss/g), ([, points = "", id]) => [
      id,
      Number(points.split(" ")[1]?.split(",")[1]) > 34 + 280,
    ]);
    expect(Object.fromEntries(depths)).toEqual({ 0: false, 1: true, 2: false });
  });

  test("tells options apart that begin alike, and shows that they are cut", () => {
    const long = "stochastic-gradient-descent-with-momentum-";
    const html = reportOf([trial(0, { kind: `${long}a` }, 1), trial(1, { kind: `${long}b` }, 2)]);
    expect(html).toContain("Parallel coordinates");
    expect(cells(html).at(1)?.at(2)).toBe("stochastic-gradient-descent-with-moment…");
  });

  test("of a run without a metric has what its trials reported", () => {
    const html = reportOf([{ ...trial(0, { x: 1 }, 5), metrics: { loss: 5, eval: { acc: 0.5 } } }], []);
    expect(cells(html)[0]).toEqual(["trial", "loss", "eval/acc", "x", "iterations", "time"]);
    expect(cells(html)[1]?.slice(1, 3)).toEqual(["5", "0.5"]);
  });
});
