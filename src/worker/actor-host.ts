/**
 * The actor that lives in this worker: its instance, and its calls one after the other.
 *
 * Calls run in the order in which they arrive, each to its end before the next begins, also when methods are async: a caller's order is its order
 * on the connection. The constructor runs first; calls that come before it has ended wait. After the end every call is
 * answered with the reason.
 */
import type { ActorId } from "../base/ids.ts";
import { Fifo } from "../base/fifo.ts";
import type { CallPlace } from "./task-context.ts";

export interface ActorJob {
  /** `instance` is undefined when the actor has ended. */
  run(instance: object | undefined, done: () => void): void;
}

export class ActorHost {
  actorId: ActorId | undefined;
  incarnation = 0;
  className = "actor";
  #instance: object | undefined;
  #isConstructed = false;
  #isBusy = false;
  readonly #queue = new Fifo<ActorJob>();
  #onIdle: (() => void) | undefined;

  /** What its calls know of where they run. */
  place: CallPlace = { actor: undefined, actorName: undefined, incarnation: 0, resources: {}, executor: undefined };

  begin(place: CallPlace, className: string): void {
    this.actorId = place.actor;
    this.incarnation = place.incarnation;
    this.className = className;
    this.place = place;
  }

  constructed(instance: object | undefined): void {
    this.#instance = instance;
    this.#isConstructed = true;
    this.#next();
  }

  enqueue(job: ActorJob): void {
    this.#queue.push(job);
    if (this.#isConstructed && !this.#isBusy) this.#next();
  }

  /** The instance, when a call could begin at once: it is then the running one, until `finished`. */
  tryBegin(): object | undefined {
    if (this.#isBusy || !this.#isConstructed || this.#queue.size > 0) return undefined;
    this.#isBusy = this.#instance !== undefined;
    return this.#instance;
  }

  /** The end of a call that began by `tryBegin`. */
  finished(): void {
    this.#isBusy = false;
    if (this.#queue.size > 0 || this.#onIdle !== undefined) this.#next();
  }

  /** Once no call is queued or running; at once when that is so now. */
  whenIdle(callback: () => void): void {
    this.#onIdle = callback;
    if (!this.#isBusy && this.#queue.size === 0) this.#reportIdle();
  }

  /** A call that was meant for another actor or another life of this one must not run. */
  refusalOf(addressed: { actor: ActorId | undefined; incarnation: number } | undefined): string | undefined {
    if (addressed === undefined) return undefined;
    if (addressed.actor !== undefined && addressed.actor !== this.actorId) return "the call was meant for another actor";
    if (addressed.incarnation !== this.incarnation)
      return `the call was meant for incarnation ${addressed.incarnation} of the actor, this is ${this.incarnation}`;
    return undefined;
  }

  #next(): void {
    // A loop and not recursion: a long queue of synchronous methods must not grow the stack.
    while (!this.#isBusy) {
      const job = this.#queue.shift();
      if (job === undefined) {
        this.#reportIdle();
        return;
      }
      this.#isBusy = true;
      let endedWithin = true;
      let isRunning = true;
      job.run(this.#instance, () => {
        this.#isBusy = false;
        if (!isRunning) this.#next();
        else endedWithin = true;
      });
      isRunning = false;
      if (this.#isBusy) endedWithin = false;
      if (!endedWithin) return;
    }
  }

  #reportIdle(): void {
    const callback = this.#onIdle;
    this.#onIdle = undefined;
    callback?.();
  }
}
