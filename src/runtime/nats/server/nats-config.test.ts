/** Tests that the configuration of a nats-server is safe, and that values are quoted. */
import { expect, test } from "vitest";
import { natsServerConfig } from "./nats-config.ts";

test("writes are on disk before they are acknowledged, and peers are pinged every second", () => {
  const config = natsServerConfig({ name: "a", host: "127.0.0.1", port: 4222, folder: "/state" });
  expect(config).toContain('jetstream { store_dir: "/state", sync_interval: always, max_file: 2147483648 }');
  expect(config).toContain('ping_interval: "1s"');
  expect(config).not.toContain("authorization");
  expect(config).not.toContain("cluster");
});

test("a token and the routes of a cluster are quoted", () => {
  const config = natsServerConfig({
    name: 'a"\nport: 1',
    host: "127.0.0.1",
    port: -1,
    folder: "/state",
    portsFolder: "/ports",
    token: 's"}',
    cluster: { name: "c", host: "127.0.0.1", port: 6222, routes: ["nats://127.0.0.2:6222", "nats://127.0.0.3:6222"] },
  });
  expect(config.split("\n")[0]).toBe('server_name: "a\\"\\nport: 1"');
  expect(config).toContain('authorization { token: "s\\"}" }');
  expect(config).toContain('routes: ["nats://127.0.0.2:6222", "nats://127.0.0.3:6222"]');
});

test("servers of one cluster show each other a secret, over TLS when clients do", () => {
  const config = natsServerConfig({
    name: "a",
    host: "0.0.0.0",
    port: 4222,
    folder: "/state",
    tls: { caFile: "/ca", certificateFile: "/cert", keyFile: "/key" },
    cluster: { name: "c", host: "0.0.0.0", port: 6222, routes: ["nats://10.0.0.2:6222"], secret: "a/b" },
  });
  expect(config).toContain('authorization { user: server, password: "a/b", timeout: 5 }');
  expect(config).toContain('"nats://server:a%2Fb@10.0.0.2:6222"');
  expect(config).toContain('tls { cert_file: "/cert", key_file: "/key", ca_file: "/ca", handshake_first: true, timeout: 5 }');
  expect(config).toContain('ca_file: "/ca", verify: true');
});

test("an authority is its tokens", () => {
  const authority = { operatorToken: "OP", systemAccount: "ASYS", accountTokens: { AONE: "one", ASYS: "sys" } };
  const config = natsServerConfig({ name: "a", host: "127.0.0.1", port: -1, folder: "/state", authority });
  expect(config).toContain("operator: OP\nsystem_account: ASYS\n");
  expect(config).toContain("resolver: MEMORY");
  expect(config).toContain("resolver_preload { AONE: one, ASYS: sys }");
});
