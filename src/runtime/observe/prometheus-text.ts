/**
 * Writes metrics of many processes as text for Prometheus (format 0.0.4).
 *
 * Series of one name stand together, and no two have the same labels: Prometheus refuses a whole page with either fault. A metric whose
 * name means something else already, as another kind or as the sum of a histogram, is left out, and a comment says so. Pure.
 */
import type { MetricSnapshot, ProcessMetrics } from "../wire/metric-messages.ts";

/** Of the answer. */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

interface Family {
  readonly head: readonly string[];
  readonly facts: string;
  /** By labels. */
  readonly lines: Map<string, readonly string[]>;
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
      const ownLabels = Object.entries(own).filter(([key]) => !metric.tagKeys.includes(key));
      for (const { tags, value, counts } of metric.series) {
        const labels = [...ownLabels, ...metric.tagKeys.map((key, index) => [key, tags[index] ?? ""] as const)];
        const key = labelText(labels);
        if (family.lines.has(key)) continue;
        const lines =
          metric.kind === "histogram"
            ? histogramLines({ name, boundaries: metric.boundaries }, labels, { sum: value, counts })
            : [`${name}${key} ${numberText(value)}`];
        family.lines.set(key, lines);
      }
    }
  }
  const histograms = Array.from(families).filter(([, { facts }]) => facts.startsWith("histogram"));
  for (const part of histograms.flatMap(([name]) => PARTS.map((end) => `${name}${end}`))) if (families.delete(part)) leftOut.add(part);
  const notes = Array.from(leftOut, (name) => `# shoal: a metric of the name ${name} is left out: another one has this name`);
  const series = Array.from(families.values()).flatMap(({ head, lines }) =>
    lines.size === 0 ? [] : [...head, ...Array.from(lines.values()).flat()],
  );
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
  labels: readonly (readonly [string, string])[],
  { sum, counts }: { sum: number; counts: readonly number[] },
): string[] {
  const lines: string[] = [];
  let total = 0;
  for (let index = 0; index <= boundaries.length; index += 1) {
    total += counts[index] ?? 0;
    const boundary = index < boundaries.length ? numberText(boundaries[index] as number) : "+Inf";
    lines.push(`${name}_bucket${labelText([...labels, ["le", boundary]])} ${total}`);
  }
  lines.push(`${name}_sum${labelText(labels)} ${numberText(sum)}`, `${name}_count${labelText(labels)} ${total}`);
  return lines;
}

/** Prometheus writes infinities in its own way. */
function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

function labelText(labels: readonly (readonly [string, string])[]): string {
  if (labels.length === 0) return "";
  const parts = labels.map(([key, value]) => `${key}="${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`);
  return `{${parts.join(",")}}`;
}
