/**
 * Identity of this process for other machines: the cluster's authority, a certificate that it signed for one node, and that certificate's
 * key.
 *
 * A certificate names its node in the DNS name `<nodeId>.node.shoal`, and the head besides in `head.shoal`. A process has one identity, its
 * node's. It is set once and replaced only by a later certificate of the same node and authority, which listeners then present as well.
 */
import { X509Certificate } from "node:crypto";
import type { NodeId } from "../../base/ids.ts";

/** All three are PEM. */
export interface TlsIdentity {
  /** The cluster's authority. Only certificates that it signed are trusted. */
  ca: string;
  cert: string;
  key: string;
  /** Refuse plain TCP also from this machine; for tests, and for machines whose users are not trusted. */
  alsoOnLoopback?: boolean | undefined;
}

export const HEAD_NAME = "head.shoal";
const NODE_NAME = /^([0-9a-f]{32})\.node\.shoal$/;

let own: TlsIdentity | undefined;
const watchers = new Set<(identity: TlsIdentity) => void>();

export function nodeName(nodeId: NodeId): string {
  return `${nodeId}.node.shoal`;
}

/** Names in a certificate. */
interface CertifiedName {
  nodeId: NodeId | undefined;
  isHead: boolean;
}

/** Reads the names of a certificate, as Node writes them (`DNS:a, DNS:b`). */
export function certifiedName(subjectAltName: string | undefined): CertifiedName {
  const names = (subjectAltName ?? "").split(", ").map((name) => name.replace(/^DNS:/, ""));
  const nodeIds = names.flatMap((name) => NODE_NAME.exec(name)?.[1] ?? []);
  // Two nodes in one certificate could speak for each other; the authority never makes such.
  return { nodeId: nodeIds.length === 1 ? (nodeIds[0] as NodeId) : undefined, isHead: names.includes(HEAD_NAME) };
}

/**
 * Makes an identity that of this process.
 *
 * @throws RangeError when the process has that of another node or another cluster.
 */
export function setTlsIdentity(identity: TlsIdentity): void {
  const { nodeId } = certifiedName(new X509Certificate(identity.cert).subjectAltName);
  if (nodeId === undefined)
    throw new RangeError("Cannot use a certificate: it names no node. Use one that the cluster's authority made for a node");
  if (own !== undefined) {
    const before = certifiedName(new X509Certificate(own.cert).subjectAltName).nodeId;
    if (before !== nodeId)
      throw new RangeError(`Cannot change the node of a process: it is ${before}: received a certificate of ${nodeId}`);
    if (new X509Certificate(own.ca).fingerprint256 !== new X509Certificate(identity.ca).fingerprint256)
      throw new RangeError("Cannot change the cluster of a process: the certificate comes with another authority");
  }
  own = identity;
  for (const watcher of watchers) watcher(identity);
}

export function tlsIdentity(): TlsIdentity | undefined {
  return own;
}

/** Calls back with each later identity until the returned function is called. */
export function watchTlsIdentity(watcher: (identity: TlsIdentity) => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** For a driver that moves between clusters, and for tests with many nodes in one process. */
export function forgetTlsIdentity(): void {
  own = undefined;
}
