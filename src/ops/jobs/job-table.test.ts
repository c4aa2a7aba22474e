/** A job begins at most once, ends once, and never waits for a node that has gone. */
import { describe, expect, test } from "vitest";
import type { NodeId } from "../../runtime/base/ids.ts";
import type { JobRecord, JobReport, JobRequest } from "./job-messages.ts";
import { type JobEffect, JobRefusal, JobTable } from "./job-table.ts";
import { JOB_KEPT_MS, JOB_NODE_MISSING_MS, JOBS_KEPT_MAX, JOBS_OPEN_MAX } from "./limits.ts";

const NODE = "a".repeat(32) as NodeId;
const OTHER = "b".repeat(32) as NodeId;
const request: JobRequest = { entrypoint: "true", metadata: {}, envVars: {}, address: "tcp://127.0.0.1:1" };
const kinds = (effects: readonly JobEffect[]): string[] => effects.map(({ kind }) => kind);
const ended = (id: string, more: Partial<JobReport> = {}): JobReport => ({ id, key: `key ${id}`, state: "ended", exitCode: 0, ...more });

function tableWith(...ids: string[]): JobTable {
  const jobs = new JobTable([], 0);
  jobs.nodeJoined(NODE);
  for (const id of ids) jobs.submit({ id, key: `key ${id}`, node: NODE, request, nowMs: 1 });
  return jobs;
}

describe("a submission", () => {
  test("is kept before its node is told", () => {
    const jobs = tableWith();
    expect(kinds(jobs.submit({ id: "a", key: "k", node: NODE, request, nowMs: 1 }))).toEqual(["keep", "start"]);
    expect(jobs.get("a")).toMatchObject({ state: "starting", node: NODE, key: "k" });
  });

  test("that is repeated with its key changes nothing, and another one of the id is refused", () => {
    const jobs = tableWith("a");
    expect(jobs.submit({ id: "a", key: "key a", node: NODE, request, nowMs: 2 })).toEqual([]);
    expect(() => jobs.submit({ id: "a", key: "other", node: NODE, request, nowMs: 2 })).toThrow("a job with the submission id a exists");
  });

  test("waits for its node, which is told when it comes", () => {
    const jobs = new JobTable([], 0);
    expect(kinds(jobs.submit({ id: "a", key: "k", node: NODE, request, nowMs: 1 }))).toEqual(["keep"]);
    expect(jobs.nodeJoined(OTHER)).toEqual([]);
    expect(kinds(jobs.nodeJoined(NODE))).toEqual(["start"]);
  });

  test("is refused where too many jobs are open", () => {
    const jobs = tableWith(...Array.from({ length: JOBS_OPEN_MAX }, (_, at) => `j${at}`));
    expect(() => jobs.submit({ id: "a", key: "k", node: NODE, request, nowMs: 1 })).toThrow(JobRefusal);
    jobs.reported(ended("j0"), 2);
    expect(kinds(jobs.submit({ id: "a", key: "k", node: NODE, request, nowMs: 1 }))).toEqual(["keep", "start"]);
  });
});

describe("a job with a reservation", () => {
  const reserving: JobRequest = { ...request, reservation: { resources: { CPU: 2 }, labels: {} } };
  const submitted = (): JobTable => {
    const jobs = tableWith();
    expect(kinds(jobs.submit({ id: "a", key: "key a", node: NODE, request: reserving, nowMs: 1 }))).toEqual(["keep", "reserve"]);
    return jobs;
  };

  test("has no node until its resources have one, and starts there once", () => {
    const jobs = submitted();
    expect(jobs.get("a")).not.toHaveProperty("node");
    expect(jobs.nodeJoined(OTHER)).toEqual([]);
    expect(jobs.waiting().map(({ id }) => id)).toEqual(["a"]);
    expect(kinds(jobs.reserved("key a", OTHER))).toEqual(["keep", "start"]);
    expect(jobs.get("a")).toMatchObject({ node: OTHER, state: "starting" });
    expect([jobs.reserved("key a", NODE), jobs.reserved("another", NODE), jobs.waiting()]).toEqual([[], [], []]);
  });

  test("gives its resources back at its end, however it ends", () => {
    const succeeded = submitted();
    succeeded.reserved("key a", NODE);
    expect(kinds(succeeded.reported(ended("a"), 9))).toEqual(["keep", "release"]);
    expect(succeeded.reported(ended("a"), 9)).toEqual([]);
    const lost = submitted();
    lost.reserved("key a", NODE);
    expect(kinds(lost.nodeGone(NODE, "it died", 9))).toEqual(["keep", "release"]);
    expect(lost.reserved("key a", OTHER)).toEqual([]);
  });

  test("that is stopped while it waits ends at once, and no node hears of it", () => {
    const jobs = submitted();
    expect(kinds(jobs.stop("a", 7))).toEqual(["keep", "release"]);
    expect(jobs.get("a")).toMatchObject({ state: "stopped", endedMs: 7 });
    expect(jobs.reserved("key a", NODE)).toEqual([]);
  });

  test("waits on, also under a new head, whatever becomes of nodes", () => {
    const record = submitted().get("a") as JobRecord;
    const jobs = new JobTable([record], 0);
    expect(jobs.sweep(1e9)).toEqual([]);
    expect(jobs.waiting()).toEqual([record]);
    // The resources have a node that has not registered with the new head.
    expect(kinds(jobs.reserved("key a", NODE))).toEqual(["keep"]);
    expect(kinds(jobs.nodeJoined(NODE))).toEqual(["start"]);
  });
});

describe("a report", () => {
  test("of the start and of the end change the record once", () => {
    const jobs = tableWith("a");
    const running: JobReport = { id: "a", key: "key a", state: "running", startedMs: 5 };
    expect(kinds(jobs.reported(running, 9))).toEqual(["keep"]);
    expect(jobs.reported(running, 9)).toEqual([]);
    expect(kinds(jobs.reported(ended("a", { endedMs: 7 }), 9))).toEqual(["keep"]);
    expect(jobs.get("a")).toMatchObject({ state: "succeeded", exitCode: 0, startedMs: 5, endedMs: 7 });
    expect(jobs.reported(running, 9)).toEqual([]);
    expect(jobs.reported(ended("a", { exitCode: 1 }), 9)).toEqual([]);
    expect(jobs.get("a")).toMatchObject({ state: "succeeded" });
  });

  test("of another start, or of an unknown job, is dropped", () => {
    const jobs = tableWith("a");
    expect(jobs.reported({ ...ended("a"), key: "key of a deleted job" }, 2)).toEqual([]);
    expect(jobs.reported(ended("none"), 2)).toEqual([]);
    expect(jobs.get("a")).toMatchObject({ state: "starting" });
  });

  test.each<[how: string, report: Partial<JobReport>, expected: Partial<JobRecord>]>([
    ["by an exit code", { exitCode: 3, lastLines: "no data" }, { state: "failed", exitCode: 3, errorType: "JOB_ENTRYPOINT_COMMAND_ERROR" }],
    ["by a signal", { exitCode: undefined, signal: "SIGKILL" }, { state: "failed", exitCode: 137 }],
    ["by a stop", { exitCode: undefined, signal: "SIGTERM", wasStopped: true }, { state: "stopped", exitCode: 143 }],
    ["before it began", { exitCode: undefined, problem: "no shell" }, { state: "failed", message: "no shell" }],
  ])("of a job that ended %s says so", (_how, report, expected) => {
    const jobs = tableWith("a");
    jobs.reported(ended("a", report), 2);
    expect(jobs.get("a")).toMatchObject(expected);
  });

  test("of a failure has the last lines and the code in its message, and a bound", () => {
    const jobs = tableWith("a", "b");
    jobs.reported(ended("a", { exitCode: 3, lastLines: "first\nno data" }), 2);
    expect(jobs.get("a")?.message).toBe("Job entrypoint command failed with exit code 3. Its last lines:\nfirst\nno data");
    jobs.reported(ended("b", { exitCode: 3, lastLines: "x".repeat(100_000) }), 2);
    expect(jobs.get("b")?.message?.length).toBeLessThan(20_010);
  });
});

describe("a stop", () => {
  test("is told to the node, and again to the node that another head meets", () => {
    const jobs = tableWith("a");
    expect(kinds(jobs.stop("a", 5))).toEqual(["keep", "stop"]);
    const next = new JobTable([jobs.get("a") as JobRecord], 0);
    expect(kinds(next.nodeJoined(NODE))).toEqual(["start", "stop"]);
  });

  test("of a job that has ended does nothing, and of an unknown one is refused", () => {
    const jobs = tableWith("a");
    jobs.reported(ended("a"), 2);
    expect(jobs.stop("a", 5)).toEqual([]);
    expect(() => jobs.stop("none", 5)).toThrow("there is no job none");
  });
});

describe("a removal", () => {
  test("is refused until the job has ended, and makes the id free", () => {
    const jobs = tableWith("a");
    expect(() => jobs.remove("a")).toThrow("has not ended");
    jobs.reported(ended("a"), 2);
    expect(kinds(jobs.remove("a"))).toEqual(["drop", "forget"]);
    expect(kinds(jobs.submit({ id: "a", key: "new", node: NODE, request, nowMs: 3 }))).toEqual(["keep", "start"]);
  });
});

describe("a node that goes", () => {
  test("ends its jobs with the cause, and those of others go on", () => {
    const jobs = tableWith("a");
    jobs.nodeJoined(OTHER);
    jobs.submit({ id: "b", key: "key b", node: OTHER, request, nowMs: 1 });
    expect(kinds(jobs.nodeGone(NODE, "it was silent", 4))).toEqual(["keep"]);
    expect(jobs.get("a")).toMatchObject({ state: "failed", endedMs: 4, message: expect.stringContaining("it was silent") });
    expect(jobs.get("b")).toMatchObject({ state: "starting" });
    expect(jobs.reported(ended("a"), 5)).toEqual([]);
  });

  test("before another head began ends its jobs after a while", () => {
    const before = tableWith("a");
    const jobs = new JobTable([before.get("a") as JobRecord], 1_000);
    expect(jobs.sweep(1_000 + JOB_NODE_MISSING_MS)).toEqual([]);
    expect(kinds(jobs.sweep(1_001 + JOB_NODE_MISSING_MS))).toEqual(["keep"]);
    expect(jobs.get("a")).toMatchObject({ state: "failed", message: expect.stringContaining("has not come back") });
  });
});

describe("records", () => {
  test("are listed from the newest, in parts", () => {
    const jobs = tableWith("a", "b", "c");
    expect(Array.from(jobs.before(undefined), ({ id }) => id)).toEqual(["c", "b", "a"]);
    expect(Array.from(jobs.before("b"), ({ id }) => id)).toEqual(["a"]);
  });

  test("go by age and by number, the oldest first, and never those of open jobs", () => {
    const jobs = tableWith("open", "old", "young");
    jobs.reported(ended("old", { endedMs: 1 }), 1);
    jobs.reported(ended("young", { endedMs: JOB_KEPT_MS }), 1);
    jobs.sweep(JOB_KEPT_MS + 2);
    expect(Array.from(jobs.before(undefined), ({ id }) => id)).toEqual(["young", "open"]);
    const many = tableWith(...Array.from({ length: JOBS_KEPT_MAX + 2 }, (_, at) => `j${at}`).slice(0, JOBS_OPEN_MAX));
    for (let at = 0; at < JOBS_OPEN_MAX; at += 1) many.reported(ended(`j${at}`, { endedMs: 1 }), 1);
    many.submit({ id: "more", key: "key more", node: NODE, request, nowMs: 1 });
    many.reported(ended("more", { endedMs: 1 }), 1);
    expect(kinds(many.sweep(2))).toEqual(["drop", "forget"]);
    expect(many.get("j0")).toBeUndefined();
  });

  test("of any history of events hold at most one start for a key, and no ended job changes", () => {
    // A fixed sequence of pseudo-random events, with heads that are replaced.
    let seed = 7;
    const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const kept = new Map<string, JobRecord>();
    let jobs = new JobTable([], 0);
    const begun = new Map<string, string>();
    const over = new Map<string, string>();
    const apply = (effects: readonly JobEffect[]): void => {
      for (const effect of effects) {
        if (effect.kind === "keep") kept.set(effect.record.id, effect.record);
        if (effect.kind === "drop") kept.delete(effect.id);
        if (effect.kind === "start") {
          const { id, key } = effect.record;
          expect(begun.get(key) ?? id).toBe(id);
          begun.set(key, id);
        }
      }
      for (const { key, state } of kept.values()) {
        if (over.has(key)) expect(state).toBe(over.get(key));
        if (state !== "starting" && state !== "running") over.set(key, state);
      }
    };
    for (let step = 0; step < 5_000; step += 1) {
      const id = `j${next(20)}`;
      const key = kept.get(id)?.key ?? `k${step}`;
      const node = next(2) === 0 ? NODE : OTHER;
      const actions: (() => JobEffect[])[] = [
        () => jobs.submit({ id, key: `k${step}`, node, request, nowMs: step }),
        () => jobs.stop(id, 5),
        () => jobs.remove(id),
        () => jobs.reported({ id, key, state: "running" }, step),
        () => jobs.reported({ id, key, state: "ended", exitCode: next(2) }, step),
        () => jobs.nodeJoined(node),
        () => jobs.nodeGone(node, "x", step),
        () => {
          jobs = new JobTable(kept.values(), step);
          return [];
        },
      ];
      try {
        apply((actions[next(actions.length)] as () => JobEffect[])());
      } catch (error) {
        if (!(error instanceof JobRefusal)) throw error;
      }
      expect(Array.from(jobs.before(undefined)).length).toBe(kept.size);
    }
    expect(begun.size).toBeGreaterThan(100);
  });
});
