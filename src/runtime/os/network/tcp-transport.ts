/**
 * Byte streams between machines: TCP, and TLS 1.3 wherever the other end may be on another machine.
 *
 * Both ends pick plain TCP or TLS by the same rule: plain only on the loopback network, and only unless the identity forbids it. One port
 * takes both, told apart by the first bytes. With TLS both ends show a certificate of the cluster's authority. A caller without a valid one
 * reaches `onUnauthenticated`, if set, and nothing else. A caller that does not finish its handshake is dropped; if too many have not
 * identified themselves, the oldest are (`unfinished-connections.ts`).
 */
import net from "node:net";
import type tls from "node:tls";
import { type NodeId, type NodeTag, nodeTagOf } from "../../base/ids.ts";
import { AuthenticationError } from "../../base/errors.ts";
import { CONNECT_WITHIN_MS, HANDSHAKE_WITHIN_MS, UNFINISHED_AT_PORT_MAX } from "../limits.ts";
import { formatNetworkAddress, isLoopbackHost, parseNetworkAddress } from "./network-address.ts";
import { certifiedName, HEAD_NAME, nodeName, type TlsIdentity, tlsIdentity, watchTlsIdentity } from "./tls-identity.ts";
import { networkFaults } from "./network-faults.ts";
import { type Listener, readInto, SocketTransport, type Transport } from "./transport.ts";
import { type UnfinishedConnection, UnfinishedConnections } from "./unfinished-connections.ts";

const KEEP_ALIVE_MS = 10_000;
/** Callers that the system lets wait while this process is busy: without it a caller tries again after a second, and after three. */
const BACKLOG = 4096;
/** Three bytes begin every TLS connection; a frame that began with them would be longer than a hello may be. */
const FIRST_BYTES = 3;
const TLS_HANDSHAKE = 0x16;
const TLS_MAJOR_VERSION = 3;
const TLS_CHANNEL = "tls";

export interface ConnectOptions {
  /** Node that must answer, by its certificate; without TLS, the hello names it. */
  nodeId?: NodeId | undefined;
  /** The same, where only the half of the id is known that the ids of the node's processes begin with. */
  nodeTag?: NodeTag | undefined;
  /** Only the head may answer. */
  isHead?: boolean;
  /** Reads large objects: as many bytes at once as there are, up to a megabyte. */
  isBulk?: boolean;
  /** By default that of the process. */
  identity?: TlsIdentity | undefined;
  /** For a process without a certificate: uses TLS, even on loopback, trusts this authority (PEM) and presents nothing. */
  authority?: string;
}

export interface ListenOptions {
  identity?: TlsIdentity | undefined;
  /** Gets TLS connections without a certificate of the cluster; `problem` describes the fault of a presented one. */
  onUnauthenticated?: (transport: Transport, problem: string | undefined) => void;
}

export function connectTcp(address: string, options: ConnectOptions = {}): Promise<Transport> {
  const { host, port } = parseNetworkAddress(address);
  const identity = options.identity ?? tlsIdentity();
  const isTls = options.authority !== undefined || (identity !== undefined && (identity.alsoOnLoopback === true || !isLoopbackHost(host)));
  if (!isTls && !isLoopbackHost(host)) {
    return Promise.reject(
      new AuthenticationError(`Cannot connect to ${address}: it is on another machine and this process has no certificate`, {
        reason: "no certificate",
        hint: "Join the cluster with its join token; between processes of one machine, use a loopback address such as tcp://127.0.0.1:6379.",
      }),
    );
  }
  const faults = networkFaults();
  const localAddress = faults?.localAddressFor(host);
  return new Promise((resolve, reject) => {
    if (faults?.isConnected(host) === false) {
      faults.afterCut(host, CONNECT_WITHIN_MS).then(() => resolve(connectTcp(address, options)), reject);
      return;
    }
    let transport: SocketTransport | undefined;
    const onread = readInto(() => transport, options);
    let wrongName: AuthenticationError | undefined;
    const shown = options.authority === undefined ? identity : { ca: options.authority };
    const secure: tls.ConnectionOptions & { onread: net.OnReadOpts; localAddress: string | undefined } = {
      host,
      port,
      localAddress,
      onread,
      ...shown,
      minVersion: "TLSv1.3",
      servername: options.nodeId === undefined ? HEAD_NAME : nodeName(options.nodeId),
      checkServerIdentity: (_, certificate) => {
        wrongName = refusalOfName(address, certificate.subjectaltname, options);
        return wrongName;
      },
    };
    const socket = isTls ? process.getBuiltinModule("node:tls").connect(secure) : net.connect({ host, port, localAddress, onread });
    const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${CONNECT_WITHIN_MS} ms`)), CONNECT_WITHIN_MS);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(wrongName ?? (isTls ? explained(address, error) : error));
    };
    const onClose = (): void => fail(new Error("the connection was closed"));
    socket.once("error", fail);
    socket.once("close", onClose);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      socket.off("close", onClose);
      tune(socket);
      transport = isTls
        ? new SocketTransport(socket, { channel: TLS_CHANNEL, certifiedNodeId: nodeOf(socket as tls.TLSSocket) })
        : new SocketTransport(socket, { channel: plainChannel(localEnd(socket), remoteEnd(socket)) });
      resolve(faults?.cuttable(socket, transport) ?? transport);
    });
  });
}

/** Resolves with the address that it really listens at: the port is known, the host is as given. */
export function listenTcp(address: string, onTransport: (transport: Transport) => void, options: ListenOptions = {}): Promise<Listener> {
  const { host, port } = parseNetworkAddress(address);
  const callers = new TcpCallers(onTransport, options);
  const server = net.createServer((socket) => callers.came(socket));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", reject);
      // No file descriptor for a caller, for one: the next may have more luck.
      server.on("error", () => {});
      resolve({
        path: formatNetworkAddress({ host, port: (server.address() as net.AddressInfo).port }),
        setKeepsProcessAlive: (keeps) => {
          if (keeps) server.ref();
          else server.unref();
        },
        close: () => {
          server.close();
          callers.close();
        },
      });
    });
  });
}

/** Callers of a listener before they become transports: told apart by the first bytes, TLS and certificate, and dropped if they stall. */
class TcpCallers {
  readonly #onTransport: (transport: Transport) => void;
  readonly #options: ListenOptions;
  readonly #all = new UnfinishedConnections({ atOnceMax: UNFINISHED_AT_PORT_MAX });
  /** By the other end's address: TLS replaces the accepted socket by another. */
  readonly #unfinished = new Map<string, UnfinishedConnection>();
  readonly #unwatch: () => void;
  #identity: TlsIdentity | undefined;
  /** Undefined until the first caller that speaks TLS, where there was no certificate at first. */
  #secureServer: tls.Server | undefined;

  constructor(onTransport: (transport: Transport) => void, options: ListenOptions) {
    this.#onTransport = onTransport;
    this.#options = options;
    this.#identity = options.identity ?? tlsIdentity();
    // A certificate that cannot be used is refused here, not at the first caller.
    if (this.#identity !== undefined) this.#secureServer = this.#startSecure();
    this.#unwatch = watchTlsIdentity((later) => {
      if (options.identity !== undefined) return;
      this.#identity = later;
      this.#secureServer?.setSecureContext(contextOf(later));
    });
  }

  came(socket: net.Socket): void {
    const faults = networkFaults();
    const peer = socket.remoteAddress ?? "";
    if (faults?.isConnected(peer) === false) {
      // The connection was on its way when the network was cut: nobody answers it.
      socket.on("error", () => {});
      socket.pause();
      const give = (): void => void socket.destroy();
      faults.afterCut(peer, CONNECT_WITHIN_MS).then(give, give);
      return;
    }
    const key = keyOf(socket);
    tune(socket);
    const entry = this.#all.begin(() => socket.destroy());
    this.#unfinished.set(key, entry);
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_WITHIN_MS);
    timer.unref();
    const onReadable = (): void => {
      const first = socket.read(FIRST_BYTES) as Buffer | null;
      if (first === null) return;
      clearTimeout(timer);
      socket.off("readable", onReadable);
      this.#begin(socket, first);
    };
    socket.on("readable", onReadable);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clearTimeout(timer);
      entry.finish();
      if (this.#unfinished.get(key) === entry) this.#unfinished.delete(key);
    });
  }

  close(): void {
    this.#unwatch();
    this.#all.close();
  }

  #begin(socket: net.Socket, first: Buffer): void {
    socket.unshift(first);
    if (first[0] === TLS_HANDSHAKE && first[1] === TLS_MAJOR_VERSION && this.#identity !== undefined) {
      this.#secureServer ??= this.#startSecure();
      this.#secureServer.emit("connection", socket);
    } else if (isLoopbackHost(socket.remoteAddress ?? "") && this.#identity?.alsoOnLoopback !== true)
      this.#onTransport(transportOf(socket, { unfinished: this.#unfinished.get(keyOf(socket)) }));
    else socket.destroy();
  }

  #startSecure(): tls.Server {
    const server = process.getBuiltinModule("node:tls").createServer({
      ...contextOf(this.#identity),
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_WITHIN_MS,
    });
    server.on("tlsClientError", (_, socket) => socket.destroy());
    server.on("secureConnection", (socket) => this.#secured(socket));
    return server;
  }

  #secured(socket: tls.TLSSocket): void {
    const { onUnauthenticated } = this.#options;
    const unfinished = this.#unfinished.get(keyOf(socket));
    if (unfinished !== undefined) unfinished.drop = () => socket.destroy();
    const certifiedNodeId = socket.authorized ? nodeOf(socket) : undefined;
    if (certifiedNodeId !== undefined) this.#onTransport(transportOf(socket, { certifiedNodeId, unfinished }));
    else if (onUnauthenticated === undefined) socket.destroy();
    else onUnauthenticated(new SocketTransport(socket, { channel: TLS_CHANNEL, unfinished }), problemOf(socket));
  }
}

function contextOf(identity: TlsIdentity | undefined): tls.SecureContextOptions {
  // Sends the authority, too: a node that has only its hash, from a join token, finds it there.
  return identity === undefined
    ? {}
    : { ca: identity.ca, cert: `${identity.cert.trimEnd()}\n${identity.ca}`, key: identity.key, minVersion: "TLSv1.3" };
}

function transportOf(
  socket: net.Socket,
  { certifiedNodeId, unfinished }: { certifiedNodeId?: NodeId; unfinished: UnfinishedConnection | undefined },
): Transport {
  const channel = certifiedNodeId === undefined ? plainChannel(remoteEnd(socket), localEnd(socket)) : TLS_CHANNEL;
  const transport = new SocketTransport(socket, { channel, certifiedNodeId, unfinished });
  return networkFaults()?.cuttable(socket, transport) ?? transport;
}

/**
 * Names both ends' addresses: no other connection of the machine has them while this one is open. A process that relays its bytes does so
 * over another channel, even at the listener's own port.
 */
function plainChannel(caller: string, listener: string): string {
  return `tcp ${caller} ${listener}`;
}

function localEnd({ localAddress, localPort }: net.Socket): string {
  return `${plainAddress(localAddress)} ${localPort}`;
}

function remoteEnd({ remoteAddress, remotePort }: net.Socket): string {
  return `${plainAddress(remoteAddress)} ${remotePort}`;
}

/** A listener for IPv6 and IPv4 sees IPv4 addresses in another form. */
function plainAddress(address: string | undefined): string {
  return (address ?? "").replace(/^::ffff:(?=\d+\.)/i, "");
}

function keyOf(socket: net.Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

function tune(socket: net.Socket): void {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
}

function nodeOf(socket: tls.TLSSocket): NodeId | undefined {
  return certifiedName(socket.getPeerCertificate().subjectaltname).nodeId;
}

/** Describes the fault of the certificate that a caller presented; undefined if there was none. */
function problemOf(socket: tls.TLSSocket): string | undefined {
  const certificate = socket.getPeerCertificate();
  if (Object.keys(certificate).length === 0) return undefined;
  if (socket.authorized) return "it names no node";
  return whyRefused(String(socket.authorizationError), certificate);
}

function whyRefused(code: string, certificate?: tls.PeerCertificate): string {
  if (code === "CERT_HAS_EXPIRED") return `it has expired${certificate === undefined ? "" : ` on ${certificate.valid_to}`}`;
  if (code === "CERT_NOT_YET_VALID") return "it is not yet valid; do the clocks of the machines agree?";
  if (/^(UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|CERT_SIGNATURE|CERT_UNTRUSTED)/.test(code)) return "it was not made by this cluster's authority";
  return code;
}

function refusalOfName(address: string, subjectAltName: string | undefined, options: ConnectOptions): AuthenticationError | undefined {
  const name = certifiedName(subjectAltName);
  const { nodeId, nodeTag, isHead } = options;
  const isNode = nodeId === undefined || name.nodeId === nodeId;
  const isTag = nodeTag === undefined || (name.nodeId !== undefined && nodeTagOf(name.nodeId) === nodeTag);
  if (isNode && isTag && (isHead !== true || name.isHead) && name.nodeId !== undefined) return undefined;
  const known = nodeId ?? nodeTag;
  const wanted = isHead === true ? "the head" : known === undefined ? "a node" : `node ${known}`;
  const found =
    name.nodeId === undefined ? "of no node" : `of node ${name.nodeId}${options.isHead === true ? ", which is not the head" : ""}`;
  return new AuthenticationError(`Cannot connect to ${address}: its certificate is ${found}, and ${wanted} should answer there`, {
    reason: "the certificate is another's",
    hint: "Does another node have this address now? Connect to the address that the cluster tells.",
  });
}

/** A failure of TLS in the words of a cluster; any other as it is. */
export function explained(address: string, error: NodeJS.ErrnoException): Error {
  const code = error.code ?? "";
  if (/^(CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/.test(code)) {
    return new AuthenticationError(`Cannot connect to ${address}: its certificate is refused: ${whyRefused(code)}`, {
      reason: code,
      hint: "Use the join token of the cluster that the address belongs to; a node whose certificate has run out joins again.",
      cause: error,
    });
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH|ECONNRESET|EPROTO|UNSUPPORTED_PROTOCOL/.test(code) || code === "") {
    return new AuthenticationError(`Cannot connect to ${address}: nobody there speaks TLS: ${error.message}`, {
      reason: "no TLS",
      hint: "Check the port; a head that is to be reached from other machines listens at an address of the network, not of loopback.",
      cause: error,
    });
  }
  return error;
}
