/** What the configuration of a nats-server says about safety, and that text cannot break out of its place. */
import { expect, test } from "vitest";
import { natsServerConfig } from "./nats-config.ts";

test("writes are on disk before they are acknowledged, and peers are pinged every second", () => {
  const config = natsServerConfig({ name: "a", host: "127.0.0.1", port: 4222, folder: "/state" });
  expect(config).toContain('jetstream { store_dir: "/state", sync_interval: always }');
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
