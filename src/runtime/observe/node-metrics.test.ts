/** Sums of metrics on a node: exact over living and ended processes, bounded, and safe from wrong reports. */
import { expect, test } from "vitest";
import type { ProcessId } from "../base/ids.ts";
import type { MetricSnapshot } from "../wire/observing/metric-messages.ts";
import { NodeMetrics } from "./node-metrics.ts";
import { prometheusText } from "./prometheus-text.ts";

const [A, B] = ["a", "b"] as unknown as [ProcessId, ProcessId];

function metric(
  kind: MetricSnapshot["kind"],
  rows: [tags: string[], value: number, counts?: number[]][],
  more: Partial<MetricSnapshot> = {},
): MetricSnapshot {
  const series = rows.map(([tags, value, counts = []]) => ({ tags, value, counts }));
  return { name: "m", description: "", kind, tagKeys: rows[0]?.[0].length === 0 ? [] : ["k"], boundaries: [], series, ...more };
}

const textOf = (metrics: NodeMetrics): string => prometheusText(metrics.snapshot()).replace(/.*metrics_refused_total.*\n/g, "");
const refusedBy = (metrics: NodeMetrics): number =>
  Number(/metrics_refused_total\{.*\} (\d+)/.exec(prometheusText(metrics.snapshot()))?.[1]);

test("counters and histograms are sums over processes and never fall; gauges go with their process", () => {
  const metrics = new NodeMetrics("n");
  metrics.report(A, [metric("counter", [[["x"], 2]]), metric("gauge", [[[], 5]], { name: "g" })]);
  metrics.report(B, [
    metric("counter", [
      [["x"], 1],
      [["y"], 4],
    ]),
    metric("histogram", [[[], 7, [1, 2]]], { name: "h", boundaries: [10] }),
  ]);
  metrics.report(A, [metric("counter", [[["x"], 3]])]);
  const sums = '# TYPE m counter\nm{node_id="n",k="x"} 4\nm{node_id="n",k="y"} 4\n';
  const histogram =
    '# TYPE h histogram\nh_bucket{node_id="n",le="10"} 1\nh_bucket{node_id="n",le="+Inf"} 3\nh_sum{node_id="n"} 7\nh_count{node_id="n"} 3\n';
  expect(textOf(metrics)).toBe(`${sums}${histogram}# TYPE g gauge\ng{node_id="n",worker_id="a"} 5\n`);
  metrics.ended(A);
  metrics.ended(A);
  expect(textOf(metrics)).toContain('m{node_id="n",k="x"} 4');
  expect(textOf(metrics)).not.toContain("worker_id");
  metrics.ended(B);
  expect(textOf(metrics)).toContain('h_count{node_id="n"} 3');
  expect(refusedBy(metrics)).toBe(0);
});

test("wrong names, tags, buckets and numbers are refused and counted", () => {
  const metrics = new NodeMetrics("n");
  const wrong = [
    metric("counter", [[["x"], -1]]),
    metric("counter", [[["x", "y"], 1]], { tagKeys: ["k"] }),
    metric("counter", [[["x"], 1]], { name: "a b" }),
    metric("counter", [[["x"], 1]], { name: 'm{a="b"} 1\nother' }),
    metric("counter", [[["x"], 1]], { tagKeys: ["le"] }),
    metric("counter", [[["x"], 1]], { tagKeys: ["k\n"] }),
    metric("counter", [[["x", "y"], 1]], { tagKeys: ["k", "k"] }),
    metric("counter", [[["x".repeat(1_001)], 1]]),
    metric("counter", [[["x"], 1, [1]]]),
    metric("histogram", [[["x"], 1, [1]]], { boundaries: [1] }),
    metric("histogram", [[["x"], 1, [1, -1]]], { boundaries: [1] }),
    metric("histogram", [[["x"], 1, [1, 0.5]]], { boundaries: [1] }),
    metric("histogram", [[["x"], 1, [0, 0, 0]]], { boundaries: [2, 1] }),
    metric("histogram", [[["x"], 1, []]], { boundaries: Array.from({ length: 1_000 }, (_, at) => at) }),
  ];
  for (const [at, each] of wrong.entries()) {
    metrics.report(A, [{ ...each, name: each.name === "m" ? `m${at}` : each.name }]);
    expect([at, textOf(metrics), refusedBy(metrics)]).toEqual([at, "", at + 1]);
  }
});

test("a process of many series, and many processes, are bounded; the node's sums stay whole", () => {
  const metrics = new NodeMetrics("n");
  const rows = (prefix: string): [string[], number][] => Array.from({ length: 4_000 }, (_, at) => [[`${prefix}${at}`], 1]);
  metrics.report(A, [metric("counter", [...rows("a"), [["beyond"], 1]])]);
  expect(refusedBy(metrics)).toBe(1);
  for (let process = 0; process < 10; process += 1) {
    const id = `p${process}` as ProcessId;
    metrics.report(id, [metric("counter", rows(`p${process}-`))]);
    metrics.ended(id);
  }
  const series = metrics.snapshot()[0]?.metrics.find(({ name }) => name === "m")?.series ?? [];
  expect(series.length).toBeLessThanOrEqual(10_001);
  expect(series.reduce((sum, { value }) => sum + value, 0)).toBe(44_000);
  expect(series.find(({ tags }) => tags[0] === "other")?.value).toBeGreaterThan(0);
});

test("processes that disagree on a name share a page that Prometheus takes", () => {
  const metrics = new NodeMetrics("n");
  metrics.report(A, [metric("counter", [[["x"], 1]])]);
  metrics.report(B, [metric("gauge", [[["x"], 2]])]);
  const note = "# shoal: a metric of the name m is left out: another one has this name\n";
  expect(textOf(metrics)).toBe(`${note}# TYPE m counter\nm{node_id="n",k="x"} 1\n`);
});

test("a counter with the name of a histogram's sum or count is left out, whichever came first", () => {
  for (const name of ["h_sum", "h_count", "h_bucket"])
    for (const isFirst of [true, false]) {
      const metrics = new NodeMetrics("n");
      const both = [metric("counter", [[[], 9]], { name }), metric("histogram", [[[], 7, [1, 2]]], { name: "h", boundaries: [10] })];
      metrics.report(A, isFirst ? both : both.toReversed());
      const text = textOf(metrics);
      expect([name, text.includes(`# TYPE ${name} `), text.includes(`a metric of the name ${name} is left out`)]).toEqual([
        name,
        false,
        true,
      ]);
      expect(text).toContain('h_sum{node_id="n"} 7');
    }
});

test("texts in labels and descriptions cannot begin a line or end a label", () => {
  const metrics = new NodeMetrics("n");
  metrics.report(A, [metric("counter", [[['a"} 1\nforged 2\\'], 1]], { description: "one\r\ntwo \\ three\n# TYPE x" })]);
  expect(textOf(metrics)).toBe('# HELP m one\\ntwo \\\\ three\\n# TYPE x\n# TYPE m counter\nm{node_id="n",k="a\\"} 1\\nforged 2\\\\"} 1\n');
});
