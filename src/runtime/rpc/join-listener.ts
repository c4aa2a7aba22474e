/**
 * Serves TLS callers without a certificate of the cluster. They may ask to join, once and soon; all others are told the reason of the
 * refusal.
 *
 * Reads one frame of at most 4 KB and gives one answer. Then the connection ends, whether or not the caller reads it.
 */
import { timeoutAfterIo } from "../base/time/timeout-after-io.ts";
import type { Transport } from "../os/network/transport.ts";
import { decodeHeader } from "../wire/header.ts";
import { type JoinHeader, joining, type JoinReply, MESSAGE, PROTOCOL_VERSION } from "../wire/messages.ts";
import { versioned } from "../wire/cluster/open-messages.ts";
import { WireError, wrongVersion } from "../wire/wire-error.ts";
import { Connection } from "./connection.ts";
import { OPEN_WITHIN_MS } from "./limits.ts";
import { noCertificate, refusedCertificate, sendRefusal } from "./refusals.ts";

/** How long a caller has to read the answer. */
const ANSWER_READ_WITHIN_MS = 5000;

interface JoinListenerOptions {
  /** Fault of the presented certificate; undefined if there was none. */
  problem?: string | undefined;
  /** Admits a node, or throws the error to answer with. Only the head has it. */
  onJoin?: (request: JoinHeader, from: string) => JoinReply | Promise<JoinReply>;
}

export function listenForJoin(transport: Transport, options: JoinListenerOptions): void {
  const connection = new Connection(transport, { trusted: false });
  let stop = timeoutAfterIo(OPEN_WITHIN_MS, () => connection.drop("no request came"));
  connection.onClose = () => stop();
  connection.onFrame = (frame) => {
    connection.onFrame = () => {};
    stop();
    stop = timeoutAfterIo(ANSWER_READ_WITHIN_MS, () => connection.drop("the answer was not read"));
    const { callId, type } = frame;
    const refuse = (error: Error): void => {
      sendRefusal(connection, frame, error);
      connection.close();
    };
    if (type !== MESSAGE.JOIN || options.onJoin === undefined || frame.header.length === 0) {
      refuse(options.problem === undefined ? noCertificate() : refusedCertificate(options.problem));
      return;
    }
    const header = decodeHeader(frame.header);
    if (!versioned(header) || header.version !== PROTOCOL_VERSION)
      return refuse(wrongVersion({ caller: versioned(header) ? header.version : undefined }));
    if (!joining(header)) return refuse(new WireError("malformed", "the request to join is malformed"));
    const { onJoin } = options;
    const join = async (): Promise<JoinReply> => onJoin(header, transport.remoteAddress ?? "");
    join().then((reply) => {
      connection.reply(callId, reply);
      connection.close();
    }, refuse);
  };
}
