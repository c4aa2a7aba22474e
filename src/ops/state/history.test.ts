/** Tests that a history answers as a cluster does: from several machines, for logs too, and anew once its files have grown. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { HistoryRecorder } from "../../runtime/observe/history-recorder.ts";
import { SegmentWriter } from "../../runtime/os/history/segment-writer.ts";
import { HistoryCluster } from "./history-cluster.ts";
import { HistoryReader } from "./history-reader.ts";
import { LogReader } from "./log-reader.ts";
import { OverviewReader } from "./overview.ts";
import { UnchangedAnswers } from "./unchanged-answers.ts";

const NODES = ["a".repeat(32), "b".repeat(32)] as const;

interface Row {
  readonly resource: string;
  readonly id: string;
  readonly row: Readonly<Record<string, unknown>>;
}

async function write(folder: string, nodeId: string, rows: readonly Row[]): Promise<void> {
  const recorder = new HistoryRecorder(new SegmentWriter({ folder: join(folder, "history"), nodeId, onFailure: () => {} }));
  for (const { resource, id, row } of rows) recorder.row(resource, id, { timeMs: 1, isLive: false, make: () => row });
  await recorder.close();
}

const nodeRow = (id: string): Row => ({
  resource: "nodes",
  id,
  row: { node_id: id, node_ip: "10.0.0.1", node_name: `host-${id[0]}`, state: "DEAD", state_message: "It was stopped.", end_time_ms: 5 },
});
const actorRow = (id: string, state: string): Row => ({
  resource: "actors",
  id,
  row: { actor_id: id, class_name: "Model", state, node_id: NODES[1], worker_id: "cafe" },
});

function newFolders(count: number): string[] {
  const folder = mkdtempSync(join(tmpdir(), "shoal-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return Array.from({ length: count }, (_, index) => {
    mkdirSync(join(folder, String(index)));
    return join(folder, String(index));
  });
}

async function twoMachines() {
  const folders = newFolders(2) as [string, string];
  await write(folders[0], NODES[0], [nodeRow(NODES[0])]);
  await write(folders[0], "head", [actorRow("one", "ALIVE"), actorRow("one", "DEAD"), actorRow("two", "ALIVE")]);
  await write(folders[1], NODES[1], [nodeRow(NODES[1])]);
  return { folders, reader: new HistoryReader(...folders, folders[0]) };
}

test("folders of several machines are one cluster, and a folder that is named twice counts once", async () => {
  const { reader } = await twoMachines();
  expect(new Set((await reader.list("nodes")).rows.map((row) => row["node_name"]))).toEqual(new Set(["host-a", "host-b"]));
  const actors = await reader.list("actors", { detail: true });
  expect(actors.rows.map((row) => [row["actor_id"], row["state"]])).toEqual([
    ["two", "ALIVE"],
    ["one", "DEAD"],
  ]);
  expect(actors.warnings).toEqual([]);
  const { rows, total } = await reader.summarize("actors");
  expect([total, rows]).toEqual([2, [{ name: "Model", type: "ACTOR", state_counts: { DEAD: 1, ALIVE: 1 } }]]);
  await expect(reader.summarize("nodes")).rejects.toThrow("Cannot summarize nodes: there are summaries of actors and tasks");
});

test("without the head's folder the list of actors does not say that there were none", async () => {
  const { folders } = await twoMachines();
  const { total, warnings } = await new HistoryReader(folders[1]).list("actors");
  expect([total, warnings]).toEqual([0, ["Actors and placement groups are in the history of the head's machine, which was not given."]]);
});

test("answers are kept until a file has grown", async () => {
  const { folders, reader } = await twoMachines();
  const kept = new UnchangedAnswers(reader);
  const first = kept.list("actors");
  expect(kept.list("actors")).toBe(first);
  expect(kept.list("actors", { limit: 1 })).not.toBe(first);
  expect((await first).total).toBe(2);
  await write(folders[0], "head", [actorRow("three", "DEAD")]);
  expect((await kept.list("actors")).total).toBe(3);
  await expect(kept.list("actors", { limit: 0 })).rejects.toThrow("the limit is a whole number from 1");
  await expect(kept.list("actors", { limit: 0 })).rejects.toThrow("the limit is a whole number from 1");
});

test("the output of a dead node is found by its actor and read from the folder of its machine", async () => {
  const { folders, reader } = await twoMachines();
  writeFileSync(join(folders[1], "worker-cafe-77.out"), "first\nsecond\n");
  writeFileSync(join(folders[1], "secret.txt"), "no log");
  const cluster = new HistoryCluster(folders, reader);
  const logs = new LogReader(cluster.request, reader);
  expect((await logs.list()).rows.map(({ nodeId, name, isLive }) => [nodeId, name, isLive])).toEqual([
    [NODES[1], "worker-cafe-77.out", false],
  ]);
  const found = await logs.find({ actorId: "two" });
  expect(found).toEqual({ kind: "found", nodeId: NODES[1], name: "worker-cafe-77.out" });
  const text: string[] = [];
  if (found.kind === "found")
    for await (const { bytes } of logs.read(found, { follow: true })) text.push(Buffer.from(bytes).toString("utf8"));
  expect(text.join("")).toBe("first\nsecond\n");
  for (const filename of ["secret.txt", "../0/history", "worker-cafe-78.out"])
    expect([filename, (await logs.find({ filename })).kind]).toEqual([filename, "none"]);
});

test("the overview of a history has no living node, and says which have gone", async () => {
  const { folders, reader } = await twoMachines();
  const { ask } = new HistoryCluster(folders, reader);
  const overview = await new OverviewReader({ ask, state: reader, metrics: { ofNode: () => Promise.resolve([]) } }).read();
  expect(overview).toMatchObject({ nodes: [], nodes_gone: 2, actors: { DEAD: 1, ALIVE: 1 }, waiting: [] });
});
