/**
 * What the head believes of what a node says: that it has the right form, and that it is the node's own to say.
 *
 * A node speaks for itself and its processes: it registers under the id of its link, reports its own resources, tells of its own workers, and passes on what its
 * own processes ask. All else ends the connection (`rpc/link-abuse.ts`), before any table is touched. Pure; called by `head-server.ts` for every frame.
 */
import { type NodeId, type NodeTag, nodeTagOf } from "../../base/ids.ts";
import type { HeadService } from "../../rpc/head-service.ts";
import { LinkAbuseError, mustHold } from "../../rpc/link-abuse.ts";
import type {
  DigestActorHeader,
  DigestBundleHeader,
  HeadEventHeader,
  LeaseAskHeader,
  NodeDigestHeader,
  NodeRegisterHeader,
  NodeReportHeader,
  RoutedHeader,
} from "../../wire/cluster-messages.ts";
import {
  accelerators,
  actorFacts,
  actorLeaving,
  environment,
  group,
  refusal,
  routed,
  workerExit,
  workerFacts,
} from "../../wire/header-parts.ts";
import * as shape from "../../wire/header-shape.ts";
import { faultOf } from "../../wire/message-table.ts";
import { MESSAGES_TO_HEAD } from "../../wire/messages-to-head.ts";
import { MESSAGE } from "../../wire/messages.ts";

const { actorId, count, exactly, fields, flag, leaseSpec, list, nodeId, number, objectId, optional, processId } = shape;
const { record, text, tuple, unchecked } = shape;

const amounts = list(tuple<[name: string, units: number]>(text, number));
const report = fields<NodeReportHeader>({
  // The link's node is believed, whatever the report says.
  nodeId: unchecked(),
  sequence: number,
  total: amounts,
  free: amounts,
  freeOfActors: amounts,
  settled: list(number),
  isDraining: optional(flag) as shape.Shape<boolean>,
});
const facts = fields<NodeRegisterHeader>({
  version: number,
  pid: number,
  incarnation: text,
  nodeId,
  daemonId: processId,
  hostname: text,
  address: text,
  resources: record(number),
  labels: record(text),
  objectStoreMemoryBytes: number,
});
const digest = fields<NodeDigestHeader>({
  nodeId: unchecked(),
  heads: number,
  processes: list(processId),
  actors: list(
    fields<DigestActorHeader>({ actorId, worker: workerFacts, accelerators: optional(accelerators), facts: optional(actorFacts) }),
  ),
  bundles: list(tuple<DigestBundleHeader>(text, number, number)),
  groups: optional(list(group)),
  environments: optional(list(environment)),
});
const registration = tuple<[NodeRegisterHeader, NodeReportHeader, NodeDigestHeader]>(facts, report, digest);
const leaseAsk = fields<LeaseAskHeader>({
  number,
  owner: processId,
  shape: leaseSpec,
  count,
  isFromFull: flag,
  argumentBytes: optional(list(tuple<[node: NodeTag, bytes: number]>(shape.nodeTag, number))),
  knows: optional(exactly("wait", "infeasible")),
});

/** What a node tells by the name of a method of the head, and that it leaves. */
type Events = Pick<HeadService, Exclude<HeadEventHeader[0], "left">> & { left(reason: string): void };
type EventArgs<N extends keyof Events> = Parameters<Events[N]>;
export type NodeEvent = { [N in keyof Events]: [name: N, ...args: EventArgs<N>] }[keyof Events];

/** Checks the arguments of an event of a node. @throws LinkAbuseError */
type EventCheck = (node: NodeId, args: unknown) => NodeEvent;

/** @param own the ids in it that have to be of the node */
function event<N extends keyof Events>(
  name: N,
  form: shape.Shape<EventArgs<N>>,
  own: (args: EventArgs<N>) => readonly string[] = () => [],
): EventCheck {
  return (node, args) => {
    mustHold(form(args), `the event ${name} is malformed`);
    for (const one of own(args)) mustBeOf(node, one, `tells ${name} of`);
    // The compiler does not follow that name and arguments belong together.
    return [name, ...args] as unknown as NodeEvent;
  };
}

const EVENTS: Readonly<Record<keyof Events, EventCheck>> = {
  placed: event("placed", tuple<EventArgs<"placed">>(actorId, workerFacts, optional(accelerators)), ([, worker]) => [
    worker.id,
    worker.holderId,
  ]),
  refused: event("refused", tuple<EventArgs<"refused">>(actorId, refusal)),
  groupReserved: event("groupReserved", tuple<EventArgs<"groupReserved">>(text, nodeId), ([, node]) => [node]),
  groupPrepared: event(
    "groupPrepared",
    tuple<EventArgs<"groupPrepared">>(text, fields({ attempt: number, isHeld: flag, nodeId })),
    ([, prepared]) => [prepared.nodeId],
  ),
  actorFull: event("actorFull", tuple<EventArgs<"actorFull">>(actorId, nodeId), ([, node]) => [node]),
  leasesWanted: event("leasesWanted", tuple<EventArgs<"leasesWanted">>(nodeId, leaseAsk), ([node, ask]) => [node, ask.owner]),
  workerExited: event(
    "workerExited",
    tuple<EventArgs<"workerExited">>(processId, workerExit, fields({ intended: flag })),
    ([worker, exit]) => [worker, exit.workerId],
  ),
  workerLeaves: event("workerLeaves", tuple<EventArgs<"workerLeaves">>(processId, optional(actorLeaving)), ([worker]) => [worker]),
  processGone: event("processGone", tuple<EventArgs<"processGone">>(processId), ([process]) => [process]),
  unheld: event("unheld", tuple<EventArgs<"unheld">>(actorId)),
  definitionUnheld: event("definitionUnheld", tuple<EventArgs<"definitionUnheld">>(objectId, nodeId), ([, node]) => [node]),
  left: event("left", tuple<EventArgs<"left">>(text)),
};

/** @throws LinkAbuseError */
export function checkRegistration(node: NodeId, header: unknown): [NodeRegisterHeader, NodeReportHeader, NodeDigestHeader] {
  mustHold(registration(header), "its registration is malformed");
  const [registered, first, here] = header;
  mustHold(registered.nodeId === node, `it registers as node ${registered.nodeId}`);
  mustBeOf(node, registered.daemonId, "registers with the daemon");
  for (const process of here.processes) mustBeOf(node, process, "registers with the process");
  for (const { worker } of here.actors) for (const one of [worker.id, worker.holderId]) mustBeOf(node, one, "registers with the worker");
  return [registered, { ...first, nodeId: node }, { ...here, nodeId: node }];
}

/** What a node that has registered says. */
export type NodeWord =
  | { kind: "report"; report: NodeReportHeader }
  | { kind: "event"; event: NodeEvent }
  | { kind: "routed"; routed: RoutedHeader };

/** @throws LinkAbuseError */
export function checkWord(node: NodeId, type: number, header: unknown): NodeWord {
  switch (type) {
    case MESSAGE.NODE_REPORT:
      mustHold(report(header), "its report is malformed");
      return { kind: "report", report: { ...header, nodeId: node } };
    case MESSAGE.HEAD_EVENT:
      return { kind: "event", event: checkEvent(node, header) };
    case MESSAGE.ROUTED:
      return { kind: "routed", routed: checkQuestion(node, header) };
    default:
      throw new LinkAbuseError(`it sends message ${type}, which is not a node's to send`);
  }
}

function checkEvent(node: NodeId, header: unknown): NodeEvent {
  mustHold(Array.isArray(header) && typeof header[0] === "string", "an event is malformed");
  const [name, ...args] = header as [string, ...unknown[]];
  mustHold(isEvent(name), `it tells of ${JSON.stringify(name)}, which nodes do not`);
  return EVENTS[name](node, args);
}

function isEvent(name: string): name is keyof Events {
  return Object.hasOwn(EVENTS, name);
}

function checkQuestion(node: NodeId, header: unknown): RoutedHeader {
  mustHold(routed(header), "a message that it passes on is malformed");
  const [from, , type, , , inner] = header;
  mustHold(processId(from), "it passes on a message of nobody");
  mustBeOf(node, from, "speaks for");
  const fault = faultOf(MESSAGES_TO_HEAD, type, inner);
  mustHold(fault === undefined, `one of its processes: ${fault}`);
  return header;
}

function mustBeOf(node: NodeId, one: unknown, what: string): void {
  mustHold(typeof one === "string" && nodeTagOf(one) === nodeTagOf(node), `it ${what} ${String(one)}, which is another node's`);
}
