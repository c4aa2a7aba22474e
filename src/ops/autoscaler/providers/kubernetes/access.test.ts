/** Ways to the API server: the service account of a pod, kubeconfigs with tokens and certificates, and refusals. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { kubeconfigAccess, podAccess } from "./access.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-access-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function config(changes: { cluster?: object; user?: object; more?: object } = {}): string {
  return file(
    "config",
    JSON.stringify({
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u", namespace: "team" } }],
      clusters: [{ name: "k", cluster: { server: "https://k:6443", ...changes.cluster } }],
      users: [{ name: "u", user: { token: "t", ...changes.user } }],
      ...changes.more,
    }),
  );
}

test("a pod's service account gives server, authority, namespace and token", () => {
  file("ca.crt", "CA");
  file("namespace", "team\n");
  file("token", "secret\n");
  const access = podAccess({ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" }, folder);
  expect(access).toMatchObject({ url: "https://[fd00::1]:6443", ca: "CA", namespace: "team" });
  expect(access.token()).toBe("secret");
});

test("a renewed token is used within a minute, and the last one while the file is away or empty", () => {
  for (const name of ["ca.crt", "namespace"]) file(name, "x");
  const path = file("token", "first");
  let nowMs = 0;
  const { token } = podAccess({ KUBERNETES_SERVICE_HOST: "10.0.0.1" }, folder, () => nowMs);
  file("token", "second");
  nowMs = 59_000;
  expect(token()).toBe("first");
  nowMs = 60_000;
  expect(token()).toBe("second");
  rmSync(path);
  nowMs = 200_000;
  expect(token()).toBe("second");
  file("token", "");
  expect(token()).toBe("second");
});

test("a process outside of a pod is told to give a kubeconfig", () => {
  expect(() => podAccess({}, folder)).toThrow(
    "this process runs in no pod, as KUBERNETES_SERVICE_HOST is not set: give provider.kubeconfig",
  );
});

test("a kubeconfig gives token, certificates inside and beside it, and the context's namespace", () => {
  const data = (text: string): string => Buffer.from(text).toString("base64");
  file("ca.pem", "CA of the file");
  const first = kubeconfigAccess(config({ cluster: { "certificate-authority": "ca.pem", "tls-server-name": "kubernetes" } }), undefined);
  expect(first).toMatchObject({
    url: "https://k:6443",
    ca: "CA of the file",
    serverName: "kubernetes",
    namespace: "team",
    client: undefined,
  });
  expect(first.token()).toBe("t");
  file("token", "of the file\n");
  const user = { token: undefined, tokenFile: "token", "client-certificate-data": data("cert"), "client-key-data": data("key") };
  const second = kubeconfigAccess(config({ user, cluster: { "certificate-authority-data": data("CA inside") } }), "c");
  expect(second).toMatchObject({ ca: "CA inside", client: { cert: "cert", key: "key" } });
  expect(second.token()).toBe("of the file");
});

describe("a kubeconfig is refused", () => {
  test.each<[string, Parameters<typeof config>[0], string | undefined, string]>([
    [
      "that runs a program",
      { user: { exec: { command: "aws" } } },
      undefined,
      "user u has exec, which is not run: give a service account's token",
    ],
    ["that trusts any server", { cluster: { "insecure-skip-tls-verify": true } }, undefined, "has insecure-skip-tls-verify"],
    [
      "with a server of plain HTTP",
      { cluster: { server: "http://k:8080" } },
      undefined,
      "its server needs https, or http on this machine: received http://k:8080",
    ],
    ["without the context", {}, "d", "it has no context d: there are c"],
    ["without a current context", { more: { "current-context": "" } }, undefined, "it has no current-context: give provider.context"],
    ["without its user", { more: { users: [] } }, undefined, "it has no user u: there are none"],
    ["of another form", { more: { clusters: {} } }, undefined, "the kubeconfig.clusters is not a list"],
    ["with a missing file", { cluster: { "certificate-authority": "absent" } }, undefined, "a file cannot be read: ENOENT"],
  ])("%s", (_name, changes, context, message) => {
    expect(() => kubeconfigAccess(config(changes), context)).toThrow(message);
  });

  test("that is not there, or is no YAML", () => {
    expect(() => kubeconfigAccess(join(folder, "absent"), undefined)).toThrow("the kubeconfig cannot be read: ENOENT");
    expect(() => kubeconfigAccess(file("broken", "a: ["), undefined)).toThrow("the kubeconfig is no YAML: ");
  });
});
