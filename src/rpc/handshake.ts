/**
 * The hello: the first frame of every connection, in which the caller proves that it belongs to the session.
 *
 * Decides who may speak. A caller that sends anything else first, another protocol version, or a wrong token is answered with the reason and
 * dropped; one that sends nothing is dropped after a second. No frame of it reaches anybody before that.
 */
import { type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../base/ids.ts";
import { AuthenticationError } from "../base/errors.ts";
import { isNetworkAddress } from "../platform/network/network-address.ts";
import { connect } from "../platform/network/endpoint.ts";
import { tokensEqual } from "../platform/random.ts";
import type { ConnectOptions } from "../platform/network/tcp-transport.ts";
import type { Transport } from "../platform/network/transport.ts";
import { decodeHeader } from "../wire/header.ts";
import { type HelloHeader, type HelloReply, type LinkHelloHeader, MESSAGE, PROTOCOL_VERSION } from "../wire/messages.ts";
import { Connection, ConnectionClosedError } from "./connection.ts";
import { DEAD_NODE, errorOfRefusal, WRONG_NODE, WRONG_TOKEN, wrongVersion } from "./refusals.ts";

/** A program that has just started says hello when it gets a processor: on a machine with much to do that took three seconds. */
const HELLO_WITHIN_MS = 5_000;
/** How long who was refused has to read why. */
const REFUSAL_READ_WITHIN_MS = 1000;

export interface AcceptOptions {
  token: string;
  nodeId: NodeId;
  processId: ProcessId;
  /** Whether a node was declared dead: its processes are not spoken to any more. */
  isDead?: (node: NodeTag) => boolean;
  /** Why nobody is let in, whoever it is; told to members of the cluster only. */
  refusal?: () => string;
  onPeer: (connection: Connection, hello: HelloHeader) => void;
  /** A connection of a node link, to be given to `NodeLink.accept`; refused where there are no links. */
  onLink?: (transport: Transport, hello: LinkHelloHeader) => void;
}

/** Calls `onPeer` or `onLink` once the caller is known; frames flow only from then on. */
export function acceptPeer(transport: Transport, options: AcceptOptions): void {
  const connection = new Connection(transport, { trusted: false });
  // A process that was busy for so long has not read what has long come: it reads before it judges.
  let timer: NodeJS.Timeout | NodeJS.Immediate = setTimeout(() => {
    timer = setImmediate(() => {
      if (!hasSpoken) connection.drop("no hello came");
    });
  }, HELLO_WITHIN_MS);
  timer.unref();
  let hasSpoken = false;
  const stop = (): void => {
    hasSpoken = true;
    clearTimeout(timer as NodeJS.Timeout);
  };
  connection.onClose = stop;
  connection.onFrame = (frame) => {
    stop();
    connection.onFrame = () => {};
    const isLink = frame.type === MESSAGE.LINK_HELLO && options.onLink !== undefined;
    const hello = (isLink || frame.type === MESSAGE.HELLO) && frame.header.length > 0 ? decodeHeader(frame.header) : null;
    const refusal = refusalOf(hello as Partial<AnyHello> | null, { isLink, options, certifiedNodeId: transport.certifiedNodeId });
    if (refusal !== undefined) {
      if (isLink) connection.refuseLink(refusal);
      else connection.replyError(frame.callId, refusal);
      connection.close();
      timer = setTimeout(() => connection.drop(refusal), REFUSAL_READ_WITHIN_MS);
      timer.unref();
      return;
    }
    if (isLink) {
      options.onLink?.(transport, hello as LinkHelloHeader);
      return;
    }
    connection.trust();
    const reply: HelloReply = { nodeId: options.nodeId, processId: options.processId };
    connection.reply(frame.callId, reply);
    options.onPeer(connection, hello as HelloHeader);
  };
}

type AnyHello = HelloHeader & LinkHelloHeader;

function refusalOf(
  hello: Partial<AnyHello> | null,
  where: { isLink: boolean; options: AcceptOptions; certifiedNodeId: NodeId | undefined },
): string | undefined {
  const { isLink, options, certifiedNodeId } = where;
  if (hello === null || typeof hello !== "object" || typeof hello.token !== "string" || typeof hello.processId !== "string")
    return "the first message is not a hello";
  if (hello.version !== PROTOCOL_VERSION) return wrongVersion(hello.version);
  if (!tokensEqual(hello.token, options.token)) return WRONG_TOKEN;
  if (options.refusal !== undefined) return options.refusal();
  if (certifiedNodeId !== undefined && nodeTagOf(hello.processId) !== nodeTagOf(certifiedNodeId))
    return `${WRONG_NODE}: process ${hello.processId} came with the certificate of node ${certifiedNodeId}`;
  if (options.isDead?.(nodeTagOf(hello.processId)) === true) return `${DEAD_NODE}: the node of process ${hello.processId}`;
  if (!isLink) {
    const isOwn = typeof hello.holderId === "string" && nodeTagOf(hello.holderId) === nodeTagOf(hello.processId);
    return isOwn ? undefined : `${WRONG_NODE}: process ${hello.processId} counts under ${String(hello.holderId)}`;
  }
  const { nodeId, to, incarnation, delivered, oldest } = hello;
  if (typeof nodeId !== "string" || typeof incarnation !== "string" || !Number.isSafeInteger(delivered) || !Number.isSafeInteger(oldest))
    return "the first message is not the hello of a node link";
  if (nodeTagOf(nodeId) !== nodeTagOf(hello.processId)) return `${WRONG_NODE}: process ${hello.processId} is not of node ${nodeId}`;
  if (certifiedNodeId !== undefined && nodeId !== certifiedNodeId)
    return `${WRONG_NODE}: it is that of ${certifiedNodeId}, not of ${nodeId}`;
  return to === undefined || to === options.nodeId ? undefined : `this is node ${options.nodeId}, not ${String(to)}`;
}

/**
 * @throws AuthenticationError when the token or the certificate of either side is refused
 * @throws VersionMismatchError when the other side runs another version
 * @throws ConnectionClosedError when another process than the one that is wanted has the address now
 */
export async function connectPeer(
  address: string,
  hello: HelloHeader,
  options: ConnectOptions & {
    /** Who is to answer: the certificate, where there are any, is that of its node. */
    processId?: ProcessId;
  } = {},
): Promise<{ connection: Connection; reply: HelloReply }> {
  const { processId, ...rest } = options;
  const to: ConnectOptions = processId === undefined ? rest : { nodeTag: nodeTagOf(processId), ...rest };
  const connection = new Connection(await connect(address, to), { trusted: true });
  try {
    const reply = (await connection.request(MESSAGE.HELLO, hello)).header as HelloReply;
    if (processId !== undefined && reply.processId !== processId)
      throw new ConnectionClosedError(`process ${String(reply.processId)} has the address of ${processId} now`);
    return { connection, reply };
  } catch (error) {
    const reason = (error as Error).message;
    connection.drop(reason);
    throw errorOfRefusal(`connect to ${address}`, reason) ?? closedAtOnce(address, error as Error) ?? error;
  }
}

/** An end that speaks TLS only, or nothing of this kind, closes without a word. */
function closedAtOnce(address: string, error: Error): AuthenticationError | undefined {
  if (!isNetworkAddress(address) || !(error instanceof ConnectionClosedError)) return undefined;
  return new AuthenticationError(`Cannot connect to ${address}: the other end closed before it had answered: ${error.message}`, {
    reason: "no answer to the hello",
    hint: "Check that a process of the cluster listens there. If it takes TLS only, this process needs a certificate: join the cluster with its join token.",
    cause: error,
  });
}
