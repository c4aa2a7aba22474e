/**
 * What a daemon takes from a driver or a worker of its node: which messages, of which shape.
 *
 * A process that has shown the token may still be faulty. Its daemon checks each message before any table is touched and before anything is passed on: the head
 * and other nodes end the link of a node that sends them what is malformed, and with it goes the work of all other programs of the node. A message that
 * is refused ends the connection of its sender alone. Pure; called by `daemon.ts` for every frame and every hello.
 */
import { describeValue } from "../base/describe.ts";
import { type NodeId, nodeTagOf } from "../base/ids.ts";
import type { Message } from "../rpc/peer-connection.ts";
import { isLeaseSpec } from "../scheduling/lease-spec.ts";
import { actorLeaving, bodyBytesOf, headQuestions } from "../wire/head-questions.ts";
import * as shape from "../wire/header-shape.ts";
import { MESSAGE } from "../wire/messages.ts";

const {
  anything,
  arenaName,
  count,
  either,
  exactly,
  fields,
  flag,
  id,
  leaf,
  list,
  location,
  nothing,
  number,
  optional,
  payload,
  text,
  tuple,
} = shape;

/** A program asks for the same few shapes again and again, and reading one takes longer than all else that is checked. */
const KNOWN_SPECS_MAX = 256;
/** Longer ones are read each time. */
const KNOWN_SPEC_LENGTH_MAX = 1024;
const knownSpecs = new Set<unknown>();

const leaseSpec = leaf("the text of a lease's shape", (value) => {
  if (knownSpecs.has(value)) return true;
  if (!isLeaseSpec(value)) return false;
  if ((value as string).length > KNOWN_SPEC_LENGTH_MAX) return true;
  if (knownSpecs.size >= KNOWN_SPECS_MAX) knownSpecs.clear();
  knownSpecs.add(value);
  return true;
});
const leaseName = tuple(id, number);

const FORMS: Readonly<Record<number, shape.Shape>> = {
  ...headQuestions(leaseSpec),
  [MESSAGE.RESOURCES]: nothing,
  [MESSAGE.SHUTDOWN]: nothing,

  [MESSAGE.LEASE_DEMAND]: fields({ shape: leaseSpec, backlog: count, near: optional(list(tuple(text, number, number))) }),
  [MESSAGE.LEASE_RETURN]: leaseName,
  [MESSAGE.LEASE_ONCE]: leaseName,
  [MESSAGE.LEASE_RECLAIMED]: tuple(id, number, list(tuple(number, number))),
  [MESSAGE.WORKER_PARK]: fields({ left: count, isReport: flag }),
  [MESSAGE.WORKER_UNPARK]: leaseSpec,
  [MESSAGE.WORKER_EXIT]: optional(actorLeaving),
  [MESSAGE.WORKER_SPENT]: nothing,
  [MESSAGE.WHY_LEASE]: either(fields({ shape: leaseSpec }), fields({ actor: text })),
  [MESSAGE.WHY_REF]: fields({ id: text, owner: id, trail: fields({ visited: list(anything), withinMs: number }) }),
  [MESSAGE.CANCEL_REF]: fields({ id: text, owner: id, force: flag, recursive: flag }),
  [MESSAGE.CANCEL_RUNNING]: fields({ worker: id, callId: number, recursive: flag, kill: flag }),

  [MESSAGE.REF_HOLD]: list(tuple(text, id, id, optional(number), optional(number))),
  [MESSAGE.REF_RELEASE]: list(tuple(text, count, id)),
  [MESSAGE.REF_ADOPT]: list(text),
  [MESSAGE.REF_WATCH]: tuple(text, id),
  [MESSAGE.REF_VALUE]: tuple(text, id, optional(payload)),
  [MESSAGE.REF_LOST]: tuple(text, id, location),
  [MESSAGE.HELD_READ]: tuple(id, number, number, optional(id)),
  [MESSAGE.HELD_ENDED]: tuple(optional(id), optional(number)),

  [MESSAGE.ARENA_LOST]: location,
  [MESSAGE.STORE_ARENA]: tuple(arenaName, exactly("memory", "disk"), count),
  [MESSAGE.STORE_SEALED]: list(tuple(location, id, optional(number))),
  [MESSAGE.STORE_FREED]: list(tuple(location, flag)),
  [MESSAGE.STORE_CLAIM]: list(tuple(location, optional(number))),
  [MESSAGE.STORE_COLLECT]: nothing,
  [MESSAGE.STORE_RETIRE]: list(arenaName),
  [MESSAGE.STORE_USE]: fields({ mapped: list(tuple(arenaName, count)), restored: tuple(count, count) }),
  [MESSAGE.STORE_LINK_ENDED]: tuple(id, number),
  [MESSAGE.OBJECT_FETCH]: tuple(text, location, number, optional(id)),
  [MESSAGE.COPY_RELEASE]: list(location),
  [MESSAGE.OBJECT_LOCATE]: list(tuple(text, location, id)),
};

/** The questions of daemons among those that the head answers. */
const OF_DAEMONS: ReadonlySet<number> = new Set([MESSAGE.ENVIRONMENT_FETCH]);

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(MESSAGE).map(([name, type]) => [type, name]));

/** A message by its name and number, for people. */
export function nameOfMessage(type: number): string {
  const name = NAMES.get(type);
  return name === undefined ? `message ${type}` : `message ${name} (${type})`;
}

/** Numbers of all messages that a process may send to its daemon. */
export function messagesOfProcesses(): number[] {
  return Object.keys(FORMS)
    .map(Number)
    .filter((type) => !OF_DAEMONS.has(type));
}

/** Why a message of a process is refused; undefined for one that is well formed. */
export function faultOfMessage({ type, body }: Pick<Message, "type" | "body">, header: unknown): string | undefined {
  const form = OF_DAEMONS.has(type) ? undefined : FORMS[type];
  if (form === undefined) return `${nameOfMessage(type)} is not one that a process sends to its node`;
  if (!form(header)) return `${nameOfMessage(type)} is malformed: ${shape.problemOf(form, header)}`;
  const toldBytes = bodyBytesOf(type, header);
  if (toldBytes === undefined || toldBytes <= body.length) return undefined;
  return `${nameOfMessage(type)} is malformed: its header tells of ${toldBytes} bytes, its body has ${body.length}`;
}

const hello = fields({
  processId: id,
  holderId: id,
  kind: exactly("driver", "worker"),
  pid: count,
  address: text,
  remoteAddress: optional(text),
  jobId: text,
});

/** The same of what a process says of itself, from which the head and other nodes are told. */
export function faultOfHello(nodeId: NodeId, said: object): string | undefined {
  if (!hello(said)) return `its hello is malformed: ${shape.problemOf(hello, said)}`;
  const ids = said as { processId: string; holderId: string };
  const other = [ids.processId, ids.holderId].find((one) => nodeTagOf(one) !== nodeTagOf(nodeId));
  return other === undefined ? undefined : `its hello names ${describeValue(other)}, which is not a process of this node`;
}
