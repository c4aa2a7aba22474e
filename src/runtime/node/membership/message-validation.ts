/**
 * Decides which messages over a link a daemon believes: the form must be right, and the other end must have the right to say it.
 *
 * A node speaks for its own processes. Only the head may say where actors are and which nodes live. Requests that only a
 * process of this node may make are not accepted from elsewhere. Any other message ends the connection
 * (`runtime/rpc/protocol-violation.ts`). Pure; called by `cluster-membership.ts` for every frame.
 */
import type { NodeTag, ProcessId } from "../../base/ids.ts";
import { assertProtocol } from "../../rpc/protocol-violation.ts";
import type { RoutedHeader } from "../../wire/cluster/cluster-messages.ts";
import { processId } from "../../wire/header-shape.ts";
import { faultOf, nameOfMessage, extractFrom, type HeaderExtractors, type Shapes } from "../../wire/tables/message-table.ts";
import {
  MESSAGES_BETWEEN_DAEMONS,
  MESSAGES_OF_PROCESS,
  type MessagesBetweenDaemons,
  type MessagesOfProcess,
} from "../../wire/tables/messages-to-daemon.ts";
import { MESSAGES_TO_HEAD } from "../../wire/tables/messages-to-head.ts";
import { MESSAGES_TO_PROCESS, type MessagesToProcess } from "../../wire/tables/messages-to-process.ts";
import { MESSAGE } from "../../wire/messages.ts";

/** The head's name as a sender. */
const HEAD = "head";

/** To a process: messages that the head alone sends, and its own daemon. */
const NOT_FROM_NODES: ReadonlySet<number> = new Set([
  MESSAGE.ACTOR_START,
  MESSAGE.ACTOR_STATE,
  MESSAGE.ACTOR_REDIRECT,
  MESSAGE.GROUP_STATE,
  MESSAGE.NODE_GONE,
  MESSAGE.NODE_DRAINING,
  MESSAGE.WORKER_SLOT,
  MESSAGE.WORKER_APART,
  MESSAGE.WORKER_EXIT,
  MESSAGE.LEASE_RECLAIM,
  MESSAGE.FIRST_CALL,
  MESSAGE.FIRST_CALLS_BACK,
  MESSAGE.RELAYED,
  MESSAGE.CERTIFICATE,
  MESSAGE.WARNING,
]);

/** To the daemon: messages that its own processes alone send, besides their questions for the head. */
const OF_OWN_PROCESSES: ReadonlySet<number> = new Set([
  MESSAGE.WORKER_PARK,
  MESSAGE.WORKER_UNPARK,
  MESSAGE.WORKER_EXIT,
  MESSAGE.LEASE_DEMAND,
  MESSAGE.FIRST_CALLS_BACK,
  MESSAGE.RELAYED,
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
  MESSAGE.SHUTDOWN,
]);

/** The ids in messages that have to be of the node that says them. */
const OWN_TO_DAEMON: HeaderExtractors<MessagesBetweenDaemons, ProcessId> = {
  [MESSAGE.WORKER_EXITED]: ({ workerId }) => workerId,
  [MESSAGE.STORE_ADOPT]: ([, owner]) => owner,
  [MESSAGE.LEASE_SPILL]: ({ owner }) => owner,
};

const OWN_TO_PROCESS: HeaderExtractors<MessagesToProcess, ProcessId> = {
  [MESSAGE.OUTBOX_REST]: ([worker]) => worker,
  [MESSAGE.LEASE_GRANT]: ({ workerId }) => workerId,
  [MESSAGE.LEASE_REVOKE]: ([worker]) => worker,
  [MESSAGE.LEASE_TAKEN]: ([worker]) => worker,
  [MESSAGE.HELD_ENDED]: ([, , asker]) => asker,
};

const TO_DAEMON: Shapes<MessagesOfProcess & MessagesBetweenDaemons> = { ...MESSAGES_OF_PROCESS, ...MESSAGES_BETWEEN_DAEMONS };

/**
 * A message that the other end passes on.
 *
 * @param at `source`: the node at the other end, or the head
 * @throws ProtocolViolationError
 */
export function checkRouted(
  { source, daemonId }: { source: NodeTag | "head"; daemonId: ProcessId },
  [from, to, type, , , inner]: RoutedHeader,
): void {
  const isHead = source === HEAD;
  const isOwn = (one: ProcessId): boolean => one.startsWith(source);
  if (isHead) assertProtocol(from === HEAD, `it speaks for ${from}, and it is the head`);
  else assertProtocol(processId(from) && isOwn(from), `it speaks for ${from}, which is another node's`);
  if (type === MESSAGE.REPLY) return;
  const isToDaemon = to === "" || to === daemonId;
  const isNotTheirs = isToDaemon ? OF_OWN_PROCESSES.has(type) || type in MESSAGES_TO_HEAD : !isHead && NOT_FROM_NODES.has(type);
  assertProtocol(!isNotTheirs, `it sends ${nameOfMessage(type)}, which is not another node's to send`);
  const fault = isToDaemon ? faultOf(TO_DAEMON, type, inner) : faultOf(MESSAGES_TO_PROCESS, type, inner);
  assertProtocol(fault === undefined, fault ?? "");
  const own = isToDaemon ? extractFrom(OWN_TO_DAEMON, type, inner) : extractFrom(OWN_TO_PROCESS, type, inner);
  assertProtocol(isHead || own === undefined || isOwn(own), `its message ${type} is about ${own}, which is another node's`);
}
