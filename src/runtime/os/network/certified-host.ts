/** Whether a certificate is that of a host, where any of several will do. */
import type { PeerCertificate } from "node:tls";

/** Replaces the check of names in Node's TLS. */
export function oneOf(hosts: readonly string[]): (host: string, certificate: PeerCertificate) => Error | undefined {
  return (_host, certificate) => {
    const problems = hosts.map((host) => process.getBuiltinModule("node:tls").checkServerIdentity(host, certificate));
    return problems.includes(undefined) ? undefined : problems[0];
  };
}
