import { expect, test } from "vitest";
import { type StartedFacts, startedText } from "./started-text.ts";

const facts: StartedFacts = {
  address: "tcp://10.0.0.7:6380",
  heads: ["tcp://10.0.0.7:6380"],
  nodeId: "a".repeat(32),
  joinToken: "SHOAL1-x",
  isHead: true,
  hasRivals: false,
  hasNats: true,
  isContinued: false,
  logs: "/logs",
  otherAddresses: [],
  openFilesMax: undefined,
};

test("who starts a head again is told what it goes on with", () => {
  const about = "Another --name begins a new cluster.";
  expect(startedText(facts, { isForeground: false })).not.toContain(about);
  expect(startedText({ ...facts, isContinued: true }, { isForeground: false })).toContain(about);
});

test("a limit of open files that few workers reach is told", () => {
  expect(startedText({ ...facts, openFilesMax: 256 }, { isForeground: false })).toContain(
    "A process may have 256 files open here (`ulimit -n`): enough for some 43 workers and actors on this node.",
  );
  expect(startedText({ ...facts, openFilesMax: 1_048_576 }, { isForeground: false })).not.toContain("ulimit");
});
