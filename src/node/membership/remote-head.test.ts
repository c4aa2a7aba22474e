/** What a node tells a head that has taken the place of another. */
import { expect, test } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import type { PeerConnection } from "../../rpc/peer-connection.ts";
import type { NodeDigestHeader } from "../../wire/cluster-messages.ts";
import type { GroupCreateHeader } from "../../wire/messages.ts";
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
