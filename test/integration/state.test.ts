/**
 * Tests that `shoal/state` lists the actors of a session with the cause of their death, its workers, jobs, nodes and placement groups.
 * Filters come before limits, and pages neither repeat nor lose a row.
 */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRuntimeContext, kill, placementGroup, ready, remote } from "shoal";
import {
  getActor,
  getNode,
  getTask,
  iterActors,
  iterTasks,
  listActors,
  listJobs,
  listNodes,
  listPlacementGroups,
  listTasks,
  listWorkers,
  summarizeActors,
  summarizeTasks,
} from "shoal/state";
import { describe, expect, test } from "vitest";
import { until, useSession } from "./session.ts";

class Holder {
  pid(): number {
    return process.pid;
  }
}
const Actor = remote(Holder).options({ numCpus: 0 });

describe("a local session", () => {
  useSession({ numCpus: 2 });

  test("lists its actors: a filter before the limit, exact counts, and pages without repetition while actors are added", async () => {
    const handles = Array.from({ length: 5 }, (_, index) => Actor.options({ name: `holder-${index}` }).remote());
    await Promise.all(handles.map((handle) => ready(handle)));
    const named = await listActors({ filters: [["name", "=", "holder-0"]], limit: 1 });
    expect([named.rows.map(({ name }) => name), named.total, named.numFiltered, named.nextPageToken]).toEqual([
      ["holder-0"],
      5,
      1,
      undefined,
    ]);
    const first = await listActors({ limit: 2 });
    expect([first.rows.length, first.numFiltered, first.rows[0]?.requiredResources]).toEqual([2, 5, undefined]);
    const added = Actor.options({ name: "holder-new" }).remote();
    await ready(added);
    const pageToken = first.nextPageToken;
    const second = await listActors({ limit: 2, pageToken });
    const third = await listActors({ limit: 2, pageToken: second.nextPageToken });
    const seen = [first, second, third].flatMap(({ rows }) => rows.map(({ name }) => name));
    expect([seen.length, new Set(seen).size, seen.includes("holder-new"), third.nextPageToken]).toEqual([5, 5, false, undefined]);
    await expect(listActors({ pageToken, filters: [["state", "=", "DEAD"]] })).rejects.toThrow(
      "Cannot list actors: the page token is of another query. Use it with the filters and the order that it came with.",
    );
    let all = 0;
    for await (const { state } of iterActors({ limit: 1, filters: [["className", "contains", "Hold"]] })) if (state === "ALIVE") all += 1;
    expect(all).toBe(6);
    expect((await summarizeActors()).rows).toEqual([{ name: "Holder", type: "ACTOR", stateCounts: { ALIVE: 6 } }]);
  });

  test("tells why an actor and its worker ended", async () => {
    const handle = Actor.options({ name: "victim" }).remote();
    const pid = await handle.pid.remote();
    process.kill(pid, "SIGKILL");
    const dead = async () => (await listActors({ filters: [["name", "=", "victim"]], detail: true })).rows[0];
    await until(async () => (await dead())?.state === "DEAD", "the actor's death to be known");
    const row = await dead();
    expect(row).toMatchObject({ pid, deathCause: { signal: "SIGKILL" }, isDetached: false, numRestarts: 0 });
    expect(await getActor(row?.actorId ?? "")).toEqual(row);
    expect(await getActor("none")).toBeUndefined();
    const workers = await listWorkers({ filters: [["pid", "=", String(pid)]], detail: true });
    expect(workers.rows).toMatchObject([
      { pid, isAlive: false, exitType: "SYSTEM_ERROR", exitDetail: "It was ended by SIGKILL.", deathCause: { signal: "SIGKILL" } },
    ]);
    await kill(handle);
  });

  test("lists calls that run, finished and failed, with the cause, of a worker that computes and of one that was killed", async () => {
    const flag = join(mkdtempSync(join(tmpdir(), "shoal-state-")), "go");
    const computes = remote(function computes(path: string) {
      while (!existsSync(path)) process.pid.toString();
      return process.pid;
    });
    const fails = remote(function fails() {
      throw new RangeError("too far");
    }).options({ maxRetries: 0 });
    const dies = remote(function dies() {
      process.kill(process.pid, "SIGKILL");
      for (;;) process.pid.toString();
    }).options({ maxRetries: 0 });
    const ref = computes.remote(flag);
    const running = async () => (await listTasks({ filters: [["state", "=", "RUNNING"]] })).rows;
    await until(async () => (await running()).length === 1, "the call to run");
    expect(await running()).toMatchObject([{ name: "computes", type: "NORMAL_TASK", actorId: null, errorType: null }]);
    await expect(fails.remote()).rejects.toThrow("too far");
    await expect(dies.remote()).rejects.toThrow("SIGKILL");
    writeFileSync(flag, "");
    const pid = await ref;
    const ended = async (name: string) => (await listTasks({ filters: [["name", "=", name]], detail: true })).rows;
    await until(async () => (await ended("dies"))[0]?.state === "FAILED", "the killed worker's call to be recorded");
    expect(await ended("dies")).toMatchObject([{ state: "FAILED", errorType: "WORKER_DIED", errorMessage: "It was ended by SIGKILL." }]);
    const [failed] = await ended("fails");
    expect(failed).toMatchObject({ state: "FAILED", errorType: "TASK_EXECUTION_EXCEPTION" });
    expect(failed?.errorMessage).toMatch(/^RangeError: too far\n {4}at fails/);
    expect(await getTask(failed?.taskId ?? "")).toEqual(failed);
    const [finished] = await ended("computes");
    expect(finished).toMatchObject({ state: "FINISHED", workerPid: pid });
    expect((finished?.endTimeMs ?? 0) - (finished?.startTimeMs ?? 0)).toBeGreaterThan(0);
  });

  test("lists calls that wait, with the reason, each once, and names the parent and the attempt of a call", async () => {
    const folder = mkdtempSync(join(tmpdir(), "shoal-state-"));
    const [flag, tried] = [join(folder, "go"), join(folder, "tried")];
    const waits = remote(async function waits(path: string) {
      while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20));
      return path;
    }).options({ numCpus: 2 });
    const follows = remote((path: string) => path).options({ name: "follows" });
    const running = waits.remote(flag);
    const queued = waits.remote(flag);
    const follower = follows.remote(running);
    const named = async (name: string) => (await listTasks({ filters: [["name", "=", name]], detail: true, sortBy: "state" })).rows;
    const statesOf = async () => (await named("waits")).map(({ state }) => state);
    await until(async () => (await statesOf()).includes("RUNNING"), "the first call to run");
    // An actor that waits beside tasks is placed before them.
    const actor = Actor.options({ numCpus: 2 }).remote();
    const actorCall = actor.pid.options({ name: "asks" }).remote();
    expect(await named("waits")).toMatchObject([
      { state: "PENDING_NODE_ASSIGNMENT", pendingReason: "It waits for a worker with 2 CPU.", startTimeMs: null, workerId: null },
      { state: "RUNNING", pendingReason: null, attemptNumber: 0, parentTaskId: null },
    ]);
    expect(await named("follows")).toMatchObject([
      { state: "PENDING_ARGS_AVAIL", pendingReason: "It waits for 1 of 1 arguments that are refs.", type: "NORMAL_TASK" },
    ]);
    expect(await named("asks")).toMatchObject([
      { state: "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY", pendingReason: "Its actor has not started yet.", type: "ACTOR_TASK" },
    ]);
    const counts = (await summarizeTasks()).rows.find(({ name }) => name === "waits")?.stateCounts;
    expect(counts).toEqual({ RUNNING: 1, PENDING_NODE_ASSIGNMENT: 1 });
    const { total, numFiltered, rows } = await listTasks({ filters: [["state", "contains", "PENDING"]], limit: 1 });
    expect([rows.length, numFiltered, total >= 4]).toEqual([1, 3, true]);
    writeFileSync(flag, "");
    await actorCall;
    await kill(actor);
    await Promise.all([running, queued, follower]);
    const outer = remote(async function outer(path: string) {
      const inner = remote(function inner(file: string) {
        if (existsSync(file)) return 1;
        writeFileSync(file, "");
        throw new Error("once more");
      }).options({ maxRetries: 1, retryOn: true });
      return await inner.remote(path);
    });
    await outer.remote(tried);
    const [parent] = await named("outer");
    const attempts = (await listTasks({ filters: [["name", "=", "inner"]], detail: true, sortBy: "attemptNumber" })).rows;
    expect(attempts.map(({ attemptNumber, state, parentTaskId }) => [attemptNumber, state, parentTaskId])).toEqual([
      [0, "FAILED", parent?.taskId],
      [1, "FINISHED", parent?.taskId],
    ]);
    expect(new Set(attempts.map(({ taskId }) => taskId)).size).toBe(1);
  });

  test("counts each of 30,000 calls, finds the one that failed among them, and pages through them once", async () => {
    const quick = remote(function quick(index: number) {
      if (index === 7) throw new Error("seven");
      return index;
    }).options({ maxRetries: 0 });
    const settled = await Promise.allSettled(Array.from({ length: 30_000 }, (_, index) => quick.remote(index)));
    expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(1);
    const counted = (await summarizeTasks()).rows.find(({ name }) => name === "quick");
    expect(counted).toEqual({ name: "quick", type: "NORMAL_TASK", stateCounts: { FINISHED: 29_999, FAILED: 1 } });
    const { rows, numFiltered, total, numDropped } = await listTasks({ filters: [["name", "=", "quick"]], limit: 10_000 });
    expect([rows.length, total >= 30_000, numFiltered + numDropped >= 30_000]).toEqual([10_000, true, true]);
    const failed = await listTasks({
      filters: [
        ["name", "=", "quick"],
        ["state", "=", "FAILED"],
      ],
      limit: 1,
    });
    expect(failed.numFiltered + Math.min(failed.numDropped, 1)).toBeGreaterThanOrEqual(1);
    const seen = new Set<string>();
    let count = 0;
    for await (const { taskId } of iterTasks({ filters: [["name", "=", "quick"]], limit: 10_000 })) {
      seen.add(taskId);
      count += 1;
    }
    expect([count, seen.size]).toEqual([numFiltered, numFiltered]);
  });

  test("lists its node, its program, and placement groups", async () => {
    const { nodeId, jobId } = getRuntimeContext();
    expect(await getNode(nodeId)).toMatchObject({ nodeId, state: "ALIVE", resourcesTotal: { CPU: 2 } });
    expect((await listNodes()).rows.map((node) => node.nodeId)).toEqual([nodeId]);
    const jobs = await listJobs({ filters: [["status", "=", "RUNNING"]] });
    expect(jobs.rows).toMatchObject([{ jobId, type: "DRIVER", driverInfo: { pid: String(process.pid) } }]);
    const group = placementGroup([{ CPU: 1 }], { name: "pair" });
    await group.ready();
    const groups = await listPlacementGroups({ detail: true });
    expect(groups.rows).toMatchObject([{ name: "pair", state: "CREATED", bundles: [{ bundleIndex: 0, resources: { CPU: 1 }, nodeId }] }]);
  });

  test.each([
    [{ filters: [["stat", "=", "DEAD"]] }, "Cannot list actors: there is no column stat. Did you mean state?"],
    [{ filters: [["state", "is", "DEAD"]] }, "a filter's operator is one of =, !=, contains, <, >: received is"],
    [{ filters: [["pid", "=", "many"]] }, 'pid = takes a number: received "many"'],
    [{ filters: ["state=DEAD"] }, 'a filter is [column, operator, value]: received "state=DEAD"'],
    [{ limit: 10_001 }, "the limit is a whole number from 1 to 10000: received 10001"],
    [{ sortBy: "stat" }, "there is no column stat. Did you mean state?"],
    [{ sortBy: "requiredResources" }, "rows are not sorted by required_resources, which has parts"],
    [{ isDescending: true }, "a descending order needs a column to sort by"],
    [{ pageToken: "x" }, 'the page token is not one that a list gave: received "x"'],
  ])("refuses %j", async (options, message) => {
    await expect(listActors(options as never)).rejects.toThrow(message);
  });
});
