/** The controller by events alone: attempts, the barrier of reports, blame, restarts, moves, and what comes in an odd order. */
import { describe, expect, test } from "vitest";
import { type ControllerEffect, type ControllerOptions, TrainingController } from "./controller.ts";
import { type FailureCause, firstCause, type RankFailure } from "../ranks/rank-failure.ts";
import type { RankEvent, RankReport } from "../ranks/rank-protocol.ts";
import { checked } from "../../../sim/checked.ts";

type Effect = ControllerEffect<string>;

const OPTIONS: ControllerOptions<string> = {
  maxFailures: 0,
  controllerFailureLimit: undefined,
  maxPreemptionFailures: -1,
  relaxCollectivesOnPreemption: false,
  preemptionGraceMs: 0,
  healthCheck: undefined,
  collectiveWarnIntervalMs: 60_000,
  reportTimeoutMs: undefined,
  resizeIntervalMs: undefined,
  maxWorkers: 2,
  checkpoint: undefined,
};

function reportOf(loss: number, checkpoint?: string, uploadMode: RankReport["uploadMode"] = "sync"): RankReport {
  const kept = checkpoint === undefined ? null : { path: checkpoint, deleteAfterUpload: false, directoryName: null };
  return { type: "report", metrics: { loss }, checkpoint: kept, uploadMode };
}

const FINISHED: RankEvent = { type: "finished", value: undefined };

function failure(rank: number, cause: FailureCause, message = `${rank} ${cause}`): RankFailure {
  return { rank, cause, error: new Error(message) };
}

/** A controller whose group of two runs. */
function running(options: Partial<ControllerOptions<string>> = {}, workers = 2): TrainingController<string> {
  const controller = checked(new TrainingController<string>({ ...OPTIONS, ...options }));
  expect(controller.handle({ kind: "start" })).toEqual([{ kind: "startGroup", attempt: 1 }]);
  begin(controller, workers);
  return controller;
}

function begin(controller: TrainingController<string>, workers = 2): Effect[] {
  const { attempt } = controller;
  expect(controller.handle({ kind: "started", attempt, workers })).toEqual([{ kind: "meet" }]);
  return controller.handle({ kind: "met", attempt });
}

function come(controller: TrainingController<string>, number: number, event: RankEvent): Effect[] {
  return controller.handle({ kind: "rank", attempt: controller.attempt, rank: number, event });
}

function of<K extends Effect["kind"]>(effects: readonly Effect[], kind: K): Extract<Effect, { kind: K }>[] {
  return effects.filter((effect): effect is Extract<Effect, { kind: K }> => effect.kind === kind);
}

const ended = (controller: TrainingController<string>): Effect[] => controller.handle({ kind: "ended", attempt: controller.attempt });

describe("a run without faults", () => {
  test("records a report when all ranks have come, and answers them when it is recorded", () => {
    const controller = running();
    expect(of(come(controller, 0, reportOf(1)), "record")).toEqual([]);
    const [record] = of(come(controller, 1, reportOf(2)), "record");
    expect(record?.reports.map(({ metrics }) => metrics)).toEqual([{ loss: 1 }, { loss: 2 }]);
    const answers = of(controller.handle({ kind: "recorded", report: 1, checkpoint: "a", decision: "continue" }), "answer");
    expect(answers).toEqual([{ kind: "answer", ranks: [0, 1], decision: { action: "continue", checkpoint: "a" } }]);
  });

  test("ends when all loops have ended and their processes are gone, with what they returned", () => {
    const controller = running();
    expect(come(controller, 1, { type: "finished", value: "one" })).toEqual([{ kind: "setTimer", name: "barrier", ms: 60_000 }]);
    expect(of(come(controller, 0, { type: "finished", value: "zero" }), "endGroup")).toEqual([{ kind: "endGroup", gently: true }]);
    expect(ended(controller)).toEqual([{ kind: "finish", values: ["zero", "one"] }]);
    expect(controller.phase).toBe("done");
  });

  test("answers an asynchronous upload at once, and ends after it is recorded", () => {
    const controller = running();
    come(controller, 0, reportOf(1, "/a", "async"));
    expect(of(come(controller, 1, reportOf(1)), "answer")).toHaveLength(1);
    come(controller, 0, FINISHED);
    come(controller, 1, FINISHED);
    expect(ended(controller)).toEqual([]);
    expect(controller.handle({ kind: "recorded", report: 1, checkpoint: "a", decision: "continue" })).toEqual([
      { kind: "finish", values: [undefined, undefined] },
    ]);
  });

  test("gives rank 0's value to all at a broadcast", () => {
    const controller = running();
    come(controller, 1, { type: "barrier", name: "broadcast", value: "mine" });
    expect(of(come(controller, 0, { type: "barrier", name: "broadcast", value: "theirs" }), "answer")).toMatchObject([
      { decision: { action: "continue", value: "theirs" } },
    ]);
  });

  test("stops when the scheduler says so, and counts that as a good end", () => {
    const controller = running();
    come(controller, 0, reportOf(1));
    come(controller, 1, reportOf(1));
    const effects = controller.handle({ kind: "recorded", report: 1, checkpoint: undefined, decision: "stop" });
    expect(of(effects, "answer")).toMatchObject([{ decision: { action: "stop", reason: "scheduler" } }]);
    come(controller, 0, { type: "stopped" });
    come(controller, 1, { type: "stopped" });
    expect(of(ended(controller), "finish")).toHaveLength(1);
  });
});

describe("asynchronous uploads", () => {
  /** Both ranks report; the first has a checkpoint. */
  function reportBoth(controller: TrainingController<string>, loss: number): Effect[] {
    come(controller, 0, reportOf(loss, `/${loss}`, "async"));
    return come(controller, 1, reportOf(10 * loss));
  }

  function recorded(controller: TrainingController<string>, report: number, decision: "continue" | "stop" = "continue"): Effect[] {
    return controller.handle({ kind: "recorded", report, checkpoint: `kept ${report}`, decision });
  }

  test("are told to the ranks when they are stored, and one at most goes on beside the loops", () => {
    const controller = running();
    expect(of(reportBoth(controller, 1), "answer")).toEqual([
      { kind: "answer", ranks: [0, 1], decision: { action: "continue", isUploading: true } },
    ]);
    const second = reportBoth(controller, 2);
    expect([...of(second, "record"), ...of(second, "answer")]).toEqual([]);
    expect(recorded(controller, 1).filter(({ kind }) => kind !== "clearTimer")).toMatchObject([
      { kind: "stored", checkpoint: "kept 1", metrics: [{ loss: 1 }, { loss: 10 }] },
      { kind: "record", report: 2 },
      { kind: "answer", ranks: [0, 1], decision: { action: "continue", isUploading: true } },
    ]);
    expect(recorded(controller, 2)).toEqual([{ kind: "stored", checkpoint: "kept 2", metrics: [{ loss: 2 }, { loss: 20 }] }]);
  });

  test("hold up the next report, also one without a checkpoint, and no barrier", () => {
    const controller = running({ reportTimeoutMs: 500 });
    reportBoth(controller, 1);
    come(controller, 0, { type: "barrier", name: "barrier", value: undefined });
    expect(of(come(controller, 1, { type: "barrier", name: "barrier", value: undefined }), "answer")).toHaveLength(1);
    come(controller, 0, reportOf(2));
    // A rank that waits for an upload is not late.
    expect(come(controller, 1, reportOf(2)).filter(({ kind }) => kind !== "clearTimer")).toEqual([]);
    expect(of(recorded(controller, 1), "record")).toMatchObject([{ report: 2 }]);
  });

  test("are waited for when nodes go away or ranks are to be more, so that the loops stop there", () => {
    for (const reason of ["preempted", "resize"] as const) {
      const controller = running({ resizeIntervalMs: 1000, maxWorkers: 4 });
      reportBoth(controller, 1);
      if (reason === "resize") controller.handle({ kind: "room", attempt: 1, workers: 3 });
      else controller.handle({ kind: "preempted", attempt: 1, nodeId: "b", ranks: [1], reason: "preemption", deadlineMs: 5 });
      reportBoth(controller, 2);
      expect(of(recorded(controller, 1), "answer")).toEqual([]);
      expect(of(recorded(controller, 2), "answer")).toEqual([
        { kind: "answer", ranks: [0, 1], decision: { action: "stop", reason, checkpoint: "kept 2" } },
      ]);
      come(controller, 0, { type: "stopped" });
      come(controller, 1, { type: "stopped" });
      expect(of(ended(controller), "startGroup")).toHaveLength(1);
      expect(of(begin(controller), "begin")).toEqual([{ kind: "begin", checkpoint: "kept 2" }]);
    }
  });

  test("of a run that a scheduler stops end the loops at their next report, which does not count", () => {
    for (const isLate of [false, true]) {
      const controller = running();
      reportBoth(controller, 1);
      const effects = isLate
        ? [...recorded(controller, 1, "stop"), ...reportBoth(controller, 2)]
        : [...reportBoth(controller, 2), ...recorded(controller, 1, "stop")];
      expect(of(effects, "record")).toEqual([]);
      expect(of(effects, "answer")).toEqual([{ kind: "answer", ranks: [0, 1], decision: { action: "stop", reason: "scheduler" } }]);
      come(controller, 0, { type: "stopped" });
      come(controller, 1, { type: "stopped" });
      expect(of(ended(controller), "finish")).toHaveLength(1);
    }
  });

  test("that fail fail the attempt, while the ranks run or wait for them", () => {
    for (const waits of [false, true]) {
      const controller = running();
      reportBoth(controller, 1);
      if (waits) reportBoth(controller, 2);
      controller.handle({ kind: "notRecorded", report: 1, failure: failure(0, "storage") });
      expect(of(controller.handle({ kind: "timer", name: "settle" }), "endGroup")).toHaveLength(1);
      expect(of(ended(controller), "fail")).toMatchObject([{ failures: [{ rank: 0, cause: "storage" }] }]);
    }
  });
});

describe("ranks that disagree", () => {
  test("are named with what they did", () => {
    const controller = running();
    come(controller, 0, FINISHED);
    const effects = come(controller, 1, reportOf(1));
    expect(of(effects, "setTimer")).toEqual([]);
    expect(of(effects, "endGroup")).toEqual([{ kind: "endGroup", gently: false }]);
    const [failed] = of(ended(controller), "fail");
    expect(failed?.failures.map((each) => [each.rank, each.cause])).toEqual([
      [0, "disagreement"],
      [1, "disagreement"],
    ]);
    expect(failed?.failures[0]?.error.message).toBe(
      "The ranks do not do the same: rank 0 ended the loop, rank 1 reported: all ranks must make the same calls of report and collective, equally often",
    );
  });

  test("a barrier and a report are not the same", () => {
    const controller = running();
    come(controller, 0, { type: "barrier", name: "barrier", value: undefined });
    expect(of(come(controller, 1, reportOf(1)), "endGroup")).toHaveLength(1);
  });

  test("a warning says for whom the others wait", () => {
    const controller = running({}, 3);
    come(controller, 1, reportOf(1));
    expect(of(controller.handle({ kind: "timer", name: "barrier" }), "warn")).toEqual([
      { kind: "warn", text: "rank 1 reported; ranks 0, 2 did not come to it within 60 s: all ranks must report equally often" },
    ]);
  });
});

describe("a limited wait", () => {
  const limited: RankEvent = { type: "barrier", name: "barrier", value: undefined, timeoutMs: 300 };

  test("ends for its rank alone, which may come again", () => {
    const controller = running({}, 3);
    const waits = come(controller, 1, limited);
    expect(of(waits, "setTimer")).toContainEqual({ kind: "setTimer", name: "late 1", ms: 300 });
    come(controller, 0, { type: "barrier", name: "barrier", value: undefined });
    expect(of(controller.handle({ kind: "timer", name: "late 1" }), "answer")).toEqual([
      { kind: "answer", ranks: [1], decision: { action: "late", timeoutMs: 300, missing: [2] } },
    ]);
    come(controller, 2, limited);
    expect(of(come(controller, 1, limited), "answer")).toMatchObject([{ ranks: [0, 2, 1], decision: { action: "continue" } }]);
  });

  test("has no timer once all have come, or once the attempt ends", () => {
    const controller = running();
    come(controller, 1, limited);
    expect(of(come(controller, 0, limited), "clearTimer").map(({ name }) => name)).toContain("late 1");
    expect(controller.handle({ kind: "timer", name: "late 1" })).toEqual([]);
    come(controller, 1, limited);
    const failed = controller.handle({ kind: "failed", attempt: 1, failure: failure(0, "died") });
    expect(of(failed, "clearTimer").map(({ name }) => name)).toContain("late 1");
  });
});

describe("failures", () => {
  test("an error of communication waits for its cause, which is blamed", () => {
    const controller = running();
    const first = come(controller, 0, { type: "failed", cause: "communication", error: new Error("connection closed") });
    expect(of(first, "setTimer")).toEqual([{ kind: "setTimer", name: "settle", ms: 1000 }]);
    const effects = controller.handle({ kind: "failed", attempt: 1, failure: failure(1, "died", "SIGKILL") });
    expect(of(effects, "endGroup")).toHaveLength(1);
    const [failed] = of(ended(controller), "fail");
    expect(failed?.failures.map(({ rank: number }) => number)).toEqual([0, 1]);
  });

  test("an error whose cause nobody has reported waits until the other ranks have shown that they live", () => {
    for (const cause of ["user", "communication"] as const) {
      const controller = running({}, 3);
      come(controller, 1, { type: "barrier", name: "barrier", value: undefined });
      controller.handle({ kind: "failed", attempt: 1, failure: failure(0, cause) });
      expect(of(controller.handle({ kind: "timer", name: "settle" }), "ping")).toEqual([{ kind: "ping", ranks: [1, 2] }]);
      expect(controller.handle({ kind: "answered", attempt: 1, rank: 2 })).toEqual([]);
      expect(of(controller.handle({ kind: "failed", attempt: 1, failure: failure(1, "died") }), "endGroup")).toHaveLength(1);
      expect(firstCause(of(ended(controller), "fail")[0]?.failures ?? [])).toMatchObject({ rank: 1, cause: "died" });
    }
  });

  test("ranks that all live leave the blame where it is, at once", () => {
    const controller = running({}, 3);
    controller.handle({ kind: "failed", attempt: 1, failure: failure(0, "user") });
    controller.handle({ kind: "timer", name: "settle" });
    controller.handle({ kind: "answered", attempt: 1, rank: 1 });
    expect(of(controller.handle({ kind: "answered", attempt: 1, rank: 2 }), "endGroup")).toHaveLength(1);
  });

  test("a cause waits shortly for others that fail at the same time", () => {
    const controller = running({}, 3);
    expect(of(controller.handle({ kind: "failed", attempt: 1, failure: failure(2, "died") }), "setTimer")).toEqual([
      { kind: "setTimer", name: "settle", ms: 100 },
    ]);
    controller.handle({ kind: "failed", attempt: 1, failure: failure(0, "died") });
    expect(of(controller.handle({ kind: "timer", name: "settle" }), "endGroup")).toHaveLength(1);
    expect(of(ended(controller), "fail")[0]?.failures.map(({ rank: number }) => number)).toEqual([2, 0]);
  });

  test("are followed by another attempt from the last checkpoint, as often as maxFailures says", () => {
    const controller = running({ maxFailures: 1 });
    come(controller, 0, reportOf(1, "/a"));
    come(controller, 1, reportOf(1));
    controller.handle({ kind: "recorded", report: 1, checkpoint: "kept", decision: "continue" });
    controller.handle({ kind: "failed", attempt: 1, failure: failure(1, "died") });
    controller.handle({ kind: "timer", name: "settle" });
    expect(of(ended(controller), "startGroup")).toEqual([{ kind: "startGroup", attempt: 2 }]);
    expect(of(begin(controller), "begin")).toEqual([{ kind: "begin", checkpoint: "kept" }]);
    controller.handle({ kind: "failed", attempt: 2, failure: failure(0, "user") });
    controller.handle({ kind: "timer", name: "settle" });
    controller.handle({ kind: "answered", attempt: 2, rank: 1 });
    expect(of(ended(controller), "fail")).toMatchObject([{ attempts: 2 }]);
  });

  test("without end where maxFailures is -1", () => {
    const controller = running({ maxFailures: -1 });
    for (let attempt = 1; attempt <= 50; attempt += 1) {
      controller.handle({ kind: "failed", attempt, failure: failure(0, "died") });
      controller.handle({ kind: "timer", name: "settle" });
      expect(of(ended(controller), "startGroup")).toEqual([{ kind: "startGroup", attempt: attempt + 1 }]);
      begin(controller);
    }
  });

  test("the next attempt waits until what was reported before is recorded, and goes on from it", () => {
    const controller = running({ maxFailures: 1 });
    come(controller, 0, reportOf(1, "/a"));
    come(controller, 1, reportOf(1));
    controller.handle({ kind: "failed", attempt: 1, failure: failure(0, "died") });
    controller.handle({ kind: "timer", name: "settle" });
    expect(ended(controller)).toEqual([]);
    const effects = controller.handle({ kind: "recorded", report: 1, checkpoint: "late", decision: "continue" });
    expect(of(effects, "startGroup")).toHaveLength(1);
    expect(of(begin(controller), "begin")).toEqual([{ kind: "begin", checkpoint: "late" }]);
  });

  test("of a group that could not be made are final where they would come again", () => {
    const controller = checked(new TrainingController<string>({ ...OPTIONS, maxFailures: 5 }));
    controller.handle({ kind: "start" });
    controller.handle({ kind: "notStarted", attempt: 1, failures: [failure(0, "user")], isFinal: true });
    expect(of(ended(controller), "fail")).toHaveLength(1);
  });

  test("of a storage fail the run, also after its loops have ended", () => {
    const controller = running();
    come(controller, 0, reportOf(1, "/a", "async"));
    come(controller, 1, reportOf(1));
    come(controller, 0, FINISHED);
    come(controller, 1, FINISHED);
    ended(controller);
    const effects = controller.handle({ kind: "notRecorded", report: 1, failure: failure(0, "storage") });
    expect(of(effects, "fail")).toMatchObject([{ failures: [{ cause: "storage" }] }]);
  });

  test("of an attempt that is over change nothing", () => {
    const controller = running({ maxFailures: 1 });
    controller.handle({ kind: "failed", attempt: 1, failure: failure(0, "died") });
    controller.handle({ kind: "timer", name: "settle" });
    ended(controller);
    expect(controller.handle({ kind: "failed", attempt: 1, failure: failure(1, "died") })).toEqual([]);
    expect(controller.handle({ kind: "ended", attempt: 1 })).toEqual([]);
  });
});

describe("ranks that hang", () => {
  test("those whose processes do not answer are to blame", () => {
    const controller = running({ reportTimeoutMs: 500 }, 3);
    come(controller, 1, reportOf(1));
    expect(controller.handle({ kind: "timer", name: "report" })).toEqual([{ kind: "probe", ranks: [0, 2] }]);
    controller.handle({ kind: "probed", attempt: 1, silent: [2] });
    controller.handle({ kind: "timer", name: "settle" });
    const [failed] = of(ended(controller), "fail");
    expect(failed?.failures).toMatchObject([{ rank: 2, cause: "hung" }]);
    expect(failed?.failures[0]?.error.message).toBe(
      "rank 2 has not reported for 500 ms (reportTimeoutMs), and its process does not answer",
    );
  });

  test("where all answer, all that are late are to blame", () => {
    const controller = running({ reportTimeoutMs: 500 });
    controller.handle({ kind: "timer", name: "report" });
    controller.handle({ kind: "probed", attempt: 1, silent: [] });
    expect(of(ended(controller), "fail")[0]?.failures).toMatchObject([{ rank: 0 }, { rank: 1 }]);
  });

  test("the time begins anew with each answer, and stands still while a report is recorded", () => {
    const controller = running({ reportTimeoutMs: 500 });
    come(controller, 0, reportOf(1));
    expect(of(come(controller, 1, reportOf(1)), "clearTimer").map(({ name }) => name)).toContain("report");
    const effects = controller.handle({ kind: "recorded", report: 1, checkpoint: undefined, decision: "continue" });
    expect(of(effects, "setTimer")).toEqual([{ kind: "setTimer", name: "report", ms: 500 }]);
  });
});

describe("health checks", () => {
  const CHECK = { healthCheck: { intervalMs: 10, rounds: 3 } };
  const tick = (controller: TrainingController<string>): Effect[] => controller.handle({ kind: "timer", name: "health" });

  test("ping the ranks that owe no answer, round by round", () => {
    const controller = checked(new TrainingController<string>({ ...OPTIONS, ...CHECK }));
    controller.handle({ kind: "start" });
    expect(of(begin(controller), "setTimer")).toEqual([{ kind: "setTimer", name: "health", ms: 10 }]);
    expect(tick(controller)).toEqual([
      { kind: "ping", ranks: [0, 1] },
      { kind: "setTimer", name: "health", ms: 10 },
    ]);
    controller.handle({ kind: "answered", attempt: 1, rank: 1 });
    expect(of(tick(controller), "ping")).toEqual([{ kind: "ping", ranks: [1] }]);
  });

  test("blame a rank that answers none of them for as many rounds, also one that waits at a report", () => {
    const controller = running(CHECK);
    come(controller, 0, reportOf(1));
    for (let round = 0; round < 3; round += 1) {
      expect(of(tick(controller), "setTimer")).toEqual([{ kind: "setTimer", name: "health", ms: 10 }]);
      controller.handle({ kind: "answered", attempt: 1, rank: 1 });
    }
    expect(of(tick(controller), "clearTimer").map(({ name }) => name)).toContain("health");
    controller.handle({ kind: "timer", name: "settle" });
    const [failed] = of(ended(controller), "fail");
    expect(failed?.failures).toMatchObject([{ rank: 0, cause: "hung" }]);
    expect(failed?.failures[0]?.error.message).toContain("has not answered for 30 ms (healthCheckTimeoutMs");
  });

  test("begin anew with each attempt, and end with it", () => {
    const controller = running({ ...CHECK, maxFailures: 1 });
    tick(controller);
    tick(controller);
    controller.handle({ kind: "failed", attempt: 1, failure: failure(1, "died") });
    expect(of(controller.handle({ kind: "timer", name: "settle" }), "clearTimer").map(({ name }) => name)).toContain("health");
    ended(controller);
    begin(controller);
    for (let round = 0; round < 3; round += 1) expect(of(tick(controller), "setTimer")).toHaveLength(1);
    expect(tick(controller)).not.toEqual([]);
    expect(controller.phase).toBe("ending");
  });
});

describe("moves", () => {
  const ELASTIC = { resizeIntervalMs: 1000, maxWorkers: 4 };

  test("an elastic run grows at the next report with a checkpoint, and no sooner", () => {
    const controller = running(ELASTIC);
    expect(controller.handle({ kind: "timer", name: "resize" })).toEqual([{ kind: "lookForRoom" }]);
    controller.handle({ kind: "room", attempt: 1, workers: 3 });
    const report = (checkpoint: string | undefined, number: number): Effect[] => {
      come(controller, 0, reportOf(1, checkpoint));
      come(controller, 1, reportOf(1));
      return controller.handle({ kind: "recorded", report: number, checkpoint, decision: "continue" });
    };
    expect(of(report(undefined, 1), "answer")).toMatchObject([{ decision: { action: "continue" } }]);
    expect(of(report("a", 2), "answer")).toMatchObject([{ decision: { action: "stop", reason: "resize" } }]);
    come(controller, 0, { type: "stopped" });
    come(controller, 1, { type: "stopped" });
    expect(of(ended(controller), "startGroup")).toEqual([{ kind: "startGroup", attempt: 2 }]);
    expect(controller.failures).toBe(0);
  });

  test("without room it looks again later", () => {
    const controller = running(ELASTIC);
    controller.handle({ kind: "timer", name: "resize" });
    expect(controller.handle({ kind: "room", attempt: 1, workers: 2 })).toEqual([{ kind: "setTimer", name: "resize", ms: 1000 }]);
  });

  test("ranks of a node that goes away are told, and stop at their next checkpoint", () => {
    const controller = running();
    const told = controller.handle({ kind: "preempted", attempt: 1, nodeId: "b", ranks: [1], reason: "preemption", deadlineMs: 5 });
    const preemption = { reason: "preemption", deadlineMs: 5, preemptedNodeToRanks: { b: [1] }, preemptedRanks: [1] };
    expect(told).toEqual([{ kind: "notify", ranks: [0, 1], preemption }]);
    come(controller, 0, reportOf(1, "/a"));
    come(controller, 1, reportOf(1));
    const effects = controller.handle({ kind: "recorded", report: 1, checkpoint: "a", decision: "continue" });
    expect(of(effects, "answer")).toMatchObject([{ decision: { action: "stop", reason: "preempted" } }]);
  });

  test("the death of a rank whose node was announced to go away does not count", () => {
    const controller = running();
    controller.handle({ kind: "preempted", attempt: 1, nodeId: "b", ranks: [1], reason: "preemption", deadlineMs: 5 });
    controller.handle({ kind: "failed", attempt: 1, failure: failure(1, "died") });
    controller.handle({ kind: "timer", name: "settle" });
    expect(of(ended(controller), "startGroup")).toHaveLength(1);
    expect(controller.failures).toBe(0);
  });
});

describe("preemptions", () => {
  const NOTICE = { kind: "preempted", nodeId: "b", reason: "preemption", deadlineMs: 5 } as const;

  function preempt(controller: TrainingController<string>, ranks: readonly number[]): Effect[] {
    return controller.handle({ ...NOTICE, attempt: controller.attempt, ranks });
  }

  function die(controller: TrainingController<string>, rank: number): Effect[] {
    return controller.handle({ kind: "failed", attempt: controller.attempt, failure: failure(rank, "died") });
  }

  /** Both ranks stop at a checkpoint, because of a notice. */
  function move(controller: TrainingController<string>, report: number): Effect[] {
    preempt(controller, [1]);
    come(controller, 0, reportOf(1, "/a"));
    come(controller, 1, reportOf(1));
    controller.handle({ kind: "recorded", report, checkpoint: "a", decision: "continue" });
    come(controller, 0, { type: "stopped" });
    come(controller, 1, { type: "stopped" });
    return ended(controller);
  }

  test("are as many as maxPreemptionFailures says: stops in time and deaths alike", () => {
    const controller = running({ maxPreemptionFailures: 2 });
    expect(of(move(controller, 1), "startGroup")).toHaveLength(1);
    begin(controller);
    preempt(controller, [1]);
    die(controller, 1);
    controller.handle({ kind: "timer", name: "settle" });
    expect(of(ended(controller), "startGroup")).toHaveLength(1);
    begin(controller);
    const effects = move(controller, 2);
    expect(of(effects, "fail")).toMatchObject([{ attempts: 3, failures: [{ rank: 1, cause: "preempted" }] }]);
    expect(of(effects, "attemptFailed")).toMatchObject([{ failures: [{ rank: 1, cause: "preempted" }] }]);
    expect(controller.failures).toBe(0);
  });

  test("are to blame where another rank died first, and over the limit they are named", () => {
    const controller = running({ maxPreemptionFailures: 0, maxFailures: 5 });
    preempt(controller, [1]);
    die(controller, 0);
    die(controller, 1);
    expect(of(ended(controller), "fail")[0]?.failures.map(({ rank, cause }) => [rank, cause])).toEqual([
      [0, "died"],
      [1, "preempted"],
    ]);
  });

  test("that are announced before the loops begin are told when they have begun", () => {
    const controller = checked(new TrainingController<string>(OPTIONS));
    controller.handle({ kind: "start" });
    expect(preempt(controller, [0])).toEqual([]);
    expect(of(begin(controller), "notify")).toMatchObject([{ ranks: [0, 1], preemption: { reason: "preemption", preemptedRanks: [0] } }]);
    come(controller, 0, reportOf(1, "/a"));
    come(controller, 1, reportOf(1));
    const effects = controller.handle({ kind: "recorded", report: 1, checkpoint: "a", decision: "continue" });
    expect(of(effects, "answer")).toMatchObject([{ decision: { action: "stop", reason: "preempted" } }]);
  });

  test("of several nodes are told together, with the first deadline, also where they came before the loops began", () => {
    const controller = checked(new TrainingController<string>(OPTIONS));
    const tell = (nodeId: string, ranks: readonly number[], deadlineMs: number | undefined): Effect[] =>
      controller.handle({ ...NOTICE, attempt: 1, nodeId, ranks, deadlineMs });
    controller.handle({ kind: "start" });
    controller.handle({ kind: "started", attempt: 1, workers: 5 });
    tell("b", [3, 4], undefined);
    tell("a", [0], 70);
    const two = { preemptedNodeToRanks: { a: [0], b: [3, 4] }, preemptedRanks: [0, 3, 4], deadlineMs: 70 };
    expect(of(controller.handle({ kind: "met", attempt: 1 }), "notify")).toMatchObject([{ preemption: two }]);
    expect(tell("c", [2], 50)).toMatchObject([
      { preemption: { preemptedNodeToRanks: { c: [2] }, preemptedRanks: [0, 2, 3, 4], deadlineMs: 50 } },
    ]);
  });

  test("are told again when a node is drained with another deadline, sooner or later or without any", () => {
    const controller = running({}, 3);
    const tell = (nodeId: string, ranks: readonly number[], deadlineMs: number | undefined): unknown =>
      controller
        .handle({ ...NOTICE, attempt: 1, nodeId, ranks, deadlineMs })
        .map((effect) => (effect.kind === "notify" ? [effect.ranks, effect.preemption.deadlineMs] : effect.kind));
    const all = [0, 1, 2];
    expect(tell("a", [0], 70)).toEqual([[all, 70]]);
    expect(tell("a", [0], 90)).toEqual([[all, 90]]);
    expect(tell("b", [1], 100)).toEqual([[all, 90]]);
    expect(tell("a", [0], 120)).toEqual([[all, 100]]);
    expect(tell("b", [1], 30)).toEqual([[all, 30]]);
    expect(tell("b", [1], undefined)).toEqual([[all, 120]]);
    expect(tell("a", [0], undefined)).toEqual([[all, undefined]]);
    expect(of(controller.handle({ ...NOTICE, attempt: 1, ranks: [1], deadlineMs: 40 }), "notify")).toMatchObject([
      { preemption: { preemptedNodeToRanks: { a: [0], b: [1] }, preemptedRanks: [0, 1], deadlineMs: 40 } },
    ]);
  });

  test("leave the other ranks their grace, and then all end", () => {
    const controller = running({ preemptionGraceMs: 700 });
    preempt(controller, [1]);
    expect(of(die(controller, 1), "setTimer")).toEqual([{ kind: "setTimer", name: "settle", ms: 700 }]);
    come(controller, 0, reportOf(1, "/a"));
    expect(of(controller.handle({ kind: "timer", name: "settle" }), "endGroup")).toHaveLength(1);
    expect(of(ended(controller), "startGroup")).toHaveLength(1);
  });

  test("do not hide the error of a rank whose node stays", () => {
    const controller = running({ preemptionGraceMs: 700, maxFailures: 0 });
    preempt(controller, [1]);
    come(controller, 0, reportOf(1, "/a"));
    come(controller, 1, reportOf(1));
    controller.handle({ kind: "recorded", report: 1, checkpoint: "a", decision: "continue" });
    come(controller, 1, { type: "stopped" });
    controller.handle({ kind: "failed", attempt: controller.attempt, failure: failure(0, "user") });
    controller.handle({ kind: "timer", name: "settle" });
    controller.handle({ kind: "answered", attempt: controller.attempt, rank: 1 });
    expect(of(ended(controller), "fail")).toMatchObject([{ failures: [{ rank: 0, cause: "user" }] }]);
  });

  test("let the others report without the ranks that are gone, where that is wanted, and go on from there", () => {
    const controller = running({ preemptionGraceMs: 700, relaxCollectivesOnPreemption: true }, 3);
    preempt(controller, [1]);
    come(controller, 1, reportOf(5, "/lost"));
    come(controller, 0, reportOf(1, "/a"));
    expect(of(die(controller, 1), "record")).toEqual([]);
    const [record] = of(come(controller, 2, reportOf(2)), "record");
    expect(record?.reports.map(({ metrics, checkpoint }) => [metrics, checkpoint?.path])).toEqual([
      [{ loss: 1 }, "/a"],
      [{}, undefined],
      [{ loss: 2 }, undefined],
    ]);
    const effects = controller.handle({ kind: "recorded", report: 1, checkpoint: "kept", decision: "continue" });
    expect(of(effects, "answer")).toMatchObject([{ ranks: [0, 2], decision: { action: "stop" } }]);
    come(controller, 0, { type: "stopped" });
    expect(of(come(controller, 2, { type: "stopped" }), "endGroup")).toEqual([{ kind: "endGroup", gently: false }]);
    expect(of(ended(controller), "startGroup")).toHaveLength(1);
    expect(of(begin(controller), "begin")).toEqual([{ kind: "begin", checkpoint: "kept" }]);
  });

  test("complete a report that only waited for the rank that is gone; not without rank 0", () => {
    for (const gone of [0, 1]) {
      const controller = running({ preemptionGraceMs: 700, relaxCollectivesOnPreemption: true });
      preempt(controller, [gone]);
      come(controller, 1 - gone, reportOf(1));
      expect(of(die(controller, gone), "record")).toHaveLength(gone);
    }
  });
});

describe("groups that cannot start", () => {
  function fail(controller: TrainingController<string>): Effect[] {
    const { attempt } = controller;
    controller.handle({ kind: "notStarted", attempt, failures: [failure(0, "died")], isFinal: false });
    return ended(controller);
  }

  test("count as failures of the run, or by themselves with controllerFailureLimit", () => {
    const together = checked(new TrainingController<string>({ ...OPTIONS, maxFailures: 1 }));
    together.handle({ kind: "start" });
    expect(of(fail(together), "startGroup")).toHaveLength(1);
    expect(of(fail(together), "fail")).toHaveLength(1);

    const apart = running({ controllerFailureLimit: 2 });
    preemptAndDie(apart);
    expect(of(fail(apart), "startGroup")).toHaveLength(1);
    expect(of(fail(apart), "startGroup")).toHaveLength(1);
    expect(apart.failures).toBe(0);
    expect(of(fail(apart), "fail")).toMatchObject([{ attempts: 4 }]);
  });

  /** The first attempt ends without counting as a failure. */
  function preemptAndDie(controller: TrainingController<string>): void {
    controller.handle({ kind: "preempted", attempt: 1, nodeId: "b", ranks: [0], reason: "preemption", deadlineMs: 5 });
    controller.handle({ kind: "failed", attempt: 1, failure: failure(0, "died") });
    controller.handle({ kind: "timer", name: "settle" });
    ended(controller);
  }
});

describe("an abort", () => {
  test("ends the group in whatever phase, and then the run", () => {
    for (const controller of [checked(new TrainingController<string>(OPTIONS)), running()]) {
      controller.handle({ kind: "start" });
      expect(of(controller.handle({ kind: "abort", error: "reason" }), "endGroup")).toHaveLength(1);
      expect(of(ended(controller), "aborted")).toEqual([{ kind: "aborted", error: "reason" }]);
    }
  });

  test("also while a failed group ends", () => {
    const controller = running({ maxFailures: 5 });
    controller.handle({ kind: "failed", attempt: 1, failure: failure(0, "died") });
    controller.handle({ kind: "timer", name: "settle" });
    expect(controller.handle({ kind: "abort", error: "reason" })).toEqual([]);
    expect(of(ended(controller), "aborted")).toHaveLength(1);
  });
});
