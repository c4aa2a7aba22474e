/**
 * Describes how a head reaches the NATS that was started for it, in a form that may be written down: the place of the keys, not the keys.
 *
 * Each connection shows a fresh token that this head signs with the cluster's account key; the server is known by the certificate of the cluster's authority.
 */
import { HEAD_NAME } from "../os/network/tls-identity.ts";
import type { NatsPlace } from "./open-control-plane.ts";
import { ClusterAuthority } from "./cluster-authority.ts";

export interface NatsOfHead {
  readonly urls: readonly string[];
  readonly cluster: string;
  readonly keysFolder: string;
  /** In PEM. */
  readonly ca: string;
}

export function headPlace({ urls, cluster, keysFolder, ca }: NatsOfHead, name: string): NatsPlace {
  const keys = ClusterAuthority.open({ folder: keysFolder, cluster });
  return { kind: "nats", urls, cluster, name, credentials: keys.headCredentials(name), tls: { ca, serverName: HEAD_NAME } };
}
