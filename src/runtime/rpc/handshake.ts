/**
 * Begins every connection: both ends prove that they know the session's token, the listener first, and then the caller identifies itself.
 *
 * The caller sends a random number, and the listener answers with another and its proof. Only then come the caller's proof and its hello,
 * so that a process which merely took over the address of an ended one learns nothing useful (`proof.ts`). A caller that sends anything
 * else, another protocol version, or a wrong proof is dropped, as is a silent one. No frame reaches a handler before that.
 */
import { asError, messageOf } from "../base/texts/describe.ts";
import { timeoutAfterIo } from "../base/time/timeout-after-io.ts";
import { type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../base/ids.ts";
import { AuthenticationError } from "../base/errors.ts";
import { DeferredTransport } from "../os/network/deferred-transport.ts";
import { isNetworkAddress } from "../os/network/network-address.ts";
import { connect } from "../os/network/endpoint.ts";
import type { ConnectOptions } from "../os/network/tcp-transport.ts";
import type { Transport } from "../os/network/transport.ts";
import type { Frame } from "../wire/frame.ts";
import { headerOf } from "../wire/header.ts";
import { hello as helloShape, type HelloHeader, linkHello, type LinkHelloHeader, MESSAGE, PROTOCOL_VERSION } from "../wire/messages.ts";
import { named, opened, type OpenHeader, opening, type OpenReply, versioned } from "../wire/cluster/open-messages.ts";
import { WireError, wrongVersion } from "../wire/wire-error.ts";
import { Connection, ConnectionClosedError } from "./connection.ts";
import { HELLO_WITHIN_MS, OPEN_WITHIN_MS, REFUSAL_READ_WITHIN_MS } from "./limits.ts";
import { isNonce, isProof, newNonce, proofOf, type Transcript } from "./proof.ts";
import { deadNode, errorOfRefusal, errorOfUnproven, notProven, sendRefusal, wrongNode } from "./refusals.ts";

const noHello = (): WireError => new WireError("malformed", "the first message is not a hello");

interface AcceptOptions {
  token: string;
  nodeId: NodeId;
  processId: ProcessId;
  /** Whether a node was declared dead: its processes are not spoken to any more. */
  isDead?: (node: NodeTag) => boolean;
  /** Reason to admit nobody; sent to members of the cluster only. */
  refusal?: () => WireError;
  onPeer: (connection: Connection, hello: HelloHeader) => void;
  /** A connection of a node link, to be given to `NodeLink.accept`; refused where there are no links. */
  onLink?: (transport: Transport, hello: LinkHelloHeader) => void;
}

/** Calls `onPeer` or `onLink` once the caller is known; frames flow only from then on. */
export function acceptPeer(transport: Transport, options: AcceptOptions): void {
  const { token, nodeId, processId } = options;
  const { certifiedNodeId } = transport;
  const connection = new Connection(transport, { trusted: false });
  let stop = timeoutAfterIo(OPEN_WITHIN_MS, () => connection.drop("no hello came"));
  connection.onClose = () => stop();
  const refuse = (frame: Frame, refusal: WireError): void => {
    connection.onFrame = () => {};
    sendRefusal(connection, frame, refusal);
    connection.close();
    stop();
    stop = timeoutAfterIo(REFUSAL_READ_WITHIN_MS, () => connection.drop(refusal.message));
  };
  connection.onFrame = (first) => {
    const caller = openingIn(first);
    if (caller instanceof WireError) return refuse(first, caller);
    const listenerNonce = newNonce();
    const known = { channel: transport.channel, callerNonce: caller.nonce, callerId: caller.processId };
    const transcript: Transcript = { ...known, listenerNonce, listenerNodeId: nodeId, listenerId: processId };
    stop();
    transport.begun?.();
    stop = timeoutAfterIo(HELLO_WITHIN_MS, () => connection.drop("no hello came"));
    connection.onFrame = (proof) => {
      const isProven = proof.type === MESSAGE.PROOF && isProof(headerOf(proof), proofOf(token, "caller", transcript));
      // No honest caller comes this far without the token: the listener's proof has shown that both are of one session.
      if (!isProven) return connection.drop("the caller has not proven that it knows the token");
      connection.onFrame = (frame) => {
        const isLink = frame.type === MESSAGE.LINK_HELLO && options.onLink !== undefined;
        const said = isLink || frame.type === MESSAGE.HELLO ? headerOf(frame) : undefined;
        const where = { options, certifiedNodeId, provenId: caller.processId };
        const refusal = callerRefusal(said, where) ?? (isLink ? linkRefusal(said, where) : undefined);
        if (refusal !== undefined) return refuse(frame, refusal);
        if (isLink && linkHello(said)) {
          stop();
          options.onLink?.(transport, said);
          return;
        }
        if (!helloShape(said)) return refuse(frame, noHello());
        if (nodeTagOf(said.holderId) !== nodeTagOf(said.processId))
          return refuse(frame, wrongNode(`process ${said.processId} counts under ${said.holderId}`));
        stop();
        connection.onFrame = () => {};
        connection.trust();
        connection.reply(frame.callId, undefined);
        options.onPeer(connection, said);
      };
    };
    const reply: OpenReply = { nodeId, processId, nonce: listenerNonce, proof: proofOf(token, "listener", transcript) };
    connection.reply(first.callId, reply);
  };
}

/** @returns the fault of an invalid opening */
function openingIn(frame: Frame): OpenHeader | WireError {
  // With version 1 a link begins with its hello.
  if (frame.type !== MESSAGE.OPEN && frame.type !== MESSAGE.LINK_HELLO) return noHello();
  const said = headerOf(frame);
  if (!versioned(said) || typeof said.version !== "number") return noHello();
  if (said.version !== PROTOCOL_VERSION) return wrongVersion({ caller: said.version });
  return frame.type === MESSAGE.OPEN && opening(said) && isNonce(said.nonce) ? said : noHello();
}

interface Greeted {
  options: AcceptOptions;
  certifiedNodeId: NodeId | undefined;
  provenId: ProcessId;
}

function callerRefusal(said: unknown, { options, certifiedNodeId, provenId }: Greeted): WireError | undefined {
  if (!named(said) || said.processId !== provenId) return noHello();
  if (options.refusal !== undefined) return options.refusal();
  if (certifiedNodeId !== undefined && nodeTagOf(provenId) !== nodeTagOf(certifiedNodeId))
    return wrongNode(`process ${provenId} came with the certificate of node ${certifiedNodeId}`);
  return options.isDead?.(nodeTagOf(provenId)) === true ? deadNode(`the node of process ${provenId}`) : undefined;
}

function linkRefusal(said: unknown, { options, certifiedNodeId, provenId }: Greeted): WireError | undefined {
  if (!linkHello(said)) return new WireError("malformed", "the first message is not the hello of a node link");
  const { nodeId, to } = said;
  if (nodeTagOf(nodeId) !== nodeTagOf(provenId)) return wrongNode(`process ${provenId} is not of node ${nodeId}`);
  if (certifiedNodeId !== undefined && nodeId !== certifiedNodeId) return wrongNode(`it is that of ${certifiedNodeId}, not of ${nodeId}`);
  if (to === undefined || to === options.nodeId) return undefined;
  return new WireError("failed", `this is node ${options.nodeId}, not ${to}`);
}

/** Identity of a caller, before its proof. */
export interface CallerProof {
  /** The session's. */
  token: string;
  /** The caller. */
  processId: ProcessId;
  /** Expected listener, if known. */
  wanted?: ProcessId | undefined;
  /** Action in error messages: "connect to ...". */
  action: string;
  /** Default: 30,000; 0 waits for ever. */
  timeoutMs?: number | undefined;
}

/** Identity of the listener. */
export type ProvenListener = Pick<OpenReply, "nodeId" | "processId">;

/**
 * Begins a connection as the caller: lets the listener prove that it knows the session's token, then proves the same. Only a random number
 * and the caller's id are sent before. The first message over the transport afterwards is a hello.
 *
 * @throws AuthenticationError when the listener does not prove it, or the certificate of either side is refused
 * @throws VersionMismatchError when the other side runs another version
 * @throws ConnectionClosedError when a process other than the wanted one has the address now, or nobody answers
 */
export async function proveTo(transport: Transport, caller: CallerProof): Promise<ProvenListener> {
  const connection = new Connection(transport, { trusted: false });
  const listener = await proveOver(connection, transport, caller);
  // Before all that others write to the transport.
  connection.flush();
  return listener;
}

/** Proves over a connection that stays in use: the proof goes out with the next frames. */
async function proveOver(connection: Connection, transport: Transport, caller: CallerProof): Promise<ProvenListener> {
  const { token, processId, wanted, action, timeoutMs } = caller;
  try {
    const callerNonce = newNonce();
    const first: OpenHeader = { version: PROTOCOL_VERSION, token: "", processId, nonce: callerNonce };
    const { header } = await connection.request(MESSAGE.OPEN, first, timeoutMs === undefined ? {} : { timeoutMs }).catch((error: Error) => {
      throw error instanceof ConnectionClosedError ? error : errorOfUnproven(action, error);
    });
    const listener = listenerIn(header);
    if (listener === undefined) throw notProven(action);
    const { channel, certifiedNodeId } = transport;
    const known = { channel, callerNonce, callerId: processId };
    const transcript: Transcript = {
      ...known,
      listenerNonce: listener.nonce,
      listenerNodeId: listener.nodeId,
      listenerId: listener.processId,
    };
    if (!isProof(listener.proof, proofOf(token, "listener", transcript))) throw notProven(action);
    if (certifiedNodeId !== undefined && certifiedNodeId !== listener.nodeId) throw notProven(action);
    if (wanted !== undefined && listener.processId !== wanted)
      throw new ConnectionClosedError(`process ${listener.processId} has the address of ${wanted} now`);
    connection.send(MESSAGE.PROOF, proofOf(token, "caller", transcript));
    return { nodeId: listener.nodeId, processId: listener.processId };
  } catch (error) {
    connection.drop(messageOf(error));
    throw error;
  }
}

function listenerIn(header: unknown): OpenReply | undefined {
  return opened(header) && isNonce(header.nonce) && nodeTagOf(header.nodeId) === nodeTagOf(header.processId) ? header : undefined;
}

/** Wraps a transport that may be written to at once: frames leave when both ends have proven themselves. */
export function proven(transport: Transport, caller: CallerProof): Transport {
  const deferred = new DeferredTransport(() => {});
  proveTo(transport, caller).then(
    () => deferred.connected(transport),
    (error: unknown) => deferred.failed(messageOf(error)),
  );
  return deferred;
}

/** Connects to a daemon and waits without a limit. The first message afterwards is a hello. @throws as `proveTo` */
export async function connectProven(address: string, caller: Pick<CallerProof, "token" | "processId">): Promise<Transport> {
  const transport = await connect(address);
  await proveTo(transport, { ...caller, action: `connect to ${address}`, timeoutMs: 0 });
  return transport;
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
    /** The session's. */
    token: string;
    /** Process that has to answer. With TLS, the certificate has to be its node's. */
    processId?: ProcessId | undefined;
  },
): Promise<{ connection: Connection; listener: ProvenListener }> {
  const { token, processId: wanted, ...rest } = options;
  const to: ConnectOptions = wanted === undefined ? rest : { nodeTag: nodeTagOf(wanted), ...rest };
  const transport = await connect(address, to);
  const action = `connect to ${address}`;
  const connection = new Connection(transport, { trusted: false });
  try {
    const listener = await proveOver(connection, transport, { token, processId: hello.processId, wanted, action });
    connection.trust();
    await connection.request(MESSAGE.HELLO, hello);
    return { connection, listener };
  } catch (error) {
    connection.drop(messageOf(error));
    throw errorOfRefusal(action, error) ?? closedAtOnce(address, asError(error)) ?? error;
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
