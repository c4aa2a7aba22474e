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

export function resourceVector(resources: Readonly<Record<string, number>>): ResourceVector {
  const amounts = new Map<string, number>();
  for (const name of Object.keys(resources).sort()) {
    const units = Math.round((resources[name] ?? 0) * RESOURCE_UNIT);
    if (units > 0) amounts.set(name, units);
  }
  const key = Array.from(amounts, ([name, units]) => `${name}:${units}`).join(",");
  return { key, amounts };
}

/** The resources of a shape, which is called by its vector's key. */
export function shapeResources(key: string): Record<string, number> {
  const resources: Record<string, number> = {};
  for (const part of key.split(",")) {
    const colon = part.lastIndexOf(":");
    if (colon > 0) resources[part.slice(0, colon)] = Number(part.slice(colon + 1)) / RESOURCE_UNIT;
  }
  return resources;
}

/** What a node has, and what of it is free. The only mutable part; owned by the lease manager. */
export class ResourcePool {
  readonly #total: Map<string, number>;
  readonly #free: Map<string, number>;

  constructor(total: ResourceVector) {
    this.#total = new Map(total.amounts);
    this.#free = new Map(total.amounts);
  }

  /** Could ever be granted here, if everything were free. */
  isFeasible(request: ResourceVector): boolean {
    for (const [name, units] of request.amounts) if ((this.#total.get(name) ?? 0) < units) return false;
    return true;
  }

  fits(request: ResourceVector): boolean {
    for (const [name, units] of request.amounts) if ((this.#free.get(name) ?? 0) < units) return false;
    return true;
  }

  allocate(request: ResourceVector): void {
    for (const [name, units] of request.amounts) this.#free.set(name, (this.#free.get(name) ?? 0) - units);
  }

  release(request: ResourceVector): void {
    for (const [name, units] of request.amounts) this.#free.set(name, (this.#free.get(name) ?? 0) + units);
  }

  /** The first resource of which there will never be enough, with both amounts. */
  missing(request: ResourceVector): { name: string; wanted: number; total: number } | undefined {
    for (const [name, units] of request.amounts) {
      const total = this.#total.get(name) ?? 0;
      if (total < units) return { name, wanted: units / RESOURCE_UNIT, total: total / RESOURCE_UNIT };
    }
    return undefined;
  }

  total(): Record<string, number> {
    return scaled(this.#total);
  }

  available(): Record<string, number> {
    return scaled(this.#free);
  }
}

function scaled(amounts: ReadonlyMap<string, number>): Record<string, number> {
  const record: Record<string, number> = {};
  for (const [name, units] of amounts) record[name] = units / RESOURCE_UNIT;
  return record;
}
