/** A node's messages to its first head, and to a head that has replaced another. */
import { expect, test } from "vitest";
import type { NodeId } from "../../../base/ids.ts";
import type { HeadPeer, NodeServices } from "../../../rpc/head-service.ts";
import type { LinkTimers } from "../../../rpc/node-link.ts";
import type { NodeDigestHeader } from "../../../wire/cluster/cluster-messages.ts";
import { type GroupCreateHeader, MESSAGE } from "../../../wire/messages.ts";
import { decodeHeader } from "../../../wire/header.ts";
import { End, NODE_A, NODE_B, pair } from "../../../../../sim/link-wire.ts";
import { type HeadLink, RemoteHead } from "./remote-head.ts";

const nodeId = "0123456789abcdef0000000000000000" as NodeId;

test("what the last head said of groups goes to the next one for those that hold something here", () => {
  const node = { prepareGroup: () => {}, commitGroup: () => {}, releaseGroup: () => {} } as unknown as NodeServices;
  const head = new RemoteHead({} as HeadLink, node);
  const facts = (id: string): GroupCreateHeader => ({
    id,
    name: undefined,
    namespace: "n",
    strategy: "PACK",
    bundles: [{ CPU: 1 }],
    labels: [{}],
    isDetached: false,
    owner: undefined,
  });
  for (const group of ["held", "removed", "aborted"])
    head.command(["prepareGroup", group, { attempt: 1, bundles: [], mayWait: false, placement: 0, facts: facts(group) }]);
  head.command(["releaseGroup", "removed"]);
  const digest: NodeDigestHeader = { nodeId, heads: 0, processes: [], actors: [], bundles: [["held", 0, 0]] };
  expect(head.registering(digest)).toMatchObject({ heads: 1, bundles: [["held", 0, 0]], groups: [facts("held")] });
  expect(head.registering({ ...digest, bundles: [] })).toMatchObject({ heads: 2, groups: [] });
});

/** Records a node's messages to a head, by type, and acknowledges them on the test's request. */
class HeardHead {
  readonly end: End;
  readonly heard: unknown[] = [];
  readonly #acknowledge: (() => void)[] = [];

  constructor(incarnation: string, timers: LinkTimers) {
    this.end = new End(NODE_B, incarnation).make({
      timers,
      acknowledgesLater: true,
      onFrame: (frame, acknowledge) => {
        const header = decodeHeader(frame.header) as unknown[];
        this.heard.push(frame.type === MESSAGE.ROUTED ? header[2] : header);
        this.#acknowledge.push(acknowledge);
      },
    });
  }

  /** Acknowledges the messages so far. */
  keep(count: number): void {
    for (const acknowledge of this.#acknowledge.splice(0, count)) acknowledge();
  }
}

test("each head hears once, and in the order in which it was said, what is not safe or has no answer", async () => {
  const digest: NodeDigestHeader = { nodeId: NODE_A, heads: 0, processes: [], actors: [], bundles: [] };
  const { a, timers, setTarget } = pair({
    a: {
      peerNodeId: undefined,
      onUp: ({ isNew }) => {
        if (!isNew) return;
        head.registering(digest);
        a.link.send(MESSAGE.NODE_REGISTER, "registers");
        head.registered();
      },
    },
  });
  const head = new RemoteHead(a.link, { nodeId: NODE_A } as NodeServices);
  const driver = { id: `${NODE_A.slice(0, 16)}${"1".repeat(16)}` } as unknown as HeadPeer;
  const say = (type: number, callId: number): void => head.receive(driver, { type, callId, flags: 0, body: new Uint8Array() }, "group");
  const first = new HeardHead("first", timers);
  setTarget(first.end);
  say(MESSAGE.GROUP_WATCH, 1);
  say(MESSAGE.GROUP_CREATE, 0);
  say(MESSAGE.GROUP_REMOVE, 2);
  await timers.pass(100);
  const said = [MESSAGE.GROUP_WATCH, MESSAGE.GROUP_CREATE, MESSAGE.GROUP_REMOVE];
  expect(first.heard).toEqual(["registers", ...said]);

  // The head was about to keep the group when it died.
  first.keep(2);
  await timers.pass(100);
  first.end.link.close("its process ended");
  const second = new HeardHead("second", timers);
  setTarget(second.end);
  await timers.pass(2000);
  expect(second.heard).toEqual(["registers", ...said]);

  second.keep(4);
  await timers.pass(100);
  head.answered(driver.id, 1);
  second.end.link.close("its process ended");
  const third = new HeardHead("third", timers);
  setTarget(third.end);
  await timers.pass(2000);
  expect(third.heard).toEqual(["registers", MESSAGE.GROUP_REMOVE]);
  a.link.close("the test is over");
});
