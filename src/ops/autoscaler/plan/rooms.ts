/**
 * Room on nodes during a plan: nodes that run, instances on the way, and nodes that the plan adds.
 *
 * Rooms that are alike are one row with several members, and equal demands are placed together, so a million equal tasks on a thousand equal
 * nodes are one step. Amounts are arrays indexed by a number for each resource, in units of the scheduler. A trial can be undone. Pure.
 */
import { RESOURCE_UNIT } from "../../../runtime/base/resources.ts";
import { type Labels, matchesLabels, NODE_ID_LABEL } from "../../../runtime/scheduling/label-selector.ts";
import { INSTANCE_LABEL } from "../instances/instance.ts";

export type Need = readonly (readonly [resource: number, units: number])[];

export interface Room {
  readonly kind: "node" | "coming" | "new";
  /** Node type; undefined for nodes that nobody launched. */
  readonly type: string | undefined;
  readonly labels: Labels;
  /** Equal for rooms whose labels differ in names of single nodes alone. */
  readonly labelClass: string;
  free: number[];
  /** Ids of nodes or instances; names of new nodes. */
  members: string[];
  isUsed: boolean;
}

const OWN_NAMES: ReadonlySet<string> = new Set([NODE_ID_LABEL, INSTANCE_LABEL]);

export class Rooms {
  readonly rows: Room[] = [];
  /** Rows that may have room for the least need; closed ones are left out now and then. */
  #open: Room[] = [];
  #closed = 0;
  #least: Need = [];
  readonly #resources = new Map<string, number>();
  readonly #rowOf = new Map<string, Room>();
  readonly #matches = new Map<string, boolean>();
  #undo: (() => void)[] | undefined;
  readonly #gpu = this.#resource("GPU");

  /** Adds a room; alike rooms that nothing was placed on become one row. */
  add(
    kind: Room["kind"],
    type: string | undefined,
    { labels, amounts, member }: { labels: Labels; amounts: readonly number[]; member: string },
  ): Room {
    const labelClass = classOf(labels);
    const key = `${kind}/${type ?? ""}/${amounts.join(",")}/${labelClass}`;
    const known = this.#rowOf.get(key);
    if (known !== undefined && !known.isUsed) {
      known.members.push(member);
      return known;
    }
    const row: Room = { kind, type, labels, labelClass, free: Array.from(amounts), members: [member], isUsed: false };
    this.#push(row);
    this.#rowOf.set(key, row);
    return row;
  }

  /** Sets a need that every later one contains: rooms without room for it are not looked at again by `place`. */
  setLeast(needs: readonly Need[]): void {
    const [first = [], ...others] = needs.map((need) => new Map(need));
    const least = new Map(first);
    for (const need of others)
      for (const [resource, units] of least) {
        const other = need.get(resource);
        if (other === undefined) least.delete(resource);
        else if (other < units) least.set(resource, other);
      }
    this.#least = Array.from(least);
    this.#open = this.rows.filter(({ free }) => fitsTimes(free, this.#least, 1) > 0);
    this.#closed = 0;
  }

  /** Turns amounts by name, in users' units, into a vector. */
  vector(amounts: Readonly<Record<string, number>>): number[] {
    const vector: number[] = [];
    for (const [name, amount] of Object.entries(amounts)) {
      const resource = this.#resource(name);
      while (vector.length <= resource) vector.push(0);
      vector[resource] = Math.round(amount * RESOURCE_UNIT);
    }
    return vector;
  }

  /** Makes a need of amounts in the scheduler's units. */
  need(units: Iterable<readonly [name: string, units: number]>): Need {
    return Array.from(units, ([name, amount]) => [this.#resource(name), amount] as const);
  }

  /** Places up to `count` on rooms that exist. Work without GPUs takes rooms with free GPUs last. @returns the rest */
  place(need: Need, selectors: readonly (Labels | undefined)[], count: number, onRow: (row: Room) => void): number {
    let left = count;
    this.#forgetClosed();
    const wantsGpu = need.some(([resource]) => resource === this.#gpu);
    for (const spares of wantsGpu ? [false] : [true, false])
      for (let index = 0; index < this.#open.length && left > 0; index += 1) {
        const row = this.#open[index] as Room;
        if (spares && (row.free[this.#gpu] ?? 0) > 0) continue;
        const each = fitsTimes(row.free, need, left);
        if (each === 0 || !this.matches(row, selectors)) continue;
        left -= this.#fill(row, need, { each, wanted: left, onRow });
      }
    return left;
  }

  /** Whether any of the selectors holds for the room. */
  matches(row: Pick<Room, "labels" | "labelClass">, selectors: readonly (Labels | undefined)[]): boolean {
    return selectors.some((selector) => {
      if (selector === undefined || isEmpty(selector)) return true;
      if (Object.keys(selector).some((name) => OWN_NAMES.has(name))) return matchesLabels(selector, row.labels);
      const key = `${JSON.stringify(selector)} ${row.labelClass}`;
      let known = this.#matches.get(key);
      if (known === undefined) {
        known = matchesLabels(selector, row.labels);
        this.#matches.set(key, known);
      }
      return known;
    });
  }

  /** Takes one member out of a row, so that the member has an identity. */
  single(row: Room): Room {
    if (row.members.length === 1) return row;
    const member = row.members.pop() as string;
    const alone: Room = { ...row, free: Array.from(row.free), members: [member] };
    this.#push(alone);
    this.#undo?.push(() => {
      this.#drop(alone);
      row.members.push(member);
    });
    return alone;
  }

  /** Takes a need from a room with one member. */
  take(row: Room, need: Need): void {
    const { free, isUsed } = row;
    this.#undo?.push(() => {
      row.free = free;
      row.isUsed = isUsed;
    });
    row.free = less(free, need, 1);
    row.isUsed = true;
  }

  /** Adds a room that a failed trial removes again. */
  addForTrial(...added: Parameters<Rooms["add"]>): Room {
    const [kind, type, { labels, amounts, member }] = added;
    const row: Room = { kind, type, labels, labelClass: classOf(labels), free: Array.from(amounts), members: [member], isUsed: true };
    this.#push(row);
    this.#undo?.push(() => this.#drop(row));
    return row;
  }

  /** Runs a trial. A trial that returns false is undone. */
  trial(body: () => boolean): boolean {
    const undo: (() => void)[] = [];
    this.#undo = undo;
    const isGood = body();
    this.#undo = undefined;
    if (!isGood) for (const step of undo.reverse()) step();
    return isGood;
  }

  hasGpu(amounts: readonly number[]): boolean {
    return (amounts[this.#gpu] ?? 0) > 0;
  }

  #fill(row: Room, need: Need, { each, wanted, onRow }: { each: number; wanted: number; onRow: (row: Room) => void }): number {
    const whole = Math.min(row.members.length, Math.floor(wanted / each));
    if (whole < row.members.length) {
      // The rest of the row stays as it is; a part of one more member is taken.
      const others = row.members.slice(whole);
      const rest = wanted - whole * each;
      row.members.length = whole;
      if (rest > 0) {
        const part: Room = { ...row, free: less(row.free, need, rest), members: [others.pop() as string], isUsed: true };
        this.#push(part);
        onRow(part);
      }
      if (others.length > 0) this.#push({ ...row, free: Array.from(row.free), members: others });
      if (whole > 0) this.#takeWhole(row, need, { each, onRow });
      else this.#drop(row);
      return wanted;
    }
    this.#takeWhole(row, need, { each, onRow });
    return whole * each;
  }

  #push(row: Room): void {
    this.rows.push(row);
    this.#open.push(row);
  }

  #forgetClosed(): void {
    if (this.#closed <= this.#open.length / 4) return;
    this.#open = this.#open.filter(({ free }) => fitsTimes(free, this.#least, 1) > 0);
    this.#closed = 0;
  }

  #drop(row: Room): void {
    this.rows.splice(this.rows.indexOf(row), 1);
    const at = this.#open.indexOf(row);
    if (at >= 0) this.#open.splice(at, 1);
    // Later rooms of the kind become a row of their own.
    row.isUsed = true;
  }

  #takeWhole(row: Room, need: Need, { each, onRow }: { each: number; onRow: (row: Room) => void }): void {
    row.free = less(row.free, need, each);
    row.isUsed = true;
    if (fitsTimes(row.free, this.#least, 1) === 0) this.#closed += 1;
    onRow(row);
  }

  #resource(name: string): number {
    let resource = this.#resources.get(name);
    if (resource === undefined) {
      resource = this.#resources.size;
      this.#resources.set(name, resource);
    }
    return resource;
  }
}

/** How often a need fits, up to `most`; a need of nothing fits once for each demand. */
export function fitsTimes(free: readonly number[], need: Need, most: number): number {
  let times = most;
  for (const [resource, units] of need) {
    times = Math.min(times, Math.floor((free[resource] ?? 0) / units));
    if (times <= 0) return 0;
  }
  return times;
}

function less(free: readonly number[], need: Need, times: number): number[] {
  const left = Array.from(free);
  for (const [resource, units] of need) left[resource] = (left[resource] ?? 0) - units * times;
  return left;
}

function classOf(labels: Labels): string {
  const pairs = Object.entries(labels).filter(([name]) => !OWN_NAMES.has(name));
  return JSON.stringify(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isEmpty(selector: Labels): boolean {
  return Object.keys(selector).length === 0;
}
