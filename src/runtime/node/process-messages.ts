/**
 * Lists the messages that drivers and workers may send to their daemon, with the shape of each.
 *
 * A process that has shown the token may still be faulty. Its daemon checks each message before any table is touched and before anything is
 * passed on. The head and other nodes end the link of a node that sends a malformed message, which would end the work of all other programs
 * on the node. A refused message ends its sender's connection alone. Pure; called by `process-admission.ts` for every frame and every
 * hello.
 */
import { describeValue } from "../base/texts/describe.ts";
import { type NodeId, nodeTagOf } from "../base/ids.ts";
import type { Message } from "../rpc/peer-connection.ts";
import * as shape from "../wire/header-shape.ts";
import { faultOf, nameOfMessage, extractFrom, type HeaderExtractors } from "../wire/tables/message-table.ts";
import { MESSAGES_OF_PROCESS, type MessagesOfProcess } from "../wire/tables/messages-to-daemon.ts";
import { MESSAGE, type PayloadHeader } from "../wire/messages.ts";

/** Numbers of all messages that a process may send to its daemon. */
export function messagesOfProcesses(): number[] {
  return Object.keys(MESSAGES_OF_PROCESS).map(Number);
}

/** Why a message of a process is refused; undefined for one that is well formed. */
export function faultOfMessage({ type, body }: Pick<Message, "type" | "body">, header: unknown): string | undefined {
  const fault = faultOf(MESSAGES_OF_PROCESS, type, header);
  if (fault !== undefined) return fault;
  const values = extractFrom(VALUES, type, header);
  if (values === undefined) return undefined;
  const toldBytes = values.reduce((sum, value) => sum + lengthOf(value), 0);
  if (toldBytes <= body.length) return undefined;
  return `${nameOfMessage(type)} is malformed: its header tells of ${toldBytes} bytes, its body has ${body.length}`;
}

/** The values that follow in the body. */
const VALUES: HeaderExtractors<MessagesOfProcess, readonly PayloadHeader[]> = {
  [MESSAGE.ACTOR_CREATE]: ({ args, deps }) => [args, ...deps],
  [MESSAGE.ACTOR_START_FAILED]: ({ error }) => [error],
  [MESSAGE.REF_KNOWN]: (rows) => rows.map(([, value]) => value),
  [MESSAGE.REF_VALUE]: ([, , value]) => (value === undefined || value === null ? [] : [value]),
};

function lengthOf({ inBand, buffers }: PayloadHeader): number {
  return buffers.reduce((sum, size) => sum + size, inBand);
}

const hello = shape.fields({
  processId: shape.processId,
  holderId: shape.processId,
  kind: shape.exactly("driver", "worker", "internal"),
  pid: shape.count,
  address: shape.text,
  remoteAddress: shape.optional(shape.text),
  jobId: shape.text,
});

/** Returns the fault in a process's hello, which the daemon passes on to the head and to other nodes. */
export function faultOfHello(nodeId: NodeId, said: unknown): string | undefined {
  if (!hello(said)) return `its hello is malformed: ${shape.problemOf(hello, said)}`;
  const other = [said.processId, said.holderId].find((one) => nodeTagOf(one) !== nodeTagOf(nodeId));
  return other === undefined ? undefined : `its hello names ${describeValue(other)}, which is not a process of this node`;
}
