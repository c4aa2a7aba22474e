/**
 * The receiver's side of transfers: which objects a node fetches when, from which node, and how far each pull has come.
 *
 * A pure state machine: events in, effects out, no clock and no socket; `runtime/node/objects/object-receiver.ts` is its shell. It orders
 * pulls within a memory budget: a `get` before a wait before a prefetch, then first come first served. It requests chunks a window ahead,
 * resumes at the missing byte when a source stalls or dies, and asks the object's home for another source. All readers of an object share
 * one pull. The home (the node that wrote the object's bytes) is always asked first: it serves, or names a node that does. Once the home is
 * dead, the owner's node takes its place. Invariant: the chunks of a pull arrive in order, so the received part is a prefix.
 */
import type { NodeTag } from "../../base/ids.ts";
import { FETCH_FOR } from "../../wire/objects/transfer-messages.ts";
import { CHUNK_BYTES } from "../limits.ts";

export type PullEvent =
  | { kind: "wanted"; key: string; sizeBytes: number; home: NodeTag; adopter?: NodeTag | undefined; purpose: number }
  /** A reader does not want the object any more. */
  | { kind: "unwanted"; key: string; purpose: number }
  /** The answer to `allocate`; without room the object cannot be had. */
  | { kind: "allocated"; key: string; ok: boolean }
  /** The next bytes of a pull are in their place, and right. */
  | { kind: "received"; pull: number; sizeBytes: number }
  /** The received bytes were damaged, or not those that were requested. */
  | { kind: "damaged"; pull: number }
  /** The room was lost and made anew: the pull begins again. */
  | { kind: "restarted"; pull: number }
  /** The room for the object was lost, and no other room is free. */
  | { kind: "noRoom"; pull: number }
  /** The source does not serve it: ask that node instead, or it has it no more. */
  | { kind: "redirected"; pull: number; node: NodeTag }
  | { kind: "refused"; pull: number }
  | { kind: "linkLost"; node: NodeTag }
  | { kind: "nodeGone"; node: NodeTag }
  /** The home says that the object was freed, or that its bytes are lost. */
  | { kind: "freed"; key: string }
  | { kind: "tick" };

export type PullEffect =
  | { kind: "allocate"; key: string; sizeBytes: number }
  | { kind: "open"; pull: number; key: string; node: NodeTag; avoid: NodeTag[] }
  | { kind: "read"; pull: number; node: NodeTag; offset: number; sizeBytes: number }
  /** Ends a pull's number at its source; `isDone`: all bytes have arrived. */
  | { kind: "close"; pull: number; node: NodeTag; isDone: boolean }
  /** The connection does not answer: whatever else goes over it is taken up again as well. */
  | { kind: "reset"; node: NodeTag }
  | { kind: "complete"; key: string }
  /** Informs all waiting readers, and gives back the room, if any. */
  | { kind: "failed"; key: string; reason: PullFailure }
  /** Gives back the room of a pull that no reader wants or whose memory a more urgent pull needs. */
  | { kind: "abandoned"; key: string };

/** `lost`: the bytes are nowhere. `unreachable`: the home does not answer and has not been declared dead. `noRoom`: it could be stored nowhere here. */
export type PullFailure = "lost" | "unreachable" | "noRoom" | "damaged";

/** A megabyte under way for each of these: at 10 Gb/s they bridge a round trip of 6 ms. */
const WINDOW_CHUNKS = 8;
const STALLED_AFTER_MS = 2000;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 1000;
/** A home that neither answers nor is declared dead; the failure detector decides within 10 s where it can. */
const UNREACHABLE_AFTER_MS = 60_000;
/** Limit on simultaneous pulls. Small objects cost latency, not bandwidth. */
const ACTIVE_MAX = 64;
const DAMAGED_MAX = 5;

type PullState = "queued" | "allocating" | "reading" | "retrying";

interface Pull {
  readonly key: string;
  readonly sizeBytes: number;
  home: NodeTag;
  /** The node that replaces a dead home. */
  adopter: NodeTag | undefined;
  readonly number: number;
  /** How many want it, by purpose. */
  readonly wants: number[];
  state: PullState;
  hasRoom: boolean;
  haveBytes: number;
  askedBytes: number;
  /** The number of the pull at the present source. */
  pull: number;
  source: NodeTag;
  avoid: NodeTag[];
  progressMs: number;
  /** When it was asked of this source, or something came from it. */
  heardMs: number;
  retryAtMs: number;
  retryDelayMs: number;
  damaged: number;
}

export class PullPlan {
  readonly #budgetBytes: number;
  readonly #pulls = new Map<string, Pull>();
  readonly #byNumber = new Map<number, Pull>();
  readonly #dead = new Set<NodeTag>();
  /** Pulls that wait for room, by urgency, then first come first served. */
  readonly #queues: readonly Set<Pull>[] = [new Set(), new Set(), new Set()];
  readonly #active = new Set<Pull>();
  #activeBytes = 0;
  #next = 1;
  #nowMs = 0;
  #effects: PullEffect[] = [];

  /** @param options.budgetBytes how much of the store pulls under way may take; one always goes on, whatever its size */
  constructor(options: { budgetBytes: number }) {
    this.#budgetBytes = options.budgetBytes;
  }

  /** The node that knows an object's sources. */
  homeOf(key: string): NodeTag | undefined {
    return this.#pulls.get(key)?.home;
  }

  keyOf(pull: number): string | undefined {
    return this.#byNumber.get(pull)?.key;
  }

  /** The bytes of a pull that are there already. */
  haveBytes(key: string): number {
    return this.#pulls.get(key)?.haveBytes ?? 0;
  }

  handle(event: PullEvent, nowMs: number): PullEffect[] {
    this.#nowMs = nowMs;
    this.#effects = [];
    this.#apply(event);
    return this.#effects;
  }

  #apply(event: PullEvent): void {
    switch (event.kind) {
      case "wanted":
        this.#wanted(event);
        return;
      case "unwanted":
        this.#unwanted(event);
        return;
      case "allocated":
        this.#allocated(event);
        return;
      case "received":
        this.#received(event);
        return;
      case "damaged":
        this.#withNumber(event.pull, (pull) => this.#damaged(pull));
        return;
      case "restarted":
        this.#withNumber(event.pull, (pull) => {
          this.#close(pull, false);
          pull.haveBytes = 0;
          this.#open(pull, pull.home);
        });
        return;
      case "noRoom":
        this.#withNumber(event.pull, (pull) => {
          this.#close(pull, false);
          this.#fail(pull, "noRoom");
        });
        return;
      case "redirected":
        this.#withNumber(event.pull, (pull) => this.#redirected(pull, event.node));
        return;
      case "refused":
        this.#withNumber(event.pull, (pull) => {
          this.#forgetNumber(pull);
          if (pull.source === pull.home) this.#fail(pull, "lost");
          else this.#avoid(pull);
        });
        return;
      case "linkLost":
        this.#linkLost(event.node);
        return;
      case "nodeGone":
        this.#dead.add(event.node);
        for (const pull of this.#pulls.values()) this.#toAdopter(pull);
        this.#linkLost(event.node);
        return;
      case "freed": {
        const pull = this.#pulls.get(event.key);
        // Asked once more, as the place may have been another object's: the home refuses if it is gone.
        if (pull === undefined || pull.state === "queued" || pull.state === "allocating") return;
        this.#close(pull, false);
        this.#open(pull, pull.home);
        return;
      }
      case "tick":
        this.#tick();
        return;
    }
  }

  #withNumber(number: number, then: (pull: Pull) => void): void {
    const pull = this.#byNumber.get(number);
    if (pull !== undefined) then(pull);
  }

  #wanted({ key, sizeBytes, home, adopter, purpose }: Extract<PullEvent, { kind: "wanted" }>): void {
    let pull = this.#pulls.get(key);
    if (pull === undefined) {
      pull = {
        key,
        sizeBytes,
        home,
        adopter,
        number: this.#newNumber(),
        wants: [0, 0, 0],
        state: "queued",
        hasRoom: false,
        haveBytes: 0,
        askedBytes: 0,
        pull: 0,
        source: home,
        avoid: [],
        progressMs: this.#nowMs,
        heardMs: this.#nowMs,
        retryAtMs: 0,
        retryDelayMs: RETRY_FIRST_MS,
        damaged: 0,
      };
      this.#pulls.set(key, pull);
    }
    this.#toAdopter(pull);
    const at = purposeOf(purpose);
    pull.wants[at] = (pull.wants[at] ?? 0) + 1;
    if (pull.state !== "queued") return;
    this.#queue(pull);
    this.#admit();
  }

  #unwanted({ key, purpose }: Extract<PullEvent, { kind: "unwanted" }>): void {
    const pull = this.#pulls.get(key);
    if (pull === undefined) return;
    const at = purposeOf(purpose);
    pull.wants[at] = Math.max(0, (pull.wants[at] ?? 0) - 1);
    if (pull.wants.some((count) => count > 0)) {
      if (pull.state === "queued") this.#queue(pull);
      return;
    }
    this.#stop(pull);
    this.#unqueue(pull);
    this.#pulls.delete(key);
    this.#admit();
  }

  #allocated({ key, ok }: Extract<PullEvent, { kind: "allocated" }>): void {
    const pull = this.#pulls.get(key);
    if (pull?.state !== "allocating") return;
    if (!ok) {
      this.#fail(pull, "noRoom");
      return;
    }
    pull.hasRoom = true;
    pull.progressMs = this.#nowMs;
    this.#open(pull, pull.home);
  }

  #received({ pull: number, sizeBytes }: Extract<PullEvent, { kind: "received" }>): void {
    const pull = this.#byNumber.get(number);
    if (pull === undefined) return;
    pull.haveBytes += sizeBytes;
    pull.progressMs = this.#nowMs;
    pull.heardMs = this.#nowMs;
    pull.retryDelayMs = RETRY_FIRST_MS;
    pull.damaged = 0;
    pull.avoid = [];
    if (pull.haveBytes < pull.sizeBytes) {
      this.#read(pull);
      return;
    }
    this.#close(pull, true);
    this.#release(pull);
    this.#pulls.delete(pull.key);
    this.#effects.push({ kind: "complete", key: pull.key });
    this.#admit();
  }

  #damaged(pull: Pull): void {
    pull.damaged += 1;
    this.#close(pull, false);
    if (pull.damaged >= DAMAGED_MAX) this.#fail(pull, "damaged");
    else if (pull.source === pull.home) this.#open(pull, pull.home);
    else this.#avoid(pull);
  }

  #redirected(pull: Pull, node: NodeTag): void {
    this.#forgetNumber(pull);
    // Only the home says who else has it.
    if (pull.source !== pull.home) this.#avoid(pull);
    else if (this.#dead.has(node)) {
      pull.avoid.push(node);
      this.#retry(pull);
    } else if (pull.avoid.includes(node)) {
      // There is none other: it is tried again after a while.
      pull.avoid = [];
      this.#retry(pull);
    } else this.#open(pull, node);
  }

  #toAdopter(pull: Pull): void {
    if (!this.#dead.has(pull.home) || pull.adopter === undefined || this.#dead.has(pull.adopter)) return;
    pull.home = pull.adopter;
    pull.adopter = undefined;
  }

  #linkLost(node: NodeTag): void {
    for (const pull of Array.from(this.#pulls.values())) {
      if (this.#pulls.get(pull.key) !== pull) continue;
      const isReading = pull.state === "reading" && pull.source === node;
      if (isReading) this.#forgetNumber(pull);
      if (this.#dead.has(pull.home) && (isReading || pull.state === "retrying" || pull.state === "queued")) this.#fail(pull, "lost");
      else if (isReading && node === pull.home) this.#retry(pull);
      else if (isReading) this.#avoid(pull);
    }
  }

  #tick(): void {
    for (const pull of Array.from(this.#pulls.values())) {
      if (pull.state === "retrying" && this.#nowMs >= pull.retryAtMs) this.#open(pull, pull.home);
      else if (pull.state === "reading" && this.#nowMs - pull.heardMs >= STALLED_AFTER_MS) this.#stalled(pull);
    }
  }

  #stalled(pull: Pull): void {
    const { source } = pull;
    if (this.#nowMs - pull.progressMs >= UNREACHABLE_AFTER_MS) {
      this.#close(pull, false);
      this.#fail(pull, "unreachable");
      return;
    }
    this.#close(pull, false);
    // A peer that is only slow has others to serve; a connection that says nothing at all is made anew.
    if (source === pull.home) {
      this.#effects.push({ kind: "reset", node: source });
      this.#retry(pull);
    } else this.#avoid(pull);
  }

  /** The home is asked for another source. */
  #avoid(pull: Pull): void {
    if (!pull.avoid.includes(pull.source)) pull.avoid.push(pull.source);
    if (this.#dead.has(pull.home)) this.#fail(pull, "lost");
    else this.#open(pull, pull.home);
  }

  #retry(pull: Pull): void {
    if (this.#dead.has(pull.home)) {
      this.#fail(pull, "lost");
      return;
    }
    if (this.#nowMs - pull.progressMs >= UNREACHABLE_AFTER_MS) {
      this.#fail(pull, "unreachable");
      return;
    }
    pull.state = "retrying";
    pull.retryAtMs = this.#nowMs + pull.retryDelayMs;
    pull.retryDelayMs = Math.min(RETRY_MAX_MS, pull.retryDelayMs * 2);
  }

  #open(pull: Pull, node: NodeTag): void {
    if (this.#dead.has(node)) {
      this.#fail(pull, "lost");
      return;
    }
    pull.state = "reading";
    pull.source = node;
    pull.pull = this.#newNumber();
    pull.askedBytes = pull.haveBytes;
    pull.heardMs = this.#nowMs;
    this.#byNumber.set(pull.pull, pull);
    this.#effects.push({ kind: "open", pull: pull.pull, key: pull.key, node, avoid: node === pull.home ? pull.avoid.slice() : [] });
    this.#read(pull);
  }

  #read(pull: Pull): void {
    while (pull.askedBytes < pull.sizeBytes && pull.askedBytes - pull.haveBytes < WINDOW_CHUNKS * CHUNK_BYTES) {
      const sizeBytes = Math.min(CHUNK_BYTES, pull.sizeBytes - pull.askedBytes);
      this.#effects.push({ kind: "read", pull: pull.pull, node: pull.source, offset: pull.askedBytes, sizeBytes });
      pull.askedBytes += sizeBytes;
    }
  }

  #close(pull: Pull, isDone: boolean): void {
    if (pull.pull === 0) return;
    this.#effects.push({ kind: "close", pull: pull.pull, node: pull.source, isDone });
    this.#forgetNumber(pull);
  }

  #forgetNumber(pull: Pull): void {
    this.#byNumber.delete(pull.pull);
    pull.pull = 0;
  }

  #fail(pull: Pull, reason: PullFailure): void {
    this.#forgetNumber(pull);
    this.#release(pull);
    this.#unqueue(pull);
    this.#pulls.delete(pull.key);
    this.#effects.push({ kind: "failed", key: pull.key, reason });
    this.#admit();
  }

  /** Discards the progress of a pull. */
  #stop(pull: Pull): void {
    this.#close(pull, false);
    this.#release(pull);
    if (pull.hasRoom) this.#effects.push({ kind: "abandoned", key: pull.key });
    pull.hasRoom = false;
    pull.haveBytes = 0;
    pull.state = "queued";
  }

  #release(pull: Pull): void {
    if (this.#active.delete(pull)) this.#activeBytes -= pull.sizeBytes;
  }

  // ---- admission

  /** Puts a pull that waits for room where its urgency is now. */
  #queue(pull: Pull): void {
    const queue = this.#queues[urgency(pull)] as Set<Pull>;
    if (queue.has(pull)) return;
    this.#unqueue(pull);
    queue.add(pull);
  }

  #unqueue(pull: Pull): void {
    for (const queue of this.#queues) queue.delete(pull);
  }

  #admit(): void {
    for (const queue of this.#queues) {
      for (const pull of queue) {
        if (this.#dead.has(pull.home)) {
          queue.delete(pull);
          this.#pulls.delete(pull.key);
          this.#effects.push({ kind: "failed", key: pull.key, reason: "lost" });
          continue;
        }
        // Nothing overtakes the first, or a large object would wait for ever.
        if (!this.#fits(pull) && !this.#makeRoom(pull)) return;
        queue.delete(pull);
        pull.state = "allocating";
        this.#active.add(pull);
        this.#activeBytes += pull.sizeBytes;
        this.#effects.push({ kind: "allocate", key: pull.key, sizeBytes: pull.sizeBytes });
      }
    }
  }

  #fits(pull: Pull): boolean {
    if (this.#active.size === 0) return true;
    return this.#active.size < ACTIVE_MAX && this.#activeBytes + pull.sizeBytes <= this.#budgetBytes;
  }

  /** Pulls that are less urgent give way, the least urgent and latest first, if that is enough. */
  #makeRoom(pull: Pull): boolean {
    const lesser = Array.from(this.#active).filter((other) => urgency(other) > urgency(pull));
    lesser.sort((a, b) => urgency(b) - urgency(a) || b.number - a.number);
    let bytes = this.#activeBytes;
    let count = this.#active.size;
    const given: Pull[] = [];
    for (const other of lesser) {
      if (count === 0 || (count < ACTIVE_MAX && bytes + pull.sizeBytes <= this.#budgetBytes)) break;
      given.push(other);
      bytes -= other.sizeBytes;
      count -= 1;
    }
    if (count > 0 && (count >= ACTIVE_MAX || bytes + pull.sizeBytes > this.#budgetBytes)) return false;
    for (const other of given) {
      this.#stop(other);
      this.#queue(other);
    }
    return true;
  }

  #newNumber(): number {
    const number = this.#next;
    this.#next = (number % 0xffffffff) + 1;
    return number;
  }
}

function urgency(pull: Pull): number {
  const first = pull.wants.findIndex((count) => count > 0);
  return first < 0 ? FETCH_FOR.PREFETCH : first;
}

/** Bounds a purpose, which comes from another process. */
function purposeOf(purpose: number): number {
  return purpose === FETCH_FOR.GET || purpose === FETCH_FOR.WAIT ? purpose : FETCH_FOR.PREFETCH;
}
