import { describe, expect, test } from "vitest";
import { type FinishedTrial, resultOf } from "../trials/live-trial.ts";
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler } from "../scheduler.ts";
import { FIFOScheduler } from "../schedulers/fifo-scheduler.ts";
import { HyperBandScheduler } from "../schedulers/hyperband/hyperband-scheduler.ts";
import { PopulationBasedTraining } from "../schedulers/population/population-based-training.ts";
import type { Metrics, Trial, TrialResult } from "../trials/trial.ts";
import type { SessionLimits, TrialEffect, TrialEvent } from "./trial-events.ts";
import { type MachineOptions, TrialMachine } from "./trial-machine.ts";
import { checked } from "../../../sim/checked.ts";

/** Follows a script of decisions, by trial and iteration. */
class Scripted extends FIFOScheduler implements TrialScheduler {
  readonly told: string[] = [];
  readonly script: Record<string, Decision>;
  idle: readonly SchedulerAction[] = [];

  constructor(script: Record<string, Decision> = {}) {
    super();
    this.script = script;
  }

  override onTrialResult(trial?: Trial, result?: TrialResult): Decision {
    return this.script[`${trial?.id.slice(-1)}@${result?.trainingIteration}`] ?? "continue";
  }

  override onTrialComplete(trial?: Trial): void {
    this.told.push(`complete ${trial?.id.slice(-1)}`);
  }

  override onTrialError(trial?: Trial): void {
    this.told.push(`error ${trial?.id.slice(-1)}`);
  }

  override onTrialRemove(trial?: Trial): void {
    this.told.push(`remove ${trial?.id.slice(-1)}`);
  }

  onIdle(_view: SchedulerView): readonly SchedulerAction[] {
    return this.idle;
  }
}

/** A machine whose searcher answers at once with `{ n }`. */
class Bench {
  readonly machine: TrialMachine;
  readonly scheduler: Scripted;
  readonly events: TrialEvent[] = [];
  readonly effects: string[] = [];

  readonly limits: SessionLimits;

  constructor({
    script,
    scheduler,
    keep = {},
    ...limits
  }: Partial<SessionLimits & Pick<MachineOptions, "scheduler" | "keep">> & { script?: Record<string, Decision> } = {}) {
    this.limits = { samplesMax: 3, concurrentMax: 2, maxFailures: 0, clusterResources: { CPU: 2 }, ...limits };
    this.scheduler = new Scripted(script);
    this.machine = checked(
      new TrialMachine({
        runId: "t",
        metrics: ["loss"],
        keep,
        scheduler: scheduler ?? this.scheduler,
      }),
    );
  }

  begin(): this {
    return this.apply({ type: "begun", limits: this.limits });
  }

  apply(event: TrialEvent): this {
    this.events.push(event);
    for (const effect of this.machine.apply(event)) {
      const text = describeEffect(effect);
      if (text !== undefined) this.effects.push(text);
      if (effect.type === "ask") {
        const resources = { bundles: [{ CPU: 1 }], strategy: "PACK" } as const;
        this.apply({
          type: "suggested",
          trialId: effect.trialId,
          name: effect.trialId,
          dirname: effect.trialId,
          config: { n: Number(effect.trialId.slice(-1)) },
          resources,
        });
      }
    }
    return this;
  }

  report(n: number, metrics: Metrics = { loss: 1 }, more: object = {}): this {
    return this.apply({ type: "reported", trialId: idOf(n), metrics, elapsedMs: 10, timestampMs: 0, ...more });
  }

  release(n: number, checkpoint?: string): this {
    return this.apply({ type: "released", trialId: idOf(n), ...(checkpoint !== undefined && { checkpoint }) });
  }

  /** Takes the effects since the last call. */
  taken(): string[] {
    return this.effects.splice(0);
  }

  status(n: number): string | undefined {
    return this.machine.liveTrials.get(idOf(n))?.status ?? this.machine.finishedTrials.find(({ id }) => id === idOf(n))?.status;
  }
}

const idOf = (n: number): string => `t_0000${n}`;

function describeEffect(effect: TrialEffect): string | undefined {
  switch (effect.type) {
    case "start":
      return `start ${effect.trial.id.slice(-1)}${effect.checkpoint === undefined ? "" : ` from ${effect.checkpoint.path}`}`;
    case "answer":
      return `${effect.answer.action}${effect.answer.save === true ? " and save" : ""} ${effect.trialId.slice(-1)}`;
    case "tellComplete":
      return `told ${effect.trialId.slice(-1)}${effect.isError ? " failed" : ""}`;
    case "interrupt":
      return `interrupt ${effect.trialId.slice(-1)}`;
    case "removeCheckpoints":
      return `remove ${effect.paths.join(",")}`;
    case "finished":
      return "finished";
    case "notify":
      return effect.what === "lacksCheckpoint" ? `lacks a checkpoint: ${effect.trial.id.slice(-1)}` : undefined;
    case "exploited":
      return `log ${effect.trialId.slice(-1)} from ${effect.donorId.slice(-1)} at ${effect.iteration} and ${effect.donorIteration}`;
    case "ask":
    case "tellResult":
      return undefined;
  }
}

describe("the life of trials", () => {
  test.each([
    ["reports its last result", { isLast: true }, {}],
    ["is stopped by its scheduler", {}, { "0@1": "stop" as const }],
  ])("the searcher gets a result that is done of a trial that %s", (_, more, script) => {
    const { machine } = new Bench({ script }).begin();
    const effects = machine.apply({ type: "reported", trialId: idOf(0), metrics: { loss: 1 }, elapsedMs: 1, timestampMs: 0, ...more });
    expect(effects).toContainEqual(expect.objectContaining({ type: "tellComplete", result: expect.objectContaining({ done: true }) }));
  });

  test("trials are asked for as there is room, and the experiment ends with the last", () => {
    const bench = new Bench().begin();
    expect(bench.taken()).toEqual(["start 0", "start 1"]);
    bench.report(0).report(0);
    expect(bench.taken()).toEqual(["continue 0", "continue 0"]);
    bench.apply({ type: "ended", trialId: idOf(0) });
    expect(bench.taken()).toEqual(["told 0", "start 2"]);
    bench.report(1, { loss: 2 }, { isLast: true }).report(2, { loss: 3 }, { isStopped: true }).release(2);
    expect(bench.taken()).toEqual(["told 1", "told 2", "stop 2", "finished"]);
    const facts = bench.machine.finishedTrials.map((trial) => [
      trial.iteration,
      resultOf(trial)?.timeThisIterMs,
      trial.timeTotalMs,
      trial.metrics?.loss,
    ]);
    expect(facts).toEqual([
      [2, 10, 20, 1],
      [1, 10, 10, 2],
      [1, 10, 10, 3],
    ]);
    expect(bench.scheduler.told).toEqual(["complete 0", "complete 1", "complete 2"]);
  });

  test("resources bound what runs, and a trial that needs more than there is runs alone", () => {
    const large = { bundles: [{ CPU: 1 }, { CPU: 7 }], strategy: "PACK" } as const;
    const bench = new Bench({ concurrentMax: 10, clusterResources: { CPU: 1 } });
    bench.machine.apply({ type: "begun", limits: bench.limits });
    bench.apply({ type: "suggested", trialId: idOf(0), name: "a", dirname: "a", config: {}, resources: large });
    expect(bench.taken()).toEqual(["start 0"]);
    expect(bench.machine.askedFor).toBeUndefined();
    bench.apply({ type: "resized", clusterResources: { CPU: 16 } });
    expect(bench.machine.runningCount).toBe(3);
  });

  test("what a scheduler stops gets no further report, and is told to nobody twice", () => {
    const bench = new Bench({ script: { "0@1": "stop" }, samplesMax: 1 }).begin();
    bench.report(0).report(0);
    expect(bench.taken()).toEqual(["start 0", "told 0", "stop 0", "stop 0"]);
    expect(bench.scheduler.told).toEqual([]);
    bench.release(0);
    expect(bench.taken()).toEqual(["finished"]);
    expect(bench.machine.finishedTrials[0]).toMatchObject({ status: "terminated", iteration: 1 });
  });

  test("a paused trial holds nothing, and goes on from its checkpoint where it was", () => {
    const bench = new Bench({ script: { "0@2": "pause" }, concurrentMax: 1, samplesMax: 2 }).begin();
    bench.report(0, { loss: 3 }, { checkpoint: "c0" }).report(0).release(0, "c1");
    expect(bench.taken()).toEqual(["start 0", "continue 0", "pause 0", "start 1"]);
    expect(bench.status(0)).toBe("paused");
    bench.report(1, { loss: 1 }, { isLast: true });
    expect(bench.taken()).toEqual(["told 1", "start 0 from c1"]);
    bench.report(0, { loss: 0.5 }, { isLast: true });
    expect(bench.machine.finishedTrials.at(-1)).toMatchObject({ iteration: 3, timeTotalMs: 30 });
  });

  test("a trial that cannot save as it is paused has failed: it would begin anew for ever", () => {
    const script = { "0@1": "pause" } as const;
    const failed = { type: "failed", trialId: idOf(0), failure: { name: "Error", message: "no room" } } as const;
    const told = { savesWhenAsked: true };
    const bench = new Bench({ script, samplesMax: 1 }).begin().report(0, { loss: 1 }, told).apply(failed);
    expect(bench.machine.finishedTrials).toMatchObject([{ status: "errored", failure: { message: "no room" } }]);
    expect(bench.scheduler.told).toEqual(["error 0"]);
    const again = new Bench({ script, samplesMax: 1, maxFailures: 1 }).begin().report(0, { loss: 1 }, told).apply(failed);
    expect([again.status(0), again.taken()]).toEqual(["running", ["start 0", "pause 0", "start 0"]]);
    again.report(0, { loss: 1 }, told).apply(failed);
    expect(again.status(0)).toBe("errored");
    // Functions save with their reports, so a trial that takes over another's checkpoint does not wait for one from itself.
    const reporting = new Bench({ script, samplesMax: 1 }).begin().report(0, { loss: 1 }, { savesWhenAsked: false }).apply(failed);
    expect(reporting.status(0)).toBe("running");
    const pausing: Decision = { verdict: "continue", actions: [{ type: "pause", trialId: idOf(0) }] };
    const early = new Bench({ script: { "1@1": pausing }, samplesMax: 2 }).begin().report(1);
    early.report(0, { loss: 1 }, { savesWhenAsked: false, place: { pid: 7, hostname: "h", nodeIp: "::1" } }).apply(failed);
    expect(early.machine.liveTrials.get(idOf(0))).toMatchObject({ status: "running", place: { pid: 7 } });
    const taking: Decision = { verdict: "continue", actions: [{ type: "exploit", trialId: idOf(0), donorId: idOf(1), config: { n: 7 } }] };
    const exploiting = new Bench({ script: { "0@1": taking }, samplesMax: 2 }).begin().report(1, { loss: 1 }, { checkpoint: "d" });
    expect(exploiting.report(0, { loss: 1 }, told).apply(failed).status(0)).toBe("running");
  });

  test("failures are tried again as often as allowed, from the newest checkpoint", () => {
    const bench = new Bench({ maxFailures: 1, samplesMax: 1 }).begin();
    bench.report(0, { loss: 1 }, { checkpoint: "c0" }).report(0);
    const failed = { type: "failed", trialId: idOf(0), failure: { name: "Error", message: "no" } } as const;
    bench.apply(failed);
    expect(bench.taken()).toEqual(["start 0", "continue 0", "continue 0", "start 0 from c0"]);
    bench.apply(failed);
    expect(bench.taken()).toEqual(["told 0 failed", "finished"]);
    expect(bench.machine.finishedTrials[0]).toMatchObject({ status: "errored", failures: 2, failure: { message: "no" } });
  });

  test("each result tells where its trial runs, as the first report of an attempt did, whatever metrics have these names", () => {
    const [here, there] = [
      { pid: 7, hostname: "one", nodeIp: "10.0.0.1" },
      { pid: 8, hostname: "two", nodeIp: "10.0.0.2" },
    ];
    const bench = new Bench({ maxFailures: 1, samplesMax: 1 }).begin();
    const report = { metrics: { loss: 1, pid: -1 }, elapsedMs: 1, timestampMs: 0 };
    expect(bench.machine.preview(idOf(0), { ...report, place: here })).toMatchObject(here);
    bench.report(0, report.metrics, { place: here });
    expect(bench.machine.preview(idOf(0), report)).toMatchObject(here);
    bench.report(0);
    expect(bench.machine.liveTrials.get(idOf(0))?.lastResult).toMatchObject(here);
    bench.apply({ type: "failed", trialId: idOf(0), failure: { name: "Error", message: "no" } });
    bench.report(0, { loss: 2 }, { place: there, isLast: true });
    expect(resultOf(bench.machine.finishedTrials[0] as FinishedTrial)).toMatchObject({ ...there, loss: 2, done: true });
    expect(bench.machine.finishedTrials[0]?.metrics).toEqual({ loss: 2 });
  });

  test.each([
    [{ loss: "low" }, 'the metric "loss" must be a number: received "low"'],
    [{ lost: 1 }, 'its report lacks the metric "loss": it has "lost"'],
  ])("a report of %o fails its trial", (metrics, message) => {
    const bench = new Bench({ samplesMax: 1, maxFailures: 5 }).begin().report(0, metrics).release(0);
    expect(bench.machine.finishedTrials[0]?.failure?.message).toContain(message);
  });

  test("a trial whose metric is NaN goes on, as in Ray", () => {
    const bench = new Bench({ samplesMax: 1 }).begin().report(0, { loss: Number.NaN }).report(0, { loss: 1 });
    expect(bench.machine.liveTrials.get(idOf(0))?.status).toBe("running");
    expect(bench.machine.liveTrials.get(idOf(0))?.lastResult).toMatchObject({ loss: 1, trainingIteration: 2 });
  });

  test("a trial that is to stop hears whether it has ended well", () => {
    const bench = new Bench({
      script: { "0@1": "stop", "2@1": "pause" },
      concurrentMax: 4,
      samplesMax: 4,
      clusterResources: { CPU: 8 },
    }).begin();
    const answerTo = (n: number, metrics: Metrics, report: object = {}): unknown =>
      bench.machine
        .apply({ type: "reported", trialId: idOf(n), metrics, elapsedMs: 1, timestampMs: 0, ...report })
        .find(({ type }) => type === "answer");
    const stopped = (n: number) => ({ type: "answer", trialId: idOf(n), answer: { action: "stop" } });
    const paused = (n: number) => ({ type: "answer", trialId: idOf(n), answer: { action: "pause" } });
    const ended = (n: number) => ({ type: "answer", trialId: idOf(n), answer: { action: "stop", hasEnded: true } });
    expect(answerTo(0, { loss: 1 })).toEqual(ended(0));
    expect(answerTo(1, { loss: "low" })).toEqual(stopped(1));
    expect(answerTo(2, { loss: 1 })).toEqual(paused(2));
    expect(answerTo(3, { loss: 1, done: true })).toEqual(ended(3));
    // Reports of trials that had not been answered yet.
    expect(answerTo(3, { loss: 1 })).toEqual(ended(3));
    expect(answerTo(2, { loss: 1 })).toEqual(paused(2));
  });

  test("the end of all ends what runs and what waits", () => {
    const bench = new Bench({ script: { "0@1": "pause" }, samplesMax: 9 }).begin().report(0).release(0);
    bench.taken();
    bench.apply({ type: "stoppedAll" });
    expect(bench.taken()).toEqual(["told 0", "told 1", "told 2", "interrupt 1", "interrupt 2"]);
    bench.apply({ type: "failed", trialId: idOf(1), failure: { name: "Error", message: "killed" } }).release(2);
    expect(bench.taken()).toEqual(["finished"]);
    expect(bench.machine.finishedTrials.map(({ status }) => status)).toEqual(["terminated", "terminated", "terminated"]);
  });

  test("paused trials that nobody wakes end with the experiment", () => {
    class Sleepy extends FIFOScheduler {
      override onTrialResult(): Decision {
        return "pause";
      }
      override chooseTrialToRun(view: SchedulerView): string | undefined {
        return [...view.liveTrials.values()].find(({ status }) => status === "pending")?.id;
      }
    }
    const bench = new Bench({ samplesMax: 2, scheduler: new Sleepy() }).begin();
    bench.report(0).release(0, "c0").report(1).release(1, "c1");
    expect(bench.taken()).toEqual(["start 0", "start 1", "pause 0", "pause 1", "told 0", "told 1", "finished"]);
  });
});

test("a scheduler that shares time out sees that a trial waits, as soon as nothing else does", () => {
  class Sharing extends Scripted {
    readonly asksAhead = true;
  }
  const bench = new Bench({ scheduler: new Sharing(), concurrentMax: 1 }).begin();
  expect([bench.taken(), bench.status(0), bench.status(1), bench.status(2)]).toEqual([["start 0"], "running", "pending", undefined]);
  bench.report(0, { loss: 1 }, { isLast: true });
  expect([bench.taken(), bench.status(2)]).toEqual([["told 0", "start 1"], "pending"]);
});

describe("exploitation", () => {
  const exploit = (trial: number, donor: number): Decision => ({
    verdict: "continue",
    actions: [{ type: "exploit", trialId: idOf(trial), donorId: idOf(donor), config: { n: 70 + trial } }],
  });

  test("a trial goes on from the newest checkpoint of another, which is kept meanwhile", () => {
    const bench = new Bench({ script: { "0@1": exploit(0, 1) }, samplesMax: 2, keep: { numToKeep: 1 } }).begin();
    bench.report(1, { loss: 1 }, { checkpoint: "d0" }).report(1, { loss: 1 }, { checkpoint: "d1" });
    expect(bench.taken()).toEqual(["start 0", "start 1", "continue 1", "remove d0", "continue 1"]);
    bench.report(0, { loss: 9 }, { checkpoint: "own" }).report(1, { loss: 1 }, { checkpoint: "d2" }).release(0);
    expect(bench.taken()).toEqual(["pause 0", "continue 1", "start 0 from d1"]);
    expect(bench.machine.liveTrials.get(idOf(0))?.config).toEqual({ n: 70 });
    bench.report(0, { loss: 8 }, { checkpoint: "own2" });
    expect(bench.taken()).toEqual(["remove d1", "remove own", "continue 0"]);
    expect(bench.machine.liveTrials.get(idOf(0))?.lastResult?.trainingIteration).toBe(3);
  });

  test("an exploit is logged with the donor's checkpoint, which the trial goes on from, where the scheduler wants that", () => {
    const logged = (trial: number, donor: number): Decision => ({
      verdict: "continue",
      actions: [{ type: "exploit", trialId: idOf(trial), donorId: idOf(donor), config: { n: 70 }, isLogged: true }],
    });
    const script = { "0@1": logged(0, 1), "2@1": logged(2, 0), "2@2": exploit(2, 1) };
    const bench = new Bench({ script, concurrentMax: 3, clusterResources: { CPU: 3 } }).begin();
    // The donor is at its second iteration, and its only checkpoint is of the first.
    bench.report(1, { loss: 1 }, { checkpoint: "d0" }).report(1);
    bench.taken();
    bench.report(0, { loss: 1 }, { savesWhenAsked: false });
    expect(bench.taken()).toEqual(["log 0 from 1 at 1 and 1", "pause 0"]);
    // A donor without a checkpoint gives nothing, and the last exploit is not to be logged.
    bench.report(2).report(2);
    expect(bench.taken()).toEqual(["continue 2", "pause 2"]);
  });

  test("the searcher hears of the result of a trial that takes over a checkpoint or gets other resources, and of an end only once", () => {
    const resources: SchedulerAction = { type: "resources", trialId: idOf(1), resources: { bundles: [{ CPU: 2 }], strategy: "PACK" } };
    const script: Record<string, Decision> = {
      "0@1": exploit(0, 1),
      "1@2": { verdict: "continue", actions: [resources] },
      "2@1": { verdict: "continue", actions: [{ type: "stop", trialId: idOf(2) }] },
    };
    const bench = new Bench({ script, concurrentMax: 3, clusterResources: { CPU: 3 } }).begin();
    bench.report(1, { loss: 1 }, { checkpoint: "d0" });
    const told = [0, 1, 2].flatMap((n) =>
      bench.machine
        .apply({ type: "reported", trialId: idOf(n), metrics: { loss: n }, elapsedMs: 10, timestampMs: 0 })
        .flatMap((effect) => (effect.type === "tellResult" || effect.type === "tellComplete" ? [[effect.type, effect.result]] : [])),
    );
    expect(told).toMatchObject([
      // As it was reported: with the configuration that led to it.
      ["tellResult", { trialId: idOf(0), loss: 0, config: { n: 0 } }],
      ["tellResult", { trialId: idOf(1), loss: 1 }],
      ["tellComplete", { trialId: idOf(2), loss: 2 }],
    ]);
  });

  test("a trial that saves only when it pauses goes on from there, and not from the donor's checkpoint again", () => {
    const bench = new Bench({ script: { "0@1": exploit(0, 1), "0@3": "pause" }, samplesMax: 2 }).begin();
    bench.report(1, { loss: 1 }, { checkpoint: "d0" }).report(1, { loss: 1 }, { checkpoint: "d1" });
    bench.report(0).release(0, "late").report(0).release(0, "own");
    expect(bench.taken().filter((effect) => effect.startsWith("start"))).toEqual([
      "start 0",
      "start 1",
      "start 0 from d1",
      "start 0 from own",
    ]);
    expect(bench.machine.liveTrials.get(idOf(0))?.lastResult?.trainingIteration).toBe(3);
  });

  test("a checkpoint that is being saved is waited for", () => {
    const save: Decision = { verdict: "continue", actions: [{ type: "checkpoint", trialId: idOf(1) }] };
    const bench = new Bench({ script: { "1@1": save, "0@1": exploit(0, 1) }, samplesMax: 2 }).begin();
    bench.report(1).report(0).release(0);
    expect(bench.taken()).toEqual(["start 0", "start 1", "continue and save 1", "pause 0"]);
    bench.apply({ type: "saved", trialId: idOf(1), checkpoint: "d0" });
    expect(bench.taken()).toEqual(["start 0 from d0"]);
  });

  test("a donor that is being paused saves, which is waited for, and has no other checkpoint meanwhile", () => {
    const script = { "1@2": "pause", "0@2": exploit(0, 1) } as const;
    const bench = new Bench({ script, samplesMax: 2 }).begin();
    bench.report(1, { loss: 1 }, { checkpoint: "d0" }).report(0).report(1).report(0).release(0, "own");
    expect(bench.taken()).toEqual(["start 0", "start 1", "continue 1", "continue 0", "pause 1", "pause 0"]);
    bench.release(1, "d1");
    expect(bench.taken()).toContain("start 0 from d1");
    const saving = new Bench({ script, samplesMax: 2 }).begin().report(1).report(0).report(1);
    expect(saving.machine.liveTrials.get(idOf(1))?.hasCheckpoint).toBe(true);
    const reporting = new Bench({ script, samplesMax: 2 }).begin().report(1, { loss: 1 }, { savesWhenAsked: false }).report(0).report(1);
    expect(reporting.machine.liveTrials.get(idOf(1))?.hasCheckpoint).toBe(false);
  });

  test("a population that waits for its last trial goes on from that one, too, from the first look on", () => {
    const mutations = { n: [7] };
    const scheduler = new PopulationBasedTraining({
      timeAttr: "trainingIteration",
      perturbationInterval: 1,
      quantileFraction: 0.5,
      synch: true,
      hyperparamMutations: mutations,
    });
    scheduler.setSearchProperties("loss", "min");
    const told = { savesWhenAsked: true };
    const bench = new Bench({ scheduler, samplesMax: 2 })
      .begin()
      .report(0, { loss: 9 }, told)
      .release(0, "own")
      .report(1, { loss: 1 }, told);
    expect(bench.taken()).toEqual(["start 0", "start 1", "pause 0", "log 0 from 1 at 1 and 1", "pause 1"]);
    bench.release(1, "donor");
    expect(bench.taken()).toEqual(["start 0 from donor", "start 1 from donor"]);
    // The loser began from a donor's checkpoint before, and saves its own before the donor has saved.
    bench.report(1, { loss: 1 }, told).report(0, { loss: 9 }, told).release(0, "late").release(1, "newer");
    expect(bench.taken()).toEqual(["pause 1", "log 0 from 1 at 2 and 2", "pause 0", "start 0 from newer", "start 1 from newer"]);
  });

  test.each([
    ["its process says so", {}, { savesWhenAsked: false }],
    ["the limits in a log of an earlier version say so", { savesWhenAsked: false }, {}],
  ])("a trial that saves with its reports alone is not asked to save, and nobody waits for that: %s", (_, limits, told) => {
    const save: Decision = { verdict: "continue", actions: [{ type: "checkpoint", trialId: idOf(1) }] };
    const bench = new Bench({ script: { "1@2": save, "0@1": exploit(0, 1) }, samplesMax: 2, ...limits }).begin();
    bench.report(1, { loss: 1 }, { checkpoint: "d0", ...told });
    bench.report(1).report(0).release(0);
    expect(bench.taken()).toEqual(["start 0", "start 1", "continue 1", "continue 1", "pause 0", "start 0 from d0"]);
  });

  test("what the process says counts in the log of an earlier version, too, and after a snapshot", () => {
    const save: Decision = { verdict: "continue", actions: [{ type: "checkpoint", trialId: idOf(0) }] };
    const script = { "0@2": save };
    const before = new Bench({ script, samplesMax: 1, savesWhenAsked: false }).begin().report(0, { loss: 1 }, { savesWhenAsked: true });
    const bench = new Bench({ script });
    bench.machine.restore(JSON.parse(JSON.stringify(before.machine.save())) as never);
    expect(bench.report(0).taken()).toEqual(["continue and save 0"]);
  });

  test("a trial that begins anew, or that nobody can go on from, lacks a checkpoint", () => {
    const lacks: Decision = { verdict: "continue", actions: [{ type: "lacksCheckpoint", trialId: idOf(1) }] };
    const bench = new Bench({ script: { "0@1": lacks, "0@2": "pause" }, samplesMax: 2 }).begin().report(0);
    expect(bench.taken()).toEqual(["start 0", "start 1", "lacks a checkpoint: 1", "continue 0"]);
    bench.report(0).release(0);
    expect(bench.taken()).toEqual(["pause 0", "lacks a checkpoint: 0", "start 0"]);
    expect(bench.machine.liveTrials.get(idOf(0))?.lastResult?.trainingIteration).toBe(2);
  });

  test("a donor that dies while it saves leaves its follower what it had", () => {
    const save: Decision = { verdict: "continue", actions: [{ type: "checkpoint", trialId: idOf(1) }] };
    const bench = new Bench({ script: { "1@2": save, "0@1": exploit(0, 1) }, samplesMax: 2 }).begin();
    bench.report(1, { loss: 1 }, { checkpoint: "d0" }).report(1).report(0).release(0);
    bench.taken();
    bench.apply({ type: "failed", trialId: idOf(1), failure: { name: "Error", message: "no" } });
    expect(bench.taken()).toContain("start 0 from d0");
  });

  test("a trial that is to have other resources saves, and goes on with them from there", () => {
    const more = { bundles: [{ CPU: 2 }], strategy: "PACK" } as const;
    const change: Decision = { verdict: "continue", actions: [{ type: "resources", trialId: idOf(0), resources: more }] };
    const bench = new Bench({ script: { "0@2": change }, samplesMax: 1 }).begin();
    bench.report(0, { loss: 1 }, { checkpoint: "c0" }).report(0).release(0, "c1");
    expect(bench.taken()).toEqual(["start 0", "continue 0", "pause 0", "start 0 from c1"]);
    expect(bench.machine.liveTrials.get(idOf(0))).toMatchObject({ resources: more, iteration: 2 });
  });
});

describe("restoring", () => {
  /** A run with everything in it: pauses, failures, checkpoints, an exploit. */
  const story = (): Bench => {
    const script: Record<string, Decision> = {
      "0@2": "pause",
      "1@2": { verdict: "continue", actions: [{ type: "exploit", trialId: idOf(1), donorId: idOf(0), config: { n: 71 } }] },
    };
    const bench = new Bench({ script, samplesMax: 4, maxFailures: 1 }).begin();
    const place = { pid: 7, hostname: "node", nodeIp: "10.0.0.7" };
    bench.report(0, { loss: 2 }, { checkpoint: "a0", place }).report(1).report(0).release(0, "a1").report(1).release(1);
    bench.apply({ type: "failed", trialId: idOf(2), failure: { name: "Error", message: "no" } });
    bench.report(2, { loss: 1 }, { isLast: true });
    return bench;
  };

  const sameAs = (bench: Bench): TrialMachine => {
    const { machine } = new Bench({ script: bench.scheduler.script, samplesMax: 4, maxFailures: 1 });
    return machine;
  };

  test("events repeated give the same state, also from a snapshot in between, wherever it is taken", () => {
    const bench = story();
    const events = JSON.parse(JSON.stringify(bench.events)) as TrialEvent[];
    for (let cut = 0; cut <= events.length; cut += 1) {
      const first = sameAs(bench);
      for (const event of events.slice(0, cut)) first.apply(event);
      const second = sameAs(bench);
      second.restore(JSON.parse(JSON.stringify(first.save())));
      for (const event of events.slice(cut)) second.apply(event);
      expect(JSON.parse(JSON.stringify(second.save())), `cut at ${cut}`).toEqual(JSON.parse(JSON.stringify(bench.machine.save())));
    }
  });

  test("what ran goes on from its checkpoint, without a failure; what is given up ends", () => {
    const bench = story();
    const machine = sameAs(bench);
    machine.restore(JSON.parse(JSON.stringify(bench.machine.save())));
    const held = machine.heldTrials;
    expect(held.length).toBeGreaterThan(0);
    const effects = [{ type: "opened" } as const, ...held.map((trialId) => ({ type: "interrupted", trialId }) as const)].flatMap((event) =>
      machine.apply(event),
    );
    expect(effects.filter(({ type }) => type === "start")).toEqual([]);
    machine.apply({ type: "givenUp", trialId: held[0] as string });
    const begun = machine.apply({ type: "begun", limits: bench.limits });
    expect(begun.map(describeEffect).filter((text) => text?.startsWith("start"))).not.toEqual([]);
    expect(machine.finishedTrials.map(({ id }) => id)).toContain(held[0]);
  });

  test("a trial that failed is revived, from its checkpoint or from its beginning", () => {
    for (const fromCheckpoint of [true, false]) {
      const bench = new Bench({ samplesMax: 1 }).begin().report(0, { loss: 1 }, { checkpoint: "c0" });
      bench.apply({ type: "failed", trialId: idOf(0), failure: { name: "Error", message: "no" } });
      expect(bench.machine.isFinished).toBe(true);
      bench.taken();
      bench.apply({ type: "opened" }).apply({ type: "revived", trialId: idOf(0), fromCheckpoint });
      expect(bench.taken()).toEqual([]);
      bench.begin();
      expect(bench.taken()).toEqual([fromCheckpoint ? "start 0 from c0" : "start 0"]);
    }
  });

  test("a revived trial keeps what it had reported until it reports again", () => {
    const bench = new Bench({ samplesMax: 1 }).begin().report(0, { loss: 1 }, { checkpoint: "c0" });
    const fail = (): void => void bench.apply({ type: "failed", trialId: idOf(0), failure: { name: "Error", message: "no" } });
    fail();
    const before = bench.machine.finishedTrials[0];
    bench
      .apply({ type: "opened" })
      .apply({ type: "revived", trialId: idOf(0), fromCheckpoint: true })
      .begin();
    fail();
    expect(bench.machine.finishedTrials[0]).toMatchObject({ metrics: { loss: 1 }, iteration: before?.iteration, failures: 1 });
  });

  test("a snapshot of ten thousand ended trials takes two kilobytes each at most", () => {
    const bench = new Bench({ samplesMax: 200, concurrentMax: 1 }).begin();
    for (let n = 0; n < 100; n += 1) {
      const trialId = [...bench.machine.liveTrials.keys()][0] as string;
      for (let i = 0; i < 12; i += 1)
        bench.machine.apply({
          type: "reported",
          trialId,
          metrics: { loss: i, accuracy: i, other: i, more: i, last: i },
          elapsedMs: 1,
          timestampMs: 1,
        });
      bench.machine.apply({ type: "ended", trialId });
      const asked = bench.machine.askedFor as string;
      bench.apply({
        type: "suggested",
        trialId: asked,
        name: asked,
        dirname: asked,
        config: { n },
        resources: { bundles: [{ CPU: 1 }], strategy: "PACK" },
      });
    }
    const size = JSON.stringify(bench.machine.save()).length / bench.machine.finishedTrials.length;
    expect(bench.machine.finishedTrials.length).toBe(100);
    expect(size).toBeLessThan(2000);
  });
});

describe("HyperBand in an experiment", () => {
  /** Runs 17 trials on two CPUs, with scores that rise with their numbers. @returns the iterations of each */
  function iterationsWith(aheadMax: number): number[] {
    const machine = checked(new TrialMachine({ runId: "t", metrics: ["score"], keep: {}, scheduler: scheduler() }));
    const events: TrialEvent[] = [
      { type: "begun", limits: { samplesMax: 17, concurrentMax: 2, maxFailures: 0, clusterResources: { CPU: 2 }, aheadMax } },
    ];
    const reportOf = (trialId: string): TrialEvent => ({
      type: "reported",
      trialId,
      metrics: { score: Number(trialId.slice(2)) },
      elapsedMs: 1,
      timestampMs: 0,
      savesWhenAsked: true,
    });
    const resources = { bundles: [{ CPU: 1 }], strategy: "PACK" } as const;
    for (let event = events.shift(); event !== undefined; event = events.shift()) {
      for (const effect of machine.apply(event)) {
        if (effect.type === "start") events.push(reportOf(effect.trial.id));
        if (effect.type === "ask") {
          const { trialId } = effect;
          events.unshift({ type: "suggested", trialId, name: trialId, dirname: trialId, config: {}, resources });
        }
        if (effect.type !== "answer") continue;
        const { trialId, answer } = effect;
        const left = { type: "released", trialId, ...(answer.action === "pause" && { checkpoint: `${trialId}/c` }) } as const;
        events.push(answer.action === "continue" ? reportOf(trialId) : left);
      }
    }
    return [...machine.finishedTrials].sort((a, b) => a.index - b.index).map(({ iteration }) => iteration);
  }

  function scheduler(): HyperBandScheduler {
    const made = new HyperBandScheduler({ maxT: 9 });
    made.setSearchProperties("score", "max");
    return made;
  }

  test("fills its brackets before it halves them, as Ray does", () => {
    expect(iterationsWith(Number.POSITIVE_INFINITY)).toEqual([9, 9, 9, 3, 3, 3, 9, 9, 1, 1, 1, 1, 1, 1, 3, 3, 9]);
  });

  test("asks a searcher that learns for no more than one trial ahead", () => {
    expect(iterationsWith(1)).toHaveLength(17);
  });
});
