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
};

test("who starts a head again is told what it goes on with", () => {
  const about = "Another --name begins a new cluster.";
  expect(startedText(facts, { isForeground: false })).not.toContain(about);
  expect(startedText({ ...facts, isContinued: true }, { isForeground: false })).toContain(about);
});
