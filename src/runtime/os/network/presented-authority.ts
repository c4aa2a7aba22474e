/** Fetches the authority behind the certificate of an address, without trusting it: the caller compares a hash. */
import { X509Certificate } from "node:crypto";
import { HANDSHAKE_WITHIN_MS } from "../limits.ts";
import { parseNetworkAddress } from "./network-address.ts";
import { explained } from "./tcp-transport.ts";

/** Resolves with PEM. Nothing was sent but the beginning of TLS, and the connection is closed again. */
export function presentedAuthority(address: string): Promise<string> {
  const { host, port } = parseNetworkAddress(address);
  return new Promise((resolve, reject) => {
    const socket = process.getBuiltinModule("node:tls").connect({ host, port, rejectUnauthorized: false, minVersion: "TLSv1.3" });
    const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${HANDSHAKE_WITHIN_MS} ms`)), HANDSHAKE_WITHIN_MS);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(explained(address, error));
    };
    socket.once("error", fail);
    socket.once("close", () => fail(new Error("the connection was closed")));
    socket.once("secureConnect", () => {
      const shown = socket.getPeerCertificate(true);
      clearTimeout(timer);
      // For a self-signed certificate, or one that came alone, the authority is the certificate itself.
      resolve(new X509Certificate(shown.issuerCertificate?.raw ?? shown.raw).toString());
      socket.destroy();
    });
  });
}
