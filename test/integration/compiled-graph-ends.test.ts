/**
 * The ends of programs with a compiled graph: its driver killed, its daemon killed, a program that just ends, a shutdown. Nothing is left, nobody hangs.
 */
import { afterAll, afterEach, expect, test } from "vitest";
import { eventually, isAlive, Sandbox } from "./sandbox.ts";

const sandbox = new Sandbox();
afterEach(() => sandbox.mustBeEmpty());
afterAll(() => sandbox.remove());

const GRAPH = `
  import { init, InputNode, remote, shutdown } from "shoal";
  await init({ numCpus: 2 });
  class Stage {
    pid() { return process.pid; }
    add(x: number) { return x + 1; }
    async pause(ms: number) { console.log("stage runs"); await new Promise((resolve) => setTimeout(resolve, ms)); return ms; }
    fail(x: number): number { throw new RangeError("stage " + x); }
    busy(ms: number) { const end = performance.now() + ms; while (performance.now() < end); return ms; }
  }
  const stages = [remote(Stage, { numCpus: 0 }).remote(), remote(Stage, { numCpus: 0 }).remote()];
  const input = new InputNode<number>();
  console.log("stage", await stages[0].pid.remote());
`;

test("a program that ends without a teardown ends by itself, and says nothing", async () => {
  const program = await sandbox.run(`${GRAPH}
    const graph = await stages[1].add.bind(stages[0].add.bind(input)).compile();
    console.log("result", await graph.execute(1));
    graph.execute(2);
  `);
  expect(program.stdout).toContain("result 3");
  expect(program.stderr).toBe("");
  expect(program.exitCode).toBe(0);
});

test("a result that is awaited keeps the program alive until it comes", async () => {
  const program = await sandbox.run(`${GRAPH}
    const graph = await stages[0].pause.bind(input).compile();
    console.log("result", await graph.execute(700));
  `);
  expect(program.stdout).toContain("result 700");
  expect(program.exitCode).toBe(0);
});

test("a failure that nobody awaited is told once", async () => {
  const program = await sandbox.run(`${GRAPH}
    const graph = await stages[0].fail.bind(input).compile();
    let settled = false;
    graph.execute(1);
    const last = graph.execute(2);
    await last.then(() => {}, () => {});
    const { setFlagsFromString } = await import("node:v8");
    setFlagsFromString("--expose-gc");
    const { runInNewContext } = await import("node:vm");
    for (let turn = 0; turn < 3; turn += 1) { runInNewContext("gc")(); await new Promise((resolve) => setTimeout(resolve, 20)); }
    await shutdown();
  `);
  expect(program.stderr.split("stage 1").length - 1).toBeGreaterThan(0);
  expect(program.stderr).not.toContain("stage 2");
  expect(program.stderr.match(/nobody awaited/g)).toHaveLength(1);
});

test("shutdown fails what is under way", async () => {
  const program = await sandbox.run(`${GRAPH}
    const graph = await stages[0].pause.bind(input).compile();
    const result = graph.execute(60_000).then(() => "value", (error) => error.code);
    await shutdown();
    console.log("result", await result);
    try { graph.execute(1); } catch (error) { console.log("then", (error as { code: string }).code); }
  `);
  expect(program.stdout).toContain("result GRAPH_CLOSED");
  expect(program.stdout).toContain("then GRAPH_CLOSED");
  expect(program.exitCode).toBe(0);
});

test("kill -9 of the driver leaves nothing behind, whether its actors wait or compute", async () => {
  for (const method of ["pause", "busy", "add"]) {
    const program = sandbox.start(`${GRAPH}
      const graph = await stages[1].add.bind(stages[0].${method}.bind(input)).compile({ bufferSizeBytes: 100 });
      void graph.execute(60_000);
      console.log("graph runs");
      await new Promise(() => setInterval(() => {}, 1000));
    `);
    const pid = Number(await program.printed(/stage (\d+)/));
    await program.printed(/graph runs/);
    program.kill("SIGKILL");
    expect(await program.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    expect(await eventually(() => !isAlive(pid))).toBe(true);
  }
});

test("kill -9 of the daemon fails what is under way", async () => {
  const program = await sandbox.run(`${GRAPH}
    const { readFileSync } = await import("node:fs");
    const graph = await stages[0].pause.bind(input).compile();
    const result = graph.execute(60_000).then(() => "value", (error) => error.code + " " + error.cause?.code);
    const parent = await stages[1].pid.remote().then((pid) => Number(/PPid:\\s*(\\d+)/.exec(readFileSync("/proc/" + pid + "/status", "utf8"))![1]));
    process.kill(parent, "SIGKILL");
    console.log("result", await result);
  `);
  expect(program.stdout).toContain("result GRAPH_CLOSED NODE_DIED");
});
