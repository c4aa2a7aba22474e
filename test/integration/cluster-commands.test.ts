/**
 * `shoal start`, `stop` and what lies between, as processes: a head and nodes on this machine that outlive the command, programs that connect, processes that are
 * killed, and that nothing is left.
 */
import type { ChildProcess } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { nodeBinary } from "../../scripts/setup.mjs";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { until } from "./session.ts";
import { SHOAL, useShoal } from "./shoal-program.ts";

const { folder, environment: ENV, run: shoal, startHead, join: joinAgain, program, runFiles, pidOf, processes: processesHere } = useShoal();

const CONNECT = `
import { init, nodes, remote, shutdown } from "shoal";
await init({ address: "auto" });
const value = await remote((x: number) => x + 1).remote(41);
const alive = (await nodes()).filter((node) => node.alive).length;
await shutdown();
console.log(JSON.stringify([value, alive]));
`;

describe("a head and nodes on one machine", () => {
  test("start says what to do next; programs connect one after the other; stop ends it and says so", async () => {
    const started = await shoal("start", "--head", "--port", "0", "--num-cpus", "1");
    expect([started.exitCode, started.stderr]).toEqual([0, ""]);
    expect(started.stdout).toMatch(
      /^Started a cluster: its head is at 127\.0\.0\.1:\d+, and this machine is its first node \([0-9a-f]{32}\)\.$/m,
    );
    for (const part of ['await init({ address: "auto" })', "SHOAL_ADDRESS=auto", "shoal stop", "shoal status", "--token "])
      expect(started.stdout).toContain(part);
    expect(await program(CONNECT)).toEqual([42, 1]);
    expect(await program(CONNECT)).toEqual([42, 1]);
    const stopped = await shoal("stop");
    expect(stopped).toMatchObject({ exitCode: 0, stderr: "" });
    expect(stopped.stdout).toMatch(/^Ended the head and the node of the cluster at 127\.0\.0\.1:\d+\.\n$/);
    expect(processesHere()).toEqual([]);
    expect((await shoal("stop")).stdout).toBe("Nothing of Shoal runs on this machine.\n");
  });

  test("status shows nodes, what is used, actors, and who has gone", async () => {
    const nothing = await shoal("status");
    expect(nothing).toMatchObject({ exitCode: 1, stdout: "" });
    expect(nothing.stderr).toMatch(
      /^shoal: Cannot connect to the cluster of this machine: no node runs on this machine\.\n {2}Start one: `shoal start --head`/,
    );
    const head = await startHead();
    const second = await joinAgain(head, "--num-cpus", "2", "--labels", "zone=b");
    const held = join(folder, "held");
    const running = program(`
import { existsSync, writeFileSync } from "node:fs";
import { init, ready, remote, shutdown } from "shoal";
class Holder {}
await init({ address: "auto" });
const holder = remote(Holder).options({ numCpus: 1 }).remote();
await ready(holder);
writeFileSync(${JSON.stringify(held)}, "");
while (existsSync(${JSON.stringify(held)})) await new Promise((resolve) => setTimeout(resolve, 20));
await shutdown();
console.log("null");
`);
    await until(() => existsSync(held), "the actor to live");
    // A node reports its free resources when they change, and not before an actor answers.
    await until(async () => (await shoal("status")).stdout.includes("CPU 1/3"), "the head to hear that the CPU is in use");
    const { stdout, stderr } = await shoal("status");
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^Cluster at 127\.0\.0\.1:\d+, whose head has run for \d+ s\nDashboard at http:\/\/127\.0\.0\.1:\d+\n\nNodes\n/);
    expect(stdout).toMatch(new RegExp(`^ {2}${head.nodeId.slice(0, 12)} {2}\\S+ +alive {2}CPU [01]/1, memory .*\\(this machine\\)$`, "m"));
    expect(stdout).toMatch(/^In use\n {2}CPU 1\/3, memory/m);
    expect(stdout).toMatch(/^Actors\n {2}1 alive$/m);
    rmSync(held);
    await running;
    process.kill(pidOf(`the node ${second.nodeId}`), "SIGKILL");
    interface Status {
      nodes: { nodeId: string; state: string; labels: Record<string, string> }[];
      gone: { nodeId: string; reason: string }[];
    }
    const status = async (): Promise<Status> => JSON.parse((await shoal("status", "--json")).stdout) as Status;
    await until(async () => (await status()).gone.some(({ nodeId }) => nodeId === second.nodeId), "the node to be gone");
    expect((await status()).gone[0]?.reason).toMatch(/connection/);
    const elsewhere = await shoal("status", "--address", "127.0.0.1:1");
    expect(elsewhere.stderr).toContain(
      "Cannot connect to the cluster at 127.0.0.1:1: no node of it runs on this machine, but of 127.0.0.1:",
    );
  });

  test("a drained node ends what it has, gets nothing new, and its actors go elsewhere", async () => {
    const head = await startHead();
    const second = await joinAgain(head, "--num-cpus", "1", "--resources", '{"there": 1}');
    expect((await shoal("drain", "xyz")).stderr).toContain("NODE_ID is the id of a node or its first digits");
    expect((await shoal("drain", "0123456789")).stderr).toContain('no node of the cluster has an id that begins with "0123456789"');
    const [began, go, moved] = [join(folder, "began"), join(folder, "go"), join(folder, "moved")];
    const running = program(`
import { existsSync, writeFileSync } from "node:fs";
import { get, init, ready, remote, shutdown } from "shoal";
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
class Mover {
  daemon(): number {
    return process.ppid;
  }
}
await init({ address: "auto" });
const there = { schedulingStrategy: { nodeId: ${JSON.stringify(second.nodeId)}, soft: true } };
const mover = remote(Mover).options({ ...there, numCpus: 0, maxRestarts: 1, maxTaskRetries: -1 }).remote();
const before = await mover.daemon.remote();
const long = remote(async (began: string, go: string) => {
  const { existsSync, writeFileSync } = await import("node:fs");
  writeFileSync(began, "");
  while (!existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 20));
  return "whole";
}).options({ ...there, maxRetries: 0, numCpus: 0.5 }).remote(${JSON.stringify(began)}, ${JSON.stringify(go)});
let after = before;
while (after === before) {
  await pause();
  after = await mover.daemon.remote();
}
writeFileSync(${JSON.stringify(moved)}, "");
const value = await long;
await shutdown();
console.log(JSON.stringify(value));
`);
    await until(() => existsSync(began), "the task to run");
    const draining = shoal("drain", second.nodeId.slice(0, 8));
    await until(() => existsSync(moved), "the actor to have moved");
    const line = new RegExp(`^ {2}${second.nodeId.slice(0, 12)} .* draining `, "m");
    await until(async () => line.test((await shoal("status")).stdout), "the status to say that it leaves");
    expect(existsSync(go)).toBe(false);
    writeFileSync(go, "");
    expect(await running).toBe("whole");
    expect(await draining).toMatchObject({
      exitCode: 0,
      stdout: `Node ${second.nodeId} is gone: it was drained.\n`,
      stderr: `Node ${second.nodeId} gets no new work; waiting for what it has.\n`,
    });
    await until(() => runFiles().every(({ role }) => role === "head"), "its supervisor to have ended, too");
    expect((await shoal("status")).stdout).toMatch(/^Nodes that have gone\n.* it was drained$/m);
  });

  test("a program and a node under another major version of Node are refused by name", async () => {
    const head = await startHead();
    const other = { program: nodeBinary(22), cwd: folder, env: ENV };
    const connect = 'import { init } from "shoal"; await init({ address: "auto" });';
    const driver = await runProgram(["--input-type=module", "--eval", connect], { ...other, cwd: REPOSITORY });
    expect(driver.exitCode).toBe(1);
    expect(driver.stderr).toMatch(
      /VersionMismatchError: Cannot connect to the cluster at 127\.0\.0\.1:\d+: this process runs Node 22\.[\d.]+, its node on this machine Node 24\./,
    );
    const joining = await runProgram([SHOAL, "start", "--address", head.address, "--token", head.joinToken], other);
    expect(joining.exitCode).toBe(1);
    expect(joining.stderr).toMatch(/this process runs Node 22\.[\d.]+, the head Node 24\./);
    expect(joining.stderr).toContain("SHOAL_ALLOW_OTHER_VERSIONS=1");
    expect(await program(CONNECT)).toEqual([42, 1]);
  });

  test("the only node of a machine can be drained through itself", async () => {
    const { nodeId } = await startHead();
    const { exitCode, stdout } = await shoal("drain", nodeId, "--json");
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { nodeId, state: "gone" }]);
    const { stderr } = await shoal("status");
    expect(stderr).toContain("the head of a cluster runs on this machine, at 127.0.0.1:");
    expect(stderr).toContain("Start one beside it: `shoal start --address 127.0.0.1:");
  });

  test("a node is gone at its deadline, whatever runs on it", async () => {
    const head = await startHead();
    const second = await joinAgain(head, "--num-cpus", "1");
    const run = program(`
import { init, remote } from "shoal";
await init({ address: "auto" });
const never = remote(() => new Promise(() => {})).options({ schedulingStrategy: { nodeId: ${JSON.stringify(second.nodeId)}, soft: false }, maxRetries: 0 });
await never.remote();
`);
    const failed = run.then(
      () => "it did not fail",
      (error: unknown) => String(error),
    );
    await until(async () => / CPU 1\/1/.test((await shoal("status")).stdout), "the task to run");
    const { stdout } = await shoal("drain", second.nodeId, "--deadline-ms", "300", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      state: "gone",
      reason: expect.stringContaining("its time was over with 1 tasks") as string,
    });
    expect(await failed).toContain("drained");
  });

  test("tokens to join with are made, listed without their secrets, expire and are revoked", async () => {
    const head = await startHead();
    const made = await shoal("token", "create", "--expires-after", "1h");
    expect(made.stdout).toMatch(/^SHOAL1-[0-9a-f]{64}-[0-9a-f]{64}\n$/);
    const [, id = ""] = /^Token ([0-9a-f]{12}), good until \S+Z:\n$/.exec(made.stderr) ?? [];
    const token = made.stdout.trim();
    await joinAgain({ ...head, joinToken: token });
    const { stdout } = await shoal("token", "list");
    expect(stdout).toMatch(new RegExp(`^${id}  made \\S+Z  good until \\S+Z$`, "m"));
    expect(stdout).not.toContain(token.split("-").at(-1));
    expect((await shoal("token", "revoke", id.slice(0, 6))).stdout).toBe(`Token ${id} is revoked.\n`);
    expect((await shoal("token", "list")).stdout).toMatch(new RegExp(`^${id}  made \\S+Z  revoked \\S+Z$`, "m"));
    const refused = await shoal("start", "--address", head.address, "--token", token);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("it was revoked at");
    // Nodes that have joined stay.
    expect((JSON.parse((await shoal("status", "--json")).stdout) as { nodes: unknown[] }).nodes).toHaveLength(2);
    expect((await shoal("token", "revoke", "0000000000")).stderr).toContain("no token of the cluster begins with 0000000000");
    expect((await shoal("token", "create", "--expires-after", "soon")).exitCode).toBe(2);
  });

  test("a program that knows nothing of clusters connects by its environment", async () => {
    await startHead();
    const text = `
import { clusterResources, init, shutdown } from "shoal";
await init({ numCpus: 7 });
const { CPU } = await clusterResources();
await shutdown();
console.log(JSON.stringify(CPU));
`;
    expect(await program(text, { SHOAL_ADDRESS: "auto" })).toBe(1);
    expect(await program(text)).toBe(7);
    await expect(program(text, { SHOAL_ADDRESS: "nonsense" })).rejects.toThrow(/Cannot use an address/);
  });

  test("with two clusters on the machine, who means one has to say which", { timeout: 120_000 }, async () => {
    const shown = async (head: ReturnType<typeof startHead>) => ({
      ...(await head),
      address: (await head).address.replace("tcp://", ""),
    });
    const first = await shown(startHead());
    const second = await shown(startHead("--name", "other"));
    const both = new RegExp(`2 clusters: ${first.address} \\(default, since 20.* UTC\\), ${second.address} \\(other, since 20.* UTC\\)`);
    await expect(program(CONNECT)).rejects.toThrow(both);
    await expect(program(CONNECT)).rejects.toThrow(`SHOAL_ADDRESS=${first.address}, or --address`);
    for (const command of [["status"], ["drain", first.nodeId], ["token", "list"], ["stop"]]) {
      const { exitCode, stdout, stderr } = await shoal(...command);
      expect([exitCode, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(both);
      expect(stderr).toContain(`--address ${first.address}`);
    }
    expect((await shoal("stop", "--all", "--address", first.address)).exitCode).toBe(2);
    expect((await shoal("status", "--address", second.address)).stdout).toContain(`Cluster at ${second.address}`);
    expect((await shoal("stop", "--address", "127.0.0.1:1")).stderr).toContain("nothing of it runs on this machine");
    const { exitCode, stdout } = await shoal("stop", "--address", second.address);
    expect([exitCode, stdout]).toEqual([0, `Ended the head and the node of the cluster at ${second.address}.\n`]);
    // A single cluster is left, so no address is needed.
    expect(await program(CONNECT)).toEqual([42, 1]);
    expect((await shoal("stop", "--all")).stdout).toContain(first.address);
  });

  test("a second node joins, and both end in order", async () => {
    const head = await startHead();
    await joinAgain(head, "--num-cpus", "2");
    expect(await program(CONNECT)).toEqual([42, 2]);
    const { stdout } = await shoal("stop", "--json");
    expect((JSON.parse(stdout) as { stopped: unknown[] }).stopped).toMatchObject([
      { role: "node", how: "in order" },
      { role: "head", how: "in order" },
    ]);
  });

  test("a name for this machine means the same cluster as its number", async () => {
    const head = await startHead();
    await joinAgain({ ...head, address: head.address.replace("127.0.0.1", "localhost") }, "--num-cpus", "1");
    expect(await shoal("status", "--address", head.address.replace("tcp://127.0.0.1", "LOCALHOST"))).toMatchObject({ exitCode: 0 });
    expect(await shoal("stop")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(processesHere()).toEqual([]);
  });

  test("files in the temporary folder that somebody removes come back", async () => {
    await startHead();
    const temporary = String(ENV["TMPDIR"]);
    for (const name of readdirSync(temporary)) if (/^shoal-(runs|nodes)-/.test(name)) rmSync(join(temporary, name), { recursive: true });
    const [sockets = ""] = readdirSync(temporary).filter((name) => /^shoal-[0-9a-f]{12}$/.test(name));
    rmSync(join(temporary, sockets, "daemon"));
    await until(async () => (await shoal("status")).exitCode === 0, "the node to be found again");
    expect(await program(CONNECT)).toEqual([42, 1]);
    expect((await shoal("stop")).stdout).toMatch(/^Ended the head and the node of the cluster at 127/);
    expect(processesHere()).toEqual([]);
  });

  test.skipIf(!existsSync("/dev/full"))("an output that cannot be written is a failure, in words", async () => {
    await startHead();
    const command = `"${process.execPath}" "${SHOAL}" status > /dev/full`;
    const { exitCode, stderr } = await runProgram(["-c", command], { program: "/bin/sh", env: ENV });
    expect([exitCode, stderr]).toEqual([1, "shoal: Cannot write the output: the disk is full.\n"]);
  });

  const isRoot = process.getuid?.() === 0;
  test.skipIf(!isRoot)("a user without a name has clusters like others", async () => {
    const own = mkdtempSync(join(tmpdir(), "test-shoal-"));
    const env = { ...ENV, XDG_STATE_HOME: join(own, "state"), XDG_CACHE_HOME: join(own, "cache"), TMPDIR: own, HOME: "/" };
    const nameless = ["--reuid=54321", "--regid=54321", "--clear-groups", process.execPath];
    const run = (...args: string[]): ReturnType<typeof shoal> => runProgram([...nameless, ...args], { program: "setpriv", cwd: "/", env });
    try {
      chownSync(own, 54_321, 54_321);
      const started = await run(SHOAL, "start", "--head", "--port", "0", "--num-cpus", "1", "--no-nats");
      expect([started.exitCode, started.stderr]).toEqual([0, ""]);
      expect(await run(SHOAL, "status")).toMatchObject({ exitCode: 0, stderr: "" });
      const file = join(REPOSITORY, "test", "integration", `.program-${process.pid}-nameless.ts`);
      writeFileSync(file, CONNECT);
      const ran = await run(file);
      rmSync(file);
      expect([ran.stdout, ran.stderr]).toEqual(["[42,1]\n", ""]);
      expect(await run(SHOAL, "stop")).toMatchObject({ exitCode: 0, stderr: "" });
    } finally {
      await run(SHOAL, "stop", "--force");
      rmSync(own, { recursive: true });
    }
  });

  test("a node without room for another process fails the calls that need one, and goes on", async () => {
    const command = `ulimit -n 80; exec "${process.execPath}" "${SHOAL}" start --head --port 0 --num-cpus 1`;
    const started = await runProgram(["-c", command], { program: "/bin/sh", env: ENV });
    expect([started.exitCode, started.stderr]).toEqual([0, ""]);
    expect(started.stdout).toContain(
      "A process may have 80 files open here (`ulimit -n`): enough for some 8 workers and actors on this node.",
    );
    const node = pidOf("the node");
    const text = await program(`
import { readdirSync } from "node:fs";
import { init, kill, remote, shutdown } from "shoal";
class Holder {
  at(): number {
    return process.pid;
  }
}
await init({ address: "auto", logToDriver: false });
const Holders = remote(Holder).options({ numCpus: 0 });
const holders = Array.from({ length: 20 }, () => Holders.remote());
const ends = await Promise.allSettled(holders.map((holder) => holder.at.remote()));
const failures = ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : []));
const openFiles = (): number => readdirSync("/proc/${node}/fd").length;
const most = openFiles();
for (const holder of holders) kill(holder);
// A worker's pipes stay open for a moment after its process has ended: until the node has closed them there is no room for another.
while (openFiles() > most - 15) await new Promise((resolve) => setTimeout(resolve, 20));
const value = await remote((x: number) => x + 1).remote(41);
await shutdown();
// A worker that died before it could say why is named by its death.
const unnamed = failures.filter((one) => !/EMFILE|died at their start/.test(one));
console.log(JSON.stringify({ failures: failures.length, named: failures.some((one) => one.includes("EMFILE")), unnamed, value }));
`);
    expect(text).toEqual({ failures: expect.any(Number) as number, named: true, unnamed: [], value: 42 });
    expect((text as { failures: number }).failures).toBeGreaterThan(5);
    expect(pidOf("the node")).toBe(node);
  });

  test("a node that is killed is replaced by a new one", async () => {
    const head = await startHead();
    process.kill(pidOf("the node"), "SIGKILL");
    await until(
      () => runFiles()[0]?.processes.some(({ what }) => what.startsWith("the node") && !what.includes(head.nodeId)) === true,
      "another node",
    );
    expect(readFileSync(join(head.logs, "supervisor.log"), "utf8")).toMatch(
      /The node ended with signal SIGKILL; another is started in 100 ms\./,
    );
    // For a moment the one that was killed may still be taken for one that comes back.
    expect(await program(CONNECT)).toEqual([42, expect.any(Number)]);
  });

  test("a head that is killed is started again at its address", async () => {
    const head = await startHead();
    const before = pidOf("the head");
    process.kill(before, "SIGKILL");
    await until(() => pidOf("the head") !== before && pidOf("the head") !== 0, "another head");
    expect(await program(CONNECT)).toEqual([42, 1]);
    expect((await joinAgain(head)).address).toBe(head.address);
  });

  test("nothing outlives a supervisor that is killed", async () => {
    await startHead();
    process.kill(runFiles()[0]?.pid ?? 0, "SIGKILL");
    await until(() => processesHere().length === 0, "everything under it to end");
    // Its file is left, and the next command that looks removes it.
    expect(await shoal("stop")).toMatchObject({ exitCode: 0, stdout: "Nothing of Shoal runs on this machine.\n" });
    expect(runFiles()).toEqual([]);
  });

  test("in the foreground it ends with its command", async () => {
    const { promise: said, resolve: onSaid } = Promise.withResolvers<void>();
    let child: ChildProcess | undefined;
    const run = runProgram([SHOAL, "start", "--head", "--port", "0", "--num-cpus", "1", "--block"], {
      cwd: folder,
      env: ENV,
      onStart: (process) => {
        child = process;
        process.stdout?.once("data", () => onSaid());
      },
    });
    await said;
    await new Promise(setImmediate);
    child?.kill("SIGINT");
    expect(await run).toMatchObject({ exitCode: 0 });
    expect(processesHere()).toEqual([]);
  });
});

describe("what cannot be started is said in words, and leaves nothing", () => {
  test.each([
    [["start"], 2, "say --head for a cluster of its own, or --address HOST:PORT to join one"],
    [["start", "--head", "--address", "h:1"], 2, "--head and --address exclude each other"],
    [["start", "--address", "127.0.0.1:1"], 2, "--token TOKEN is missing"],
    [["start", "--address", "a b", "--token", "x"], 2, "not of the form tcp://host:port"],
    [["start", "--address", "10.0.0.7", "--token", "x"], 2, "it has no port: received 10.0.0.7. Write 10.0.0.7:6380."],
    [
      ["start", "--address", "http://h:1", "--token", "x"],
      2,
      "http:// is not how a head is reached: received http://h:1. Write the host and the port alone: h:1.",
    ],
    [
      ["start", "--address", "fd00::7", "--token", "x"],
      2,
      "an IPv6 address stands in brackets and has a port: received fd00::7. Write [fd00::7]:6380.",
    ],
    [["start", "--head", "--no-nats", "--host", "nosuch.invalid"], 1, "Cannot listen at nosuch.invalid: "],
    [["start", "--head", "--nats-port", "99999"], 2, "--nats-port takes a number from 0 to 65535: received 99999"],
    [
      ["start", "--head", "--nats-url", "nats://100%@h:1"],
      2,
      "--nats-url takes %25 for a % in a token, user or password: received nats://***@h:1",
    ],
    [["start", "--head", "--host", "0.0.0.0"], 2, "--host takes the address by which other machines reach this one: received 0.0.0.0"],
    [
      ["start", "--head", "--host", "203.0.113.7"],
      1,
      "Cannot start a NATS server: there is none on this machine.\n  One of: (1) `shoal nats install`",
    ],
    [["start", "--head", "--nats-url", "http://h:1"], 2, "--nats-url takes nats://host:port"],
    [["start", "--head", "--nats-url", "nats://h:1", "--no-nats"], 2, "--nats-url and --no-nats exclude each other"],
    [["start", "--head", "--nats-url", "nats://127.0.0.1:1"], 1, "NATS"],
    [["start", "--address", "127.0.0.1:1", "--token", "x", "--no-nats"], 2, "--no-nats is for --head"],
    [["start", "--head", "--num-cpus", "many"], 2, "--num-cpus takes a number of 0 or more: received many"],
    [["start", "--head", "--no-nats", "--host", "203.0.113.7"], 1, "it is not an address of this machine"],
    [["start", "--address", "127.0.0.1:1", "--token", "x"], 1, "Cannot reach the head at 127.0.0.1:1: nothing listens there."],
  ])("%j", async (args, code, message) => {
    const { exitCode, stdout, stderr } = await shoal(...args);
    expect([exitCode, stdout]).toEqual([code, ""]);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("    at ");
    expect(processesHere()).toEqual([]);
    expect(runFiles()).toEqual([]);
  });

  test("a port that is taken", async () => {
    const server = net.createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as net.AddressInfo;
    const { exitCode, stderr } = await shoal("start", "--head", "--port", String(port));
    server.close();
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      `shoal: Cannot listen at 127.0.0.1:${port}: the port is taken.\n  Another head may run there: \`shoal status\` shows those of this user, \`shoal stop\` ends them. Or choose another port with --port.\n`,
    );
  });

  describe("a folder", () => {
    const place = mkdtempSync(join(tmpdir(), "test-shoal-"));
    chmodSync(place, 0o755);
    afterAll(() => rmSync(place, { recursive: true, force: true }));
    const writable = join(place, "writable");
    mkdirSync(writable);
    chmodSync(writable, 0o777);
    /** A user who may not do everything: the tests may run as root. */
    const another = ["--reuid=65534", "--regid=65534", "--clear-groups", process.execPath];
    const start = async (env: Record<string, string>): Promise<string> => {
      const isRoot = process.getuid?.() === 0;
      const args = [...(isRoot ? another : []), SHOAL, "start", "--head", "--port", "0", "--no-nats"];
      const base = { XDG_STATE_HOME: join(writable, "state"), TMPDIR: writable, XDG_CACHE_HOME: writable };
      const ran = await runProgram(args, { cwd: "/", env: { ...base, ...env }, ...(isRoot ? { program: "setpriv" } : {}) });
      expect([ran.exitCode, ran.stdout]).toEqual([1, ""]);
      expect(ran.stderr).not.toContain("supervisor ended");
      expect(ran.stderr).not.toContain("fault of Shoal");
      expect(ran.stderr).not.toContain("    at ");
      return ran.stderr;
    };

    test.each([["for state"], ["for heads"]])("%s that this user may not write in is named, with what to do", async (what) => {
      const states = join(writable, what);
      const refused = what === "for state" ? join(states, "shoal") : join(states, "shoal", "heads");
      mkdirSync(refused, { recursive: true });
      // The folders above, and that for logs, may be written.
      for (const one of [states, join(states, "shoal")]) chmodSync(one, 0o777);
      chmodSync(refused, 0o555);
      const said = await start({ XDG_STATE_HOME: states });
      expect(said).toContain(`shoal: Cannot write ${refused}`);
      expect(said).toContain("this user may not write there");
      expect(said).toContain("XDG_STATE_HOME");
    });

    test("that is a file is named", async () => {
      writeFileSync(join(writable, "file"), "");
      expect(await start({ XDG_STATE_HOME: join(writable, "file") })).toContain("a part of the path is no folder");
    });

    test.each(["shoal-runs", "shoal-nodes"])("%s that others may write in is refused by name", async (name) => {
      const temporary = join(writable, name);
      const uid = process.getuid?.() === 0 ? 65534 : process.getuid?.();
      const open = join(temporary, `${name}-${uid}`);
      mkdirSync(open, { recursive: true });
      // An empty one is removed.
      writeFileSync(join(open, "something"), "");
      chmodSync(temporary, 0o777);
      chmodSync(open, 0o777);
      const said = await start({ TMPDIR: temporary, XDG_STATE_HOME: join(writable, `${name}-state`) });
      expect(said).toContain(`shoal: Cannot use ${open}: `);
      expect(said).toMatch(/\n {2}`chmod 0700 /);
      rmSync(temporary, { recursive: true });
    });
  });

  test("a second head of the same name", async () => {
    await startHead();
    const { exitCode, stderr } = await shoal("start", "--head", "--port", "0");
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^shoal: Cannot start a head: one of the name "default" runs on this machine already, at 127/);
  });
});
