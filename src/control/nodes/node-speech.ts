/**
 * What the head believes of what a node says: that it has the right form, and that it is the node's own to say.
 *
 * A node speaks for itself and its processes: it registers under the id of its link, reports its own resources, tells of its own workers, and passes on what its
 * own processes ask. All else ends the connection (`rpc/link-abuse.ts`), before any table is touched. Pure; called by `head-server.ts` for every frame.
 */
import { type NodeId, nodeTagOf } from "../../base/ids.ts";
import { LinkAbuseError, mustHold } from "../../rpc/link-abuse.ts";
import { isLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { HeadEventHeader, NodeDigestHeader, NodeRegisterHeader, NodeReportHeader, RoutedHeader } from "../../wire/cluster-messages.ts";
import * as shape from "../../wire/header-shape.ts";
import { actorLeaving, actorOptions, environment, group, headQuestions } from "../../wire/head-questions.ts";
import { MESSAGE } from "../../wire/messages.ts";

const { count, fields, flag, id, list, number, optional, record, text, tuple } = shape;

const amounts = list(tuple(text, number));
const report = fields({
  sequence: number,
  total: amounts,
  free: amounts,
  freeOfActors: amounts,
  settled: list(number),
  isDraining: optional(flag),
});
const facts = fields({
  version: number,
  pid: number,
  incarnation: text,
  nodeId: id,
  daemonId: id,
  hostname: text,
  address: text,
  resources: record(number),
  labels: record(text),
  objectStoreMemoryBytes: number,
});

const workerFacts = fields({ id, holderId: id, pid: number, address: text, remoteAddress: text });
const digest = fields({
  heads: number,
  processes: list(id),
  actors: list(
    fields({
      actorId: id,
      worker: workerFacts,
      accelerators: optional(record(list(text))),
      facts: optional(fields({ incarnation: number, creator: id, options: actorOptions(isLeaseSpec) })),
    }),
  ),
  bundles: list(tuple(text, number, number)),
  groups: optional(list(group)),
  environments: optional(list(environment)),
});
const workerExit = fields({
  workerId: id,
  pid: number,
  exitCode: optional(number),
  signal: optional(text),
  lastOutput: list(text),
  reason: optional(text),
});
const leaseAsk = fields({
  number,
  owner: id,
  shape: isLeaseSpec,
  count,
  isFromFull: flag,
  argumentBytes: optional(list(tuple(text, number))),
  knows: optional(shape.exactly("wait", "infeasible")),
});
const refusal = fields({ code: text, reason: text, hint: text });

/** For each event: the form of its arguments, and the ids among them that have to be of the node. */
const EVENTS: Readonly<Record<HeadEventHeader[0], { form: shape.Shape; own: (args: readonly never[]) => readonly unknown[] }>> = {
  placed: {
    form: tuple(id, workerFacts, optional(record(list(text)))),
    own: ([, worker]: readonly { id: string; holderId: string }[]) => [worker?.id, worker?.holderId],
  },
  refused: { form: tuple(id, refusal), own: () => [] },
  groupReserved: { form: tuple(text, id), own: ([, node]) => [node] },
  groupPrepared: {
    form: tuple(text, fields({ attempt: number, isHeld: flag, nodeId: id })),
    own: ([, prepared]: readonly { nodeId: string }[]) => [prepared?.nodeId],
  },
  actorFull: { form: tuple(id, id), own: ([, node]) => [node] },
  leasesWanted: {
    form: tuple(id, leaseAsk),
    own: ([node, ask]: readonly unknown[]) => [node, (ask as { owner: unknown }).owner],
  },
  workerExited: {
    form: tuple(id, workerExit, fields({ intended: flag })),
    own: ([worker, exit]: readonly unknown[]) => [worker, (exit as { workerId: unknown }).workerId],
  },
  workerLeaves: { form: tuple(id, optional(actorLeaving)), own: ([worker]) => [worker] },
  processGone: { form: tuple(id), own: ([process]) => [process] },
  unheld: { form: tuple(id), own: () => [] },
  definitionUnheld: { form: tuple(text, id), own: ([, node]) => [node] },
  left: { form: tuple(text), own: () => [] },
};

/** What processes ask of the head. */
const QUESTIONS = headQuestions(isLeaseSpec);

/** @throws LinkAbuseError */
export function checkRegistration(node: NodeId, header: unknown): [NodeRegisterHeader, NodeReportHeader, NodeDigestHeader] {
  mustHold(tuple(facts, report, digest)(header), "its registration is malformed");
  const [registered, first, here] = header as [NodeRegisterHeader, NodeReportHeader, NodeDigestHeader];
  mustHold(registered.nodeId === node, `it registers as node ${registered.nodeId}`);
  mustBeOf(node, registered.daemonId, "registers with the daemon");
  for (const process of here.processes) mustBeOf(node, process, "registers with the process");
  for (const { worker } of here.actors) for (const one of [worker.id, worker.holderId]) mustBeOf(node, one, "registers with the worker");
  return [registered, { ...first, nodeId: node }, { ...here, nodeId: node }];
}

/** What a node that has registered says. */
export type NodeWord =
  | { kind: "report"; report: NodeReportHeader }
  | { kind: "event"; event: HeadEventHeader }
  | { kind: "routed"; routed: RoutedHeader };

/** @throws LinkAbuseError */
export function checkWord(node: NodeId, type: number, header: unknown): NodeWord {
  switch (type) {
    case MESSAGE.NODE_REPORT:
      mustHold(report(header), "its report is malformed");
      return { kind: "report", report: { ...(header as NodeReportHeader), nodeId: node } };
    case MESSAGE.HEAD_EVENT:
      return { kind: "event", event: checkEvent(node, header) };
    case MESSAGE.ROUTED:
      return { kind: "routed", routed: checkQuestion(node, header) };
    default:
      throw new LinkAbuseError(`it sends message ${type}, which is not a node's to send`);
  }
}

function checkEvent(node: NodeId, header: unknown): HeadEventHeader {
  mustHold(Array.isArray(header) && typeof header[0] === "string", "an event is malformed");
  const [name, ...args] = header as HeadEventHeader;
  mustHold(Object.hasOwn(EVENTS, name), `it tells of ${JSON.stringify(name)}, which nodes do not`);
  const { form, own } = EVENTS[name];
  mustHold(form(args), `the event ${name} is malformed`);
  for (const one of own(args as never[])) mustBeOf(node, one, `tells ${name} of`);
  return [name, ...args];
}

function checkQuestion(node: NodeId, header: unknown): RoutedHeader {
  mustHold(shape.routed(header), "a message that it passes on is malformed");
  const [from, , type, , , inner] = header as RoutedHeader;
  mustHold(id(from), "it passes on a message of nobody");
  mustBeOf(node, from, "speaks for");
  const question = QUESTIONS[type];
  mustHold(question !== undefined, `it passes on message ${type}, which is not a process's to send`);
  mustHold(question(inner), `message ${type} of one of its processes is malformed`);
  return header as RoutedHeader;
}

function mustBeOf(node: NodeId, one: unknown, what: string): void {
  mustHold(typeof one === "string" && nodeTagOf(one) === nodeTagOf(node), `it ${what} ${String(one)}, which is another node's`);
}
