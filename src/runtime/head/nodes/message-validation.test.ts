import { describe, expect, test } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import { ProtocolViolationError } from "../../rpc/protocol-violation.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { checkNewNode, checkNode } from "./message-validation.ts";

const NODE = "a".repeat(32) as NodeId;
const OTHER = "b".repeat(32);
const OWN_WORKER = `${"a".repeat(16)}${"1".repeat(16)}`;
const OTHER_WORKER = `${"b".repeat(16)}${"1".repeat(16)}`;
const ACTOR = "c".repeat(32);

const facts = {
  version: 1,
  pid: 1,
  incarnation: "1",
  nodeId: NODE,
  daemonId: OWN_WORKER,
  hostname: "h",
  address: "",
  resources: { CPU: 1 },
  labels: {},
  objectStoreMemoryBytes: 1,
};
const report = { nodeId: NODE, sequence: 1, total: [["CPU", 10_000]], free: [], freeOfActors: [], settled: [] };
const workerFacts = { id: OWN_WORKER, holderId: OWN_WORKER, pid: 1, address: "", remoteAddress: "" };
const ask = { number: 1, owner: OWN_WORKER, shape: "CPU:10000", count: 1, isFromFull: true };
const exit = { workerId: OWN_WORKER, pid: 1, exitCode: 1, signal: undefined, lastOutput: [], reason: undefined };

const register = (header: unknown) => checkNewNode(NODE, MESSAGE.NODE_REGISTER, header).header;
const digest = { nodeId: NODE, heads: 1, processes: [OWN_WORKER], bundles: [], actors: [{ actorId: ACTOR, worker: workerFacts }] };

test("a node registers under the id of its link, with a daemon of its own and what runs there", () => {
  expect(register([facts, report, { ...digest, nodeId: OTHER }])).toMatchObject([{ nodeId: NODE }, {}, { nodeId: NODE }]);
  const others = { actors: [{ actorId: ACTOR, worker: { ...workerFacts, id: OTHER_WORKER } }] };
  for (const wrong of [{ processes: [OTHER_WORKER] }, others, { processes: 7 }, { bundles: [[1, 0]] }, { actors: [{ actorId: ACTOR }] }])
    expect(() => register([facts, report, { ...digest, ...wrong }])).toThrow(ProtocolViolationError);
  for (const wrong of [{ nodeId: OTHER }, { daemonId: OTHER_WORKER }, { labels: 7 }, { resources: { CPU: "x" } }])
    expect(() => register([{ ...facts, ...wrong }, report, digest])).toThrow(ProtocolViolationError);
  expect(() => register(undefined)).toThrow("NODE_REGISTER (123) is malformed");
  expect(() => checkNewNode(NODE, MESSAGE.CERTIFICATE_RENEW, 7)).toThrow(ProtocolViolationError);
});

test("a report counts for the node of the link, whatever it says", () => {
  expect(checkNode(NODE, MESSAGE.NODE_REPORT, { ...report, nodeId: OTHER })).toMatchObject({ header: { nodeId: NODE } });
});

describe("events", () => {
  test.each([
    ["placed", ACTOR, workerFacts, undefined],
    ["workerExited", OWN_WORKER, exit, { intended: false }],
    ["processGone", OWN_WORKER],
    ["groupReserved", "g", NODE],
    ["leasesWanted", NODE, ask],
    ["unheld", ACTOR],
  ])("%s of its own are believed", (...event) => {
    expect(checkNode(NODE, MESSAGE.HEAD_EVENT, event)).toEqual({ type: MESSAGE.HEAD_EVENT, header: event });
  });

  test.each([
    ["placed", ACTOR, { ...workerFacts, id: OTHER_WORKER }, undefined],
    ["placed", ACTOR, { ...workerFacts, holderId: OTHER_WORKER }, undefined],
    ["workerExited", OTHER_WORKER, exit, { intended: false }],
    ["workerExited", OWN_WORKER, { ...exit, workerId: OTHER_WORKER }, { intended: false }],
    ["processGone", OTHER_WORKER],
    ["groupReserved", "g", OTHER],
    ["actorFull", ACTOR, OTHER],
    ["leasesWanted", NODE, { ...ask, owner: OTHER_WORKER }],
    ["leasesWanted", NODE, { ...ask, shape: "CPU:x" }],
    ["nodeGone", OTHER, "so"],
    ["__proto__"],
    ["toString"],
  ])("%s of others, and what is no event, is not", (...event) => {
    expect(() => checkNode(NODE, MESSAGE.HEAD_EVENT, event)).toThrow(ProtocolViolationError);
  });
});

test("questions are those of its own processes, and well formed", () => {
  const asked = (from: string, type: number, header: unknown) => checkNode(NODE, MESSAGE.ROUTED, [from, "", type, 1, 0, header]);
  expect(asked(OWN_WORKER, MESSAGE.ACTOR_KILL, { actorId: ACTOR, restart: false }).type).toBe(MESSAGE.ROUTED);
  expect(() => asked(OTHER_WORKER, MESSAGE.ACTOR_KILL, { actorId: ACTOR, restart: false })).toThrow("another node's");
  expect(() => asked("head", MESSAGE.ACTOR_KILL, { actorId: ACTOR, restart: false })).toThrow(ProtocolViolationError);
  expect(() => asked(OWN_WORKER, MESSAGE.ACTOR_KILL, { actorId: ACTOR })).toThrow("malformed");
  expect(() => checkNode(NODE, MESSAGE.ROUTED, [])).toThrow("malformed");
  expect(() => checkNode(NODE, MESSAGE.NODE_COMMAND, [])).toThrow("not a node's to send");
});
