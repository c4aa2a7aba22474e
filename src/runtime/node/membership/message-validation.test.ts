import { describe, expect, test } from "vitest";
import type { NodeTag, ProcessId } from "../../base/ids.ts";
import { ProtocolViolationError } from "../../rpc/protocol-violation.ts";
import type { RoutedHeader } from "../../wire/cluster/cluster-messages.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { checkRouted } from "./message-validation.ts";

const source = "a".repeat(16) as NodeTag;
const THEIRS = `${source}${"1".repeat(16)}`;
const MINE = `${"b".repeat(16)}${"1".repeat(16)}`;
const THIRD = `${"c".repeat(16)}${"1".repeat(16)}`;
const daemonId = `${"b".repeat(16)}${"0".repeat(16)}` as ProcessId;
const ARENA = `${"b".repeat(28)}-1`;

const routed = (from: string, to: string, type: number, header: unknown): RoutedHeader => [
  from as ProcessId,
  to as ProcessId,
  type,
  0,
  0,
  header,
];
const fromNode = (...said: Parameters<typeof routed>) => {
  checkRouted({ source, daemonId }, routed(...said));
  return routed(...said);
};
const fromHead = (from: string, type: number, header: unknown = { actorId: THIRD, phase: "alive", incarnation: 1 }) => {
  checkRouted({ source: "head", daemonId }, routed(from, MINE, type, header));
  return routed(from, MINE, type, header);
};

describe("a node", () => {
  test("speaks for its own processes", () => {
    expect(fromNode(THEIRS, "", MESSAGE.STORE_CLAIM, [[[ARENA, 0, 8, "memory"]]])[0]).toBe(THEIRS);
    for (const from of [MINE, THIRD, "head", "", `${source}1`])
      expect(() => fromNode(from, "", MESSAGE.STORE_CLAIM, [])).toThrow(ProtocolViolationError);
  });

  test("names no path as a file of the store", () => {
    for (const arena of ["../x", "/etc/passwd", "a/b", "..", "a.b", "", 7, `${ARENA}\n`])
      expect(() => fromNode(THEIRS, "", MESSAGE.STORE_FREED, [[[arena, 0, 8, "memory"], false]])).toThrow("malformed");
  });

  test("tells of its own workers alone", () => {
    const exit = { pid: 1, lastOutput: [], reason: undefined };
    expect(fromNode(THEIRS, "", MESSAGE.WORKER_EXITED, { ...exit, workerId: THEIRS })[2]).toBe(MESSAGE.WORKER_EXITED);
    expect(() => fromNode(THEIRS, "", MESSAGE.WORKER_EXITED, { ...exit, workerId: THIRD })).toThrow("another node's");
    expect(() => fromNode(THEIRS, MINE, MESSAGE.LEASE_REVOKE, [THIRD, 1])).toThrow("another node's");
  });

  test("gives back leases that its processes have here, and says whose tasks may not run twice", () => {
    for (const type of [MESSAGE.LEASE_RETURN, MESSAGE.LEASE_ONCE]) {
      expect(fromNode(THEIRS, "", type, [MINE, 1])[2]).toBe(type);
      expect(() => fromNode(THEIRS, "", type, [MINE])).toThrow("malformed");
    }
  });

  test("says neither what the head decides nor what a process of this node asks of its daemon", () => {
    expect(() => fromNode(THEIRS, MINE, MESSAGE.ACTOR_STATE, {})).toThrow("not another node's to send");
    expect(() => fromNode(THEIRS, "", MESSAGE.WORKER_EXIT, "so")).toThrow("not another node's to send");
    expect(() => fromNode(THEIRS, daemonId, MESSAGE.SHUTDOWN, undefined)).toThrow("not another node's to send");
  });
});

test("the head speaks for itself", () => {
  expect(fromHead("head", MESSAGE.ACTOR_STATE)[0]).toBe("head");
  expect(() => fromHead(THIRD, MESSAGE.ACTOR_STATE)).toThrow("it is the head");
  expect(() => fromHead("head", MESSAGE.ACTOR_STATE, { actorId: THIRD })).toThrow("malformed");
});
