/**
 * Output of workers in files: found by actor, task and process from any node, whether they live or not, and followed until they end.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "./session.ts";
import { SHOAL, useShoal } from "./shoal-program.ts";

const { run: shoal, startHead, join: joinAgain, program, pidOf, environment, folder } = useShoal();

interface Facts {
  readonly actor: string;
  readonly silent: string;
  readonly task: string;
  readonly pid: number;
}

/** An actor on the node that prints and is killed within a line, a silent one, and tasks that share a worker. */
const talking = (node: string): string => `
import { init, ready, remote, shutdown } from "shoal";
import { getLog, listActors, listLogs, listTasks } from "shoal/state";
class Talker {
  talk(text: string) { console.log("out " + text); console.error("err " + text); return process.pid; }
  die() { process.stdout.write("last words"); process.kill(process.pid, "SIGKILL"); }
}
class Silent { nothing() {} }
await init({ address: "auto" });
const schedulingStrategy = { nodeId: "${node}", soft: false };
const talker = remote(Talker).options({ name: "talker", lifetime: "detached", numCpus: 0, schedulingStrategy }).remote();
const pid = await talker.talk.remote("\\u001b[31mred\\u001b[0m <b>");
await talker.talk.remote("zwei ä");
const silent = remote(Silent).options({ name: "silent", lifetime: "detached", numCpus: 0, schedulingStrategy }).remote();
await ready(silent);
const say = remote((number: number) => { console.log("task " + number + "\\nsecond line"); });
for (let number = 0; number < 3; number += 1) await say.options({ schedulingStrategy }).remote(number);
await talker.die.remote().catch(() => {});
const { rows } = await listTasks({ filters: [["name", "=", "say"]] });
const task = rows[1]?.taskId ?? "";
let text = "";
for await (const part of getLog({ taskId: task })) text += part;
if (text !== "task 1\\nsecond line\\n") throw new Error("getLog gave " + JSON.stringify(text));
const files = (await listLogs({ glob: "worker-*-" + pid + ".*" })).rows.map(({ filename, nodeId }) => filename.slice(-4) + " " + nodeId);
if (files.sort().join() !== ".err ${node},.out ${node}") throw new Error("listLogs gave " + files);
const failed = await getLog({ actorId: "none" }).next().catch((error: Error) => error.message);
if (failed !== "Cannot read a log: there is no actor none.") throw new Error("getLog gave " + failed);
const actors = new Map((await listActors()).rows.map(({ name, actorId }) => [name, actorId]));
await shutdown();
console.log(JSON.stringify({ actor: actors.get("talker"), silent: actors.get("silent"), task, pid }));
`;

const lines = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Workers print nothing here, so that the facts are the program's only output. */
async function talk(node: string): Promise<Facts> {
  const printed = await program(talking(node).replace("await init({", "await init({ logToDriver: false,"));
  return printed as Facts;
}

test("output of an actor, a task and a process on another node is found, after their end, too", { timeout: 120_000 }, async () => {
  const head = await startHead("--num-cpus", "1");
  const other = await joinAgain(head, "--num-cpus", "1");
  const { actor, silent, task, pid } = await talk(other.nodeId);
  const out = "out \u001b[31mred\u001b[0m <b>\nout zwei ä\nlast words\n";
  expect(await shoal("logs", "actor", "--id", actor)).toMatchObject({ exitCode: 0, stdout: out, stderr: "" });
  expect((await shoal("logs", "actor", "--id", actor, "--err", "--tail", "1")).stdout).toBe("err zwei ä\n");
  expect((await shoal("logs", "worker", "--pid", String(pid), "--tail", "2")).stdout).toBe("out zwei ä\nlast words\n");
  expect((await shoal("logs", "task", "--id", task)).stdout).toBe("task 1\nsecond line\n");
  const json = lines((await shoal("logs", "actor", "--id", actor, "--json")).stdout);
  expect(json.map(({ name, line }) => [name, line])).toEqual([
    ["Talker.talk", "out \u001b[31mred\u001b[0m <b>"],
    ["Talker.talk", "out zwei ä"],
    ["Talker.die", "last words"],
  ]);
  expect(json[0]).toMatchObject({
    node_id: other.nodeId,
    pid,
    stream: "out",
    actor_id: actor,
    task_id: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  expect(Math.abs(Number(json[0]?.["time_ms"]) - Date.now())).toBeLessThan(120_000);
  const nothing = await shoal("logs", "actor", "--id", silent);
  expect([nothing.exitCode, nothing.stdout]).toEqual([1, ""]);
  expect(nothing.stderr).toContain(`there is no output (.out) of the actor ${silent}`);
  const dead = lines((await shoal("list", "actors", "-f", "name=talker", "--detail", "--json")).stdout)[0] as { rows: object[] };
  expect(dead.rows[0]).toMatchObject({ death_cause: { last_lines: expect.arrayContaining(["last words"]) } });
  const files = lines((await shoal("logs", "--json")).stdout)[0] as { rows: { filename: string; node_id: string }[] };
  expect(files.rows.map(({ filename }) => filename)).toEqual(expect.arrayContaining(["supervisor.log", json[0]?.["filename"]]));
  expect(files.rows.every(({ filename }) => !filename.endsWith(".idx"))).toBe(true);
  expect((await shoal("logs", `worker-*-${pid}.err`)).stdout).toBe("err \u001b[31mred\u001b[0m <b>\nerr zwei ä\n");
  expect((await shoal("logs", "worker-*")).stdout).toMatch(/^FILE +BYTES +CHANGED +GROWS +NODE_ID\nworker-/);
});

test("output outlives the node: its successor has it", { timeout: 120_000 }, async () => {
  const head = await startHead("--num-cpus", "1");
  const { actor } = await talk(head.nodeId);
  const before = pidOf("the node");
  process.kill(before, "SIGKILL");
  await until(() => ![0, before].includes(pidOf("the node")), "another node");
  await until(async () => (await shoal("list", "nodes")).stdout.includes("DEAD"), "the cluster to know");
  expect((await shoal("logs", "actor", "--id", actor, "--tail", "1")).stdout).toBe("last words\n");
});

test("a log is followed until its process has ended, and a reader that goes ends the command", { timeout: 120_000 }, async () => {
  await startHead("--num-cpus", "1");
  const go = join(folder, "go");
  const printing = program(`
import { existsSync } from "node:fs";
import { init, remote, shutdown } from "shoal";
class Talker { async talk() {
  console.log("first");
  while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20));
  for (let number = 0; number < 20_000; number += 1) console.log("line " + number);
} }
await init({ address: "auto", logToDriver: false });
const talker = remote(Talker).options({ name: "talker" }).remote();
await talker.talk.remote();
await shutdown();
console.log("[]");
`);
  let actor: string | undefined;
  await until(async () => {
    const { rows } = lines((await shoal("list", "actors", "-f", "state=ALIVE", "--json")).stdout)[0] as { rows: { actor_id: string }[] };
    actor = rows[0]?.actor_id;
    return actor !== undefined;
  }, "the actor");
  await until(async () => (await shoal("logs", "actor", "--id", actor as string)).stdout === "first\n", "the first line");
  const child = spawn(process.execPath, [SHOAL, "logs", "actor", "--id", actor as string, "--follow", "--interval", "0.05"], {
    env: { ...environment },
  });
  let followed = "";
  child.stdout.on("data", (piece: Buffer) => (followed += piece.toString("utf8")));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  await until(() => followed === "first\n", "the first line");
  writeFileSync(go, "");
  await printing;
  expect(await ended).toBe(0);
  expect(followed).toBe(["first", ...Array.from({ length: 20_000 }, (_, number) => `line ${number}`), ""].join("\n"));
  // `| head`
  const cut = spawn("/bin/sh", ["-c", `${process.execPath} ${SHOAL} logs actor --id ${actor} --tail -1 | head -n 1`], {
    env: { ...environment },
  });
  let first = "";
  cut.stdout.on("data", (piece: Buffer) => (first += piece.toString("utf8")));
  expect(await new Promise((resolve) => cut.on("close", resolve))).toBe(0);
  expect(first).toBe("first\n");
});

const WRONG: [words: string[], exitCode: number, message: string][] = [
  [["actor"], 2, "actor needs --id"],
  [["worker"], 2, "worker needs --id or --pid"],
  [["task", "--pid", "1"], 2, "--pid is for a worker, without --id"],
  [["worker", "--pid", "x"], 2, "--pid takes the id of a process: received x"],
  [["--id", "1"], 2, "--id and --pid need actor, task or worker before them"],
  [["actor", "more", "--id", "1"], 2, '"more" is one word too many'],
  [["--tail", "-2"], 2, "--tail"],
  [["actor", "--id", "1", "--tail", "1.5"], 2, "--tail takes a whole number from 0, or -1 for all lines: received 1.5"],
  [["../*"], 2, "a pattern has at most 255 characters and no slash"],
  [["none*"], 1, 'no log file matches "none*"'],
  [["actor", "--id", "none"], 1, "there is no actor none"],
  [["task", "--id", "../../etc"], 1, "there is no task ../../etc"],
  [["worker", "--id", "../x"], 1, "there is no output (.out) of the worker ../x"],
  [["--node-id", "none"], 2, "there is no node none"],
];

test("a wrong command line ends with the reason and the remedy", { timeout: 120_000 }, async () => {
  await startHead("--num-cpus", "1");
  for (const [words, exitCode, message] of WRONG) {
    const ended = await shoal("logs", ...words);
    expect([words, ended.exitCode, ended.stdout]).toEqual([words, exitCode, ""]);
    expect(ended.stderr).toContain(message);
  }
});
