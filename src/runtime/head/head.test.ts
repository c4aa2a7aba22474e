/** Tests the answers of a head that has restored the tables of an earlier one. */
import { expect, test } from "vitest";
import { type ActorId, newNodeId, newProcessId } from "../base/ids.ts";
import type { HeadPeer, NodeServices } from "../rpc/head-service.ts";
import { type ActorCreateHeader, MESSAGE, type PayloadHeader } from "../wire/messages.ts";
import { isReplyTo, problemOfReply } from "../wire/tables/replies.ts";
import { ActorTable } from "./actors/actor-table.ts";
import { DefinitionTable } from "./definition-table.ts";
import { EnvironmentDescriptions } from "./environment-descriptions.ts";
import { ExtensionRecords } from "./extension-records.ts";
import { Head } from "./head.ts";
import { KeyValues } from "./key-values.ts";
import { PlacementGroupTable } from "./placement/placement-group-table.ts";

const random = (bytes: number): string => "ab".repeat(bytes);
const other = (bytes: number): string => "cd".repeat(bytes);
const nodeId = newNodeId(random);
const driver = newProcessId(random, nodeId);
const actorId = "ac".repeat(16) as ActorId;
const args: PayloadHeader = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [], stored: undefined };

const creation: ActorCreateHeader = {
  actorId,
  definition: "d",
  args,
  deps: [],
  options: {
    name: "counter",
    namespace: "n",
    getIfExists: false,
    resources: {},
    shape: "",
    group: undefined,
    maxRestarts: 0,
    isDetached: true,
    interface: {
      className: "Counter",
      methods: {},
      groups: { default: 1 },
      maxTaskRetries: 0,
      maxPendingCalls: -1,
      allowOutOfOrderExecution: false,
    },
  },
};

function emptyTables(): ConstructorParameters<typeof Head>[0]["tables"] & object {
  return {
    actors: new ActorTable(),
    groups: new PlacementGroupTable(),
    definitions: new DefinitionTable(),
    environments: new EnvironmentDescriptions(),
    values: new KeyValues(),
    extensionRecords: new ExtensionRecords(),
  };
}

test("a creation that an earlier head had kept and not acknowledged is answered, and its creator told what becomes of the actor", () => {
  const actors = new ActorTable();
  const spec = { definition: "d", args, deps: [], body: new Uint8Array() };
  actors.handle({ kind: "create", id: actorId, creator: driver, options: creation.options, spec });
  const record = actors.get(actorId);
  if (record === undefined) throw new Error("it was created");
  const tables = emptyTables();
  // The store does not keep an actor's watchers.
  tables.actors.restore([{ ...record, watchers: new Set() }], new Map());
  const said: unknown[] = [];
  const connection = {
    reply: (callId: number) => said.push(["reply", callId]),
    send: (type: number, header: { phase: string }) => said.push([type, header.phase]),
  };
  const peer = { id: driver, holderId: driver, connection } as unknown as HeadPeer;
  const view = { id: nodeId, labels: {}, total: new Map(), free: new Map() };
  const node = { nodeId, daemonId: driver, peer: () => peer, view: () => view, hold: () => {} } as unknown as NodeServices;
  const head = new Head({ nowMs: () => 0, isOfDriver: false, tables });
  head.addNode(node);

  head.receive(peer, { type: MESSAGE.ACTOR_CREATE, callId: 7, flags: 0, body: new Uint8Array() }, creation);
  expect(said).toEqual([["reply", 7]]);
  const worker = newProcessId(other, nodeId);
  head.placed(actorId, { id: worker, holderId: worker, pid: 1, address: "near", remoteAddress: "far" }, undefined);
  said.length = 0;
  head.receive(
    { ...peer, id: worker },
    { type: MESSAGE.ACTOR_STARTED, callId: 0, flags: 0, body: new Uint8Array() },
    { actorId, incarnation: 0 },
  );
  expect(said).toEqual([[MESSAGE.ACTOR_STATE, "alive"]]);
});

test("an actor whose creator's node is gone is found, with an answer of the right shape", () => {
  const tables = emptyTables();
  const spec = { definition: "d", args, deps: [], body: new Uint8Array() };
  tables.actors.handle({ kind: "create", id: actorId, creator: newProcessId(other, newNodeId(other)), options: creation.options, spec });
  const said: unknown[] = [];
  const connection = { reply: (_: number, header: unknown) => said.push(header) };
  const asker = { id: driver, holderId: driver, connection } as unknown as HeadPeer;
  const head = new Head({ nowMs: () => 0, isOfDriver: false, tables });
  head.receive(asker, { type: MESSAGE.ACTOR_LOOKUP, callId: 7, flags: 0, body: new Uint8Array() }, { name: "counter", namespace: "n" });
  expect(said).toHaveLength(1);
  expect(isReplyTo(MESSAGE.ACTOR_LOOKUP, said[0]) ? "" : problemOfReply(MESSAGE.ACTOR_LOOKUP, said[0])).toBe("");
});
