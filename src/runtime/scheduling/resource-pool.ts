/**
 * The total and free resources of a node or a bundle: amounts, and ids of accelerators.
 *
 * GPUs have ids. A request for whole GPUs takes free ones; a fraction shares one GPU with other fractions and never spans two. A request fits as a whole or takes
 * nothing. The lease manager owns the pool; an allocation must be released to the pool that made it.
 */
import { RESOURCE_UNIT, type ResourceVector } from "../base/resources.ts";

/** Resources whose units are single things, each with an id that a task is told. */
const UNIT_RESOURCES: readonly string[] = ["GPU"];

/** A part of one accelerator: the id, and how much in units of 1/10,000. */
type UnitShare = readonly [id: string, units: number];

/** By resource name, the accelerators that an allocation has. */
export type UnitShares = Readonly<Record<string, readonly UnitShare[]>>;

export interface Allocation {
  readonly vector: ResourceVector;
  /** Undefined where no accelerator is in it. */
  readonly units: UnitShares | undefined;
}

/** A resource of which a request asks for more than the total. */
export interface MissingResource {
  name: string;
  wanted: number;
  total: number;
}

interface Unit {
  readonly id: string;
  free: number;
  readonly total: number;
}

export class ResourcePool {
  readonly #total: Map<string, number>;
  readonly #free: Map<string, number>;
  readonly #units = new Map<string, Unit[]>();

  /** `units` names the accelerators; without, they are numbered from 0. */
  constructor(total: ResourceVector, units?: UnitShares) {
    this.#total = new Map(total.amounts);
    this.#free = new Map(total.amounts);
    for (const name of UNIT_RESOURCES) {
      const amount = total.amounts.get(name);
      if (amount === undefined) continue;
      const shares = units?.[name] ?? numbered(amount);
      this.#units.set(
        name,
        shares.map(([id, share]) => ({ id, free: share, total: share })),
      );
    }
  }

  /** Could ever be granted here, if everything were free. */
  isFeasible(request: ResourceVector): boolean {
    return this.missing(request) === undefined;
  }

  fits(request: ResourceVector): boolean {
    for (const [name, units] of request.amounts) {
      if ((this.#free.get(name) ?? 0) < units) return false;
      const things = this.#units.get(name);
      if (things !== undefined && chooseUnits(things, units, "free") === undefined) return false;
    }
    return true;
  }

  /** Returns the resources without enough free amount now, with both amounts; empty if the request fits. */
  lacking(request: ResourceVector): { name: string; wanted: number; free: number }[] {
    const found: { name: string; wanted: number; free: number }[] = [];
    for (const [name, units] of request.amounts) {
      const free = this.#free.get(name) ?? 0;
      const things = this.#units.get(name);
      if (free < units || (things !== undefined && chooseUnits(things, units, "free") === undefined))
        found.push({ name, wanted: units / RESOURCE_UNIT, free: free / RESOURCE_UNIT });
    }
    return found;
  }

  /** Allocates a request. The caller has checked that it fits. */
  allocate(request: ResourceVector): Allocation {
    let taken: Record<string, readonly UnitShare[]> | undefined;
    for (const [name, units] of request.amounts) {
      this.#free.set(name, (this.#free.get(name) ?? 0) - units);
      const things = this.#units.get(name);
      if (things === undefined) continue;
      const shares = chooseUnits(things, units, "free") ?? [];
      for (const [id, share] of shares) (things.find((thing) => thing.id === id) as Unit).free -= share;
      taken = { ...taken, [name]: shares };
    }
    return { vector: request, units: taken };
  }

  release(allocation: Allocation): void {
    for (const [name, units] of allocation.vector.amounts) this.#free.set(name, (this.#free.get(name) ?? 0) + units);
    for (const [name, shares] of Object.entries(allocation.units ?? {})) {
      for (const [id, share] of shares) {
        const thing = this.#units.get(name)?.find((candidate) => candidate.id === id);
        if (thing !== undefined) thing.free += share;
      }
    }
  }

  /** The first resource of which there will never be enough, with both amounts. */
  missing(request: ResourceVector): MissingResource | undefined {
    for (const [name, units] of request.amounts) {
      const total = this.#total.get(name) ?? 0;
      const things = this.#units.get(name);
      if (total < units || (things !== undefined && chooseUnits(things, units, "total") === undefined))
        return { name, wanted: units / RESOURCE_UNIT, total: total / RESOURCE_UNIT };
    }
    return undefined;
  }

  get totalAmounts(): ReadonlyMap<string, number> {
    return this.#total;
  }

  get freeAmounts(): ReadonlyMap<string, number> {
    return this.#free;
  }

  total(): Record<string, number> {
    return scaled(this.#total);
  }

  available(): Record<string, number> {
    return scaled(this.#free);
  }
}

/** The ids that an allocation gives to its task, by resource. */
export function unitIds(allocation: Allocation | undefined): Record<string, string[]> | undefined {
  if (allocation?.units === undefined) return undefined;
  const ids: Record<string, string[]> = {};
  for (const [name, shares] of Object.entries(allocation.units)) ids[name] = shares.map(([id]) => id);
  return ids;
}

/** Whole things first; a fraction goes to the fullest one that has room, so that others stay whole. */
function chooseUnits(things: readonly Unit[], units: number, measure: "free" | "total"): UnitShare[] | undefined {
  const chosen: UnitShare[] = [];
  let whole = Math.floor(units / RESOURCE_UNIT);
  for (const thing of things) {
    if (whole === 0) break;
    if (thing[measure] !== RESOURCE_UNIT) continue;
    chosen.push([thing.id, RESOURCE_UNIT]);
    whole -= 1;
  }
  if (whole > 0) return undefined;
  const fraction = units % RESOURCE_UNIT;
  if (fraction === 0) return chosen;
  let best: Unit | undefined;
  for (const thing of things) {
    if (thing[measure] < fraction || chosen.some(([id]) => id === thing.id)) continue;
    if (best === undefined || thing[measure] < best[measure]) best = thing;
  }
  if (best === undefined) return undefined;
  chosen.push([best.id, fraction]);
  return chosen;
}

function numbered(amount: number): UnitShare[] {
  const shares: UnitShare[] = [];
  for (let index = 0, left = amount; left > 0; index += 1, left -= RESOURCE_UNIT)
    shares.push([String(index), Math.min(left, RESOURCE_UNIT)]);
  return shares;
}

function scaled(amounts: ReadonlyMap<string, number>): Record<string, number> {
  const record: Record<string, number> = {};
  for (const [name, units] of amounts) record[name] = units / RESOURCE_UNIT;
  return record;
}
