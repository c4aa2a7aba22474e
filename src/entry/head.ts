/**
 * The process of a cluster's head: the tables of all nodes behind one address.
 *
 * Connects the head with its links (`runtime/head/nodes/head-server.ts`), its security (`runtime/head/joining/head-security.ts`) and its listener. The process
 * runs no user code and starts no worker; its machine becomes a node by a separate daemon.
 */
import { messageOf } from "../runtime/base/texts/describe.ts";
import { type NodeId, newProcessId } from "../runtime/base/ids.ts";
import { type SecretsPlace, secretsInFolder, secretsInMemory, secretsInStore } from "../runtime/head/joining/cluster-secrets.ts";
import { loadExtensions } from "../runtime/extension/load-extensions.ts";
import { HeadHistory } from "../runtime/head/head-history.ts";
import { HeadSecurity } from "../runtime/head/joining/head-security.ts";
import { refuseOtherHead } from "../runtime/head/leadership/head-peers.ts";
import { HeadLifecycle } from "../runtime/head/leadership/head-lifecycle.ts";
import { headPlace, type NatsOfHead } from "../runtime/nats/head-place.ts";
import { diskProblem } from "../runtime/nats/server/nats-folder.ts";
import { type ControlPlanePlace, openControlPlane } from "../runtime/nats/open-control-plane.ts";
import { CertificateRenewal } from "../runtime/node/membership/joining/certificate-renewal.ts";
import { HEAD_FOLDER } from "../runtime/os/history/segment-layout.ts";
import { SegmentWriter } from "../runtime/os/history/segment-writer.ts";
import { listen } from "../runtime/os/network/endpoint.ts";
import { isLoopbackHost, parseNetworkAddress } from "../runtime/os/network/network-address.ts";
import { newToken, randomHex } from "../runtime/os/random.ts";
import { tellEndedTooSoon, tellingStartFailures } from "../runtime/os/processes/start-failure.ts";
import { setTlsIdentity } from "../runtime/os/network/tls-identity.ts";
import type { Transport } from "../runtime/os/network/transport.ts";
import { readParentLine } from "../runtime/os/processes/worker-process.ts";

export interface HeadConfiguration {
  /** The head's id among the ids of nodes. */
  headId: NodeId;
  /** The token that every hello carries. Default: the token in `directory`, or a new one. */
  token?: string | undefined;
  /** The address to listen at. */
  address: string;
  /** The folder of secrets and certificates, which the next head finds there. */
  directory?: string | undefined;
  /** TLS also between processes of this machine, in the whole cluster. */
  tlsOnLoopback?: boolean | undefined;
  /** Names and IP addresses for the head's certificate, for clients of NATS. */
  hosts?: readonly string[] | undefined;
  /** The store of the tables. Default: memory, gone with the process. */
  controlPlane?: ControlPlanePlace | undefined;
  /** The NATS server that was started for this head, instead of `controlPlane`. */
  nats?: NatsOfHead | undefined;
  /** Whether other heads on the same NATS may take over. NATS then keeps the cluster's durable tables, and `directory` is unused. Default: false. */
  hasRivals?: boolean | undefined;
  /** Modules of extensions, as URLs. */
  extensions?: readonly string[] | undefined;
  /** Place and limits of the history of actors and placement groups. Default: no history. */
  history?: { folder: string; bytesMax?: number | undefined; keptMs?: number | undefined } | undefined;
}

/** The head's message to its parent once it listens, as JSON. */
export interface HeadStart {
  /** The address at which nodes reach the head. */
  address: string;
  /** The token that every hello carries. */
  token: string;
  /** The token with which machines join; undefined for a head without certificates, and once it is revoked. */
  joinToken?: string | undefined;
  /** The token with which nodes of this head's own machine join; undefined for a head without certificates. */
  ownJoinToken?: string | undefined;
  /** Whether all nodes, those of this machine too, need a certificate and join with a join token. */
  needsCertificates: boolean;
  /** Addresses of all heads, this one among them. */
  heads: string[];
}

/** A later message of a head with rivals to its parent, as JSON. */
export interface HeadChange {
  leads: boolean;
  reason: string;
}

const END_WITHIN_MS = 1_000;

const { configuration, send } = await readParentLine<HeadConfiguration>(() => process.exit(0));
process.title = "shoal head";
const started = tellingStartFailures(send);
let waitsFor = "its control store";
let lastProblem: string | undefined;
let hasStarted = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    if (hasStarted) return void end();
    tellEndedTooSoon(send, "the head", lastProblem === undefined ? waitsFor : `${waitsFor} (${lastProblem})`);
  });
const { headId, address, directory, tlsOnLoopback = false, hosts = [], hasRivals = false } = configuration;
const needsCertificates = tlsOnLoopback || !isLoopbackHost(parseNetworkAddress(address).host);
let lifecycle: HeadLifecycle | undefined;
const place = configuration.nats === undefined ? configuration.controlPlane : headPlace(configuration.nats, `head-${headId}`);
const history =
  configuration.history === undefined
    ? undefined
    : new HeadHistory(
        new SegmentWriter({ ...configuration.history, nodeId: HEAD_FOLDER, onFailure: (text) => console.error(`shoal: ${text}`) }),
      );
const extensions = await loadExtensions(configuration.extensions ?? []);
const plane = await openControlPlane(place ?? { kind: "memory" });
await refuseOtherHead(plane.bus, { id: headId, address, hasRivals });
// A head that only this machine reaches, and that ends with its parent, starts sooner without certificates.
const security = needsCertificates || directory !== undefined || hasRivals ? await openSecurity() : undefined;
const token = security?.token ?? configuration.token ?? newToken();
// Connections are refused until the head leads; nodes try again.
const accept = (transport: Transport): void => (lifecycle === undefined ? transport.end() : lifecycle.accept(transport));
const listener = await listen(address, accept, security?.listenOptions);
const changes: HeadChange[] = [];
lifecycle = new HeadLifecycle({
  plane,
  address: listener.path,
  self: { nodeId: headId, processId: newProcessId(randomHex, headId) },
  token,
  security,
  hasRivals,
  newIncarnation: () => randomHex(8),
  nowMs: () => performance.now(),
  extensions,
  history,
  onChange: tellParent,
  onError: (error) => {
    lastProblem = messageOf(error);
    console.error(`shoal: ${lastProblem}`);
  },
  storeProblem: configuration.nats === undefined || directory === undefined ? undefined : () => diskProblem(directory),
});
waitsFor = hasRivals ? "a head that leads" : "its place as the leader";
await (hasRivals ? lifecycle.isLed : lifecycle.leads);
const start: HeadStart = {
  address: listener.path,
  token,
  joinToken: security?.joinToken,
  ownJoinToken: security?.ownJoinToken,
  needsCertificates,
  heads: lifecycle.heads,
};
started(JSON.stringify(start));
hasStarted = true;
for (const change of changes) tellParent(change);

/** Ends the process once the history is in files. A disk that does not answer holds it up for a second at most. */
async function end(): Promise<void> {
  setTimeout(() => process.exit(0), END_WITHIN_MS);
  await history?.close(!hasRivals);
  process.exit(0);
}

function tellParent(change: HeadChange): void {
  if (!hasRivals) return;
  if (hasStarted) send(JSON.stringify(change));
  else changes.push(change);
}

function secretsPlace(): SecretsPlace {
  if (hasRivals) return secretsInStore(plane.store);
  return directory === undefined ? secretsInMemory() : secretsInFolder(directory);
}

async function openSecurity(): Promise<HeadSecurity> {
  const opened = await HeadSecurity.open({
    place: secretsPlace(),
    headId,
    token: configuration.token,
    hosts,
    tlsOnLoopback,
    livingNodes: () => lifecycle?.server?.livingNodes() ?? [],
    isDead: (node) => lifecycle?.server?.isDead(node) ?? false,
    refusal: () => lifecycle?.refusal,
    nowMs: () => Date.now(),
  });
  setTlsIdentity(opened.newIdentity());
  const onFailure = (error: Error): void => console.error(`The head could not renew its certificate: ${error.message}`);
  new CertificateRenewal({ renew: async (publicKey) => opened.certifySelf(publicKey), onFailure }).start();
  return opened;
}
