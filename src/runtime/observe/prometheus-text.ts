/**
 * Writes metrics of many processes as text for Prometheus (format 0.0.4).
 *
 * Series of one name stand together, and no two have the same labels: Prometheus refuses a whole page with either fault. A metric whose
 * name means something else already, as another kind or as the sum of a histogram, is left out, and a comment says so. Pure.
 */
import type { MetricSnapshot, ProcessMetrics } from "../wire/observing/metric-messages.ts";

/** The Content-Type of the page. */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

interface Family {
  readonly head: readonly string[];
  readonly facts: string;
  /** By labels. */
  readonly lines: Map<string, string>;
}

/** @param nameOf the name under which a metric is exported; by default its own */
export function prometheusText(
  processes: readonly ProcessMetrics[],
  nameOf: (metric: MetricSnapshot) => string = ({ name }) => name,
): string {
  const families = new Map<string, Family>();
  const leftOut = new Set<string>();
  for (const { tags: own, metrics } of processes) {
    for (const metric of metrics) {
      const name = nameOf(metric);
      const facts = `${metric.kind} ${metric.tagKeys.join()} ${metric.boundaries.join()}`;
      const family = families.get(name) ?? familyOf(name, facts, metric);
      families.set(name, family);
      if (family.facts !== facts) {
        leftOut.add(name);
        continue;
      }
      const begin = Object.entries(own).flatMap(([key, value]) => (metric.tagKeys.includes(key) ? [] : [labelText(key, value)]));
      for (const { tags, value, counts } of metric.series) {
        const labels = begin.concat(metric.tagKeys.map((key, index) => labelText(key, tags[index] ?? ""))).join(",");
        if (family.lines.has(labels)) continue;
        const line =
          metric.kind === "histogram"
            ? histogramLines({ name, boundaries: metric.boundaries }, labels, { sum: value, counts })
            : `${name}${inBraces(labels)} ${numberText(value)}`;
        family.lines.set(labels, line);
      }
    }
  }
  const histograms = Array.from(families).filter(([, { facts }]) => facts.startsWith("histogram"));
  for (const part of histograms.flatMap(([name]) => PARTS.map((end) => `${name}${end}`))) if (families.delete(part)) leftOut.add(part);
  const notes = Array.from(leftOut, (name) => `# shoal: a metric of the name ${name} is left out: another one has this name`);
  const series = Array.from(families.values()).flatMap(({ head, lines }) => (lines.size === 0 ? [] : [...head, ...lines.values()]));
  const text = [...notes, ...series];
  return text.length === 0 ? "" : `${text.join("\n")}\n`;
}

/** A histogram has three kinds of series. */
const PARTS = ["_bucket", "_sum", "_count"] as const;

function familyOf(name: string, facts: string, { description, kind }: MetricSnapshot): Family {
  const help = description.replace(/\\/g, "\\\\").replace(/\r?\n|\r/g, "\\n");
  const head = [...(help === "" ? [] : [`# HELP ${name} ${help}`]), `# TYPE ${name} ${kind}`];
  return { head, facts, lines: new Map() };
}

function histogramLines(
  { name, boundaries }: { name: string; boundaries: readonly number[] },
  labels: string,
  { sum, counts }: { sum: number; counts: readonly number[] },
): string {
  const before = labels === "" ? "" : `${labels},`;
  let lines = "";
  let total = 0;
  for (let index = 0; index <= boundaries.length; index += 1) {
    total += counts[index] ?? 0;
    const boundary = index < boundaries.length ? numberText(boundaries[index] as number) : "+Inf";
    lines += `${name}_bucket{${before}le="${boundary}"} ${total}\n`;
  }
  return `${lines}${name}_sum${inBraces(labels)} ${numberText(sum)}\n${name}_count${inBraces(labels)} ${total}`;
}

/** Prometheus writes infinities in its own way. */
function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

const ESCAPED = /[\\"\n]/;

function labelText(key: string, value: string): string {
  if (!ESCAPED.test(value)) return `${key}="${value}"`;
  return `${key}="${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`;
}

function inBraces(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}
