/**
 * The beginning and the end of a session in a program that ends in its own time, and what its workers print. How else programs end: program-ends.test.ts.
 */
import { afterAll, afterEach, expect, test } from "vitest";
import { Sandbox } from "./sandbox.ts";

const sandbox = new Sandbox();
afterEach(() => sandbox.mustBeEmpty());
afterAll(() => sandbox.remove());

test("init tells what it started, shutdown ends it, and both can be done again", async () => {
  const run = await sandbox.run(`
    import { init, isInitialized, remote, shutdown } from "shoal";
    console.log(isInitialized());
    for (const numCpus of [1, 2]) {
      const context = await init({ numCpus, namespace: "mine" });
      console.log(isInitialized(), context.nodeId.length > 8, context.jobId.length > 0, context.namespace);
      console.log(await remote(() => 42).remote());
      await Promise.all([shutdown(), shutdown()]);
      console.log(isInitialized());
    }
    await shutdown();
  `);
  expect(run).toEqual({
    exitCode: 0,
    signal: null,
    stderr: "",
    stdout: "false\ntrue true true mine\n42\nfalse\ntrue true true mine\n42\nfalse\n",
  });
});

test("a second init is refused, unless ignoreReinitError is given", async () => {
  const run = await sandbox.run(`
    import { init, shutdown } from "shoal";
    const first = await init({ numCpus: 1 });
    await init().catch((error) => console.log(error.name, error.message));
    const again = await init({ ignoreReinitError: true });
    console.log(again.nodeId === first.nodeId);
    await shutdown();
  `);
  expect(run.stdout).toContain("TypeError Cannot start Shoal: it runs already");
  expect(run.stdout).toContain("true");
  expect(run.stderr).toBe("");
});

test("options that do not exist or are out of range are refused before anything starts", async () => {
  const run = await sandbox.run(`
    import { init, isInitialized } from "shoal";
    for (const options of [{ numCpu: 2 }, { numCpus: -1 }, { numCpus: "two" }, { mode: "thread" }, { objectStoreMemoryBytes: 0.5 }, { resources: { CPU: 2 } }]) {
      await init(options as never).then(() => console.log("started with", options), (error) => console.log(error.name, error.message.slice(0, 100)));
    }
    console.log(isInitialized());
  `);
  const lines = run.stdout.trim().split("\n");
  expect(lines).toHaveLength(7);
  for (const line of lines.slice(0, 6)) expect(line).toMatch(/^(Type|Range)Error Cannot /);
  expect(lines[0]).toContain("numCpus");
  expect(lines[6]).toBe("false");
});

test("the first remote call starts a session, and the program ends by itself", async () => {
  const run = await sandbox.run(`
    import { remote } from "shoal";
    console.log(await remote((x: number) => x + 1).remote(41));
  `);
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "42\n", stderr: "" });
});

test("a put is enough to start one, and does not keep the program", async () => {
  const run = await sandbox.run(`
    import { get, put } from "shoal";
    const ref = put(new Uint8Array(1_000_000).fill(7));
    console.log((await get(ref))[5]);
  `);
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "7\n", stderr: "" });
});

test("a program that only calls init ends by itself", async () => {
  const run = await sandbox.run(`
    import { init } from "shoal";
    await init({ numCpus: 1 });
    console.log("started");
  `);
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "started\n", stderr: "" });
});

test("a program that does not wait for init ends by itself", async () => {
  const run = await sandbox.run(`
    import { init } from "shoal";
    void init({ numCpus: 1 });
    console.log("not waiting");
  `);
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "not waiting\n", stderr: "" });
});

test("await using ends the session with its block", async () => {
  const run = await sandbox.run(`
    import { init, isInitialized, remote } from "shoal";
    {
      await using cluster = await init({ numCpus: 1 });
      console.log(await remote(() => "inside").remote(), isInitialized());
    }
    console.log(isInitialized());
  `);
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "inside true\nfalse\n", stderr: "" });
});

test("tasks that nobody waits for end with the program, and one line names them", async () => {
  const run = await sandbox.run(`
    import { init, remote } from "shoal";
    await init({ numCpus: 1 });
    const never = remote(async () => await new Promise(() => setInterval(() => {}, 1000)));
    class Actor { async method() { await never.remote(); } }
    const refs = [never.remote(), never.remote(), remote(Actor).remote().method.remote()];
    console.log("done");
  `);
  expect(run).toMatchObject({ exitCode: 0, stdout: "done\n" });
  expect(run.stderr).toMatch(/^shoal: 3 calls were still pending and ended with the driver: never \(2\), Actor\.method\. .*\n$/);
});

test("a program that awaits a promise without end has Node's exit code, and the call's name", async () => {
  const run = await sandbox.run(`
    import { init, remote } from "shoal";
    await init({ numCpus: 1 });
    const slow = remote(async function slow() { await new Promise(() => setInterval(() => {}, 1000)); });
    slow.remote();
    await new Promise(() => {});
  `);
  expect(run.exitCode).toBe(13);
  expect(run.stderr).toMatch(/ended with the driver: slow\. /);
  expect(run.stderr).toContain("unsettled top-level await");
});

test("a stream that is read as refs when the session is shut down is told of in that line alone", async () => {
  const run = await sandbox.run(`
    import { init, remote, shutdown } from "shoal";
    await init({ numCpus: 1 });
    const endless = remote(async function* () { yield 1; await new Promise(() => setInterval(() => {}, 1000)); });
    const refs = [];
    const reading = (async () => { for await (const { ref } of endless.remote().refs()) refs.push(ref); })();
    while (refs.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await shutdown();
    await reading.catch(() => {});
    console.log(refs.length);
  `);
  expect(run).toMatchObject({ exitCode: 0, stdout: "2\n" });
  expect(run.stderr).toMatch(/^shoal: 1 call was still pending.*\n$/);
});

test("what was pending at shutdown fails", async () => {
  const run = await sandbox.run(`
    import { init, remote, shutdown } from "shoal";
    await init({ numCpus: 1 });
    const never = remote(async () => await new Promise(() => setInterval(() => {}, 1000)));
    const waiting = never.remote().then(() => console.log("value"), (error) => console.log(error.name, error.message));
    await shutdown();
    await waiting;
  `);
  expect(run.exitCode).toBe(0);
  expect(run.stdout).toMatch(/^\w+Error .*shut ?down/i);
});

test("what workers print arrives complete, in order, and with its source", async () => {
  const run = await sandbox.run(`
    import { init, remote } from "shoal";
    await init({ numCpus: 2 });
    const talk = remote(function talk(lines: number) {
      for (let line = 0; line < lines; line += 1) console.log("line", line);
      console.error("to stderr");
      process.stdout.write("without an end");
    });
    class Speaker { say(text: string) { console.log(text); } }
    const speaker = remote(Speaker).remote();
    await talk.remote(2000);
    await speaker.say.remote("two\\nlines and ü€😀");
  `);
  const lines = run.stdout.trim().split("\n");
  const talked = lines.filter((line) => line.startsWith("(talk pid="));
  expect(talked).toHaveLength(2001);
  expect(talked.slice(0, 2000).map((line) => line.replace(/^\(talk pid=\d+\) line /, ""))).toEqual(
    Array.from({ length: 2000 }, (_, index) => String(index)),
  );
  expect(talked[2000]).toContain("without an end");
  expect(run.stderr).toMatch(/^\(talk pid=\d+\) to stderr\n$/);
  const spoken = lines.filter((line) => line.startsWith("(Speaker.say pid="));
  expect(spoken.map((line) => line.slice(line.indexOf(") ") + 2))).toEqual(["two", "lines and ü€😀"]);
});

test("logToDriver: false keeps the workers' output to themselves", async () => {
  const run = await sandbox.run(`
    import { init, remote } from "shoal";
    await init({ numCpus: 1, logToDriver: false });
    await remote(() => console.log("whisper")).remote();
  `);
  expect(run).toEqual({ exitCode: 0, signal: null, stdout: "", stderr: "" });
});

test("refs and handles of a session that has ended are refused in the next, and never taken for its own", async () => {
  const run = await sandbox.run(`
    import { get, init, put, remote, shutdown } from "shoal";
    class Counter { next() { return 1; } }
    const read = remote(async ([ref]: any) => await ref);
    await init({ numCpus: 1 });
    const old = put("old");
    await read.remote([old]);
    const counter = remote(Counter).remote();
    await shutdown();
    await init({ numCpus: 1 });
    console.log(await read.remote([put("new")]));
    for (const use of [() => read.remote([old]), () => read.remote(old as any), () => put([old]), () => read.remote([counter])]) {
      try { console.log("used", await use()); } catch (error: any) { console.log(error.message); }
    }
    await shutdown();
  `);
  const refused = "Cannot use an ObjectRef: its session has ended\n";
  expect(run).toMatchObject({
    stderr: "",
    stdout: `new\n${refused.repeat(3)}Cannot use a handle of actor Counter: its session has ended\n`,
  });
});

test("a ref that is read after its session has ended starts no new one", async () => {
  const run = await sandbox.run(`
    import { get, init, isInitialized, put, remote, shutdown, wait } from "shoal";
    await init({ numCpus: 1 });
    const small = remote(() => 1).remote();
    const large = put(new Float64Array(100_000));
    await small;
    await shutdown();
    const uses = [() => small, () => get(large), () => get([small]), () => wait([large])];
    for (const use of uses) {
      try { console.log("used", await use()); } catch (error: any) { console.log(error.message); }
    }
    console.log(isInitialized());
    await init({ numCpus: 1 });
    try { console.log("used", await large); } catch (error: any) { console.log(error.message); }
    await shutdown();
  `);
  const refused = "Cannot use an ObjectRef: its session has ended\n";
  expect(run).toMatchObject({ exitCode: 0, stderr: "", stdout: `${refused.repeat(4)}false\n${refused}` });
});

test("a program that only waits for getActor does not end before the answer", async () => {
  const run = await sandbox.run(`
    import { getActor } from "shoal";
    await getActor("nobody").catch((error) => console.log(error.name));
    await getActor("nobody", { nameSpace: "mine" } as never).catch((error) => console.log(error.message));
    console.log("went on");
  `);
  expect(run).toMatchObject({
    exitCode: 0,
    stderr: "",
    stdout: 'ActorDiedError\nCannot set options of getActor: there is no option "nameSpace": it is spelled namespace\nwent on\n',
  });
});

test("a second actor of one name is told of although nothing is called of it", async () => {
  const run = await sandbox.run(`
    import { init, ready, remote, shutdown } from "shoal";
    await init({ numCpus: 1, namespace: "mine" });
    class Cell {}
    const first = remote(Cell, { name: "cell" }).remote();
    await ready(first);
    const told = new Promise((resolve) => {
      const write = process.stderr.write;
      process.stderr.write = (...args: any) => { setImmediate(resolve); return Reflect.apply(write, process.stderr, args); };
    });
    const second = remote(Cell, { name: "cell" }).remote();
    await told;
    void second;
    await shutdown();
  `);
  expect(run).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(
      /^shoal: Actor Cell was not created: an actor named "cell" exists already in namespace "mine".*getIfExists.*\n$/,
    ),
  });
});

test("a spill folder that cannot be made is named, and nothing is left of the attempt", async () => {
  const run = await sandbox.run(`
    import { init, isInitialized } from "shoal";
    for (const spillDirectory of ["/dev/null/spill", "/proc/self/spill"])
      await init({ spillDirectory }).catch((error) => console.log(error.name, error.message, error.hint));
    console.log(isInitialized());
  `);
  const refused = (folder: string): string =>
    `ShoalError Cannot start Shoal: a folder of the session cannot be made: [^\\n]*${folder}[^\\n]* spillDirectory[^\\n]*\\n`;
  expect(run.stdout).toMatch(new RegExp(`^${refused("/dev/null/spill")}${refused("/proc/self/spill")}false\\n$`));
});

test("datasets that are consumed at once start Shoal once, and a shutdown meanwhile ends", async () => {
  const run = await sandbox.run(`
    import { shutdown } from "shoal";
    import * as data from "shoal/data";
    const count = (rows: number) => data.range(rows).map((row) => row).count();
    console.log(await Promise.all([count(10), count(20), data.range(30).map((row) => row).schema().then(String).then((text) => text.length > 0)]));
    await shutdown();
    const late = count(10).catch(() => "failed");
    await new Promise(setImmediate);
    await shutdown();
    console.log("ended", await late);
  `);
  expect(run).toEqual({ exitCode: 0, signal: null, stderr: expect.any(String), stdout: "[ 10, 20, true ]\nended failed\n" });
});
