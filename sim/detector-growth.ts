/**
 * How the failure detector grows: virtual nodes in virtual time, on a network with bursts of delay, and deaths of every kind.
 *
 *   node sim/detector-growth.ts                     100, 300, 1,000, 3,000 and 10,000 nodes
 *   node sim/detector-growth.ts --nodes 1000 --minutes 10 --seed 7
 *
 * Prints, for each size, the cost of a heartbeat (with its share of the ticks), how long deaths take to be noticed, and how many nodes were
 * suspected or declared dead that were alive. `src/runtime/head/nodes/failure-detector.test.ts` runs it with small sizes and holds the
 * figures that must not depend on the size.
 */
import { parseArgs } from "node:util";
import type { NodeId } from "../src/runtime/base/ids.ts";
import { type DetectorEffect, type DetectorEvent, FailureDetector } from "../src/runtime/head/nodes/failure-detector.ts";
import { SeededNumbers, VirtualTime } from "./virtual-time.ts";

interface GrowthOptions {
  readonly nodes: number;
  readonly minutes: number;
  readonly seed: number;
}

interface GrowthResult {
  readonly heartbeats: number;
  /** Time in the detector's own code, ticks included, in microseconds. */
  readonly microsecondsPerHeartbeat: number;
  readonly tickMicroseconds: number;
  readonly killedNoticedMs: readonly number[];
  readonly silencedNoticedMs: readonly number[];
  readonly falseSuspicions: number;
  readonly falseDeaths: number;
  readonly freezes: number;
}

const BEAT_MS = 1_000;
const TICK_MS = 100;

class GrowthWorld {
  readonly time: VirtualTime = new VirtualTime();
  readonly #random: SeededNumbers;
  readonly #detector = new FailureDetector();
  /** Since when they do nothing more, and how they ended. */
  readonly #gone = new Map<NodeId, { kind: "killed" | "silenced"; atMs: number }>();
  readonly #nodes: NodeId[];
  #delayMs = 20;
  #spentMs = 0;
  #tickSpentMs = 0;
  #ticks = 0;
  heartbeats = 0;
  readonly noticed = { killed: [] as number[], silenced: [] as number[] };
  falseSuspicions = 0;
  falseDeaths = 0;
  freezes = 0;

  constructor({ nodes, seed }: GrowthOptions) {
    this.#random = new SeededNumbers(seed);
    this.#nodes = Array.from({ length: nodes }, (_, index) => index.toString(16).padStart(32, "0") as NodeId);
    for (const node of this.#nodes) {
      this.#tell({ kind: "registered", node, incarnation: "1", nowMs: 0 });
      this.time.after(this.#random.between(0, BEAT_MS), () => this.#beat(node));
    }
    this.time.every(TICK_MS, () => {
      const before = performance.now();
      this.#tell({ kind: "tick", nowMs: this.time.nowMs });
      this.#tickSpentMs += performance.now() - before;
      this.#ticks += 1;
    });
    // A burst every 20 s: for 2 s all messages are late by up to 2 s.
    this.time.every(20_000, () => {
      this.#delayMs = 2_000;
      this.time.after(2_000, () => {
        this.#delayMs = 20;
      });
    });
    // A hundredth of the nodes dies in each minute, half of them with an end of their connections.
    this.time.every(60_000 / Math.max(1, nodes / 100), () => this.#end());
  }

  get costs(): { microsecondsPerHeartbeat: number; tickMicroseconds: number } {
    return {
      microsecondsPerHeartbeat: (this.#spentMs * 1_000) / this.heartbeats,
      tickMicroseconds: (this.#tickSpentMs * 1_000) / this.#ticks,
    };
  }

  #beat(node: NodeId): void {
    if (this.#gone.has(node)) return;
    this.time.after(this.#random.between(1, this.#delayMs), () => {
      this.heartbeats += 1;
      this.#tell({ kind: "heartbeat", node, incarnation: "1", nowMs: this.time.nowMs });
    });
    this.time.after(BEAT_MS, () => this.#beat(node));
  }

  #end(): void {
    const node = this.#nodes[Math.floor(this.#random.next() * this.#nodes.length)] as NodeId;
    if (this.#gone.has(node)) return;
    const kind = this.#random.isLucky(0.5) ? "killed" : "silenced";
    this.#gone.set(node, { kind, atMs: this.time.nowMs });
    if (kind === "silenced") return;
    const of = (): { node: NodeId; incarnation: string; nowMs: number } => ({ node, incarnation: "1", nowMs: this.time.nowMs });
    this.time.after(this.#random.between(1, 20), () => this.#tell({ kind: "linkDown", ...of() }));
    // The bus is asked again and again: a word that was on the way takes its first answer back.
    for (let asked = 1; asked <= 25; asked += 1) this.time.after(asked * 200, () => this.#tell({ kind: "busLost", ...of() }));
  }

  #tell(event: DetectorEvent): void {
    const before = performance.now();
    const effects = this.#detector.handle(event);
    this.#spentMs += performance.now() - before;
    for (const effect of effects) this.#note(effect);
  }

  #note(effect: DetectorEffect): void {
    if (effect.kind === "freeze") this.freezes += 1;
    if (effect.kind !== "suspect" && effect.kind !== "dead") return;
    const { node, incarnation } = effect;
    const gone = this.#gone.get(node);
    if (effect.kind === "suspect") {
      if (gone === undefined) this.falseSuspicions += 1;
      const { suspicion } = effect;
      this.time.after(3, () => this.#tell({ kind: "marked", node, incarnation, suspicion, nowMs: this.time.nowMs }));
    } else if (gone === undefined) this.falseDeaths += 1;
    else this.noticed[gone.kind].push(this.time.nowMs - gone.atMs);
  }
}

export function growDetector(options: GrowthOptions): GrowthResult {
  const world = new GrowthWorld(options);
  world.time.runUntil(options.minutes * 60_000);
  const { heartbeats, falseSuspicions, falseDeaths, freezes, noticed, costs } = world;
  const { killed: killedNoticedMs, silenced: silencedNoticedMs } = noticed;
  return { heartbeats, ...costs, killedNoticedMs, silencedNoticedMs, falseSuspicions, falseDeaths, freezes };
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    ((sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN) / 1_000).toFixed(2);
  return `${at(0.5)}/${at(1)}`;
}

function main(): void {
  const { values } = parseArgs({
    options: { nodes: { type: "string" }, minutes: { type: "string", default: "3" }, seed: { type: "string", default: "1" } },
  });
  const sizes = values.nodes === undefined ? [100, 300, 1_000, 3_000, 10_000] : [Number(values.nodes)];
  process.stdout.write("nodes   beats     us/beat  us/tick  killed noticed p50/max s  silenced p50/max s  false suspect/dead  freezes\n");
  for (const nodes of sizes) {
    const result = growDetector({ nodes, minutes: Number(values.minutes), seed: Number(values.seed) });
    const columns = [
      String(nodes).padEnd(7),
      String(result.heartbeats).padEnd(9),
      result.microsecondsPerHeartbeat.toFixed(2).padEnd(8),
      result.tickMicroseconds.toFixed(0).padEnd(8),
      `${spread(result.killedNoticedMs)} (${result.killedNoticedMs.length})`.padEnd(25),
      `${spread(result.silencedNoticedMs)} (${result.silencedNoticedMs.length})`.padEnd(19),
      `${result.falseSuspicions}/${result.falseDeaths}`.padEnd(19),
      result.freezes,
    ];
    process.stdout.write(`${columns.join(" ")}\n`);
  }
}

if (import.meta.main) main();
