/**
 * The border between a daemon and its node's processes: admits a driver or a worker by its hello, and checks each message before the daemon sees it.
 *
 * A process that sends a message of another kind of process (`process-messages.ts`), or a message that cannot be handled, gets the reason and is disconnected; the
 * daemon treats it as dead. Its later messages are not read. `daemon.ts` calls this file for each connection.
 */
import { asError, messageOf } from "../base/texts/describe.ts";
import { timeoutAfterIo } from "../base/time/timeout-after-io.ts";
import type { NodeId } from "../base/ids.ts";
import type { Connection } from "../rpc/connection.ts";
import { REFUSAL_READ_WITHIN_MS } from "../rpc/limits.ts";
import type { Frame } from "../wire/frame.ts";
import { decodeHeader } from "../wire/header.ts";
import { nameOfMessage } from "../wire/tables/message-table.ts";
import { type HelloHeader, MESSAGE } from "../wire/messages.ts";
import { DecodeError } from "../wire/value/decode-error.ts";
import type { Peer } from "./node-peers.ts";
import { faultOfHello, faultOfMessage } from "./process-messages.ts";

interface Admission {
  readonly nodeId: NodeId;
  /** Whether a process of this id is connected. */
  readonly isKnown: (process: string) => boolean;
  readonly onMessage: (peer: Peer, frame: Frame, header: unknown) => void;
  /** The connection is closing for good, and this is why. */
  readonly onRefused: (peer: Peer, fault: string) => void;
}

/** @returns undefined for a process that is refused */
export function admitProcess(
  connection: Connection,
  hello: HelloHeader,
  { nodeId, isKnown, onMessage, onRefused }: Admission,
): Peer | undefined {
  const fault = faultOfHello(nodeId, hello) ?? (isKnown(hello.processId) ? `process ${hello.processId} is connected already` : undefined);
  if (fault !== undefined) {
    refuse(connection, fault);
    return undefined;
  }
  const { processId, holderId, kind, pid, address, remoteAddress = "", jobId } = hello;
  const peer: Peer = { id: processId, holderId, kind, pid, address, remoteAddress, jobId, connection };
  connection.onFrame = (frame) => {
    const broken = receive(peer, frame, onMessage);
    if (broken === undefined) return;
    refuse(connection, broken);
    onRefused(peer, broken);
  };
  return peer;
}

/** @returns why the message ends the connection */
function receive(peer: Peer, frame: Frame, onMessage: Admission["onMessage"]): string | undefined {
  let header: unknown;
  try {
    header = frame.header.length === 0 ? undefined : decodeHeader(frame.header);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return `the header of ${nameOfMessage(frame.type)} cannot be read: ${error.message}`;
  }
  const fault = faultOfMessage(frame, header);
  if (fault !== undefined) return fault;
  try {
    onMessage(peer, frame, header);
    return undefined;
  } catch (error) {
    // A defect of the daemon, or a header that is well formed and makes no sense: either way the next one may not be answered.
    peer.connection.onDefect(asError(error));
    return `${nameOfMessage(frame.type)} could not be handled: ${messageOf(error)}`;
  }
}

function refuse(connection: Connection, reason: string): void {
  connection.onFrame = () => {};
  const takeBack = timeoutAfterIo(REFUSAL_READ_WITHIN_MS, () => connection.drop(reason));
  connection.onClose = takeBack;
  connection.send(MESSAGE.MESSAGE_REFUSED, reason);
  connection.close();
}
