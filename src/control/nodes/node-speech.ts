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
import { MESSAGE } from "../../wire/messages.ts";

const { anything, definition, fields, flag, id, list, number, optional, payload, record, text, tuple } = shape;

/** Text that parts of the head parse whenever they look for a place: one that cannot be parsed would stop them all. */
const leaseSpec = isLeaseSpec;

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
const actorOptions = fields({
  name: optional(text),
  namespace: text,
  getIfExists: flag,
  resources: record(number),
  shape: leaseSpec,
  group: optional(text),
  maxRestarts: number,
  isDetached: flag,
  interface: fields({ className: text, methods: record(record(anything)), groups: record(number) }),
});
const group = fields({
  id: text,
  name: optional(text),
  namespace: text,
  strategy: shape.exactly("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"),
  bundles: list(record(number)),
  labels: list(record(text)),
  isDetached: flag,
  owner: optional(text),
});
const environment = fields({ key: text, description: record(anything) });
const digest = fields({
  heads: number,
  processes: list(id),
  actors: list(
    fields({
      actorId: id,
      worker: workerFacts,
      accelerators: optional(record(list(text))),
      facts: optional(fields({ incarnation: number, creator: id, options: actorOptions })),
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
  shape: leaseSpec,
  count: number,
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
  workerLeaves: { form: tuple(id, optional(text)), own: ([worker]) => [worker] },
  processGone: { form: tuple(id), own: ([process]) => [process] },
  unheld: { form: tuple(id), own: () => [] },
  left: { form: tuple(text), own: () => [] },
};

const longWait = fields({
  number,
  task: text,
  name: text,
  actor: optional(text),
  for: list(fields({ task: text, name: text, actor: optional(text) })),
});
const named = fields({ name: text, namespace: text });
const keyed = fields({ namespace: text, key: text });

/** What processes ask of the head. */
const QUESTIONS: Readonly<Record<number, shape.Shape>> = {
  [MESSAGE.DEFINE]: definition,
  [MESSAGE.FETCH_DEFINITION]: text,
  [MESSAGE.ENVIRONMENT]: environment,
  [MESSAGE.ENVIRONMENT_FETCH]: text,
  [MESSAGE.ACTOR_CREATE]: fields({
    actorId: id,
    definition: text,
    args: payload,
    deps: list(payload),
    options: actorOptions,
  }),
  [MESSAGE.ACTOR_LOOKUP]: named,
  [MESSAGE.ACTOR_WATCH]: text,
  [MESSAGE.ACTOR_KILL]: fields({ actorId: text, restart: flag }),
  [MESSAGE.ACTOR_LIST]: fields({ includeDead: flag, namespace: optional(text) }),
  [MESSAGE.ACTOR_STARTED]: fields({ actorId: text, incarnation: number }),
  [MESSAGE.ACTOR_START_FAILED]: fields({ actorId: text, incarnation: number, error: payload }),
  [MESSAGE.WAITS]: fields({ began: list(longWait), ended: list(number) }),
  [MESSAGE.RESOURCES]: fields({ store: anything }),
  [MESSAGE.NODE_DRAIN]: fields({ node: text, deadlineMs: optional(number) }),
  [MESSAGE.WHY_PLACE]: fields({ shape: optional(leaseSpec), actor: optional(text) }),
  [MESSAGE.GROUP_CREATE]: group,
  [MESSAGE.GROUP_REMOVE]: text,
  [MESSAGE.GROUP_WATCH]: text,
  [MESSAGE.GROUP_LOOKUP]: named,
  [MESSAGE.KV_PUT]: fields({ namespace: text, key: text, form: shape.exactly("bytes", "json"), overwrite: flag }),
  [MESSAGE.KV_GET]: fields({ namespace: text, key: text, withValue: flag }),
  [MESSAGE.KV_DELETE]: keyed,
  [MESSAGE.KV_LIST]: fields({ namespace: text, prefix: text }),
};

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
  mustHold(question === undefined || question(inner), `message ${type} of one of its processes is malformed`);
  return header as RoutedHeader;
}

function mustBeOf(node: NodeId, one: unknown, what: string): void {
  mustHold(typeof one === "string" && nodeTagOf(one) === nodeTagOf(node), `it ${what} ${String(one)}, which is another node's`);
}
