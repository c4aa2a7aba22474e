/** Pods of launches: the template is merged, the token stays in the secret, and mistakes in a template are refused with their path. */
import { describe, expect, test } from "vitest";
import type { LaunchRequest } from "../../provider.ts";
import { checkPodTemplate, podOf, secretOf } from "./pod-template.ts";

const OWNER = { apiVersion: "apps/v1", kind: "StatefulSet", name: "head", uid: "u1" };
const FACTS = { cluster: "demo", image: "app:1", owner: OWNER };

function request(changes: Partial<LaunchRequest> = {}): LaunchRequest {
  return {
    instanceId: "demo-1",
    type: "gpu",
    resources: { CPU: 1.5, GPU: 1, memory: 4e9, license: 2 },
    labels: { "shoal.io/instance-id": "demo-1", zone: "a" },
    nodeConfig: {},
    command: ["shoal", "start", "--address", "10.0.0.1:6380", "--block"],
    env: {},
    joinToken: "the-secret",
    ...changes,
  };
}

describe("a pod", () => {
  test("without a template has the command, the type's resources, shared memory and no key of Kubernetes", () => {
    const { metadata, spec } = podOf(request(), FACTS);
    expect(metadata).toEqual({
      name: "demo-1",
      labels: {
        "app.kubernetes.io/managed-by": "shoal",
        "shoal.io/cluster": "demo",
        "shoal.io/instance-id": "demo-1",
        "shoal.io/node-type": "gpu",
      },
      annotations: { "shoal.io/node-type": "gpu" },
      ownerReferences: [OWNER],
    });
    expect(spec).toMatchObject({ restartPolicy: "Never", automountServiceAccountToken: false, terminationGracePeriodSeconds: 60 });
    expect(spec["volumes"]).toEqual([{ name: "shoal-shm", emptyDir: { medium: "Memory" } }]);
    expect(spec["containers"]).toEqual([
      {
        image: "app:1",
        name: "shoal",
        command: [
          "shoal",
          "start",
          "--address",
          "10.0.0.1:6380",
          "--block",
          "--num-cpus",
          "1.5",
          "--num-gpus",
          "1",
          "--resources",
          '{"memory":4000000000,"license":2}',
          "--labels",
          "shoal.io/instance-id=demo-1,zone=a",
          "--termination-grace-ms",
          "60000",
        ],
        env: [{ name: "SHOAL_TOKEN", valueFrom: { secretKeyRef: { name: "demo-1-join", key: "token" } } }],
        resources: { requests: { cpu: "1500m", memory: "4000000000" }, limits: { memory: "4000000000", "nvidia.com/gpu": "1" } },
        volumeMounts: [{ name: "shoal-shm", mountPath: "/dev/shm" }],
      },
    ]);
  });

  test("keeps its template: other containers, volumes, resources, a wrapper of the command", () => {
    const nodeConfig = {
      metadata: { labels: { team: "search" }, annotations: { "a/b": "c" } },
      spec: {
        nodeSelector: { pool: "gpus" },
        terminationGracePeriodSeconds: 5,
        volumes: [{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "1Gi" } }],
        containers: [
          { name: "proxy", image: "proxy:1" },
          {
            name: "shoal",
            image: "own:2",
            command: ["tini", "--"],
            env: [{ name: "A", value: "1" }],
            resources: { requests: { cpu: "2" }, limits: { memory: "8Gi" } },
            volumeMounts: [{ name: "shm", mountPath: "/dev/shm" }],
          },
        ],
      },
    };
    const { metadata, spec } = podOf(request({ nodeConfig }), FACTS);
    expect(metadata.labels).toMatchObject({ team: "search", "shoal.io/cluster": "demo" });
    expect(metadata.annotations).toMatchObject({ "a/b": "c" });
    expect(spec).toMatchObject({ nodeSelector: { pool: "gpus" }, terminationGracePeriodSeconds: 5 });
    expect(spec["volumes"]).toEqual(nodeConfig.spec.volumes);
    const [proxy, node] = spec["containers"] as [object, { command: string[]; env: { name: string }[]; resources: object }];
    expect(proxy).toEqual({ name: "proxy", image: "proxy:1" });
    expect(node).toMatchObject({ name: "shoal", image: "own:2", volumeMounts: [{ name: "shm", mountPath: "/dev/shm" }] });
    expect([...node.command.slice(0, 4), node.command.at(-1)]).toEqual(["tini", "--", "shoal", "start", "5000"]);
    expect(node.env.map(({ name }) => name)).toEqual(["A", "SHOAL_TOKEN"]);
    expect(node.resources).toMatchObject({ requests: { cpu: "2" }, limits: { memory: "8Gi" } });
  });

  test("holds no token: the secret alone has it, and belongs to the head as well", () => {
    expect(JSON.stringify(podOf(request(), FACTS))).not.toContain("the-secret");
    const secret = secretOf(request(), FACTS);
    expect(secret).toMatchObject({
      immutable: true,
      stringData: { token: "the-secret" },
      metadata: { name: "demo-1-join", ownerReferences: [OWNER] },
    });
  });

  test("of a type whose name is no label value has the name in the annotation alone", () => {
    const { metadata } = podOf(request({ type: "-" }), { ...FACTS, owner: undefined });
    expect(metadata.labels["shoal.io/node-type"]).toBeUndefined();
    expect(metadata.annotations).toEqual({ "shoal.io/node-type": "-" });
    expect(metadata.ownerReferences).toBeUndefined();
  });
});

describe("a template with a mistake is refused", () => {
  test.each<[unknown, string]>([
    [3, ": a set of keys is needed: received 3"],
    [{ image: "a" }, "image: a pod template has metadata and spec"],
    [{ metadata: { name: "x" } }, "metadata.name: the provider gives it"],
    [{ metadata: { labels: { "shoal.io/cluster": "b" } } }, "metadata.labels.shoal.io/cluster: the provider gives it"],
    [{ metadata: { labels: { a: 1 } } }, "metadata.labels.a: a text is needed: received 1"],
    [{ spec: { restartPolicy: "Always" } }, "spec.restartPolicy: a node that ends is replaced by another: Never is needed"],
    [
      { spec: { terminationGracePeriodSeconds: "1m" } },
      'spec.terminationGracePeriodSeconds: whole seconds up to 86400 are needed: received "1m"',
    ],
    [{ spec: { containers: {} } }, "spec.containers: a list is needed"],
    [{ spec: { containers: [{ name: "a" }, { name: "b" }] } }, "spec.containers: of several containers one is named shoal"],
    [{ spec: { containers: [{ args: ["x"], image: "a" }] } }, "spec.containers.0.args: the provider gives the node's arguments"],
    [{ spec: { containers: [{ command: "x", image: "a" }] } }, "spec.containers.0.command: a list of texts is needed"],
    [{ spec: { containers: [{ env: [{ name: "SHOAL_TOKEN" }], image: "a" }] } }, "spec.containers.0.env: the provider gives SHOAL_TOKEN"],
    [{ spec: { containers: [{ image: "a", resources: { limits: 3 } }] } }, "spec.containers.0.resources.limits: a set of keys is needed"],
    [{ spec: { containers: [{ image: "a" }], volumes: {} } }, "spec.volumes: a list of sets of keys is needed"],
    [{}, "spec.containers.0.image: an image is needed, here or as provider.image"],
  ])("%j", (config, message) => {
    const problems: string[] = [];
    checkPodTemplate(config, undefined, (path, text) => problems.push(`${path}: ${text}`));
    expect(problems[0]).toContain(message);
  });

  test("and one without is taken", () => {
    const problems: string[] = [];
    checkPodTemplate({ spec: { containers: [{ name: "main", command: ["tini", "--"] }] } }, "app:1", (path) => problems.push(path));
    expect(problems).toEqual([]);
  });
});
