/**
 * Resource vectors: amounts of CPU, GPU, memory and custom resources, in exact fixed-point arithmetic.
 *
 * Amounts are integers in units of 1/10,000, so that ten times 0.1 CPU is exactly one CPU; memory is counted in bytes
 * times the same factor. A vector's `key` is canonical text, used to compare shapes and to group tasks by shape.
 */

export const RESOURCE_UNIT = 10_000;

export interface ResourceVector {
  /** Canonical text such as `CPU:10000,GPU:2500`; equal vectors have equal keys. */
  readonly key: string;
  /** Name to amount in units of 1/10,000; zero amounts are absent. */
  readonly amounts: ReadonlyMap<string, number>;
}

/** A node as schedulers see it; amounts in units of 1/10,000. */
export interface NodeView {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly total: ReadonlyMap<string, number>;
  readonly free: ReadonlyMap<string, number>;
}

/** As people give and read them. */
export function amountsOf(units: Iterable<readonly [name: string, units: number]>): Record<string, number> {
  return Object.fromEntries(Array.from(units, ([name, amount]) => [name, amount / RESOURCE_UNIT]));
}

export function resourceVector(resources: Readonly<Record<string, number>>): ResourceVector {
  const amounts = new Map<string, number>();
  for (const name of Object.keys(resources).sort()) {
    const units = Math.round((resources[name] ?? 0) * RESOURCE_UNIT);
    if (units > 0) amounts.set(name, units);
  }
  const key = Array.from(amounts, ([name, units]) => `${name}:${units}`).join(",");
  return { key, amounts };
}
