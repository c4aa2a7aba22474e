/** Use of a machine, from files that a test writes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NodeUsageProbe } from "./node-usage.ts";

function machine(): { root: string; write: (name: string, text: string) => void } {
  const root = mkdtempSync(join(tmpdir(), "shoal-usage-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "proc", "net"), { recursive: true });
  return { root, write: (name, text) => writeFileSync(join(root, "proc", name), text) };
}

const network = (received: number, sent: number): string => `Inter-|   Receive  |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 999999 1 0 0 0 0 0 0 999999 1 0 0 0 0 0 0
  eth0: ${received} 10 0 0 0 0 0 0 ${sent} 10 0 0 0 0 0 0
 wlan0:50 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0
`;

test("rates are those of the time between two looks", () => {
  const { root, write } = machine();
  let nowMs = 0;
  write("stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n");
  write("net/dev", network(1_000, 2_000));
  write("meminfo", "MemTotal:  1000 kB\nMemAvailable:  400 kB\n");
  const probe = new NodeUsageProbe({ folder: root, root, nowMs: () => nowMs });
  expect(probe.usage).toMatchObject({ node_mem_used: 600 * 1024, node_mem_total: 1000 * 1024 });
  expect(probe.usage).not.toHaveProperty("node_cpu_utilization");
  nowMs = 2_000;
  write("stat", "cpu  130 0 120 730 120 0 0 0 0 0\n");
  write("net/dev", network(5_000, 2_000));
  probe.look();
  expect(probe.usage).toMatchObject({ node_cpu_utilization: 50, node_network_receive_speed: 2_000, node_network_send_speed: 0 });
  expect(probe.usage["node_disk_free"]).toBeGreaterThan(0);
  expect(probe.usage["node_cpu_count"]).toBeGreaterThan(0);
});

test("an interface that goes, a look in the same moment, and a machine without these files make no wrong number", () => {
  const { root, write } = machine();
  let nowMs = 0;
  write("stat", "cpu  1 0 1 1 1 0 0 0 0 0\n");
  write("net/dev", network(1_000, 2_000));
  const probe = new NodeUsageProbe({ folder: join(root, "gone"), root, nowMs: () => nowMs });
  probe.look();
  expect(Object.keys(probe.usage)).toEqual(["node_cpu_count"]);
  nowMs = 1_000;
  write("net/dev", network(0, 0));
  probe.look();
  expect(probe.usage).toEqual({ node_cpu_count: expect.any(Number), node_network_receive_speed: 0, node_network_send_speed: 0 });
  rmSync(join(root, "proc"), { recursive: true });
  nowMs = 2_000;
  probe.look();
  expect(Object.keys(probe.usage)).toEqual(["node_cpu_count"]);
});
