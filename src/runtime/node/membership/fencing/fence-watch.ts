/**
 * Watches whether the head still answers this node, and ends the node before the head may give its work to others.
 *
 * The shell around `self-fence.ts`: a timer and the answers to heartbeats. Once answers are missing, it asks the head's address and some other nodes, and
 * `head-silence.ts` judges the results. Where other heads may begin, `store-watch.ts` looks whether they can. The node's membership makes it after a head has admitted
 * the node, and the daemon carries out the effects. It prints its findings once for each silence, so that a reader learns why a node ended.
 */
import { judgeSilence, type PeerWord } from "../head/head-silence.ts";
import { ANSWERS_WITHIN_MS, ASK_AFTER_MS, ASK_EVERY_MS, NOBODY_ANSWERED_MS, SAY_AFTER_MS } from "../limits.ts";
import { type FenceEffect, type LaterHeads, SelfFence } from "./self-fence.ts";
import { StoreWatch, type StoreWatchOptions } from "./store-watch.ts";

/** Another node that serves as a witness. */
export interface Neighbour {
  /** How long ago it has sent its last question that the head answered; rejects when it does not say. */
  readonly headSilence: (withinMs: number) => Promise<number>;
  readonly refuses: () => Promise<boolean | undefined>;
}

interface FenceWatchOptions {
  readonly deadAfterMs: number;
  readonly closedAfterMs: number;
  readonly nowMs: () => number;
  /** Whether the head's address refuses connections; undefined when nothing is heard from there. */
  readonly refuses: () => Promise<boolean | undefined>;
  /** Asks a server of the heads' store. */
  readonly storeWordOf: StoreWatchOptions["wordOf"];
  /** At most `count` of the other nodes that are alive, each time others. */
  readonly neighbours: (count: number) => readonly Neighbour[];
  readonly onEffect: (effect: FenceEffect) => void;
  /** Until when the workers may run if nothing more is heard, on the clock of `nowMs`. Said more than once. */
  readonly allow: (untilMs: number) => void;
  /** For people. */
  readonly say: (text: string) => void;
}

const TICK_MS = 250;
const NEIGHBOURS_ASKED = 16;

export class FenceWatch {
  readonly #options: FenceWatchOptions;
  readonly #fence: SelfFence;
  readonly #store: StoreWatch;
  readonly #timer: NodeJS.Timeout;
  #answeredMs: number;
  /** When it was last known that the head answers this node or nobody. */
  #knownMs: number;
  #askedMs = 0;
  #isAsking = false;
  #said: string | undefined;
  #isStoreSaid = false;
  /** When no head answered this node, nor at least half of the others. */
  #nobodyAnsweredMs = Number.NEGATIVE_INFINITY;

  constructor(options: FenceWatchOptions) {
    this.#options = options;
    const nowMs = options.nowMs();
    this.#answeredMs = nowMs;
    this.#knownMs = nowMs;
    this.#fence = new SelfFence({ nowMs, deadAfterMs: options.deadAfterMs, closedAfterMs: options.closedAfterMs });
    this.#store = new StoreWatch({
      nowMs: options.nowMs,
      wordOf: options.storeWordOf,
      isNobodyAnswered: () => options.nowMs() - this.#nobodyAnsweredMs < NOBODY_ANSWERED_MS,
      onMet: (count) =>
        options.say(
          `This node reaches the control store (${count === 1 ? "one server" : `${count} servers`}), so it goes on while that is away.`,
        ),
      onAway: (provenMs) => this.#storeAway(provenMs),
    });
    // Before any work comes: this process may be stopped at any time.
    options.allow(this.#fence.runsUntilMs);
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Since the sending of the last question that the head answered. */
  get silentMs(): number {
    return this.#options.nowMs() - this.#answeredMs;
  }

  /** @param later where other heads may take over */
  answered(sentMs: number, later?: LaterHeads): void {
    this.#answeredMs = Math.max(this.#answeredMs, sentMs);
    this.#knownMs = Math.max(this.#knownMs, sentMs);
    this.#nobodyAnsweredMs = Number.NEGATIVE_INFINITY;
    if (later !== undefined) this.#store.heard(later.provenMs, later.storeServers ?? []);
    if (this.#said !== undefined && this.silentMs < ASK_AFTER_MS) {
      this.#said = undefined;
      this.#isStoreSaid = false;
      this.#options.say("The head answers again.");
    }
    this.#do(this.#fence.handle({ kind: "acknowledged", sentMs, later, nowMs: this.#options.nowMs() }));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#store.close();
  }

  #storeAway(provenMs: number): void {
    if (!this.#isStoreSaid)
      this.#options.say("Most servers of the control store are away, so no head can lead: this node goes on meanwhile.");
    this.#isStoreSaid = true;
    this.#do(this.#fence.handle({ kind: "storeAway", provenMs, nowMs: this.#options.nowMs() }));
  }

  #tick(): void {
    const nowMs = this.#options.nowMs();
    this.#do(this.#fence.handle({ kind: "tick", nowMs }));
    if (this.#isAsking || nowMs - this.#answeredMs < ASK_AFTER_MS || nowMs - this.#askedMs < ASK_EVERY_MS) return;
    this.#askedMs = nowMs;
    this.#isAsking = true;
    void this.#ask(nowMs).finally(() => {
      this.#isAsking = false;
    });
  }

  async #ask(sentMs: number): Promise<void> {
    const { refuses, neighbours, deadAfterMs, nowMs } = this.#options;
    const [isRefused, ...peers] = await Promise.all([
      refuses().catch(() => undefined),
      ...neighbours(NEIGHBOURS_ASKED).map((neighbour) => this.#wordOf(neighbour)),
    ]);
    const verdict = judgeSilence({ refuses: isRefused, peers, silentMs: this.silentMs, unknownMs: nowMs() - this.#knownMs, deadAfterMs });
    this.#say(verdict.kind === "headless" ? "no other node is answered either, so this one goes on" : verdict.reason);
    if (verdict.kind !== "headless") return;
    const deaf = peers.filter(({ kind }) => kind === "answered").length;
    if (deaf * 2 >= peers.filter(({ kind }) => kind !== "refused").length) this.#nobodyAnsweredMs = sentMs;
    const knownMs = sentMs - verdict.ageMs;
    this.#knownMs = Math.max(this.#knownMs, knownMs);
    this.#do(this.#fence.handle({ kind: "headless", sentMs: knownMs, nowMs: nowMs() }));
  }

  async #wordOf({ headSilence, refuses }: Neighbour): Promise<PeerWord> {
    // Both at once: a proof is as old as its question, and one neighbour that does not answer must not make it too old.
    const hasEnded = refuses().catch(() => undefined);
    try {
      const silentMs = await headSilence(ANSWERS_WITHIN_MS);
      // Compared at this moment: other witnesses may take longer.
      return { kind: "answered", laterMs: this.silentMs - silentMs, silentMs };
    } catch {
      return { kind: (await hasEnded) === true ? "refused" : "unheard" };
    }
  }

  #say(text: string): void {
    if (text === this.#said || this.silentMs < SAY_AFTER_MS) return;
    this.#said = text;
    this.#options.say(`The head has not answered for ${Math.round(this.silentMs)} ms: ${text}.`);
  }

  #do(effects: readonly FenceEffect[]): void {
    for (const effect of effects) this.#options.onEffect(effect);
    this.#options.allow(this.#fence.runsUntilMs);
  }
}
