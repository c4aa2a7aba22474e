import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NodeDiedError } from "../../core/index.ts";
import { RankFolders } from "./rank-folders.ts";
import { GroupNotStarted } from "../group/worker-group.ts";

let runPath = "";
beforeEach(() => (runPath = mkdtempSync(join(tmpdir(), "rank-folders-"))));
afterEach(() => rmSync(runPath, { recursive: true }));

function agentsOf(make: (nodeId: string) => string) {
  const removed: string[] = [];
  const agents = {
    newRankFolder: async (nodeId: string): Promise<string> => make(nodeId),
    removeFolder: async (nodeId: string, folder: string): Promise<void> => void removed.push(`${nodeId} ${folder}`),
  };
  return { agents, removed };
}

test("folders of a local run lie in the run's folder, and those that stay empty are removed", async () => {
  const { agents, removed } = agentsOf(() => "");
  const folders = new RankFolders({ runPath, nodeIds: ["a", "a", "b"], agents });
  await folders.open();
  expect(folders.byRank).toEqual([0, 1, 2].map((rank) => join(runPath, `rank-${rank}`)));
  for (const folder of folders.byRank.slice(0, 2)) mkdirSync(folder);
  writeFileSync(join(folders.byRank[0] as string, "file"), "");
  await folders.close();
  expect(folders.byRank.map(existsSync)).toEqual([true, false, false]);
  expect(removed).toEqual([]);
});

test("folders of a run in S3 lie in one temporary folder a node, which is removed", async () => {
  const { agents, removed } = agentsOf((nodeId) => `/temporary/${nodeId}`);
  const folders = new RankFolders({ runPath: "s3://bucket/run", nodeIds: ["a", "b", "a"], agents });
  await folders.open();
  expect(folders.byRank).toEqual(["/temporary/a/rank-0", "/temporary/b/rank-1", "/temporary/a/rank-2"]);
  await folders.close();
  expect(removed).toEqual(["a /temporary/a", "b /temporary/b"]);
});

test("a node that has gone fails the attempt, which may be tried again, and other nodes' folders are removed", async () => {
  const { agents, removed } = agentsOf((nodeId) => {
    if (nodeId === "b") throw new NodeDiedError("the node is gone");
    return `/temporary/${nodeId}`;
  });
  const folders = new RankFolders({ runPath: "s3://bucket/run", nodeIds: ["a", "b"], agents });
  const error = await folders.open().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GroupNotStarted);
  expect(error).toMatchObject({ isFinal: false, failures: [{ rank: 1, cause: "died" }] });
  await folders.close();
  expect(removed).toEqual(["a /temporary/a"]);
});
