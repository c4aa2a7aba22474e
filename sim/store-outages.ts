/**
 * The store of a fencing model, which can be killed or stand still, and the node's looks at it: what decides there is the real `StoreAbsence`.
 *
 * A killed server refuses requests, which are sent again. A server that stands still applies its requests when it goes on. After either it
 * greets for a while before it keeps anything, as servers that elect a leader do. A node may also be behind a firewall that refuses in the
 * store's place. Made by `fencing-world.ts`.
 */
import { StoreAbsence, type StoreWord } from "../src/runtime/node/membership/fencing/store-absence.ts";
import type { FencingMutation } from "./fencing-mutations.ts";
import type { SeededNumbers, VirtualTime } from "./virtual-time.ts";

const ELECTION_MS = 8_000;
const SENDS_AGAIN_MS = 400;
/** As long as a transaction is tried. */
const SENDS_FOR_MS = 6_000;
const STORE = "tcp://store:1";
/** A node looks at the store when no head has proven for so long that it leads. */
const UNPROVEN_AFTER_MS = 5_000;
const SPEAKS_WITHIN_MS = 1_500;
const NOBODY_ANSWERED_MS = 4_000;

export class StoreOutages {
  /** Whether the firewall refuses the node for good. */
  readonly isFirewalled: boolean;
  #state: "up" | "killed" | "stopped" | "electing" = "up";
  #untilMs = 0;
  readonly #held: (() => void)[] = [];
  readonly #time: VirtualTime;
  readonly #random: SeededNumbers;

  constructor(time: VirtualTime, random: SeededNumbers, { isFirewalled }: { isFirewalled: boolean }) {
    this.#time = time;
    this.#random = random;
    this.isFirewalled = isFirewalled;
  }

  /** Whether nothing goes over its bus. */
  get isAway(): boolean {
    return this.#state === "killed" || this.#state === "stopped";
  }

  /** Something that was sent to it arrives. Where nobody takes it, it is sent again for a while by who `isThere`. */
  at(run: () => void, isThere: () => boolean, untilMs: number = this.#time.nowMs + SENDS_FOR_MS): void {
    if (this.#state === "up") run();
    else if (this.#state === "stopped") this.#held.push(run);
    else if (this.#time.nowMs < untilMs) this.#time.after(SENDS_AGAIN_MS, () => isThere() && this.at(run, isThere, untilMs));
  }

  get word(): StoreWord {
    if (this.isFirewalled || this.#state === "killed") return "refuses";
    return this.#state === "stopped" ? "silent" : "lives";
  }

  /** Most of them are about as long as a head takes to give up. */
  begin(): void {
    const lengthMs = this.#random.isLucky(0.7) ? this.#random.between(2_000, 14_000) : this.#random.between(500, 60_000);
    const isKilled = this.#random.isLucky(0.5);
    const endsMs = this.#time.nowMs + lengthMs;
    const electsMs = this.#random.isLucky(0.3) ? this.#random.between(0, ELECTION_MS) : 0;
    if (endsMs < this.#untilMs) return;
    this.#untilMs = endsMs;
    this.#state = isKilled ? "killed" : "stopped";
    if (isKilled) this.#held.length = 0;
    this.#time.after(lengthMs, () => {
      if (endsMs !== this.#untilMs) return;
      this.#state = "electing";
      this.#time.after(electsMs, () => {
        if (this.#state !== "electing" || endsMs !== this.#untilMs) return;
        this.#state = "up";
        for (const run of this.#held.splice(0)) run();
      });
    });
  }
}

interface StoreLooksOptions {
  readonly mutation: FencingMutation;
  /** Hears the store's word, or never. */
  readonly ask: (hear: (word: StoreWord) => void) => void;
  /** Not in a process that is stopped. */
  readonly after: (ms: number, run: () => void) => void;
  readonly onAway: (provenMs: number) => void;
}

/** A node's knowledge of the store from looking at it, as `StoreWatch` looks. */
export class StoreLooks {
  readonly #absence = new StoreAbsence();
  readonly #options: StoreLooksOptions;
  #provenMs = 0;
  #nobodyAnsweredMs = -Infinity;

  constructor(options: StoreLooksOptions) {
    this.#options = options;
    this.#absence.know([STORE]);
    if (options.mutation === "unprovenRefuse") this.#absence.looked({ sentMs: 0, words: ["lives"], isNobodyAnswered: false });
  }

  answered(provenMs: number): void {
    this.#nobodyAnsweredMs = -Infinity;
    this.#provenMs = Math.max(this.#provenMs, provenMs);
  }

  nobodyAnswered(sentMs: number): void {
    this.#nobodyAnsweredMs = sentMs;
  }

  look(sentMs: number): void {
    const { ask, after } = this.#options;
    if (sentMs - this.#provenMs < UNPROVEN_AFTER_MS && this.#absence.hasSeenAll) return;
    let word: StoreWord;
    ask((heard) => {
      word = heard;
    });
    after(SPEAKS_WITHIN_MS, () => this.#looked(sentMs, word));
  }

  #looked(sentMs: number, word: StoreWord): void {
    const { mutation, onAway } = this.#options;
    const isNobodyAnswered = sentMs - this.#nobodyAnsweredMs < NOBODY_ANSWERED_MS;
    const provenMs = this.#absence.looked({ sentMs, words: [word], isNobodyAnswered });
    const isAway = this.#absence.hasSeenAll && (word === "refuses" || (word === "silent" && isNobodyAnswered));
    if (mutation === "awayAtOnce" && isAway) onAway(sentMs);
    else if (provenMs !== undefined) onAway(provenMs);
  }
}
