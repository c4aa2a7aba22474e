/**
 * Certificates for tests that need two sides of TLS, made by the machine's `openssl` for a day.
 *
 * Independent of what Shoal makes itself, so that a fault in one is not hidden by the same fault in the other.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TlsTexts } from "../../src/runtime/nats/server/nats-process.ts";

/** Undefined where there is no `openssl`. */
export function makeCertificate(dnsName: string): TlsTexts | undefined {
  const folder = mkdtempSync(join(tmpdir(), "shoal-tls-"));
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  try {
    openssl("req", "-x509", ...newKey, "-keyout", "ca.key", "-out", "ca.pem", "-days", "1", "-subj", "/CN=authority");
    openssl("req", ...newKey, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=server");
    writeFileSync(join(folder, "names"), `subjectAltName=DNS:${dnsName}\n`);
    const signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1", "-extfile", "names"];
    openssl("x509", "-req", "-in", "request.pem", "-out", "certificate.pem", ...signer);
    const text = (name: string): string => readFileSync(join(folder, name), "utf8");
    return { ca: text("ca.pem"), certificate: text("certificate.pem"), key: text("key.pem") };
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
