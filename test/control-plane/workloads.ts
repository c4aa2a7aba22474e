/**
 * Work of clients on a control plane while it is disturbed, and checks on the state afterwards.
 *
 * Each workload records every acknowledgement with its client and time, by one clock. `check` compares the record with itself and with the
 * store's final state. Violations are returned as sentences, so that a mutation can be seen to cause the very one that it should.
 */
import { FencedError, UnknownOutcomeError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import { claimLeadership, type Leadership } from "../../src/runtime/head/leadership/leadership.ts";
import type { ControlStore } from "../../src/runtime/control-plane/control-store.ts";
import { sleep } from "./nats-servers.ts";
import { bytes, text } from "./planes.ts";

export interface Workload {
  /** Runs one client's work until `isOver`. */
  run(client: { store: ControlStore; index: number }, isOver: () => boolean): Promise<void>;
  /** With the plane calm again. @returns the violations */
  check(store: ControlStore): Promise<string[]>;
  /** So that a run which did nothing does not pass. */
  readonly acknowledged: number;
}

/** Clients share two cores with three servers: more load would only make the same history longer. */
const PAUSE_MS = 5;
/** After an error: as a client of a store without a leader would. */
const ERROR_PAUSE_MS = 50;

export class RandomNumbers {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number below `bound`. */
  below(bound: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * bound);
  }
}

interface Write {
  readonly position: number;
  readonly revision: number;
  readonly endedMs: number;
}

/**
 * Registers that count: each change reads a value and writes the next one over it. An acknowledged change that was lost, or two that were made over the
 * same value, show as two changes with one number, or as an end below the largest.
 */
export class Registers implements Workload {
  readonly #names: readonly string[];
  readonly #writes = new Map<string, Write[]>();
  readonly #unknown = new Map<string, number>();
  readonly #stale: string[] = [];
  readonly #random: RandomNumbers;
  acknowledged = 0;

  /** Below a root of their own: they begin at 0. */
  constructor({ seed, root = "register", count = 4 }: { seed: number; root?: string; count?: number }) {
    this.#random = new RandomNumbers(seed);
    this.#names = Array.from({ length: count }, (_, index) => `${root}.${index}`);
    for (const name of this.#names) this.#writes.set(name, []);
  }

  async run({ store }: { store: ControlStore }, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const name = this.#names[this.#random.below(this.#names.length)] as string;
      try {
        await this.#change(store, name);
        await sleep(PAUSE_MS);
      } catch (error) {
        if (error instanceof UnknownOutcomeError) this.#unknown.set(name, (this.#unknown.get(name) ?? 0) + 1);
        await sleep(ERROR_PAUSE_MS);
      }
    }
  }

  async check(store: ControlStore): Promise<string[]> {
    const violations = [...this.#stale];
    for (const [name, writes] of this.#writes) {
      const positions = new Set(writes.map(({ position }) => position));
      if (positions.size < writes.length) violations.push(`${name}: two changes were acknowledged over the same value`);
      const largest = Math.max(0, ...positions);
      const end = Number(text((await store.get(name))?.value) ?? 0);
      if (end < largest) violations.push(`${name}: change ${largest} was acknowledged, and the end is ${end}: it was lost`);
      const known = writes.length + (this.#unknown.get(name) ?? 0);
      if (end > known)
        violations.push(`${name}: the end is ${end}, and only ${known} changes can have been applied: one was applied twice`);
    }
    return violations;
  }

  async #change(store: ControlStore, name: string): Promise<void> {
    const writes = this.#writes.get(name) as Write[];
    const startedMs = performance.now();
    // Changes that were acknowledged before this read began; a read that is older is stale.
    const newest = writes.filter(({ endedMs }) => endedMs < startedMs).reduce((largest, { revision }) => Math.max(largest, revision), 0);
    const found = await store.get(name);
    if ((found?.revision ?? 0) < newest)
      this.#stale.push(`${name}: a read after revision ${newest} was acknowledged had ${found?.revision ?? 0}: stale`);
    const position = Number(text(found?.value) ?? 0) + 1;
    const result = await store.transaction({
      checks: [{ key: name, revision: found?.revision ?? 0 }],
      writes: [{ key: name, value: bytes(String(position)) }],
    });
    if (!result.committed) return;
    this.acknowledged += 1;
    writes.push({ position, revision: result.revisions[0] as number, endedMs: performance.now() });
  }
}

const ACCOUNTS = 4;
const START_BALANCE = 100;

/** Moves between accounts, each over two keys at once: the sum never changes, even where a move is refused, lost or unknown. */
export class Transfers implements Workload {
  readonly #random: RandomNumbers;
  acknowledged = 0;

  constructor({ seed }: { seed: number }) {
    this.#random = new RandomNumbers(seed);
  }

  async run({ store }: { store: ControlStore }, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      try {
        await this.#move(store);
        await sleep(PAUSE_MS);
      } catch {
        await sleep(ERROR_PAUSE_MS);
      }
    }
  }

  async check(store: ControlStore): Promise<string[]> {
    const entries = await store.list("account");
    const sum = entries.reduce((total, { value }) => total + Number(text(value)) - START_BALANCE, 0);
    return sum === 0 ? [] : [`the accounts have ${sum} too much: a transfer was applied in part or twice`];
  }

  async #move(store: ControlStore): Promise<void> {
    const from = this.#random.below(ACCOUNTS);
    const to = (from + 1 + this.#random.below(ACCOUNTS - 1)) % ACCOUNTS;
    const keys = [`account.${from}`, `account.${to}`];
    const found = await Promise.all(keys.map((key) => store.get(key)));
    const result = await store.transaction({
      checks: keys.map((key, index) => ({ key, revision: found[index]?.revision ?? 0 })),
      writes: keys.map((key, index) => ({
        key,
        value: bytes(String(Number(text(found[index]?.value) ?? START_BALANCE) + (index === 0 ? -1 : 1))),
      })),
    });
    if (result.committed) this.acknowledged += 1;
  }
}

interface TermRecord {
  readonly term: number;
  readonly revisions: number[];
}

/** Heads that take the lead from each other without asking: the commits of a term all come before those of the next. */
export class Terms implements Workload {
  readonly #terms: TermRecord[] = [];
  readonly #random: RandomNumbers;
  readonly #claimEveryMs: number;
  acknowledged = 0;

  constructor({ seed, claimEveryMs = 400 }: { seed: number; claimEveryMs?: number }) {
    this.#random = new RandomNumbers(seed);
    this.#claimEveryMs = claimEveryMs;
  }

  async run({ store, index }: { store: ControlStore; index: number }, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await sleep(this.#random.below(this.#claimEveryMs));
      const leadership = await claimLeadership(store, { id: `head-${index}` }).catch(() => undefined);
      if (leadership !== undefined) await this.#lead(leadership, isOver);
    }
  }

  async check(store: ControlStore): Promise<string[]> {
    const violations: string[] = [];
    const terms = [...this.#terms].sort((left, right) => left.term - right.term);
    for (const [index, { term, revisions }] of terms.entries()) {
      const later = terms.slice(index + 1).flatMap((other) => other.revisions);
      const last = Math.max(0, ...revisions);
      if (later.some((revision) => revision < last))
        violations.push(`a commit of term ${term} came after one of a later term: it was not fenced`);
    }
    if (new Set(terms.map(({ term }) => term)).size < terms.length) violations.push("two heads led with the same term");
    // Each term's last acknowledged commit is in the table, or a later attempt of the same term has replaced it.
    for (const { key, value } of await store.list("term")) {
      const acknowledged = terms.find(({ term }) => key === `term.${term}`)?.revisions.length ?? 0;
      if (Number(text(value)) < acknowledged) violations.push(`${key}: commit ${acknowledged} was acknowledged and is lost`);
    }
    return violations;
  }

  /** Until it is fenced: a head does not stop because another one claims, it has to be stopped. */
  async #lead(leadership: Leadership, isOver: () => boolean): Promise<void> {
    const record: TermRecord = { term: leadership.term, revisions: [] };
    this.#terms.push(record);
    for (let commit = 1; !isOver() && !leadership.fenced.aborted; commit += 1) {
      try {
        const [revision] = await leadership.commit([{ key: `term.${leadership.term}`, value: bytes(String(commit)) }]);
        record.revisions.push(revision as number);
        this.acknowledged += 1;
        await sleep(PAUSE_MS);
      } catch (error) {
        if (error instanceof FencedError) return;
        await sleep(ERROR_PAUSE_MS);
      }
    }
  }
}

/** All clients do the work at once while something happens to the plane. @returns the violations */
export async function exercise(stores: readonly ControlStore[], workload: Workload, disturb: () => Promise<void>): Promise<string[]> {
  let isOver = false;
  const clients = stores.map((store, index) => workload.run({ store, index }, () => isOver));
  try {
    await disturb();
  } finally {
    isOver = true;
  }
  await Promise.all(clients);
  return await workload.check(stores[0] as ControlStore);
}
