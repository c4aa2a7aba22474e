/** What a node tells its first head, and one that has taken the place of another. */
import { expect, test } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import type { HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import type { PeerConnection } from "../../rpc/peer-connection.ts";
import type { NodeDigestHeader } from "../../wire/cluster-messages.ts";
import { type GroupCreateHeader, MESSAGE } from "../../wire/messages.ts";
import { RemoteHead } from "./remote-head.ts";

const nodeId = "0123456789abcdef0000000000000000" as NodeId;

test("what the last head said of groups goes to the next one for those that hold something here", () => {
  const node = { prepareGroup: () => {}, commitGroup: () => {}, releaseGroup: () => {} } as unknown as NodeServices;
  const head = new RemoteHead({} as PeerConnection, node);
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

test("what was asked before there was a head comes to the first one once, in the order in which it was said, and is asked again of the next", () => {
  const sent: unknown[] = [];
  const link = { send: (type: number, header: unknown) => sent.push([type, (header as unknown[])[2]]) } as unknown as PeerConnection;
  const head = new RemoteHead(link, { nodeId } as NodeServices);
  const driver = { id: `${nodeId.slice(0, 16)}${"1".repeat(16)}` } as unknown as HeadPeer;
  const say = (type: number, callId: number): void => head.receive(driver, { type, callId, flags: 0, body: new Uint8Array() }, "group");
  say(MESSAGE.GROUP_CREATE, 0);
  say(MESSAGE.GROUP_REMOVE, 1);
  const inOrder = [
    [MESSAGE.ROUTED, MESSAGE.GROUP_CREATE],
    [MESSAGE.ROUTED, MESSAGE.GROUP_REMOVE],
  ];
  const digest: NodeDigestHeader = { nodeId, heads: 0, processes: [], actors: [], bundles: [] };
  head.registering(digest);
  head.registered();
  expect(sent).toEqual(inOrder);
  head.registering(digest);
  head.registered();
  expect(sent).toEqual([...inOrder, [MESSAGE.ROUTED, MESSAGE.GROUP_REMOVE]]);
});
