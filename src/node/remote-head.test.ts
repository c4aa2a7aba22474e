/** What a node gives back of what a head had begun, when another head has taken its place. */
import { expect, test } from "vitest";
import type { NodeId } from "../base/ids.ts";
import type { NodeServices } from "../rpc/head-service.ts";
import type { PeerConnection } from "../rpc/peer-connection.ts";
import { RemoteHead } from "./remote-head.ts";

const nodeId = "0123456789abcdef0000000000000000" as NodeId;

test("what the last head had prepared for groups and not decided on is given back, once", () => {
  const aborted: [string, number][] = [];
  const node = {
    prepareGroup: () => {},
    commitGroup: () => {},
    abortGroup: (group: string, attempt: number) => aborted.push([group, attempt]),
  } as unknown as NodeServices;
  const head = new RemoteHead({} as PeerConnection, node);
  const prepare = (group: string, attempt: number): void =>
    head.command(["prepareGroup", group, { attempt, bundles: [], mayWait: false, placement: 0 }]);
  prepare("committed", 1);
  prepare("aborted", 2);
  prepare("open", 3);
  prepare("open", 4);
  head.command(["commitGroup", "committed", 1]);
  head.command(["abortGroup", "aborted", 2]);
  aborted.length = 0;
  const digest = { nodeId, heads: 0, processes: [], actors: [], bundles: [["committed", 0] as const] };
  expect(head.registering(digest)).toMatchObject({ heads: 1, bundles: [["committed", 0]] });
  expect(aborted).toEqual([
    ["open", 3],
    ["open", 4],
  ]);
  head.registering(digest);
  expect(aborted.length).toBe(2);
});
