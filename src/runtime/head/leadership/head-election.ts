/**
 * Leader election among the heads: which one leads, and when a standby takes over.
 *
 * The leader announces itself on the bus. A standby that hears nothing for a while, although its own connection to the bus works, claims
 * the next term in the store; one claim wins. A leader steps down when it is fenced, hears of a higher term, or cannot prove its leadership
 * for `GIVES_UP_AFTER_MS`: it drops its state and becomes a standby. Without the last rule its nodes would stay on its links while another
 * head waits for them. Invariants: at most one head commits (the store's fence decides that, not a clock). A leader's answers to nodes are
 * older than `PROOF_GOOD_MS` before the next head may declare a node dead (`takeoverGraceMs` of the failure detector).
 */
import { messageOf } from "../../base/texts/describe.ts";
import { PROOF_GOOD_MS, PROVE_EVERY_MS } from "../../base/limits.ts";
import type { Bus, BusSubscription } from "../../control-plane/bus.ts";
import { FencedError } from "../../control-plane/control-plane-errors.ts";
import { ANNOUNCE_EVERY_MS, CLAIM_AFTER_MS, FLUSH_WITHIN_MS, GIVES_UP_AFTER_MS } from "../limits.ts";
import { claimLeadership, type Leadership } from "./leadership.ts";
import { ProofClock } from "./proof-clock.ts";
import type { ControlStore } from "../../control-plane/control-store.ts";

interface Announcement {
  readonly id: string;
  readonly term: number;
  /** Where nodes reach it. */
  readonly address: string;
}

/** The parts of a head that exist only while it leads. */
interface LeadingHead {
  /** Ends the leadership: drops links and state. Called once. */
  end(reason: string): void;
}

interface HeadElectionOptions {
  readonly id: string;
  readonly address: string;
  readonly store: ControlStore;
  readonly bus: Bus;
  /** Called when this head becomes the leader. An error ends the term. */
  readonly lead: (leadership: Leadership, election: HeadElection) => Promise<LeadingHead>;
  /** Whether other heads may exist. A lone head waits for nobody, and its answers are always valid. Default true. */
  readonly hasRivals?: boolean;
  readonly clock?: ElectionClock;
  /** Called when a leader is heard. */
  readonly onHeard?: () => void;
  readonly onError?: (error: unknown) => void;
}

interface ElectionClock {
  /** Monotonic time. */
  nowMs(): number;
  /** Returns a function that cancels the timer. */
  after(delayMs: number, run: () => void): () => void;
}

const LEADER_SUBJECT = "ctl.leader";
/** Two that claim at once cost a transaction. */
const JITTER_MS = 300;
const PROOF_KEY = "leader-proof";

const realClock: ElectionClock = {
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

export class HeadElection {
  readonly #options: HeadElectionOptions;
  readonly #clock: ElectionClock;
  readonly #subscription: BusSubscription;
  readonly #jitterMs: number;
  #heardMs: number;
  #highestTerm = 0;
  #leader: Announcement | undefined;
  #leadership: Leadership | undefined;
  #leading: LeadingHead | undefined;
  readonly #proofs = new ProofClock();
  #isClaiming = false;
  #isClosed = false;
  #cancelTurn: () => void = () => {};
  #cancelProof: () => void = () => {};

  constructor(options: HeadElectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#heardMs = options.hasRivals === false ? Number.NEGATIVE_INFINITY : this.#clock.nowMs();
    this.#jitterMs = jitterOf(options.id);
    this.#subscription = options.bus.subscribe(LEADER_SUBJECT, (data) => this.#heard(data));
    this.#turn();
  }

  get leads(): boolean {
    return this.#leadership !== undefined;
  }

  /** The last leader heard. */
  get leader(): Announcement | undefined {
    return this.#leader;
  }

  /** Whether a node may be told that it is alive: no other head can have led for longer than nodes are allowed. */
  get mayAnswer(): boolean {
    if (this.#leadership === undefined) return false;
    return this.#options.hasRivals === false || this.provenAgoMs < PROOF_GOOD_MS;
  }

  /** How long ago it was proven that no later head had begun. */
  get provenAgoMs(): number {
    return this.#proofs.agoMs(this.#clock.nowMs());
  }

  /**
   * Whether the last proof is fresh enough to act on a node's silence, and how many proofs came so late that the store may have been away.
   */
  get proofs(): { isFresh: boolean; lapses: number } {
    return { isFresh: this.#proofs.isFresh(this.#clock.nowMs()), lapses: this.#proofs.lapses };
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription.close();
    this.#cancelTurn();
    this.stepDown("it was closed");
  }

  /** Steps down, for callers that learn of the loss of leadership, such as the journal. */
  stepDown(reason: string): void {
    const leading = this.#leading;
    this.#cancelProof();
    this.#leadership = undefined;
    this.#leading = undefined;
    this.#heardMs = this.#clock.nowMs();
    leading?.end(reason);
  }

  #turn(): void {
    if (this.#isClosed) return;
    this.#cancelTurn = this.#clock.after(ANNOUNCE_EVERY_MS, () => this.#turn());
    if (this.#leadership !== undefined && this.#mustGiveUp)
      this.stepDown(`it could not prove for ${Math.round(this.provenAgoMs)} ms that it leads`);
    if (this.#leadership !== undefined) this.#announce(this.#leadership.term);
    else if (this.#clock.nowMs() - this.#heardMs > CLAIM_AFTER_MS + this.#jitterMs) void this.#claim();
  }

  get #mustGiveUp(): boolean {
    return this.#options.hasRivals !== false && this.provenAgoMs > GIVES_UP_AFTER_MS;
  }

  #announce(term: number): void {
    const { id, address, bus } = this.#options;
    bus.publish(LEADER_SUBJECT, Buffer.from(JSON.stringify({ id, term, address } satisfies Announcement)));
  }

  #heard(data: Uint8Array): void {
    const announcement = JSON.parse(Buffer.from(data).toString("utf8")) as Announcement;
    if (announcement.term < this.#highestTerm) return;
    this.#highestTerm = announcement.term;
    this.#leader = announcement;
    this.#heardMs = this.#clock.nowMs();
    this.#options.onHeard?.();
    if (announcement.id !== this.#options.id) this.#leadership?.hear(announcement.term);
  }

  async #claim(): Promise<void> {
    if (this.#isClaiming) return;
    this.#isClaiming = true;
    try {
      if (this.#options.hasRivals === false || (await this.#reachesBus())) await this.#takeOver();
    } catch (error) {
      // The claim has to wait until the store itself has a leader: tried again at the next turn.
      this.#options.onError?.(error);
    } finally {
      this.#isClaiming = false;
    }
  }

  /** A head that cannot hear would take over from a healthy leader. */
  async #reachesBus(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#clock.after(FLUSH_WITHIN_MS, () => resolve(false));
    this.#options.bus.flush().then(
      () => resolve(true),
      () => resolve(false),
    );
    const hasReached = await promise;
    cancel();
    return hasReached && this.#clock.nowMs() - this.#heardMs > CLAIM_AFTER_MS;
  }

  async #takeOver(): Promise<void> {
    const { id, store, lead, hasRivals = true } = this.#options;
    const sentMs = this.#clock.nowMs();
    const leadership = await claimLeadership(store, { id, hasRivals });
    if (leadership === undefined || this.#isClosed) {
      this.#heardMs = this.#clock.nowMs();
      return;
    }
    this.#leadership = leadership;
    this.#highestTerm = leadership.term;
    this.#proofs.begins(sentMs);
    leadership.fenced.addEventListener("abort", () => {
      if (this.#leadership === leadership) this.stepDown(messageOf(leadership.fenced.reason));
    });
    this.#announce(leadership.term);
    this.#prove(leadership);
    try {
      const leading = await lead(leadership, this);
      if (this.#leadership === leadership) this.#leading = leading;
      else leading.end("it was replaced while it read its tables");
    } catch (error) {
      if (this.#leadership === leadership) this.stepDown("it could not begin");
      throw error;
    }
  }

  /** A commit is the proof, counted from before it was sent. */
  #prove(leadership: Leadership): void {
    this.#cancelProof = this.#clock.after(PROVE_EVERY_MS, () => {
      if (this.#leadership !== leadership) return;
      const sentMs = this.#clock.nowMs();
      const value = new Uint8Array(0);
      leadership.commit([{ key: PROOF_KEY, value }]).then(
        () => {
          if (this.#leadership === leadership) this.#proofs.proven(sentMs, this.#clock.nowMs());
        },
        (error: unknown) => {
          // Every component that hears of fencing handles it. An unavailable store proves nothing either way.
          if (!(error instanceof FencedError)) this.#options.onError?.(error);
        },
      );
      this.#prove(leadership);
    });
  }
}

/** The same for a head each time, different for most. */
function jitterOf(id: string): number {
  let hash = 0;
  for (const character of id) hash = (hash * 31 + (character.codePointAt(0) as number)) % 1_000_003;
  return hash % JITTER_MS;
}
