/**
 * Finds tasks and actors that wait for each other and can never continue.
 *
 * Pure: processes report their long waits (core/why/long-waits.ts), and a cycle is returned once, when its last wait is reported. A wait
 * leads from a call to the calls whose results it needs. A call in the queue of a serial actor cannot begin before the call that runs there
 * has ended, so it leads on to that one.
 */
import { type ActorId, type NodeTag, nodeTagOf, type ProcessId } from "../base/ids.ts";
import { SetMap } from "../base/collections/set-map.ts";
import type { LongWaitHeader, WaitsHeader } from "../wire/messages.ts";

/** An edge of a cycle: the call `name` waits for the result of the call `for`. */
interface WaitStep {
  readonly task: string;
  readonly name: string;
  readonly for: string;
}

interface Row extends LongWaitHeader {
  readonly key: string;
}

export class WaitGraph {
  readonly #rows = new Map<string, Row>();
  readonly #byTask = new SetMap<string, Row>();
  /** The calls that run in serial actors, where they wait. */
  readonly #running = new Map<ActorId, string>();
  /** Calls of cycles that have been returned. */
  readonly #named = new Set<string>();

  get size(): number {
    return this.#rows.size;
  }

  /** @returns the cycles that the new waits close */
  told(process: ProcessId, { began, ended }: WaitsHeader): WaitStep[][] {
    for (const number of ended) this.#remove(`${process}/${number}`);
    for (const wait of began) this.#add({ ...wait, key: `${process}/${wait.number}` });
    const cycles: WaitStep[][] = [];
    const explored = new Set<string>();
    for (const { task } of began) {
      for (const cycle of this.#cyclesFrom(task, explored)) {
        if (cycle.some((step) => this.#named.has(step.task))) continue;
        for (const step of cycle) this.#named.add(step.task);
        cycles.push(cycle);
      }
    }
    return cycles;
  }

  processGone(process: ProcessId): void {
    for (const key of Array.from(this.#rows.keys())) if (key.startsWith(`${process}/`)) this.#remove(key);
  }

  nodeGone(tag: NodeTag): void {
    for (const key of Array.from(this.#rows.keys())) if (nodeTagOf(key) === tag) this.#remove(key);
  }

  /** Returns the reported waits of a call. */
  waitsOf(task: string): readonly LongWaitHeader[] {
    return Array.from(this.#byTask.get(task));
  }

  #add(row: Row): void {
    this.#rows.set(row.key, row);
    this.#byTask.add(row.task, row);
    if (row.actor !== undefined) this.#running.set(row.actor, row.task);
  }

  #remove(key: string): void {
    const row = this.#rows.get(key);
    if (row === undefined) return;
    this.#rows.delete(key);
    this.#byTask.delete(row.task, row);
    if (this.#byTask.get(row.task).size > 0) return;
    this.#named.delete(row.task);
    if (row.actor !== undefined && this.#running.get(row.actor) === row.task) this.#running.delete(row.actor);
  }

  /** Depth first, each call once for all starts together. A loop and not recursion: chains of waiting tasks are long. */
  *#cyclesFrom(start: string, explored: Set<string>): Generator<WaitStep[]> {
    const path: { task: string; edges: Edge[] }[] = [];
    const place = new Map<string, number>();
    const enter = (task: string): void => {
      explored.add(task);
      place.set(task, path.length);
      path.push({ task, edges: this.#edgesOf(task) });
    };
    if (!explored.has(start)) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const edge = top.edges.at(-1);
      if (edge === undefined) {
        path.pop();
        place.delete(top.task);
        continue;
      }
      const back = place.get(edge.next);
      // The edge by which each call of the path was left is still its last one.
      if (back !== undefined) yield path.slice(back).map(({ edges }) => (edges.at(-1) as Edge).step);
      top.edges.pop();
      if (explored.has(edge.next)) continue;
      // The last edge stays with its call while the path goes on from there.
      top.edges.push(edge);
      enter(edge.next);
    }
  }

  #edgesOf(task: string): Edge[] {
    const edges: Edge[] = [];
    for (const row of this.#byTask.get(task)) {
      for (const target of row.for) {
        const next = this.#byTask.get(target.task).size > 0 ? target.task : target.actor && this.#running.get(target.actor);
        if (next !== undefined) edges.push({ next, step: { task, name: row.name, for: target.name === "" ? "a result" : target.name } });
      }
    }
    return edges;
  }
}

interface Edge {
  readonly next: string;
  readonly step: WaitStep;
}

/** The cycle in a sentence, with the way out. */
export function describeCycle(steps: readonly WaitStep[]): string {
  const chain = steps.map(({ name, for: other }) => `${name} waits for ${other}`).join(", ");
  return `Calls wait for each other and none of them can go on: ${chain}. Do not await one of them inside the actor, or let its calls overlap (maxConcurrency, concurrencyGroups).`;
}
