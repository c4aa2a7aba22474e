/**
 * What a daemon believes of what comes over a link: that it has the right form, and that it is the other end's own to say.
 *
 * Another node speaks for its own processes, and what the head decides (who is an actor, where it is, which nodes there are) is the head's to say. What only a
 * process of this node may want of its daemon is not taken from elsewhere. All else ends the connection (`rpc/link-abuse.ts`). Pure;
 * called by `cluster-membership.ts` for every frame.
 */
import type { NodeTag, ProcessId } from "../../base/ids.ts";
import { mustHold } from "../../rpc/link-abuse.ts";
import { isLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { RoutedHeader } from "../../wire/cluster-messages.ts";
import * as shape from "../../wire/header-shape.ts";
import { MESSAGE } from "../../wire/messages.ts";

const { anything, fields, flag, id, list, location, number, optional, payload, text, tuple } = shape;

/** How the head signs what it says. */
const HEAD = "head";

/** To a process: what the head alone says, and its own daemon. */
const NOT_FROM_NODES: ReadonlySet<number> = new Set([
  MESSAGE.ACTOR_START,
  MESSAGE.ACTOR_STATE,
  MESSAGE.ACTOR_REDIRECT,
  MESSAGE.GROUP_STATE,
  MESSAGE.NODE_GONE,
  MESSAGE.WORKER_SLOT,
  MESSAGE.WORKER_EXIT,
  MESSAGE.LEASE_RECLAIM,
  MESSAGE.CERTIFICATE,
  MESSAGE.WARNING,
]);

/** To the daemon: what its own processes alone say. */
const OF_OWN_PROCESSES: ReadonlySet<number> = new Set([
  MESSAGE.WORKER_PARK,
  MESSAGE.WORKER_UNPARK,
  MESSAGE.WORKER_EXIT,
  MESSAGE.LEASE_DEMAND,
  MESSAGE.LEASE_RECLAIMED,
  MESSAGE.WHY_LEASE,
  MESSAGE.OBJECT_FETCH,
  MESSAGE.COPY_RELEASE,
  MESSAGE.STORE_ARENA,
  MESSAGE.STORE_SEALED,
  MESSAGE.STORE_LINK_ENDED,
  MESSAGE.STORE_COLLECT,
  MESSAGE.STORE_RETIRE,
  MESSAGE.STORE_USE,
  MESSAGE.ENVIRONMENT,
  MESSAGE.ENVIRONMENT_FETCH,
  MESSAGE.NODES,
  MESSAGE.RESOURCES,
  MESSAGE.SHUTDOWN,
  MESSAGE.JOIN_TOKENS,
  MESSAGE.CLUSTER_STATUS,
  MESSAGE.NODE_DRAIN,
]);

interface Told {
  form: shape.Shape;
  /** The id in it that has to be of the node that says it. */
  own?: (header: never) => unknown;
}

const leaseName = tuple(id, number);
const ofWorker = ([worker]: [unknown]): unknown => worker;

const TO_DAEMON: Readonly<Record<number, Told>> = {
  [MESSAGE.WORKER_EXITED]: {
    form: fields({
      workerId: id,
      pid: number,
      lastOutput: list(text),
      reason: optional(text),
      running: optional(tuple(id, number)),
      begun: optional(list(tuple(number, number))),
    }),
    own: ({ workerId }: { workerId: unknown }) => workerId,
  },
  [MESSAGE.LOG]: { form: fields({ pid: number, source: text, stream: text, lines: list(text), job: optional(text) }) },
  [MESSAGE.REF_HOLD]: { form: list(tuple(text, id, id, optional(number), optional(number))) },
  [MESSAGE.REF_RELEASE]: { form: list(tuple(text, number, id)) },
  [MESSAGE.REF_ADOPT]: { form: list(text) },
  [MESSAGE.REF_WATCH]: { form: tuple(text, id) },
  [MESSAGE.REF_LOST]: { form: tuple(text, id, location) },
  [MESSAGE.REF_VALUE]: { form: tuple(text, text, optional(payload)) },
  [MESSAGE.HELD_READ]: { form: tuple(id, number, number, optional(id)) },
  [MESSAGE.HELD_ENDED]: { form: tuple(optional(id), optional(number)) },
  [MESSAGE.ARENA_LOST]: { form: location },
  [MESSAGE.STORE_FREED]: { form: list(tuple(location, flag)) },
  [MESSAGE.STORE_CLAIM]: { form: list(tuple(location, optional(number))) },
  [MESSAGE.STORE_ADOPT]: { form: tuple(location, id), own: ([, owner]: [unknown, unknown]) => owner },
  [MESSAGE.CANCEL_REF]: { form: fields({ id: text, owner: id, force: flag, recursive: flag }) },
  [MESSAGE.CANCEL_RUNNING]: { form: fields({ worker: id, callId: number, recursive: flag, kill: flag }) },
  [MESSAGE.LEASE_RETURN]: { form: leaseName },
  [MESSAGE.LEASE_ONCE]: { form: leaseName },
  [MESSAGE.LEASE_SPILL]: {
    form: fields({ owner: id, shape: isLeaseSpec, count: number, nested: flag, placement: number, waitMs: optional(number) }),
    own: ({ owner }: { owner: unknown }) => owner,
  },
  [MESSAGE.LEASE_SPILL_DROPPED]: { form: tuple(id, isLeaseSpec, number) },
  [MESSAGE.COPY_STATE]: { form: tuple(tuple(text, location), number, shape.exactly("whole", "gone"), optional(id)) },
  [MESSAGE.COPY_FREED]: { form: tuple(text, location) },
  [MESSAGE.OBJECT_LOCATE]: { form: list(tuple(text, location, id)) },
  [MESSAGE.COPY_KEEP]: { form: tuple(tuple(text, location), flag) },
  [MESSAGE.WHY_REF]: { form: fields({ id: text, owner: id, trail: fields({ visited: list(anything), withinMs: number }) }) },
};

const TO_PROCESS: Readonly<Record<number, Told>> = {
  [MESSAGE.LEASE_GRANT]: {
    form: fields({ leaseId: number, shape: isLeaseSpec, workerId: id, address: text, pid: number }),
    own: ({ workerId }: { workerId: unknown }) => workerId,
  },
  [MESSAGE.LEASE_REVOKE]: { form: leaseName, own: ofWorker },
  [MESSAGE.LEASE_TAKEN]: { form: tuple(id, number, list(tuple(number, number))), own: ofWorker },
  [MESSAGE.LEASE_REFUSED]: { form: fields({ shape: isLeaseSpec, code: text, reason: text, hint: text }) },
  [MESSAGE.REF_FREE]: { form: list(text) },
  [MESSAGE.REF_WATCH]: { form: tuple(text, id) },
  [MESSAGE.REF_VALUE]: { form: tuple(text, optional(payload), optional(text)) },
  [MESSAGE.REF_LOST]: { form: tuple(text, id, location) },
  [MESSAGE.HELD_ENDED]: { form: tuple(id, number, id), own: ([, , asker]: [unknown, unknown, unknown]) => asker },
};

/**
 * A message that the other end passes on.
 *
 * @param at `source`: the node at the other end, or the head
 * @throws LinkAbuseError
 */
export function checkRouted({ source, daemonId }: { source: NodeTag | "head"; daemonId: ProcessId }, header: unknown): RoutedHeader {
  mustHold(shape.routed(header), "a message that it passes on is malformed");
  const [from, to, type, , , inner] = header as RoutedHeader;
  if (source === HEAD) {
    mustHold(from === HEAD, `it speaks for ${from}, and it is the head`);
    return header as RoutedHeader;
  }
  const isOwn = (one: unknown): boolean => typeof one === "string" && one.startsWith(source);
  mustHold(id(from) && isOwn(from), `it speaks for ${from}, which is another node's`);
  if (type === MESSAGE.REPLY) return header as RoutedHeader;
  const isToDaemon = to === "" || to === daemonId;
  mustHold(!(isToDaemon ? OF_OWN_PROCESSES : NOT_FROM_NODES).has(type), `it sends message ${type}, which is not another node's to send`);
  const told = (isToDaemon ? TO_DAEMON : TO_PROCESS)[type];
  if (told === undefined) return header as RoutedHeader;
  mustHold(told.form(inner), `message ${type} is malformed`);
  const own = told.own?.(inner as never);
  mustHold(told.own === undefined || isOwn(own), `its message ${type} is about ${String(own)}, which is another node's`);
  return header as RoutedHeader;
}
