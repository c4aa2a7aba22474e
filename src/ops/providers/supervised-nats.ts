/**
 * The nats-server under a head of `shoal start`: its program, its keys and certificate, and its place in the head's folder.
 *
 * The keys and the state belong to the cluster and outlive the server. Its certificate is made again at each start and never leaves the
 * folder. The authority's certificate, by which nodes recognize the server, is made here if no head has been here before.
 */
import { newNodeId } from "../../runtime/base/ids.ts";
import { openSecrets, secretsInFolder } from "../../runtime/head/joining/cluster-secrets.ts";
import { ClusterAuthority } from "../../runtime/nats/cluster-authority.ts";
import type { NatsOfHead } from "../../runtime/nats/head-place.ts";
import { certifyNode, newNodeKey } from "../../runtime/os/network/certificates.ts";
import { NatsProcess, type NatsProcessEvent } from "../../runtime/nats/server/nats-process.ts";
import { joinPath } from "../../runtime/os/files/paths.ts";
import { randomHex } from "../../runtime/os/random.ts";

interface SupervisedNatsOptions {
  /** The path of the program. */
  readonly program: string;
  readonly cluster: string;
  /** The head's, which keeps the cluster's secrets in it. */
  readonly directory: string;
  readonly host: string;
  readonly port: number;
  readonly onEvent: (event: NatsProcessEvent) => void;
  /** Ends a server that does not answer yet. */
  readonly signal?: AbortSignal | undefined;
}

export interface SupervisedNats {
  readonly server: NatsProcess;
  /** How the head connects. */
  readonly access: NatsOfHead;
}

/** As long as the authority's own: a running server does not read another one. */
const CERTIFICATE_MS = 3650 * 86_400_000;

/** @throws NatsServerFailedError with the cause */
export async function startSupervisedNats(options: SupervisedNatsOptions): Promise<SupervisedNats> {
  const { program, cluster, directory, host, port, onEvent, signal } = options;
  const nowMs = Date.now();
  const { authority } = await openSecrets(secretsInFolder(directory), { nowMs });
  const keysFolder = joinPath(directory, "nats-keys");
  const keys = ClusterAuthority.open({ folder: keysFolder, cluster });
  const { key, publicKey } = newNodeKey();
  const certificate = certifyNode(authority, {
    nodeId: newNodeId(randomHex),
    publicKey,
    isHead: true,
    hosts: [host],
    nowMs,
    validForMs: CERTIFICATE_MS,
  });
  const server = await NatsProcess.start({
    program,
    folder: joinPath(directory, "nats"),
    cluster,
    name: `${cluster}-${randomHex(4)}`,
    host,
    port,
    access: { authority: keys.serverAuthority(), account: keys.account },
    tls: { ca: authority.ca, certificate, key },
    onEvent,
    signal,
  });
  return { server, access: { urls: [server.url], cluster, keysFolder, ca: authority.ca } };
}
