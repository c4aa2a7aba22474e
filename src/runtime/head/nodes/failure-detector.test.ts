/** Tests both speeds of death, the guard, incarnations, and decisions that a head puts off after a standstill or without its bus. */
import { describe, expect, test } from "vitest";
import { growDetector } from "../../../../sim/detector-growth.ts";
import type { NodeId } from "../../base/ids.ts";
import { type DetectorEffect, type DetectorEvent, type DetectorOptions, FailureDetector } from "./failure-detector.ts";

type NodeEventKind = Exclude<DetectorEvent["kind"], "tick" | "ownBusLost" | "ownBusBack" | "ownProofLapsed" | "marked">;

/** A detector with a clock that ticks every 100 ms, whose suspicions are committed at once. */
class Bench {
  readonly detector: FailureDetector;
  nowMs = 0;
  readonly log: string[] = [];
  marks = true;
  beating = new Set<string>();

  constructor(nodes: number, options: DetectorOptions = {}) {
    this.detector = new FailureDetector(options);
    for (let index = 0; index < nodes; index += 1) {
      this.tell("registered", `n${index}`);
      this.beating.add(`n${index}`);
    }
    this.log.length = 0;
  }

  tell(kind: NodeEventKind, node: string, incarnation = "1"): string[] {
    return this.#note(this.detector.handle({ kind, node: node as NodeId, incarnation, nowMs: this.nowMs }));
  }

  own(kind: "ownBusLost" | "ownBusBack" | "ownProofLapsed"): void {
    this.detector.handle({ kind, nowMs: this.nowMs });
  }

  /** Lets time pass; living nodes send a heartbeat once a second. */
  pass(ms: number): string[] {
    const from = this.log.length;
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.nowMs += 100;
      if (this.nowMs % 1000 === 0) for (const node of this.beating) this.tell("heartbeat", node);
      this.#note(this.detector.handle({ kind: "tick", nowMs: this.nowMs }));
    }
    return this.log.slice(from);
  }

  #note(effects: readonly DetectorEffect[]): string[] {
    const lines: string[] = [];
    for (const effect of effects) {
      lines.push(`${this.nowMs} ${effect.kind}${"node" in effect ? ` ${effect.node}` : ""}`);
      if (effect.kind !== "suspect" || !this.marks) continue;
      const { node, incarnation, suspicion } = effect;
      this.detector.handle({ kind: "marked", node, incarnation, suspicion, nowMs: this.nowMs });
    }
    this.log.push(...lines);
    return lines;
  }
}

describe("a head that could not prove for a while that it leads", () => {
  test("gives silent nodes as long as a head that begins, suspects them meanwhile, and takes what has ended for dead as ever", () => {
    const bench = new Bench(2, { takeoverGraceMs: 20_000 });
    bench.beating.delete("n0");
    bench.pass(9_000);
    bench.own("ownProofLapsed");
    expect(bench.log).toEqual(["2000 suspect n0"]);
    bench.beating.delete("n1");
    bench.pass(29_900);
    expect(bench.log).toEqual(["2000 suspect n0", "11000 suspect n1"]);
    bench.pass(300);
    expect(bench.log.slice(2)).toEqual(["39000 dead n0", "39000 dead n1"]);
    const other = new Bench(1, { takeoverGraceMs: 20_000 });
    other.beating.clear();
    other.own("ownProofLapsed");
    for (const kind of ["linkDown", "busLost"] as const) other.tell(kind, "n0");
    expect(other.pass(3_000).at(-1)).toBe("2000 dead n0");
  });

  test("has only its own time anew where no other may begin", () => {
    const bench = new Bench(1);
    bench.beating.clear();
    bench.pass(9_000);
    bench.own("ownProofLapsed");
    expect(bench.pass(10_100).at(-1)).toBe("19000 dead n0");
  });
});

describe("the failure detector", () => {
  test("a node that beats stays alive", () => {
    expect(new Bench(5).pass(60_000)).toEqual([]);
  });

  test("silence: suspected after a fifth of the time, dead after all of it", () => {
    const bench = new Bench(5);
    bench.pass(1_000);
    bench.beating.delete("n0");
    expect(bench.pass(20_000)).toEqual(["3000 suspect n0", "11000 dead n0"]);
    expect(bench.detector.stateOf("n0" as NodeId)).toBeUndefined();
  });

  test("a silent node that speaks again is alive", () => {
    const bench = new Bench(5);
    bench.beating.delete("n0");
    bench.pass(9_000);
    bench.beating.add("n0");
    expect(bench.pass(20_000)).toEqual(["10000 alive n0"]);
  });

  test("nobody dies of silence before the suspicion was committed for long enough", () => {
    const bench = new Bench(5);
    bench.marks = false;
    bench.beating.delete("n0");
    bench.pass(30_000);
    const suspicion = { kind: "marked", node: "n0" as NodeId, incarnation: "1", nowMs: bench.nowMs } as const;
    bench.detector.handle({ ...suspicion, suspicion: 2 });
    expect(bench.pass(10_000)).toEqual([]);
    bench.detector.handle({ ...suspicion, suspicion: 1, nowMs: bench.nowMs });
    expect(bench.pass(10_000)).toEqual(["48000 dead n0"]);
  });

  test("a mark of an earlier suspicion says nothing about this one", () => {
    const bench = new Bench(5);
    bench.marks = false;
    bench.beating.delete("n0");
    bench.pass(3_000);
    bench.tell("heartbeat", "n0");
    bench.pass(3_000);
    bench.detector.handle({ kind: "marked", node: "n0" as NodeId, incarnation: "1", suspicion: 1, nowMs: bench.nowMs });
    expect(bench.pass(30_000)).toEqual([]);
  });

  test("a closed link and a lost bus are death after two seconds", () => {
    const bench = new Bench(1);
    bench.pass(1_000);
    bench.beating.delete("n0");
    expect(bench.tell("linkDown", "n0")).toEqual(["1000 suspect n0"]);
    bench.tell("busLost", "n0");
    expect(bench.pass(3_000)).toEqual(["3000 dead n0"]);
  });

  test("a closed link alone is no death while the node is heard on the bus, but no work goes there", () => {
    const bench = new Bench(1);
    bench.tell("linkDown", "n0");
    expect(bench.pass(60_000)).toEqual([]);
    expect(bench.detector.stateOf("n0" as NodeId)).toBe("suspect");
    expect(bench.tell("linkUp", "n0")).toEqual(["60000 alive n0"]);
  });

  test("a lost bus alone is nothing", () => {
    const bench = new Bench(1);
    bench.beating.delete("n0");
    bench.tell("busLost", "n0");
    expect(bench.pass(1_900)).toEqual([]);
  });

  test("a link that comes back in time saves the node", () => {
    const bench = new Bench(1);
    bench.tell("linkDown", "n0");
    bench.tell("busLost", "n0");
    bench.pass(1_900);
    expect(bench.tell("linkUp", "n0")).toEqual(["1900 alive n0"]);
    expect(bench.pass(60_000)).toEqual([]);
  });

  test("a dead incarnation is refused for ever, a new one is welcome", () => {
    const bench = new Bench(2);
    bench.beating.delete("n0");
    bench.pass(11_000);
    expect(bench.tell("heartbeat", "n0")).toEqual(["11000 refused n0"]);
    expect(bench.tell("registered", "n0")).toEqual(["11000 refused n0"]);
    expect(bench.tell("registered", "n0", "2")).toEqual(["11000 alive n0"]);
    expect(bench.tell("registered", "n0")).toEqual(["11000 refused n0"]);
    expect(bench.detector.stateOf("n0" as NodeId)).toBe("alive");
  });

  test("a new process of a node is the death of the old one", () => {
    const bench = new Bench(1);
    expect(bench.tell("registered", "n0", "2")).toEqual(["0 dead n0", "0 alive n0"]);
    expect(bench.detector.isDead("n0" as NodeId, "1")).toBe(true);
  });

  test("a drained node is gone and does not return", () => {
    const bench = new Bench(1);
    expect(bench.tell("drained", "n0")).toEqual(["0 dead n0"]);
    expect(bench.tell("heartbeat", "n0")).toEqual(["0 refused n0"]);
  });

  test("who is not known is asked to register", () => {
    const bench = new Bench(0);
    expect(bench.tell("heartbeat", "n0")).toEqual(["0 unknown n0"]);
    expect(bench.tell("linkDown", "n0")).toEqual([]);
  });
});

describe("the guard against losing many at once", () => {
  test("more than half silent at once: nobody is declared dead until they return", () => {
    const bench = new Bench(5);
    for (const node of ["n0", "n1", "n2"]) bench.beating.delete(node);
    expect(bench.pass(30_000).filter((line) => !line.includes("suspect"))).toEqual(["2000 freeze"]);
    for (const node of ["n0", "n1"]) bench.beating.add(node);
    // The third node's remaining time begins then.
    expect(bench.pass(20_000)).toEqual(["31000 alive n0", "31000 alive n1", "31000 thaw", "39000 dead n2"]);
  });

  test("half silent are dead in time", () => {
    const bench = new Bench(4);
    for (const node of ["n0", "n1"]) bench.beating.delete(node);
    expect(bench.pass(11_000).filter((line) => line.includes("dead"))).toEqual(["10000 dead n0", "10000 dead n1"]);
  });

  test("one or two nodes are not guarded", () => {
    for (const count of [1, 2]) {
      const bench = new Bench(count);
      bench.beating.clear();
      expect(bench.pass(11_000).filter((line) => line.includes("dead"))).toHaveLength(count);
    }
  });

  test("a freeze has an end: then the silent are dead, and it does not begin again for them", () => {
    const bench = new Bench(4);
    bench.beating = new Set(["n0"]);
    const log = bench.pass(80_000).filter((line) => !line.includes("suspect"));
    expect(log).toEqual(["2000 freeze", "52000 thaw", "52000 dead n1", "52000 dead n2", "52000 dead n3"]);
  });

  test("two that were killed are dead at once, although they are more than half", () => {
    const bench = new Bench(3);
    for (const node of ["n0", "n1"]) {
      bench.beating.delete(node);
      bench.tell("linkDown", node);
      bench.tell("busLost", node);
    }
    expect(bench.pass(3_000)).toEqual(["2000 dead n0", "2000 dead n1"]);
  });
});

describe("what the head does not hold against the nodes", () => {
  test("that it stood still itself", () => {
    const bench = new Bench(3);
    bench.pass(1_000);
    bench.nowMs += 30_000;
    expect(bench.pass(30_000)).toEqual([]);
  });

  test("that its own bus was away", () => {
    const bench = new Bench(3);
    bench.beating.delete("n0");
    bench.pass(5_000);
    bench.own("ownBusLost");
    expect(bench.pass(30_000)).toEqual([]);
    bench.own("ownBusBack");
    expect(bench.pass(11_000)).toEqual(["45000 dead n0"]);
  });
});

describe("a new head", () => {
  test("waits for the nodes of the tables as long as an earlier head may have answered them, and no end of a link counts that it has not seen", () => {
    const bench = new Bench(0, { takeoverGraceMs: 20_000 });
    bench.tell("expected", "n0");
    bench.tell("expected", "n1");
    bench.tell("busLost", "n0");
    bench.pass(10_000);
    expect(bench.tell("registered", "n1")).toEqual(["10000 alive n1"]);
    bench.beating.add("n1");
    expect(bench.pass(30_000)).toEqual(["30000 dead n0"]);
  });

  test("a node whose address refuses connections and that is not on the bus is dead soon", () => {
    const bench = new Bench(0, { takeoverGraceMs: 20_000 });
    bench.tell("expected", "n0");
    bench.tell("busLost", "n0");
    bench.tell("refusesConnections", "n0");
    expect(bench.pass(10_000)).toEqual(["2000 dead n0"]);
  });

  test("its own bus that comes back begins times anew and takes nothing of those that have not begun", () => {
    const bench = new Bench(0, { takeoverGraceMs: 20_000 });
    bench.tell("expected", "n0");
    bench.pass(1_000);
    bench.own("ownBusLost");
    bench.pass(1_000);
    bench.own("ownBusBack");
    expect(bench.pass(40_000)).toEqual(["30000 dead n0"]);
  });

  test("deaths of earlier heads are remembered", () => {
    const bench = new Bench(0);
    bench.detector.restoreDead("n0" as NodeId, "1");
    expect(bench.tell("registered", "n0")).toEqual(["0 refused n0"]);
  });
});

test("too small a time is refused", () => {
  expect(() => new FailureDetector({ deadAfterMs: 4_999 })).toThrow("deadAfterMs is at least 5000: received 4999");
});

describe("with virtual nodes on a network with bursts of delay", () => {
  test.each([50, 500])("%d nodes: every death is noticed in its time, and no node that lives is declared dead", (nodes) => {
    const result = growDetector({ nodes, minutes: 5, seed: nodes });
    expect(result.killedNoticedMs.length + result.silencedNoticedMs.length).toBeGreaterThan(nodes / 50);
    expect(Math.max(0, ...result.killedNoticedMs)).toBeLessThan(2_000 + 2_000 + 300);
    expect(Math.max(0, ...result.silencedNoticedMs)).toBeLessThan(10_000 + 2_000 + 200);
    expect(result.falseDeaths).toBe(0);
    expect(result.freezes).toBe(0);
  });
});
