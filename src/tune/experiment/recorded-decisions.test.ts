/** Runs whose schedulers a folder cannot make again, looked at by what their logs hold. */
import { expect, test } from "vitest";
import { RunPaths } from "../../runs/folder/run-paths.ts";
import { ConfigCodec } from "../spaces/config-codec.ts";
import { DecisionRecorder, RecordedScheduler } from "./recorded-decisions.ts";
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler } from "../scheduler.ts";
import { FIFOScheduler } from "../schedulers/fifo-scheduler.ts";
import { HyperBandForBOHB } from "../schedulers/hyperband/hyperband-for-bohb.ts";
import { PopulationBasedTraining } from "../schedulers/population/population-based-training.ts";
import { uniform } from "../spaces/space.ts";
import type { Config, JsonValue, Trial, TrialResult } from "../trials/trial.ts";
import type { TrialEffect, TrialEvent } from "./trial-events.ts";
import { TrialMachine } from "./trial-machine.ts";
import { checked } from "../../../sim/checked.ts";

/** Pauses, stops and throws at random, but always the same, and wakes one trial at a time. */
class Whimsical extends FIFOScheduler {
  override onTrialAdd(trial?: Trial): Config {
    return { ...trial?.config, added: true };
  }

  override onTrialResult(trial?: Trial, result?: TrialResult): Decision {
    const whim = ((trial?.index ?? 0) * 7 + (result?.trainingIteration ?? 0) * 3) % 11;
    if (whim === 5) throw new RangeError("no mood");
    if (whim === 3) return "stop";
    return whim % 2 === 0 ? "pause" : "continue";
  }

  override chooseTrialToRun(view: SchedulerView): string | undefined {
    return [...view.liveTrials.values()].find((trial) => trial.status === "pending" && view.fits(trial))?.id;
  }

  onIdle(view: SchedulerView): readonly SchedulerAction[] {
    return Array.from(view.liveTrials.keys(), (trialId) => ({ type: "stop", trialId }) as const).slice(0, 1);
  }
}

interface Logged {
  readonly record: JsonValue;
  readonly saved: unknown;
}

function machineWith(scheduler: TrialScheduler): TrialMachine {
  return checked(new TrialMachine({ runId: "t", metrics: ["loss"], keep: {}, scheduler }));
}

function withoutScheduler(machine: TrialMachine): unknown {
  const { scheduler: _, ...saved } = machine.save();
  return JSON.parse(JSON.stringify(saved));
}

/** Runs 12 trials of 9 reports, each with a checkpoint, two at a time. */
function runOf(scheduler: TrialScheduler, codec: ConfigCodec): Logged[] {
  scheduler.setSearchProperties("loss", "min");
  const recorder = new DecisionRecorder(scheduler);
  const machine = machineWith(recorder);
  const events: TrialEvent[] = [
    { type: "begun", limits: { samplesMax: 12, concurrentMax: 2, maxFailures: 0, clusterResources: { CPU: 2 } } },
  ];
  const steps = new Map<string, number>();
  const report = (trialId: string): TrialEvent => {
    const step = (steps.get(trialId) ?? 0) + 1;
    steps.set(trialId, step);
    const loss = ((Number(trialId.slice(2)) * 5) % 12) + 1 / step;
    return {
      type: "reported",
      trialId,
      metrics: { loss },
      elapsedMs: 1,
      timestampMs: step,
      checkpoint: `/runs/a/${trialId}/${step}`,
      isLast: step >= 9,
    };
  };
  const react = (effect: TrialEffect): void => {
    if (effect.type === "start") events.push(report(effect.trial.id));
    if (effect.type === "answer")
      events.push(effect.answer.action === "continue" ? report(effect.trialId) : { type: "released", trialId: effect.trialId });
    if (effect.type === "ask") {
      const { trialId } = effect;
      const resources = { bundles: [{ CPU: 1 }], strategy: "PACK" } as const;
      events.push({ type: "suggested", trialId, name: trialId, dirname: trialId, config: { rate: Number(trialId.slice(2)) }, resources });
    }
  };
  const logged: Logged[] = [];
  for (let event = events.shift(); event !== undefined; event = events.shift()) {
    const record = codec.eventRecord(event);
    for (const effect of machine.apply(event)) react(effect);
    const decided = recorder.take();
    const whole = decided === undefined ? record : codec.withDecisions(record, decided);
    logged.push({ record: JSON.parse(JSON.stringify(whole)) as JsonValue, saved: withoutScheduler(machine) });
  }
  expect(machine.isFinished).toBe(true);
  return logged;
}

test.each([
  ["a scheduler of the user's", () => new Whimsical()],
  [
    "population based training with a domain and a function",
    () =>
      new PopulationBasedTraining({
        timeAttr: "trainingIteration",
        perturbationInterval: 2,
        hyperparamMutations: { rate: uniform(0, 9), other: () => 3 },
        quantileFraction: 0.5,
        seed: 1,
      }),
  ],
  ["HyperBand", () => new HyperBandForBOHB({ maxT: 9 })],
])("a run is seen as its driver sees it, after each event, without %s", (_name, make) => {
  const codec = new ConfigCodec({ rate: 1 }, new RunPaths("/runs/a"));
  const logged = runOf(make(), codec);
  const { asksAhead = false }: TrialScheduler = make();
  const scheduler = new RecordedScheduler({ asksAhead });
  const machine = machineWith(scheduler);
  for (const [index, { record, saved }] of logged.entries()) {
    scheduler.expect(codec.readDecisions(record));
    machine.apply(codec.readEvent(record));
    expect(withoutScheduler(machine), `after event ${index}`).toEqual(saved);
  }
  const ends = machine.finishedTrials.map(({ iteration }) => iteration);
  expect(new Set(ends).size).toBeGreaterThan(1);
});

test("events on which nothing out of the ordinary is decided take no more room", () => {
  const recorder = new DecisionRecorder(new FIFOScheduler());
  const machine = machineWith(recorder);
  machine.apply({ type: "begun", limits: { samplesMax: 1, concurrentMax: 1, maxFailures: 0, clusterResources: {} } });
  expect(recorder.take()).toBeUndefined();
});
