/** Renewal: only in time, with a new key, stored before it is used; a failure leaves the last identity in place. */
import { X509Certificate } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import type { NodeId } from "../../../base/ids.ts";
import { certifyNode, newAuthority, newNodeKey } from "../../../os/network/certificates.ts";
import { forgetTlsIdentity, setTlsIdentity, type TlsIdentity, tlsIdentity } from "../../../os/network/tls-identity.ts";
import { CertificateRenewal } from "./certificate-renewal.ts";

const NOW = Date.UTC(2030, 0, 1);
const DAY = 86_400_000;
const nodeId = "0123456789abcdef0123456789abcdef" as NodeId;

afterEach(forgetTlsIdentity);

test("renews after two thirds of the time, and tries again after a failure", async () => {
  const authority = newAuthority({ nowMs: NOW });
  const { key, publicKey } = newNodeKey();
  const first = { ca: authority.ca, cert: certifyNode(authority, { nodeId, publicKey, nowMs: NOW }), key };
  setTlsIdentity(first);
  const failures: string[] = [];
  const stored: TlsIdentity[] = [];
  let isHeadThere = false;
  const renewal = new CertificateRenewal({
    renew: async (asked) => {
      if (!isHeadThere) throw new Error("the head is away");
      return certifyNode(authority, { nodeId, publicKey: asked, nowMs: NOW + 21 * DAY });
    },
    store: (identity) => {
      expect(tlsIdentity()).toBe(first);
      stored.push(identity);
    },
    onFailure: (error) => failures.push(error.message),
  });
  await renewal.look(NOW + 20 * DAY - 1);
  expect(failures).toEqual([]);
  await renewal.look(NOW + 21 * DAY);
  expect(failures).toEqual(["the head is away"]);
  expect(tlsIdentity()).toBe(first);
  isHeadThere = true;
  await renewal.look(NOW + 21 * DAY);
  const later = tlsIdentity() as TlsIdentity;
  expect(stored).toEqual([later]);
  expect(later.key).not.toBe(first.key);
  expect(Date.parse(new X509Certificate(later.cert).validTo)).toBe(NOW + 51 * DAY);
  await renewal.look(NOW + 22 * DAY);
  expect(stored.length).toBe(1);
});
