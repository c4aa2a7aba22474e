/**
 * Numbers of a cluster over time, for charts: those of one node, or sums over all nodes.
 *
 * Nodes look at their clocks on their own, so their points are put into common steps: a mean of a node's points, then the sum of the nodes. A
 * step in which no node measured is null. A node that does not answer is named.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { NODES_ASKED_AT_ONCE, SERIES_POINTS_MAX, STATE_TIMEOUT_DEFAULT_MS } from "./limits.ts";
import type { Ask } from "./live-reader.ts";

interface SeriesQuery {
  readonly names: readonly string[];
  /** Default: the sum over all nodes. */
  readonly nodeId?: string | undefined;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly stepMs: number;
}

interface SeriesAnswer {
  /** Starts of the steps, in milliseconds since 1970. */
  readonly t: number[];
  readonly series: { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly v: (number | null)[] }[];
  readonly warnings: string[];
}

interface NodePoints {
  readonly t: readonly number[];
  readonly series: readonly { readonly name: string; readonly v: readonly (number | null)[] }[];
}

export class SeriesReader {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** @throws RangeError for an unknown node, or more points than an answer has */
  async read({ names, nodeId, sinceMs, stepMs }: SeriesQuery, nowMs: number): Promise<SeriesAnswer> {
    const points = (nowMs - sinceMs) / stepMs;
    if (!(points >= 0 && points <= SERIES_POINTS_MAX))
      throw new RangeError(`Cannot read series: since and step make ${Math.ceil(points)} points; there may be 0 to ${SERIES_POINTS_MAX}`);
    const alive = (await this.#ask(MESSAGE.NODES, undefined, { timeoutMs: STATE_TIMEOUT_DEFAULT_MS })).filter((node) => node.alive);
    const nodes = alive.map((node) => node.nodeId as string).filter((id) => nodeId === undefined || id === nodeId);
    if (nodes.length === 0) throw new RangeError(`Cannot read series: no living node has the id ${JSON.stringify(nodeId?.slice(0, 100))}`);
    const found: NodePoints[] = [];
    const warnings: string[] = [];
    for (let first = 0; first < nodes.length; first += NODES_ASKED_AT_ONCE) {
      const asked = nodes.slice(first, first + NODES_ASKED_AT_ONCE);
      const settled = await Promise.allSettled(
        asked.map((node) => this.#ask(MESSAGE.NODE_SERIES, { node, names, sinceMs }, { timeoutMs: STATE_TIMEOUT_DEFAULT_MS })),
      );
      for (const [at, result] of settled.entries())
        if (result.status === "fulfilled") found.push(result.value);
        else warnings.push(`Node ${asked[at]} did not answer: ${messageOf(result.reason)}.`);
    }
    const labels: Readonly<Record<string, string>> = nodeId === undefined ? {} : { node_id: nodeId };
    const { t, sums } = summed(found, { names, stepMs });
    return { t, series: names.map((name, at) => ({ name, labels, v: sums[at] ?? [] })), warnings };
  }
}

/** Sums points of nodes step by step. */
export function summed(
  nodes: readonly NodePoints[],
  { names, stepMs }: Pick<SeriesQuery, "names" | "stepMs">,
): { t: number[]; sums: (number | null)[][] } {
  const stepOf = (timeMs: number): number => Math.floor(timeMs / stepMs);
  const steps = nodes
    .flatMap(({ t }) => [stepOf(t[0] ?? Number.NaN), stepOf(t.at(-1) ?? Number.NaN)])
    .filter((step) => !Number.isNaN(step));
  if (steps.length === 0) return { t: [], sums: names.map(() => []) };
  const first = Math.min(...steps);
  const length = Math.min(Math.max(...steps) - first + 1, SERIES_POINTS_MAX + 1);
  const sums = names.map((name) => {
    const total: (number | null)[] = Array.from({ length }, () => null);
    for (const { t, series } of nodes) {
      const values = series.find((one) => one.name === name)?.v ?? [];
      for (const [at, mean] of means(values, (index) => stepOf(t[index] ?? 0) - first))
        if (at < length) total[at] = (total[at] ?? 0) + mean;
    }
    return total;
  });
  return { t: Array.from({ length }, (_, at) => (first + at) * stepMs), sums };
}

/** Means of the measured values of each step. */
function means(values: readonly (number | null)[], stepOf: (index: number) => number): Map<number, number> {
  const sums = new Map<number, [sum: number, count: number]>();
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const [sum, count] = sums.get(stepOf(index)) ?? [0, 0];
    sums.set(stepOf(index), [sum + value, count + 1]);
  }
  return new Map(Array.from(sums, ([step, [sum, count]]) => [step, sum / count]));
}
