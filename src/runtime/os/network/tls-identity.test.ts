/** Tests the process's identity: an invalid certificate does not become it. */
import { afterEach, expect, test } from "vitest";
import { forgetTlsIdentity, setTlsIdentity, tlsIdentity } from "./tls-identity.ts";

afterEach(forgetTlsIdentity);

test("text that is no certificate is refused, and the process stays without an identity", () => {
  expect(() => setTlsIdentity({ ca: "", cert: "no certificate", key: "" })).toThrow("PEM");
  expect(tlsIdentity()).toBeUndefined();
});
