/**
 * The hello: the first frame of every connection, in which the caller proves that it belongs to the session.
 *
 * Decides who may speak. A caller that sends anything else first, another protocol version, or a wrong token is answered with the reason and
 * dropped; one that sends nothing is dropped after a second. No frame of it reaches anybody before that.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";
import { AuthenticationError, VersionMismatchError } from "../base/errors.ts";
import { connect } from "../platform/endpoint.ts";
import { tokensEqual } from "../platform/random.ts";
import type { Transport } from "../platform/transport.ts";
import { decodeHeader } from "../wire/header.ts";
import { type HelloHeader, type HelloReply, MESSAGE, PROTOCOL_VERSION } from "../wire/messages.ts";
import { Connection } from "./connection.ts";

const HELLO_WITHIN_MS = 1000;
const WRONG_TOKEN = "the token is wrong";
const WRONG_VERSION = "the protocol version differs";

/** Calls `onPeer` once the caller is known; frames flow only from then on. */
export function acceptPeer(
  transport: Transport,
  options: { token: string; nodeId: NodeId; processId: ProcessId; onPeer: (connection: Connection, hello: HelloHeader) => void },
): void {
  const connection = new Connection(transport, { trusted: false });
  const timer = setTimeout(() => connection.drop("no hello came"), HELLO_WITHIN_MS);
  timer.unref();
  connection.onClose = () => clearTimeout(timer);
  connection.onFrame = (frame) => {
    clearTimeout(timer);
    const hello =
      frame.type === MESSAGE.HELLO && frame.header.length > 0 ? (decodeHeader(frame.header) as Partial<HelloHeader> | null) : null;
    const refusal = refusalOf(hello, options.token);
    if (refusal !== undefined) {
      connection.replyError(frame.callId, refusal);
      connection.close();
      connection.onFrame = () => {};
      return;
    }
    connection.trust();
    connection.onFrame = () => {};
    const reply: HelloReply = { nodeId: options.nodeId, processId: options.processId };
    connection.reply(frame.callId, reply);
    options.onPeer(connection, hello as HelloHeader);
  };
}

function refusalOf(hello: Partial<HelloHeader> | null, token: string): string | undefined {
  if (hello === null || typeof hello !== "object" || typeof hello.token !== "string" || typeof hello.processId !== "string")
    return "the first message is not a hello";
  if (hello.version !== PROTOCOL_VERSION)
    return `${WRONG_VERSION}: this process speaks ${PROTOCOL_VERSION}, the caller ${String(hello.version)}`;
  return tokensEqual(hello.token, token) ? undefined : WRONG_TOKEN;
}

/**
 * @throws AuthenticationError when the token is refused
 * @throws VersionMismatchError when the other side runs another version
 */
export async function connectPeer(address: string, hello: HelloHeader): Promise<{ connection: Connection; reply: HelloReply }> {
  const connection = new Connection(await connect(address), { trusted: true });
  try {
    const reply = await connection.request(MESSAGE.HELLO, hello);
    return { connection, reply: reply.header as HelloReply };
  } catch (error) {
    const reason = (error as Error).message;
    connection.drop(reason);
    if (reason === WRONG_TOKEN) {
      throw new AuthenticationError(`Cannot connect to ${address}: ${reason}`, {
        reason,
        hint: "Use the token of the session that the address belongs to.",
      });
    }
    if (reason.startsWith(WRONG_VERSION)) {
      throw new VersionMismatchError(`Cannot connect to ${address}: ${reason}`, {
        reason,
        hint: "Install the same version of shoal on both sides.",
      });
    }
    throw error;
  }
}
