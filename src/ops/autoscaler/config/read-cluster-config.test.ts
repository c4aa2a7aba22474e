/** Cluster files are read with defaults, each mistake is refused with its line, key and remedy, and the schema agrees. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clusterSchema } from "./cluster-keys.ts";
import { ClusterConfigError, readClusterConfig } from "./read-cluster-config.ts";

const WHOLE = `
cluster_name: demo
max_workers: 20
upscaling_speed: 2
idle_timeout_minutes: 0.5
provider: { type: local-processes }
head_node_type: head
available_node_types:
  head: { resources: { CPU: 2 }, max_workers: 0 }
  gpu: { resources: { CPU: 8, GPU: 1 }, labels: { zone: a }, max_workers: 4, priority: 10, idle_timeout_s: 5 }
  cpu: { resources: { CPU: 8 }, min_workers: 1 }
`;

test("a file is read with Shoal's units and every default filled in", () => {
  const config = readClusterConfig(WHOLE, "c.yaml");
  expect(config).toMatchObject({ clusterName: "demo", maxWorkers: 20, upscalingSpeed: 2, headNodeType: "head" });
  expect(config.head).toEqual({ resources: { CPU: 2 }, labels: {} });
  expect(config.nodeTypes).toEqual([
    {
      name: "gpu",
      resources: { CPU: 8, GPU: 1 },
      labels: { zone: "a" },
      minWorkers: 0,
      maxWorkers: 4,
      idleTimeoutMs: 5_000,
      priority: 10,
      nodeConfig: {},
    },
    {
      name: "cpu",
      resources: { CPU: 8 },
      labels: {},
      minWorkers: 1,
      maxWorkers: 20,
      idleTimeoutMs: 30_000,
      priority: 0,
      nodeConfig: {},
    },
  ]);
});

test("JSON is read as well, and anchors with merged keys", () => {
  const config = readClusterConfig(
    `x: 1`.replace(
      "x: 1",
      WHOLE.replace(
        "cpu: { resources",
        "base: &b { resources: { CPU: 1 }, max_workers: 1 }\n  more: { <<: *b, max_workers: 3 }\n  cpu: { resources",
      ),
    ),
    "c.yaml",
  );
  expect(config.nodeTypes.find(({ name }) => name === "more")).toMatchObject({ resources: { CPU: 1 }, maxWorkers: 3 });
  const json = JSON.stringify({
    cluster_name: "j",
    provider: { type: "local-processes" },
    head_node_type: "h",
    available_node_types: { h: { resources: {} }, w: { resources: { CPU: 1 }, max_workers: 2 } },
  });
  expect(readClusterConfig(json, "c.json").maxWorkers).toBe(2);
});

describe("a mistake is refused with its line and key", () => {
  test.each([
    ["max_workers: 20", "max_wokers: 20", "line 3: max_wokers: there is no such key: the nearest is max_workers"],
    ["max_workers: 20", "max_workers: many", 'line 3: max_workers: a whole number from 0 to 10000 is needed: received "many".'],
    ["max_workers: 20", "max_workers: 1.5", "line 3: max_workers: a whole number from 0 to 10000 is needed: received 1.5."],
    [
      "max_workers: 20",
      "max_workers: 0",
      "line 11: available_node_types.cpu.min_workers: it is greater than max_workers of the cluster, 0: received 1.",
    ],
    [
      "min_workers: 1 }",
      "min_workers: 15 }\n  more: { resources: { CPU: 8 }, min_workers: 6 }",
      "line 3: max_workers: min_workers of all types are 21, and max_workers of the cluster is 20.",
    ],
    ["max_workers: 20", "docker: {}", "line 3: docker: is not taken: run the nodes as containers with Kubernetes."],
    ["max_workers: 20", "", "available_node_types.cpu: max_workers is missing, here and for the cluster"],
    ["cluster_name: demo", "", "cluster_name: the key is missing."],
    ["cluster_name: demo", "cluster_name: a/b", 'line 2: cluster_name: 1 to 63 letters, digits and hyphens are needed: received "a/b".'],
    [
      "type: local-processes",
      "type: aws",
      'line 6: provider.type: received "aws": no cloud is called directly: give an external provider.',
    ],
    ["type: local-processes", "type: lokal-processes", "the nearest is local-processes."],
    ["type: local-processes", "type: external", "line 6: provider.module: the key is missing: external needs it."],
    ["type: local-processes", "type: local-processes, zone: a", "line 6: provider.zone: local-processes has no such key"],
    ["labels: { zone: a }", "node_config: { size: 3 }", "line 10: available_node_types.gpu.node_config.size: there is no such key"],
    ["head_node_type: head", "head_node_type: haed", 'line 7: head_node_type: available_node_types has no "haed": the nearest is head.'],
    ["max_workers: 0", "max_workers: 3", "line 9: available_node_types.head.max_workers: the head's own type is not launched: received 3."],
    ["GPU: 1", "gpu: 1", "line 10: available_node_types.gpu.resources.gpu: the resource is called GPU."],
    ["GPU: 1", "GPU: -1", "line 10: available_node_types.gpu.resources.GPU: a number from 0 is needed: received -1."],
    ["zone: a", "shoal.io/zone: a", "labels that begin with shoal.io/ are Shoal's own"],
    ["zone: a", "zone: [a]", "line 10: available_node_types.gpu.labels.zone: a text is needed: received a list."],
    ["min_workers: 1", "min_workers: 5, max_workers: 2", "min_workers: it is greater than max_workers of the type, 2: received 5."],
    ["{ CPU: 2 }", "{ CPU: 2", "Cannot read c.yaml: line "],
  ])("%s as %s", (from, to, message) => {
    expect(WHOLE).toContain(from);
    const read = (): unknown => readClusterConfig(WHOLE.replace(from, to), "c.yaml");
    expect(read).toThrow(ClusterConfigError);
    expect(read).toThrow(message);
  });

  test("text that is no set of keys, or too long, or full of aliases", () => {
    expect(() => readClusterConfig("- 1", "c.yaml")).toThrow("Cannot read c.yaml: line 1: keys are needed: received a list.");
    expect(() => readClusterConfig("", "c.yaml")).toThrow("keys are needed: received nothing");
    expect(() => readClusterConfig(" ".repeat(1024 * 1024 + 1), "c.yaml")).toThrow("has at most 1048576 bytes: received 1048577");
    expect(() => readClusterConfig(`a: &a 1\nb: [${"*a,".repeat(1001)}]`, "c.yaml")).toThrow("at most 1000 aliases: received 1001");
  });
});

const MACHINES = WHOLE.replace("type: local-processes", "type: ssh, worker_ips: [10.0.0.2, worker-3]");

test("machines of ssh are read with their setup, and local is another name", () => {
  const more = `
auth: { ssh_user: me }
file_mounts: { ~/code: ./code }
setup_commands: [one]
worker_setup_commands: [two]
`;
  const config = readClusterConfig(MACHINES.replace("type: ssh", "type: local, head_ip: 10.0.0.1") + more, "c.yaml");
  expect([config.provider.type, config.headHost]).toEqual(["ssh", "10.0.0.1"]);
  expect(config.ssh).toEqual({
    hosts: ["10.0.0.2", "worker-3"],
    access: { user: "me", privateKey: undefined, proxyCommand: undefined, configFile: undefined },
  });
  expect(config.setup).toEqual({
    initializationCommands: [],
    fileMounts: [{ from: "./code", to: "~/code" }],
    rsyncExclude: [],
    setupCommands: ["one", "two"],
  });
});

describe("machines with a mistake are refused", () => {
  test.each([
    ["worker_ips: [10.0.0.2, worker-3]", "head_ip: a", "line 6: provider.worker_ips: the key is missing: ssh needs it."],
    ["[10.0.0.2, worker-3]", "[]", "line 6: provider.worker_ips: 1 to 1000 machines are needed: received 0."],
    [
      "worker-3",
      "-oProxyCommand=x",
      'line 6: provider.worker_ips: addresses or names are needed, each once and without a user: received "-oPr',
    ],
    ["worker-3", "me@host", 'without a user: received "me@host".'],
    ["worker-3", "10.0.0.2", 'each once and without a user: received "10.0.0.2".'],
    [
      "max_workers: 4,",
      "node_config: { worker_ips: [worker-4] },",
      "line 10: available_node_types.gpu.node_config.worker_ips: machines of",
    ],
    [
      "max_workers: 4,",
      "node_config: { image: x },",
      "line 10: available_node_types.gpu.node_config.image: there is no such key: there are worker_ips.",
    ],
    [
      "upscaling_speed: 2",
      "file_mounts: { code: ./code }",
      'line 4: file_mounts: absolute paths, or paths with ~/, are needed: received "code".',
    ],
    ["max_workers: 20", "auth: { ssh_usr: me }", "line 3: auth.ssh_usr: there is no such key: the nearest is ssh_user."],
    ["max_workers: 20", "head_setup_commands: [x]", "line 3: head_setup_commands: is not taken: `shoal up` runs on the head's machine"],
  ])("%s as %s", (from, to, message) => {
    expect(MACHINES).toContain(from);
    expect(() => readClusterConfig(MACHINES.replace(from, to), "c.yaml")).toThrow(message);
  });

  test("keys of machines are for providers that prepare them", () => {
    expect(() => readClusterConfig(`${WHOLE}setup_commands: [x]\n`, "c.yaml")).toThrow(
      "line 12: setup_commands: local-processes takes no such key: it belongs to the providers ssh and slurm.",
    );
  });
});

test("the schema for editors says what the reader says", async () => {
  const file = join(import.meta.dirname, "../../../../docs/cluster-config.schema.json");
  await expect(`${JSON.stringify(clusterSchema(), undefined, 2)}\n`).toMatchFileSnapshot(file);
});
