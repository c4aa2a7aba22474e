/**
 * The ends of a program that are not a call of shutdown: signals, kill -9 of any process, exceptions. Afterwards nothing is left on the machine.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { eventually, isAlive, Sandbox } from "./sandbox.ts";

const sandbox = new Sandbox();
afterEach(() => sandbox.mustBeEmpty());
afterAll(() => sandbox.remove());

/** A session under work: an actor, a running task, an object in shared memory, a queue. Prints the workers' pids. */
const BUSY = `
  import { getActor, init, kill, nodes, put, remote, shutdown } from "shoal";
  await init({ numCpus: 2 });
  const big = put(new Float64Array(1_000_000));
  class Holder { #kept: unknown; keep(value: unknown) { this.#kept = value; return process.pid; } }
  const holder = remote(Holder).remote();
  const actorPid = await holder.keep.remote([big]);
  const spin = remote(async () => { console.log("worker", process.pid, "runs"); await new Promise(() => setInterval(() => {}, 1000)); });
  const running = [spin.remote(), spin.remote(), spin.remote(), spin.remote()];
  console.log("actor", actorPid, "runs");
`;

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("a driver that gets %s ends with that signal", async (signal) => {
  const program = sandbox.start(BUSY + "await running[0];");
  await program.printed(/actor (\d+) runs/);
  await program.printed(/worker (\d+) runs/);
  program.kill(signal);
  expect(await program.ended).toEqual({ exitCode: null, signal });
  expect(program.stderr).toBe("");
});

test("a signal handler of the user's own decides", async () => {
  // The handler is there before the program says that it runs.
  const program = sandbox.start(`
    process.on("SIGINT", async () => { await shutdown(); process.exit(3); });
    ${BUSY}
    await running[0].then(() => {}, () => new Promise(() => {}));
  `);
  await program.printed(/actor (\d+) runs/);
  program.kill("SIGINT");
  expect(await program.ended).toEqual({ exitCode: 3, signal: null });
});

test("kill -9 of the driver leaves nothing behind", async () => {
  const program = sandbox.start(BUSY + "await running[0];");
  await program.printed(/actor (\d+) runs/);
  const pid = Number(await program.printed(/worker (\d+) runs/));
  program.kill("SIGKILL");
  expect(await program.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
  expect(await eventually(() => !isAlive(pid))).toBe(true);
});

test("kill -9 of the driver ends workers that compute without a pause", async () => {
  const program = sandbox.start(`
    import { init, remote } from "shoal";
    await init({ numCpus: 1 });
    const spin = remote(() => { console.log("worker", process.pid, "spins"); for (;;); });
    await spin.remote();
  `);
  await program.printed(/worker (\d+) spins/);
  program.kill("SIGKILL");
  await program.ended;
});

test("kill -9 of the daemon fails what was pending and leaves nothing behind", async () => {
  const program = sandbox.start(`${BUSY}
    const failures = await Promise.all(running.map((ref) => ref.then(() => "value", (error) => error.name)));
    console.log("failures", failures.join(" "));
    console.log("actor", await holder.keep.remote(1).then(() => "value", (error) => error.name));
    await init({ numCpus: 1 });
    console.log("again", await remote(() => 1).remote());
  `);
  await program.printed(/worker (\d+) runs/);
  const [daemon] = sandbox.daemons();
  process.kill(daemon as number, "SIGKILL");
  const ended = await program.ended;
  expect(program.stdout).toContain("failures NodeDiedError NodeDiedError NodeDiedError NodeDiedError");
  expect(program.stdout).toMatch(/actor \w+Error/);
  expect(program.stdout).toContain("again 1");
  expect(program.stderr).toContain("daemon ended");
  expect(ended).toEqual({ exitCode: 0, signal: null });
});

test("kill -9 of the daemon fails a question that it has not answered with what happened", async () => {
  const program = sandbox.start(`
    import { init, nodes } from "shoal";
    await init({ numCpus: 1 });
    console.log("asks");
    for (let asked = 0; asked >= 0; asked += 1)
      await nodes().catch((error) => { console.log("question", error.name, error.message); asked = -2; });
  `);
  await program.printed(/asks/);
  process.kill(sandbox.daemons()[0] as number, "SIGKILL");
  await program.ended;
  expect(program.stdout).toContain("question NodeDiedError The connection to the node daemon ended: ");
});

test("kill -9 of the daemon ends workers that compute without a pause", async () => {
  const program = sandbox.start(`
    import { init, remote } from "shoal";
    await init({ numCpus: 1 });
    const spin = remote(() => { console.log("worker", process.pid, "spins"); for (;;); });
    await spin.remote().then(() => {}, (error) => console.log(error.name));
  `);
  await program.printed(/worker (\d+) spins/);
  process.kill(sandbox.daemons()[0] as number, "SIGKILL");
  await program.ended;
  expect(program.stdout).toContain("NodeDiedError");
});

test("kill -9 of a worker in a task repeats the task elsewhere", async () => {
  const program = sandbox.start(`
    import { existsSync, writeFileSync } from "node:fs";
    import { init, remote } from "shoal";
    await init({ numCpus: 1 });
    const file = ${JSON.stringify(join(sandbox.temporary, "again"))};
    const endure = remote(async () => {
      if (existsSync(file)) return "endured";
      writeFileSync(file, "");
      console.log("worker", process.pid, "runs");
      await new Promise(() => setInterval(() => {}, 1000));
    });
    console.log(await endure.remote());
  `);
  process.kill(Number(await program.printed(/worker (\d+) runs/)), "SIGKILL");
  expect(await program.ended).toEqual({ exitCode: 0, signal: null });
  expect(program.stdout).toContain("endured");
});

test("an uncaught exception in the driver prints as ever and ends everything", async () => {
  const run = await sandbox.run(`${BUSY}
    setTimeout(() => { throw new RangeError("my own mistake"); }, 0);
    await running[0];
  `);
  expect(run.exitCode).toBe(1);
  expect(run.stderr).toContain("RangeError: my own mistake");
  expect(run.stderr).toMatch(/program-\d+\.ts:\d+/);
});

test("a rejection of the driver's own that nobody handles ends everything, too", async () => {
  const run = await sandbox.run(`${BUSY}
    const broken = remote(function broken() { throw new RangeError("in the task"); }, { numCpus: 0 });
    await broken.remote();
  `);
  expect(run.exitCode).toBe(1);
  expect(run.stderr).toContain("Task broken failed: RangeError: in the task");
});

test("process.exit in the driver leaves nothing behind", async () => {
  const run = await sandbox.run(`${BUSY}
    process.exit(5);
  `);
  expect(run.exitCode).toBe(5);
});

test("the files of a session whose processes were all killed are removed by the next one", async () => {
  const program = sandbox.start(BUSY + "await running[0];");
  await program.printed(/worker (\d+) runs/);
  sandbox.killAll();
  await program.ended;
  mkdirSync(join(sandbox.temporary, "not-ours"), { recursive: true });
  writeFileSync(join(sandbox.temporary, "not-ours", "daemon"), "");
  const run = await sandbox.run(`import { init } from "shoal"; await init({ numCpus: 1 });`);
  expect(run.exitCode).toBe(0);
});
