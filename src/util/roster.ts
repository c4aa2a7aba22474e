/**
 * Keeps which of a set of actors work, which are free, and which jobs wait: the core of `ActorPool` and of `Pool`.
 *
 * Owns the queue of jobs: the next free actor takes the oldest, and one actor has one job at a time. An actor whose job fails with its
 * death leaves for good; its job fails once, and the others continue. When the last one has left this way, all waiting jobs fail with the
 * cause, as nobody would ever run them; new members revive the roster. Pure: actors are opaque here, and the caller gives jobs their
 * meaning.
 */
import { ActorDiedError, type AnyActorHandle, ready } from "../core/index.ts";
import { Fifo } from "../core/internal.ts";

/** A job: waiting, running or over. */
export interface Ticket<R> {
  readonly result: Promise<R>;
  /** Takes it out of the line, if it has not begun; `result` then rejects. */
  drop(): void;
}

interface RosterEvents<H> {
  /** Asked when a job failed with an actor's death: that may have been another actor, which the job itself had called. */
  isDead(member: H): Promise<boolean>;
  /** A job of the member has ended. Returns false when the member must not get another. */
  onFree?(member: H): boolean;
  /** The member left, as it had died. */
  onDied?(member: H, error: ActorDiedError): void;
}

interface Job<H> {
  state: "in line" | "begun" | "dropped";
  begin(member: H): void;
  fail(error: Error): void;
}

export class Roster<H extends object> {
  readonly #events: RosterEvents<H>;
  readonly #members = new Set<H>();
  readonly #free = new Fifo<H>();
  readonly #line = new Fifo<Job<H>>();
  /** Reason for which no member is left; undefined while there is one, or before the first. */
  #end: Error | undefined;

  constructor(events: RosterEvents<H>) {
    this.#events = events;
  }

  get size(): number {
    return this.#members.size;
  }

  get freeCount(): number {
    return this.#free.size;
  }

  get waitingCount(): number {
    return this.#line.size;
  }

  has(member: H): boolean {
    return this.#members.has(member);
  }

  [Symbol.iterator](): Iterator<H> {
    return this.#members.values();
  }

  add(member: H): void {
    this.#members.add(member);
    this.#end = undefined;
    this.#release(member);
  }

  /** Takes a free member out, if there is one. */
  removeFree(): H | undefined {
    const member = this.#free.shift();
    if (member !== undefined) this.#members.delete(member);
    return member;
  }

  /** Does `work` with the next free member, now or in turn. */
  run<R>(work: (member: H) => PromiseLike<R> | R): Ticket<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    // A caller who wants the result gets the failure; a dropped or forgotten one must not end the program.
    promise.catch(() => {});
    const job: Job<H> = {
      state: "in line",
      begin: (member) => {
        job.state = "begun";
        this.#work(member, work).then(resolve, reject);
      },
      fail: reject,
    };
    if (this.#end !== undefined) reject(this.#end);
    else {
      const member = this.#free.shift();
      if (member === undefined) this.#line.push(job);
      else job.begin(member);
    }
    return {
      result: promise,
      drop: () => {
        if (job.state !== "in line") return;
        job.state = "dropped";
        reject(new Error("the job was dropped before it began"));
      },
    };
  }

  /** Fails all waiting and later jobs with the error, until a member is added. */
  end(error: Error): void {
    this.#end = error;
    for (let job = this.#line.shift(); job !== undefined; job = this.#line.shift()) job.fail(error);
  }

  async #work<R>(member: H, work: (member: H) => PromiseLike<R> | R): Promise<R> {
    try {
      const value = await work(member);
      this.#release(member);
      return value;
    } catch (error) {
      if (error instanceof ActorDiedError && (await this.#events.isDead(member))) this.#evict(member, error);
      else this.#release(member);
      throw error;
    }
  }

  #release(member: H): void {
    if (this.#events.onFree?.(member) === false) {
      this.#members.delete(member);
      return;
    }
    for (let job = this.#line.shift(); job !== undefined; job = this.#line.shift()) {
      if (job.state === "dropped") continue;
      job.begin(member);
      return;
    }
    this.#free.push(member);
  }

  #evict(member: H, error: ActorDiedError): void {
    this.#members.delete(member);
    this.#events.onDied?.(member, error);
    if (this.#members.size > 0) return;
    this.end(
      new ActorDiedError(`Cannot run a call of a pool: all of its actors have died; the last: ${error.message}`, {
        reason: "no actor of the pool is alive",
        hint: "See the cause; add actors with push().",
        cause: error,
      }),
    );
  }
}

/** For actors: whether one that a call named as dead has died. */
export async function hasDied(actor: AnyActorHandle): Promise<boolean> {
  try {
    await ready(actor);
    return false;
  } catch {
    return true;
  }
}
