/**
 * The actor in this worker: its instance and the order of its calls.
 *
 * Each concurrency group has a limit and a queue. The default group of a serial actor has the limit one, so a call runs to its end before the next begins, also with async
 * methods. Within a group calls begin in the order of arrival, so a caller's order is its order on the connection. A call with lost arguments keeps its place and holds
 * nothing meanwhile. Only calls that make lost objects again overtake such a call, because its arguments may be among those objects. The
 * constructor runs first, and earlier calls wait until it has ended. After the actor's end every call is answered with the reason.
 */
import type { ActorId } from "../../base/ids.ts";
import { Fifo } from "../../base/collections/fifo.ts";
import type { CallPlace } from "../tasks/task-context.ts";

export interface ActorJob {
  /** Makes a lost object again: it has no place among the other calls, and comes before them. */
  readonly isRemade?: boolean;
  /**
   * `instance` is undefined when the actor has ended. `began` says that the method has been entered: until then no other call of the group begins, as its
   * arguments may take a while to be read. `done` implies it.
   */
  run(instance: object | undefined, done: () => void, began: () => void): void;
}

/** The name of the group in `ActorStart` without an explicit group. */
const DEFAULT_GROUP = "default";

/** Calls with a limit of their own. */
export class ConcurrencyGroup {
  readonly name: string;
  readonly limit: number;
  running = 0;
  /** A call has been started whose method has not been entered. */
  isBeginning = false;
  /** Calls that were started and wait for lost arguments, and so are not running. */
  awaiting = 0;
  readonly queue: Fifo<ActorJob | Barrier> = new Fifo<ActorJob | Barrier>();
  /** Calls that make lost objects again. */
  readonly remade: Fifo<ActorJob> = new Fifo<ActorJob>();
  /** Calls whose arguments have come back and that wait for their turn. */
  readonly resuming: Fifo<() => void> = new Fifo<() => void>();

  constructor(name: string, limit: number) {
    this.name = name;
    this.limit = limit;
  }

  get isIdle(): boolean {
    return this.running === 0 && this.awaiting === 0 && this.queue.size === 0 && this.remade.size === 0;
  }

  get canBegin(): boolean {
    return this.running < this.limit && !this.isBeginning;
  }

  /** Whether a call that makes a lost object again could begin: the one that is beginning may be waiting for that object. */
  get canBeginRemade(): boolean {
    return this.running < this.limit && (!this.isBeginning || this.awaiting > 0);
  }
}

/** Stands in the queue of each group; once all of them have come to it, and none of them runs anything, its callback is called. */
class Barrier {
  missing: number;
  readonly passed: () => void;

  constructor(missing: number, passed: () => void) {
    this.missing = missing;
    this.passed = passed;
  }
}

export class ActorHost {
  actorId: ActorId | undefined;
  incarnation = 0;
  className = "actor";
  #instance: object | undefined;
  #isConstructed = false;
  readonly #groups = new Map<string, ConcurrencyGroup>();
  #default = this.#addGroup(DEFAULT_GROUP, 1);
  #onIdle: (() => void) | undefined;

  /** The place of the actor's calls, for their context. */
  place: CallPlace = {
    actor: undefined,
    actorName: undefined,
    incarnation: 0,
    shape: "",
    resources: {},
    accelerators: undefined,
    executor: undefined,
    isSerial: true,
  };

  begin(place: CallPlace, className: string, groups: Readonly<Record<string, number>>): void {
    this.actorId = place.actor;
    this.incarnation = place.incarnation;
    this.className = className;
    this.place = place;
    for (const [name, limit] of Object.entries(groups)) {
      const group = this.#addGroup(name, limit);
      if (name === DEFAULT_GROUP) this.#default = group;
    }
  }

  get instance(): object | undefined {
    return this.#instance;
  }

  /** Without a name the default one. */
  groupOf(name: string | undefined): ConcurrencyGroup | undefined {
    return name === undefined ? this.#default : this.#groups.get(name);
  }

  get groupNames(): string[] {
    return Array.from(this.#groups.keys());
  }

  constructed(instance: object | undefined): void {
    this.#instance = instance;
    this.#isConstructed = true;
    for (const group of this.#groups.values()) this.#next(group);
  }

  /** Nothing begins any more. */
  close(): void {
    this.#isConstructed = false;
  }

  enqueue(job: ActorJob, group: ConcurrencyGroup): void {
    (job.isRemade === true ? group.remade : group.queue).push(job);
    if (this.#isConstructed && (group.canBegin || group.canBeginRemade)) this.#next(group);
  }

  /** Lets a started call wait for lost arguments. It keeps its place in its group, and does not count as running until they have come back. */
  async awaitArguments(group: ConcurrencyGroup, recover: () => Promise<void>): Promise<void> {
    group.running -= 1;
    group.awaiting += 1;
    this.#next(group);
    try {
      await recover();
    } finally {
      await new Promise<void>((resolve) => {
        group.resuming.push(resolve);
        this.#next(group);
      });
    }
  }

  /** Runs it after all calls that have arrived; those that arrive later wait for ever, as it ends the actor. */
  enqueueLast(job: ActorJob): void {
    const barrier = new Barrier(this.#groups.size, () =>
      job.run(
        this.#instance,
        () => {},
        () => {},
      ),
    );
    for (const group of this.#groups.values()) {
      group.queue.push(barrier);
      if (this.#isConstructed && group.canBegin) this.#next(group);
    }
  }

  /** The instance, when a call could begin at once: it is then a running one, until `finished`. */
  tryBegin(group: ConcurrencyGroup): object | undefined {
    if (!group.canBegin || !this.#isConstructed || group.queue.size > 0 || this.#instance === undefined) return undefined;
    group.running += 1;
    return this.#instance;
  }

  /** The end of a call that began by `tryBegin`. */
  finished(group: ConcurrencyGroup): void {
    group.running -= 1;
    if (group.queue.size > 0 || group.awaiting > 0 || group.remade.size > 0 || this.#onIdle !== undefined) this.#next(group);
  }

  /** Once no call is queued or running; at once when that is so now. */
  whenIdle(callback: () => void): void {
    this.#onIdle = callback;
    this.#reportIdle();
  }

  /** A call that was meant for another actor or another life of this one must not run. */
  refusalOf(addressed: { actor: ActorId | undefined; incarnation: number } | undefined): string | undefined {
    if (addressed === undefined) return undefined;
    if (addressed.actor !== undefined && addressed.actor !== this.actorId) return "the call was meant for another actor";
    if (addressed.incarnation !== this.incarnation)
      return `the call was meant for incarnation ${addressed.incarnation} of the actor, this is ${this.incarnation}`;
    return undefined;
  }

  #addGroup(name: string, limit: number): ConcurrencyGroup {
    const group = new ConcurrencyGroup(name, limit);
    this.#groups.set(name, group);
    return group;
  }

  #next(group: ConcurrencyGroup): void {
    if (group.awaiting > 0 || group.remade.size > 0) this.#nextOfLost(group);
    // A loop and not recursion: a long queue of synchronous methods must not grow the stack.
    while (group.canBegin) {
      const job = group.queue.peek();
      if (job === undefined) {
        this.#reportIdle();
        return;
      }
      if (job instanceof Barrier) {
        this.#reachBarrier(group, job);
        return;
      }
      group.queue.shift();
      group.isBeginning = true;
      if (!this.#start(group, job)) return;
    }
  }

  /** Begins the next call that concerns lost objects: one whose arguments have come back, or one that makes objects again. */
  #nextOfLost(group: ConcurrencyGroup): void {
    while (group.running < group.limit) {
      const resume = group.resuming.shift();
      if (resume === undefined) break;
      group.running += 1;
      group.awaiting -= 1;
      resume();
    }
    while (group.canBeginRemade) {
      const job = group.remade.shift();
      if (job === undefined) return;
      this.#start(group, job);
    }
  }

  /** @returns whether this turn of the loop may begin another */
  #start(group: ConcurrencyGroup, job: ActorJob): boolean {
    group.running += 1;
    let isWithin = true;
    let hasBegun = false;
    const began = (): void => {
      if (hasBegun) return;
      hasBegun = true;
      if (job.isRemade !== true) group.isBeginning = false;
      if (!isWithin) this.#next(group);
    };
    const done = (): void => {
      group.running -= 1;
      if (hasBegun) {
        if (!isWithin) this.#next(group);
      } else began();
    };
    job.run(this.#instance, done, began);
    isWithin = false;
    return hasBegun;
  }

  #reachBarrier(group: ConcurrencyGroup, barrier: Barrier): void {
    if (group.running > 0 || group.awaiting > 0) return;
    // Nothing begins in this group any more.
    group.isBeginning = true;
    barrier.missing -= 1;
    if (barrier.missing === 0) barrier.passed();
  }

  #reportIdle(): void {
    if (this.#onIdle === undefined) return;
    for (const group of this.#groups.values()) if (!group.isIdle) return;
    const callback = this.#onIdle;
    this.#onIdle = undefined;
    callback();
  }
}
