/**
 * Decides when a node must stop its own workers because the head may have given their actors to other nodes.
 *
 * A pure state machine, the counterpart of `runtime/head/nodes/failure-detector.ts`. It counts from the time at which an answered question
 * was *sent*: to the head (`acknowledged`), or without a leading head to the control plane, which proves that no head can have declared
 * this node dead (`headless`). Without either for 0.7 of
 * `deadAfterMs` the node fences itself: its workers are killed and it ends. When both connections were closed, which the head takes for the process's end much sooner,
 * the workers are stopped (not killed) until a question is answered. They are also stopped when this process stood still for that long, perhaps together with the head
 * (a suspended machine): a new question tells. Where several heads may lead, a later head may declare an unknown node dead `takeoverGraceMs` + `deadAfterMs` after it
 * began. So the node also ends 0.7 of `deadAfterMs` and that grace after the last proof that no later head had begun (`provenMs`). A head gives this proof, or within
 * that time the absence of the heads' store (decision 0032). Invariant: `fence` comes once, and nothing comes after it.
 */
import { FENCE_FRACTION, STALL_MS } from "../../../base/limits.ts";
import type { StoreServer } from "../../../wire/cluster/cluster-messages.ts";

export type FenceEvent =
  /** `later`: where other heads may lead. */
  | { kind: "acknowledged"; sentMs: number; later?: LaterHeads | undefined; nowMs: number }
  | { kind: "headless"; sentMs: number; nowMs: number }
  /** The store in which heads begin was away as of `provenMs`, long enough for each head to notice (`store-absence.ts`). */
  | { kind: "storeAway"; provenMs: number; nowMs: number }
  | { kind: "linkClosed" | "linkOpen" | "busClosed" | "busOpen"; nowMs: number }
  /** The head says that this incarnation is dead. */
  | { kind: "declaredDead"; nowMs: number }
  | { kind: "tick"; nowMs: number };

/** Facts about heads after the one that answered. */
export interface LaterHeads {
  /** Time at which no later head had begun. */
  readonly provenMs: number;
  /** Longer than `deadAfterMs`, one that begins waits for nodes that it has not met. */
  readonly takeoverGraceMs: number;
  /** The servers of the heads' store. Default: unknown. */
  readonly storeServers?: readonly StoreServer[] | undefined;
}

export type FenceEffect =
  /** Stop the workers, so that they can go on when this was a short interruption. */
  | { kind: "pause"; reason: string }
  | { kind: "resume" }
  /** Kill the workers and end. */
  | { kind: "fence"; reason: string };

interface SelfFenceOptions {
  readonly nowMs: number;
  /** As the head has them, which tells them at registration. */
  readonly deadAfterMs: number;
  readonly closedAfterMs: number;
}

/** Part of `deadAfterMs` for which a node that stood still may wait for an answer. Its workers are stopped meanwhile, so it harms no other node. */
const WOKEN_FRACTION = 1;

export class SelfFence {
  readonly #fenceAfterMs: number;
  readonly #pauseAfterMs: number;
  readonly #wokenForMs: number;
  #lastMs: number;
  /** Until when it waits for an answer after it stood still. */
  #wokenUntilMs = 0;
  #answeredMs: number;
  /** From when on a later head may have given this node's work to others. */
  #endsMs = Number.POSITIVE_INFINITY;
  #takeoverGraceMs = 0;
  #linkClosedMs: number | undefined;
  #busClosedMs: number | undefined;
  /** When the workers were stopped: an answer to a question from before says nothing. */
  #pausedMs: number | undefined;
  #isFenced = false;

  constructor({ nowMs, deadAfterMs, closedAfterMs }: SelfFenceOptions) {
    this.#answeredMs = nowMs;
    this.#fenceAfterMs = deadAfterMs * FENCE_FRACTION;
    this.#pauseAfterMs = closedAfterMs * FENCE_FRACTION;
    this.#wokenForMs = deadAfterMs * WOKEN_FRACTION;
    this.#lastMs = nowMs;
  }

  /** Until when the workers may run, on the clock of the events, as far as is known now. */
  get runsUntilMs(): number {
    return this.#isFenced || this.#pausedMs !== undefined ? 0 : Math.min(this.#answeredMs + this.#fenceAfterMs, this.#endsMs);
  }

  handle(event: FenceEvent): FenceEffect[] {
    if (this.#isFenced) return [];
    const { nowMs } = event;
    if (nowMs - this.#lastMs > STALL_MS) this.#wokenUntilMs = nowMs + this.#wokenForMs;
    this.#lastMs = nowMs;
    switch (event.kind) {
      case "acknowledged":
        this.#hears(event.later);
        return this.#answered(event.sentMs, nowMs);
      case "headless":
        return this.#answered(event.sentMs, nowMs);
      case "storeAway":
        // Nothing that is learned after its time tells what happened before.
        if (!this.#isOver(nowMs)) this.#laterHeadsFrom(event.provenMs);
        return [];
      case "linkClosed":
        this.#linkClosedMs ??= nowMs;
        return [];
      case "linkOpen":
        this.#linkClosedMs = undefined;
        return [];
      case "busClosed":
        this.#busClosedMs ??= nowMs;
        return [];
      case "busOpen":
        this.#busClosedMs = undefined;
        return [];
      case "declaredDead":
        return this.#fence("the head has declared this node dead");
      case "tick":
        return this.#tick(nowMs);
    }
  }

  /** The answer of an earlier head may come after that of the next; a head that is alone says nothing of others. */
  #hears(later: LaterHeads | undefined): void {
    if (later === undefined) this.#endsMs = Number.POSITIVE_INFINITY;
    else {
      this.#takeoverGraceMs = later.takeoverGraceMs;
      if (this.#endsMs === Number.POSITIVE_INFINITY) this.#endsMs = Number.NEGATIVE_INFINITY;
      this.#laterHeadsFrom(later.provenMs);
    }
  }

  #laterHeadsFrom(provenMs: number): void {
    this.#endsMs = Math.max(this.#endsMs, provenMs + this.#takeoverGraceMs + this.#fenceAfterMs);
  }

  #answered(sentMs: number, nowMs: number): FenceEffect[] {
    this.#answeredMs = Math.max(this.#answeredMs, sentMs);
    // A node that was stopped finds answers when it wakes up: they are as old as their questions.
    return this.#isOver(nowMs) ? this.#tick(nowMs) : this.#resume(sentMs);
  }

  #isOver(nowMs: number): boolean {
    return this.#silentMs(nowMs) >= this.#fenceAfterMs || nowMs >= this.#endsMs;
  }

  #tick(nowMs: number): FenceEffect[] {
    if (this.#isOver(nowMs)) {
      const silentMs = this.#silentMs(nowMs);
      if (nowMs < this.#wokenUntilMs)
        return this.#pause(nowMs, `this process stood still and has not been answered for ${Math.round(silentMs)} ms`);
      return this.#fence(
        silentMs >= this.#fenceAfterMs
          ? `nobody who would know of this node's death has answered for ${Math.round(silentMs)} ms, so other nodes may have taken over its work`
          : "no head has proven for too long that it leads, so another one may have given this node's work to other nodes",
      );
    }
    if (this.#pausedMs !== undefined || this.#linkClosedMs === undefined || this.#busClosedMs === undefined) return [];
    const closedMs = nowMs - Math.max(this.#linkClosedMs, this.#busClosedMs);
    if (closedMs < this.#pauseAfterMs) return [];
    return this.#pause(nowMs, `its connections to the head and to the bus have been closed for ${Math.round(closedMs)} ms`);
  }

  #pause(nowMs: number, reason: string): FenceEffect[] {
    if (this.#pausedMs !== undefined) return [];
    this.#pausedMs = nowMs;
    return [{ kind: "pause", reason }];
  }

  #silentMs(nowMs: number): number {
    return nowMs - this.#answeredMs;
  }

  #resume(sentMs: number): FenceEffect[] {
    if (this.#pausedMs === undefined || sentMs < this.#pausedMs) return [];
    this.#pausedMs = undefined;
    return [{ kind: "resume" }];
  }

  #fence(reason: string): FenceEffect[] {
    this.#isFenced = true;
    return [{ kind: "fence", reason }];
  }
}
