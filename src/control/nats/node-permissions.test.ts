/** The subjects of a node's rights; that the server keeps to them is in test/control-plane/nats-operations.test.ts. */
import { expect, test } from "vitest";
import { nodeInbox, nodePermissions } from "./node-permissions.ts";

test("a node may speak for itself, and hear what is for it and for all", () => {
  expect(nodePermissions("c", "ab12")).toEqual({
    publish: ["shoal.c.bus.hb.ab12", "shoal.c.bus.req.ab12.>"],
    subscribe: ["shoal.c.bus.node.ab12.>", "shoal.c.bus.ctl.>", "_INBOX.ab12.>"],
    repliesWithinMs: 30_000,
  });
});

test("an id that would mean more than one node is refused", () => {
  for (const nodeId of ["*", ">", "a.b", "a.>", "", "a b", "x".repeat(65)]) {
    expect(() => nodePermissions("c", nodeId)).toThrow(RangeError);
    expect(() => nodeInbox(nodeId)).toThrow(RangeError);
  }
});
