/**
 * A model of one node, two heads, their links, the bus and the store, in which everything between them can be cut, delayed and stopped.
 *
 * Real code decides: `FailureDetector` in each head, `SelfFence` in the node. The model plays the shells around them. It decides which head
 * answers a heartbeat and when it may: a head that has lately proven to the store that it leads. It commits a suspicion before the
 * suspicion counts, picks the proof that a node accepts when nobody answers, and stops workers whose daemon has not told them to go on. The
 * invariant: when the death of the node is committed, no worker of the node runs.
 */
import type { NodeId } from "../src/runtime/base/ids.ts";
import { CLOSED_AFTER_MS, DEAD_AFTER_MS, HEARTBEAT_EVERY_MS, PROOF_GOOD_MS, WORKER_GRACE_MS } from "../src/runtime/base/limits.ts";
import { type DetectorEffect, type DetectorEvent, FailureDetector } from "../src/runtime/head/nodes/failure-detector.ts";
import { ANNOUNCE_EVERY_MS, CLAIM_AFTER_MS, GIVES_UP_AFTER_MS } from "../src/runtime/head/limits.ts";
import { ProofClock } from "../src/runtime/head/leadership/proof-clock.ts";
import { SAME_TIME_MS } from "../src/runtime/node/membership/limits.ts";
import { type FenceEvent, type LaterHeads, SelfFence } from "../src/runtime/node/membership/fencing/self-fence.ts";
import type { FencingMutation, FencingProof } from "./fencing-mutations.ts";
import { CUTS, type Head, type Place, type Way } from "./fencing-places.ts";
import { StoreLooks, StoreOutages } from "./store-outages.ts";
import { SeededNumbers, VirtualTime } from "./virtual-time.ts";

const NODE = "n" as NodeId;
const INCARNATION = "1";
/** Both sides of a connection learn of the end within this. */
const CLOSING_MS = 400;

interface StoreState {
  term: number;
  leader: number;
  state: "alive" | "suspect" | "dead";
}

export interface FencingOptions {
  readonly seed: number;
  readonly mutation?: FencingMutation;
  /** Default: store. */
  readonly proof?: FencingProof;
  /** Whether the store may be away. Default: false. */
  readonly hasOutages?: boolean;
}

export class FencingWorld {
  readonly time: VirtualTime = new VirtualTime();
  readonly random: SeededNumbers;
  readonly mutation: FencingMutation;
  readonly proof: FencingProof;
  /** Undefined where the store is never away. */
  readonly outages: StoreOutages | undefined;
  readonly store: StoreState = { term: 1, leader: 0, state: "alive" };
  readonly violations: string[] = [];
  readonly heads: ModelHead[];
  readonly node: ModelNode;
  deaths = 0;
  takeovers = 0;
  readonly #cuts = new Set<string>();
  /** The node's server of the bus and those of the heads have lost each other. */
  #isBusSplit = false;
  delayMs = 5;

  constructor({ seed, mutation = "none", proof = "store", hasOutages = false }: FencingOptions) {
    this.random = new SeededNumbers(seed);
    this.mutation = mutation;
    this.proof = proof;
    if (hasOutages) this.outages = new StoreOutages(this.time, this.random, { isFirewalled: this.random.isLucky(0.15) });
    this.node = new ModelNode(this);
    this.heads = [new ModelHead(this, 0), new ModelHead(this, 1)];
  }

  isOpen(a: Place, b: Place, way: Way = "direct"): boolean {
    if (way === "bus" && this.outages?.isAway === true) return false;
    if (way === "bus") return this.isOpen(a, "bus") && this.isOpen("bus", b) && !(this.#isBusSplit && (a === "node" || b === "node"));
    return !this.#cuts.has(`${a} ${b}`) && !this.#cuts.has(`${b} ${a}`);
  }

  /**
   * Delivers later; when the path is cut by then, delivers only messages that are past the cut. Links and the bus keep no order here, which
   * only makes the task harder.
   */
  send([from, to, way]: [Place, Place, Way], run: () => void): void {
    if (!this.isOpen(from, to, way)) return;
    const delayMs = this.random.between(0.2, this.delayMs);
    const isPast = this.random.isLucky(0.5);
    this.time.after(delayMs, () => {
      if (isPast || this.isOpen(from, to, way)) run();
    });
  }

  /** To the store, where it is away at times. */
  sendToStore(from: Place, run: () => void): void {
    this.send([from, "store", "direct"], () => {
      if (this.outages === undefined) run();
      else this.outages.at(run, () => this.heads.find(({ place }) => place === from)?.isAwake === true);
    });
  }

  /** Begins a misfortune, which ends after a while or never. */
  misfortune(): void {
    const { random, time } = this;
    const lengthMs = random.between(500, 40_000);
    if (this.outages !== undefined && random.isLucky(0.7)) return random.isLucky(0.6) ? this.outages.begin() : this.#split(2 * lengthMs);
    const kind = random.next();
    if (kind < 0.15) {
      this.delayMs = random.between(100, 8_000);
      time.after(lengthMs / 4, () => {
        this.delayMs = 5;
      });
    } else if (kind < 0.3) this.node.stopFor(lengthMs);
    else if (kind < 0.4) this.heads[random.isLucky(0.5) ? 0 : 1]?.stopFor(lengthMs);
    else this.#cut(lengthMs);
  }

  /** A split leaves one head with the node and the other one with the store: the latter will lead, and the node cannot hear it. */
  #split(lengthMs: number): void {
    this.time.after(this.random.between(3_000, 20_000), () => this.outages?.begin());
    const [near, far] = this.random.isLucky(0.5) ? ["head0", "head1"] : ["head1", "head0"];
    this.#cutFor(
      [
        ["node", far],
        [near, "store"],
        [near, "bus"],
      ] as [Place, Place][],
      lengthMs,
    );
  }

  #cut(lengthMs: number): void {
    const { random } = this;
    const isIsolated = random.isLucky(0.4);
    const chosen = CUTS.filter(([a]) => (isIsolated ? a === "node" : random.isLucky(0.4)));
    this.#cutFor(chosen, lengthMs);
    if (random.isLucky(0.2)) {
      this.#isBusSplit = true;
      this.time.after(lengthMs, () => {
        this.#isBusSplit = false;
      });
    }
    // A cut that swallows packets closes nothing. A daemon that stands still and also loses its connections is one fault more than is
    // promised.
    if (!random.isLucky(0.5) || this.node.isStopped) return;
    this.node.noticeClosed();
    for (const head of this.heads) head.noticeClosed();
  }

  #cutFor(ways: readonly [Place, Place][], lengthMs: number): void {
    for (const [a, b] of ways) {
      const key = `${a} ${b}`;
      this.#cuts.add(key);
      this.time.after(lengthMs, () => this.#cuts.delete(key));
    }
  }

  /** The moment at which another node may run what this one ran. */
  died(reason: string): void {
    this.deaths += 1;
    if (this.node.workersRun) this.violations.push(`${Math.round(this.time.nowMs)}: declared dead (${reason}) while its workers run`);
  }
}

class ModelNode {
  readonly #world: FencingWorld;
  readonly #drift: number;
  readonly #fence: SelfFence;
  readonly #looks: StoreLooks;
  absences = 0;
  fences = 0;
  pauses = 0;
  /** As its server of the bus has it. */
  isOnBus = true;
  #stoppedUntilMs = 0;
  #closedMs = -Infinity;
  #linkedTo: Head = "head0";
  #linkClosedMs = 0;
  #term = 0;
  #isPaused = false;
  #isFenced = false;
  /** How long the workers may run, by the last word that they heard, on the machine's clock, which they share with the daemon. */
  #workersUntilMs = DEAD_AFTER_MS;

  constructor(world: FencingWorld) {
    this.#world = world;
    this.#drift = 1 + world.random.between(-0.01, 0.01);
    this.#fence = new SelfFence({ nowMs: 0, deadAfterMs: DEAD_AFTER_MS, closedAfterMs: CLOSED_AFTER_MS });
    this.#looks = new StoreLooks({
      mutation: world.mutation,
      ask: (hear) =>
        world.send(["node", "store", "direct"], () => {
          const word = world.outages?.word;
          world.send(["store", "node", "direct"], () => hear(word));
        }),
      after: (ms, run) => world.time.after(ms, () => this.#isAwake && run()),
      onAway: (provenMs) => {
        this.absences += 1;
        this.#tell({ kind: "storeAway", provenMs, nowMs: this.clockMs });
      },
    });
    world.time.every(HEARTBEAT_EVERY_MS, () => this.#isAwake && this.#beat());
    if (world.outages !== undefined) world.time.every(HEARTBEAT_EVERY_MS, () => this.#isAwake && this.#looks.look(this.clockMs));
    world.time.every(50, () => this.#isAwake && this.#tell({ kind: "tick", nowMs: this.clockMs }));
  }

  get clockMs(): number {
    return this.#world.time.nowMs * this.#drift;
  }

  get isStopped(): boolean {
    return this.#world.time.nowMs < this.#stoppedUntilMs;
  }

  /** Whether the process has ended, so that its address refuses connections. */
  get hasEnded(): boolean {
    return this.#isFenced;
  }

  /** Whether the daemon listens and answers; a stopped one keeps its connections. */
  get #isAwake(): boolean {
    return !this.#isFenced && !this.isStopped;
  }

  get workersRun(): boolean {
    if (this.#isFenced || this.#isPaused) return false;
    return this.#world.mutation === "workersTrustDaemon" || this.clockMs < this.#workersUntilMs + WORKER_GRACE_MS;
  }

  /** Not while it learns that its connections are closed: that would be one fault more than is promised. */
  stopFor(lengthMs: number): void {
    const { nowMs } = this.#world.time;
    if (nowMs - this.#closedMs > 2 * CLOSED_AFTER_MS) this.#stoppedUntilMs = Math.max(this.#stoppedUntilMs, nowMs + lengthMs);
  }

  noticeClosed(): void {
    const { time, random } = this.#world;
    this.#closedMs = time.nowMs;
    if (!this.#hasBus) this.isOnBus = false;
    time.after(random.between(0, CLOSING_MS), () => {
      if (!this.#isAwake) return;
      if (!this.#world.isOpen("node", this.#linkedTo)) {
        this.#linkClosedMs = this.clockMs;
        this.#tell({ kind: "linkClosed", nowMs: this.clockMs });
      }
      if (!this.#hasBus && this.#world.proof === "store") this.#tell({ kind: "busClosed", nowMs: this.clockMs });
    });
  }

  get #hasBus(): boolean {
    return this.#world.isOpen("node", "bus");
  }

  #beat(): void {
    const world = this.#world;
    const sentMs = this.clockMs;
    if (this.#hasBus) {
      this.isOnBus = true;
      this.#tell({ kind: "busOpen", nowMs: sentMs });
    }
    let answers = 0;
    for (const head of world.heads) {
      for (const way of world.proof === "store" ? (["direct", "bus"] as const) : (["direct"] as const)) {
        world.send(["node", head.place, way], () => {
          const { answer, term, provenAgoMs } = head.hear();
          if (answer === undefined) return;
          world.send([head.place, "node", way], () => {
            // The word of a head that was replaced since does not count.
            if (!this.#isAwake || term < this.#term) return;
            this.#term = term;
            answers += 1;
            // A link is open again when the head has said so over a connection that was made after the last was closed.
            if (way === "direct" && sentMs > this.#linkClosedMs) {
              this.#linkedTo = head.place;
              this.#tell({ kind: "linkOpen", nowMs: this.clockMs });
            }
            if (answer === "dead") this.#tell({ kind: "declaredDead", nowMs: this.clockMs });
            this.#looks.answered(sentMs - provenAgoMs);
            if (answer === "alive")
              this.#tell({ kind: "acknowledged", sentMs, later: this.#later(sentMs - provenAgoMs, sentMs), nowMs: this.clockMs });
          });
        });
      }
    }
    world.time.after(HEARTBEAT_EVERY_MS / 2, () => {
      if (!this.#isAwake || answers > 0) return;
      if (world.proof === "store") this.#askStore();
      else this.#askAddress();
    });
  }

  #later(provenMs: number, sentMs: number): LaterHeads | undefined {
    const { proof, mutation } = this.#world;
    if (proof === "store" || mutation === "laterHeadsForgotten") return undefined;
    return { provenMs: mutation === "answersAreProofs" ? sentMs : provenMs, takeoverGraceMs: PROOF_GOOD_MS };
  }

  /** The head's address takes connections and the head answers nobody: it stands still, or leads no more. */
  #askAddress(): void {
    const world = this.#world;
    const sentMs = this.clockMs;
    const head = world.heads[this.#linkedTo === "head0" ? 0 : 1] as ModelHead;
    world.send(["node", head.place, "direct"], () => {
      if (head.isHeard) return;
      world.send([head.place, "node", "direct"], () => {
        if (!this.#isAwake) return;
        this.#looks.nobodyAnswered(sentMs);
        this.#tell({ kind: "headless", sentMs: sentMs - SAME_TIME_MS, nowMs: this.clockMs });
      });
    });
  }

  /** No head answers: a transaction on the record of this node tells whether a head may declare it dead. */
  #askStore(): void {
    const world = this.#world;
    const sentMs = this.clockMs;
    const proven = (): void => {
      if (this.#isAwake) this.#tell({ kind: "headless", sentMs, nowMs: this.clockMs });
    };
    if (world.mutation === "headlessWithoutStore" && this.#hasBus) proven();
    world.sendToStore("node", () => {
      const { state } = world.store;
      world.send(["store", "node", "direct"], () => {
        if (state === "alive") proven();
        else if (state === "dead" && this.#isAwake) this.#tell({ kind: "declaredDead", nowMs: this.clockMs });
      });
    });
  }

  #tell(event: FenceEvent): void {
    for (const effect of this.#fence.handle(event)) {
      if (effect.kind === "fence") {
        this.#isFenced = true;
        this.fences += 1;
      } else if (this.#world.mutation !== "noPause") {
        this.#isPaused = effect.kind === "pause";
        if (this.#isPaused) this.pauses += 1;
      }
    }
    // Stopped workers cannot look at their deadline; the daemon that stopped them kills or continues them.
    if (this.#fence.runsUntilMs > 0) this.#workersUntilMs = this.#fence.runsUntilMs;
  }
}

class ModelHead {
  readonly place: Head;
  readonly #world: FencingWorld;
  readonly #index: number;
  readonly #drift: number;
  #detector: FailureDetector | undefined;
  #term = 0;
  readonly #proofs = new ProofClock();
  #lapses = 0;
  #isFresh = true;
  #heardLeaderMs = 0;
  #isLinkUp = false;
  #stoppedUntilMs = 0;

  constructor(world: FencingWorld, index: 0 | 1) {
    this.#world = world;
    this.#index = index;
    this.place = `head${index}` as Head;
    this.#drift = 1 + world.random.between(-0.01, 0.01);
    this.#proofs.begins(0);
    if (index === 0) this.#lead(1);
    world.time.every(ANNOUNCE_EVERY_MS, () => this.isAwake && this.#announceOrClaim());
    world.time.every(100, () => this.isAwake && this.#tick());
    world.time.every(200, () => this.isAwake && this.#askBus());
    world.time.every(3_000, () => this.isAwake && this.#prove());
  }

  get clockMs(): number {
    return this.#world.time.nowMs * this.#drift;
  }

  get leads(): boolean {
    return this.#detector !== undefined;
  }

  get isAwake(): boolean {
    return this.#world.time.nowMs >= this.#stoppedUntilMs;
  }

  /** Whether its address answers as a head does. */
  get isHeard(): boolean {
    return this.isAwake && this.#detector !== undefined;
  }

  stopFor(lengthMs: number): void {
    this.#stoppedUntilMs = Math.max(this.#stoppedUntilMs, this.#world.time.nowMs + lengthMs);
  }

  noticeClosed(): void {
    const { time, random } = this.#world;
    time.after(random.between(0, CLOSING_MS), () => {
      if (!this.isAwake || this.#detector === undefined) return;
      const isOpen = this.#world.isOpen("node", this.place);
      if (this.#isLinkUp && !isOpen) {
        this.#isLinkUp = false;
        this.#tell(this.#ofNode("linkDown"));
      }
    });
  }

  /** While the link is down the bus is asked; a server that has lost the other servers answers as if nobody were there, which is one fault more than is promised. */
  #askBus(): void {
    if (this.#detector === undefined || this.#isLinkUp) return;
    const { node, proof } = this.#world;
    if (proof === "addresses") {
      if (!this.#world.isOpen(this.place, "node")) return;
      this.#tell(this.#ofNode(node.hasEnded ? "busLost" : "busBack"));
      if (node.hasEnded) this.#tell(this.#ofNode("refusesConnections"));
      return;
    }
    const saysNobody = this.#world.isOpen(this.place, "bus") && !node.isOnBus;
    this.#tell(this.#ofNode(saysNobody ? "busLost" : "busBack"));
  }

  /** As `NodeWatch` does it. */
  #tick(): void {
    const nowMs = this.clockMs;
    if (this.#world.proof === "addresses" && this.#world.mutation !== "lapsesForgotten") {
      const isFresh = this.#proofs.isFresh(nowMs);
      if (this.#proofs.lapses !== this.#lapses) this.#tell({ kind: "ownProofLapsed", nowMs });
      if (isFresh !== this.#isFresh) this.#tell({ kind: isFresh ? "ownBusBack" : "ownBusLost", nowMs });
      this.#lapses = this.#proofs.lapses;
      this.#isFresh = isFresh;
    }
    this.#tell({ kind: "tick", nowMs });
  }

  /** A heartbeat; without an answer when this head may not give one. */
  hear(): { answer: "alive" | "dead" | undefined; term: number; provenAgoMs: number } {
    const term = this.#term;
    const provenAgoMs = this.#proofs.agoMs(this.clockMs);
    if (!this.isAwake || this.#detector === undefined) return { answer: undefined, term, provenAgoMs };
    const isOpen = this.#world.isOpen("node", this.place);
    if (!this.#isLinkUp && isOpen) {
      this.#isLinkUp = true;
      this.#tell(this.#ofNode("registered"));
    }
    this.#tell(this.#ofNode("heartbeat"));
    if (this.#detector?.isDead(NODE, INCARNATION)) return { answer: "dead", term, provenAgoMs };
    const isProven = this.#world.mutation === "unprovenAnswers" || provenAgoMs < PROOF_GOOD_MS;
    return { answer: isProven ? "alive" : undefined, term, provenAgoMs };
  }

  #ofNode(kind: "registered" | "expected" | "heartbeat" | "linkDown" | "busLost" | "busBack" | "refusesConnections"): DetectorEvent {
    return { kind, node: NODE, incarnation: INCARNATION, nowMs: this.clockMs };
  }

  #announceOrClaim(): void {
    const { heads } = this.#world;
    const other = heads[1 - this.#index] as ModelHead;
    if (this.#world.outages !== undefined && this.#proofs.agoMs(this.clockMs) > GIVES_UP_AFTER_MS) this.#stepDown();
    if (this.#detector !== undefined) {
      this.#world.send([this.place, other.place, "bus"], () => other.#hearLeader(this.#term));
      return;
    }
    if (this.clockMs - this.#heardLeaderMs < CLAIM_AFTER_MS) return;
    this.#heardLeaderMs = this.clockMs;
    this.#write((store) => {
      const sentMs = this.clockMs;
      store.term += 1;
      store.leader = this.#index;
      const { term } = store;
      return () => {
        this.#world.takeovers += 1;
        this.#proofs.begins(sentMs);
        this.#lead(term);
      };
    });
  }

  #hearLeader(term: number): void {
    if (!this.isAwake) return;
    this.#heardLeaderMs = this.clockMs;
    if (term > this.#term) this.#stepDown();
  }

  #lead(term: number): void {
    this.#term = term;
    this.#isLinkUp = false;
    this.#lapses = this.#proofs.lapses;
    this.#isFresh = true;
    const isFirst = this.#world.time.nowMs === 0;
    const takeoverGraceMs = isFirst || this.#world.mutation === "noGrace" ? 0 : PROOF_GOOD_MS;
    this.#detector = new FailureDetector({ deadAfterMs: DEAD_AFTER_MS, closedAfterMs: CLOSED_AFTER_MS, takeoverGraceMs });
    if (this.#world.store.state === "dead") this.#detector.restoreDead(NODE, INCARNATION);
    else this.#tell(this.#ofNode("expected"));
  }

  #stepDown(): void {
    this.#detector = undefined;
  }

  #prove(): void {
    if (this.#detector === undefined) return;
    const sentMs = this.clockMs;
    this.#commit(
      () => {},
      () => {
        this.#proofs.proven(sentMs, this.clockMs);
      },
    );
  }

  #tell(event: DetectorEvent): void {
    for (const effect of this.#detector?.handle(event) ?? []) this.#perform(effect);
  }

  #perform(effect: DetectorEffect): void {
    const world = this.#world;
    switch (effect.kind) {
      case "suspect": {
        const marked = (): void =>
          this.#tell({ kind: "marked", node: NODE, incarnation: INCARNATION, suspicion: effect.suspicion, nowMs: this.clockMs });
        if (world.mutation === "markAtOnce") marked();
        else
          this.#commit((store) => {
            if (store.state === "alive") store.state = "suspect";
          }, marked);
        return;
      }
      case "alive":
        this.#commit(
          (store) => {
            if (store.state === "suspect") store.state = "alive";
          },
          () => {},
        );
        return;
      case "dead":
        this.#commit(
          (store) => {
            if (store.state !== "dead") world.died(effect.reason);
            store.state = "dead";
          },
          () => {},
        );
        return;
      case "refused":
      case "unknown":
      case "freeze":
      case "thaw":
        return;
    }
  }

  /** In order, as the journal does it: tried again until it is kept, or another head leads. */
  readonly #waiting: [(store: StoreState) => void, () => void][] = [];
  #isWriting = false;

  #commit(change: (store: StoreState) => void, then: () => void): void {
    this.#waiting.push([change, then]);
    if (!this.#isWriting) this.#writeNext();
  }

  #writeNext(): void {
    const next = this.#waiting[0];
    this.#isWriting = next !== undefined;
    if (next === undefined) return;
    const term = this.#term;
    const [change, then] = next;
    let isDone = false;
    this.#write((store) => {
      if (isDone) return () => {};
      if (store.term !== term) {
        return () => {
          this.#waiting.length = 0;
          this.#isWriting = false;
          if (this.#term === term) this.#stepDown();
        };
      }
      isDone = true;
      change(store);
      return () => {
        this.#waiting.shift();
        then();
        this.#writeNext();
      };
    });
    const retry = (): void => {
      if (this.#waiting[0] !== next || this.#term !== term) return;
      if (!isDone) return this.#writeNext();
      // Kept, and the answer was lost: a head that cannot know whether it leads does not.
      this.#waiting.length = 0;
      this.#isWriting = false;
      this.#stepDown();
    };
    this.#world.time.after(7_000, retry);
  }

  #write(apply: (store: StoreState) => () => void): void {
    const world = this.#world;
    world.sendToStore(this.place, () => {
      const then = apply(world.store);
      world.send(["store", this.place, "direct"], () => {
        if (this.isAwake) then();
      });
    });
  }
}
