/**
 * Tests that `shoal list`, `get` and `summary` show the state of all nodes as a table and as JSON, and name the fault of a command line.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { until } from "./session.ts";
import { SHOAL, useShoal } from "./shoal-program.ts";

const { run: shoal, startHead, join: joinAgain, program, pidOf, environment } = useShoal();

interface Listed {
  rows: Record<string, unknown>[];
  total: number;
  num_filtered: number;
  next_page_token: string | null;
}

async function json<T>(...args: string[]): Promise<T> {
  const { stdout, stderr } = await shoal(...args, "--json");
  expect(stderr).toBe("");
  return JSON.parse(stdout) as T;
}

test("the state of a cluster of two nodes is listed, filtered, paged and summed", async () => {
  const head = await startHead("--num-cpus", "1");
  const other = await joinAgain(head, "--num-cpus", "1");
  const places = (await program(`
import { init, ready, remote, shutdown } from "shoal";
class Holder { place() { return 1; } }
await init({ address: "auto" });
const holders = ["${head.nodeId}", "${other.nodeId}"].map((node, index) => remote(Holder)
  .options({ numCpus: 0, name: "holder-" + index, lifetime: "detached", schedulingStrategy: { nodeId: node, soft: false } }).remote());
await Promise.all(holders.map((holder) => ready(holder)));
await shutdown();
console.log("[]");
`)) as unknown[];
  expect(places).toEqual([]);
  const nodes = await json<Listed>("list", "nodes", "-f", "state=ALIVE");
  expect(new Set(nodes.rows.map((row) => row["node_id"]))).toEqual(new Set([head.nodeId, other.nodeId]));
  const actors = await json<Listed>("list", "actors", "-f", "name~holder", "--limit", "1");
  expect([actors.rows.length, actors.num_filtered, actors.total, Object.hasOwn(actors.rows[0] ?? {}, "is_detached")]).toEqual([
    1,
    2,
    2,
    false,
  ]);
  const second = await json<Listed>("list", "actors", "-f", "name~holder", "--limit", "1", "--page-token", actors.next_page_token ?? "");
  expect([second.rows.length, second.next_page_token]).toEqual([1, null]);
  const found = [actors, second].flatMap(({ rows }) => rows.map((row) => row["node_id"]));
  expect(new Set(found)).toEqual(new Set([head.nodeId, other.nodeId]));
  expect(found).toHaveLength(2);
  const workers = await json<Listed>("list", "workers", "-f", "worker_type=WORKER", "--detail");
  expect(new Set(workers.rows.map((row) => row["node_id"]))).toEqual(new Set([head.nodeId, other.nodeId]));
  const actor = await json<Record<string, unknown>>("get", "actor", String(actors.rows[0]?.["actor_id"]));
  expect(actor).toMatchObject({ class_name: "Holder", state: "ALIVE", is_detached: true });
  expect((await shoal("summary", "actors")).stdout).toBe("NAME    TYPE   ALIVE\nHolder  ACTOR  2\n2 in all\n");
  expect((await shoal("list", "actors", "-f", "name=holder-0")).stdout).toMatch(
    /^ACTOR_ID +CLASS_NAME +STATE +JOB_ID +NAME +NODE_ID +PID +RAY_NAMESPACE\n[0-9a-f]{32} +Holder +ALIVE .*\n1 of 1 that match, of 2 in all, less than 1 s old\n$/,
  );
  expect((await shoal("get", "node", head.nodeId)).stdout).toContain(`node_id: "${head.nodeId}"\n`);
});

test("the calls of a cluster are a timeline, whole or compressed, and a file that cannot be written is told", async () => {
  await startHead("--num-cpus", "1");
  await program(`
import { init, remote, shutdown } from "shoal";
await init({ address: "auto" });
const inner = remote(function inner() { return 1; });
const outer = remote(async function outer() { return await inner.remote(); });
await outer.remote();
await shutdown();
console.log("[]");
`);
  const folder = mkdtempSync(join(tmpdir(), "shoal-timeline-"));
  const whole = join(folder, "trace.json");
  expect(JSON.parse((await shoal("timeline", "--filename", whole, "--json")).stdout)).toEqual({ filename: whole, calls: 2 });
  const events = JSON.parse(readFileSync(whole, "utf8")) as { ph: string; name: string }[];
  expect(events.filter(({ ph }) => ph === "X").map(({ name }) => name)).toEqual(["task::inner", "task::outer"]);
  expect(events.filter(({ ph }) => ph === "s" || ph === "f")).toHaveLength(2);
  const compressed = join(folder, "trace.json.gz");
  expect((await shoal("timeline", "--filename", compressed, "--last", "1h")).stdout).toBe(`2 calls are in ${compressed}\n`);
  expect(JSON.parse(gunzipSync(readFileSync(compressed)).toString())).toEqual(events);
  const missing = await shoal("timeline", "--filename", join(folder, "none", "trace.json"));
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining("Cannot write the timeline: ENOENT")]);
  const wrong = await shoal("timeline", "--last", "5 days");
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    2,
    expect.stringContaining("--last takes a time such as 60s, 5m or 2h: received 5 days"),
  ]);
});

/** Opens the folder as a browser does, and ends the server as Ctrl-C does. */
async function opensDashboard(folder: string): Promise<void> {
  const server = spawn(process.execPath, [SHOAL, "dashboard", "--from", folder, "--json"], { env: environment });
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const { url, token } = JSON.parse(line.toString("utf8")) as { url: string; token: string };
    const ask = async (path: string, method = "GET"): Promise<[number, string]> => {
      const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
      return [response.status, await response.text()];
    };
    expect((await fetch(`${url}/api/v0/actors`)).status).toBe(401);
    expect((await fetch(`${url}/ui/overview`)).status).toBe(200);
    const [status, text] = await ask("/api/shoal/overview");
    // The killed node's successor may have begun before the stop.
    const found = { nodes: [], nodes_gone: expect.any(Number) as number, actors: { DEAD: 1 }, tasks: { FINISHED: 19 } };
    expect([status, JSON.parse(text)]).toMatchObject([200, found]);
    expect((await ask("/api/v0/logs"))[1]).toContain("supervisor.log");
    expect(await ask("/api/jobs/", "POST")).toEqual([405, expect.stringContaining("this is a history")]);
  } finally {
    server.kill("SIGINT");
  }
  expect(await once(server, "exit")).toEqual([0, null]);
}

test("the calls of a cluster that was killed are read from its folder, filtered, counted, and drawn", async () => {
  const { history, nodeId } = await startHead("--num-cpus", "1");
  expect(JSON.parse((await shoal("status", "--json")).stdout)).toMatchObject({ history });
  await program(`
import { init, remote, shutdown } from "shoal";
await init({ address: "auto", logToDriver: false });
const resize = remote(function resize(picture: number) { if (picture === 3) throw new RangeError("picture 3 is broken"); return picture; })
  .options({ maxRetries: 0 });
class Camera { snap() { process.exit(3); } }
await remote(Camera).remote().snap.remote().catch(() => {});
await Promise.allSettled(Array.from({ length: 20 }, (_, picture) => resize.remote(picture)));
await shutdown();
console.log("[]");
`);
  const folder = history ?? "";
  const readRows = async () => (await json<Listed>("list", "tasks", "--from", folder)).rows;
  await until(
    async () => (await shoal("list", "tasks", "--from", folder)).exitCode === 0 && (await readRows()).length === 21,
    "the history",
  );
  const jobEnded = async () => (await json<Listed>("list", "jobs", "--from", folder, "-f", "status=SUCCEEDED")).rows.length === 1;
  await until(jobEnded, "the end of the program");
  process.kill(pidOf(`the node ${nodeId}`), "SIGKILL");
  await shoal("stop");
  const failed = await json<Listed>("list", "tasks", "--from", folder, "-f", "state=FAILED", "-f", "name=resize", "--detail");
  expect([failed.rows.length, failed.num_filtered, failed.total]).toEqual([1, 1, 21]);
  expect(failed.rows[0]?.["error_message"]).toMatch(/^RangeError: picture 3 is broken\n {4}at resize [^\n]*$/);
  const pages = await json<Listed>("list", "tasks", "--from", folder, "--limit", "12");
  const rest = await json<Listed>("list", "tasks", "--from", folder, "--limit", "12", "--page-token", pages.next_page_token ?? "");
  expect(new Set([...pages.rows, ...rest.rows].map((row) => row["task_id"])).size).toBe(21);
  expect((await shoal("summary", "tasks", "--from", folder)).stdout).toMatch(/resize +NORMAL_TASK +1 +19\n/);
  const actors = await json<Listed>("list", "actors", "--from", folder, "--detail");
  expect(actors.rows).toMatchObject([{ class_name: "Camera", state: "DEAD", death_cause: { exit_code: 3 } }]);
  const nodes = await json<Listed>("list", "nodes", "--from", folder);
  expect(nodes.rows.map((row) => row["node_id"])).toContain(nodeId);
  const trace = join(mkdtempSync(join(tmpdir(), "shoal-timeline-")), "trace.json");
  expect((await shoal("timeline", "--from", folder, "--filename", trace)).stdout).toBe(`21 calls are in ${trace}\n`);
  await opensDashboard(folder);
  const missing = await shoal("list", "tasks", "--from", tmpdir());
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining("there is no history in the folder")]);
  const both = await shoal("list", "tasks", "--from", folder, "--address", "127.0.0.1:1");
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining("--from and --address exclude each other")]);
});

const WRONG: [words: string[], exitCode: number, message: string][] = [
  [["list", "actor", "-f", "stat=DEAD"], 2, "Cannot list actors: there is no column stat. Did you mean state?"],
  [["list", "actorz"], 2, 'there is no resource "actorz". Did you mean actors?'],
  [["list", "actors", "-f", "state"], 2, "a condition is COLUMN=VALUE: received state"],
  [["list", "actors", "--limit", "no"], 2, "--limit takes a whole number from 1: received no"],
  [["list", "actors", "--format", "xml"], 2, "--format is table, json or yaml: received xml"],
  [["list", "actors", "--descending"], 2, "a descending order needs a column to sort by"],
  [["get", "actors", "none"], 1, "no row of actors has the id none"],
  [["summary", "nodes"], 2, "Cannot summarize nodes: there are summaries of actors and tasks"],
];

test("a wrong command line ends with the reason and the remedy", async () => {
  await startHead("--num-cpus", "1");
  for (const [words, exitCode, message] of WRONG) {
    const ended = await shoal(...words);
    expect([words, ended.exitCode, ended.stdout]).toEqual([words, exitCode, ""]);
    expect(ended.stderr).toContain(message);
  }
});
