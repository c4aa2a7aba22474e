/**
 * The provider `kubernetes` and the Helm chart on a real API server: the contract of providers, refusals in Kubernetes' words, two
 * autoscalers, deleted pods, the chart's rights, and a cluster whose pods are real nodes.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { readClusterConfig } from "../../src/ops/autoscaler/config/read-cluster-config.ts";
import type { LaunchRequest, NodeProvider, ProviderNode } from "../../src/ops/autoscaler/index.ts";
import { kubeconfigAccess } from "../../src/ops/autoscaler/providers/kubernetes/access.ts";
import { KubernetesApi } from "../../src/ops/autoscaler/providers/kubernetes/kubernetes-api.ts";
import { podOf, secretOf } from "../../src/ops/autoscaler/providers/kubernetes/pod-template.ts";
import { openKubernetes } from "../../src/ops/autoscaler/providers/kubernetes/kubernetes-provider.ts";
import { providerSuite, type ProviderUnderTest } from "../../src/testing/provider-suite.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { until } from "../integration/session.ts";
import { SHOAL, useShoal } from "../integration/shoal-program.ts";
import { goProgram } from "./go-programs.ts";
import { ApiServer, KUBERNETES_VERSION, kubernetesPrograms, type Manifest } from "./kubernetes/api-server.ts";
import { Kubelet } from "./kubernetes/kubelet.ts";

const programs = kubernetesPrograms();
const helm = goProgram("helm");
const missing = "missing" in programs ? programs.missing : helm.missing;
const CHART = join(REPOSITORY, "deploy", "helm", "shoal");
const folder = mkdtempSync(join(tmpdir(), "test-shoal-kubernetes-"));
let server: ApiServer;
let namespaces = 0;

beforeAll(async () => {
  if (!("missing" in programs)) server = await ApiServer.start(folder, programs);
}, 90_000);
afterAll(async () => {
  if (!("missing" in programs)) await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Place {
  readonly namespace: string;
  readonly kubelet: Kubelet;
}
const places: Place[] = [];
const providers: NodeProvider[] = [];
afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close();
  for (const { kubelet } of places.splice(0)) await kubelet.stop();
});

/** A namespace with a machine of so many CPUs. */
async function newPlace({ cpus = 100 }: { cpus?: number } = {}): Promise<Place> {
  namespaces += 1;
  const namespace = `place-${namespaces}`;
  await server.namespace(namespace);
  const kubelet = new Kubelet(server, namespace, { cpus, shoal: [process.execPath, SHOAL] });
  kubelet.start();
  places.push({ namespace, kubelet });
  return { namespace, kubelet };
}

interface Opened {
  readonly token?: string;
  readonly podName?: string;
  readonly config?: object;
}

async function open({ namespace }: Place, { token, podName, config }: Opened = {}): Promise<NodeProvider> {
  const environment = { SHOAL_POD_NAME: podName };
  const given = { kubeconfig: server.kubeconfig(namespace, token), image: "node:1", ...config };
  const provider = await openKubernetes(given, { clusterName: "demo" }, { environment, folder });
  providers.push(provider);
  return provider;
}

/** A command that ignores the node's arguments. */
const WAITS = ["/bin/sh", "-c", "exec sleep 1000", "sh"];

function request(instanceId: string, changes: Partial<LaunchRequest> = {}): LaunchRequest {
  const labels = { "shoal.io/instance-id": instanceId };
  return {
    instanceId,
    type: "cpu",
    resources: { CPU: 1 },
    labels,
    nodeConfig: {},
    command: WAITS,
    env: {},
    joinToken: "secret",
    ...changes,
  };
}

const pods = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;
const secrets = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;
const namesAt = async (path: string): Promise<string[]> =>
  ((await server.must("GET", path)) as unknown as { items: Manifest[] }).items.map(({ metadata: { name } }) => name);

async function untilListed(provider: NodeProvider, id: string, isSo: (node: ProviderNode) => boolean): Promise<ProviderNode> {
  let found: ProviderNode | undefined;
  await until(async () => {
    found = (await provider.list()).find(({ instanceId }) => instanceId === id);
    return found !== undefined && isSo(found);
  }, `${id} to be in its state`);
  return found as ProviderNode;
}

function render(release: string, namespace: string): Manifest[] {
  // The server's version, as a helm that was built without its own release's settings takes 1.20.
  const args = [
    "template",
    release,
    CHART,
    "--namespace",
    namespace,
    "--kube-version",
    KUBERNETES_VERSION,
    "--set",
    "image=app:1,head.args={--no-nats},head.storage.size=1Gi",
  ];
  const text = execFileSync(helm.path, args, { encoding: "utf8" });
  return parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [document.toJS() as Manifest]));
}

const GROUPS: Readonly<Record<string, string>> = {
  ServiceAccount: "api/v1/namespaces/NS/serviceaccounts",
  ConfigMap: "api/v1/namespaces/NS/configmaps",
  Service: "api/v1/namespaces/NS/services",
  StatefulSet: "apis/apps/v1/namespaces/NS/statefulsets",
  Role: "apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles",
  RoleBinding: "apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings",
};

/** Makes the chart's objects. @returns their service account's token */
async function install(namespace: string): Promise<string> {
  for (const object of render("sky", namespace))
    await server.must("POST", `/${(GROUPS[object["kind"] as string] as string).replace("NS", namespace)}?fieldValidation=Strict`, object);
  return await server.tokenOf(namespace, "sky");
}

const title = missing === undefined ? "" : ` (skipped: ${missing})`;
describe.skipIf(missing !== undefined)(`on a real API server${title}`, () => {
  describe("with the rights of the chart alone, the contract of providers holds", () => {
    const make = async (): Promise<ProviderUnderTest> => {
      const place = await newPlace();
      const token = await install(place.namespace);
      const inner = await open(place, { token });
      let lost = 0;
      let quota: Promise<void> = Promise.resolve();
      const provider: NodeProvider = {
        check: (config, problem) => inner.check(config, problem),
        list: () => inner.list(),
        terminate: (ids) => inner.terminate(ids),
        close: () => inner.close(),
        launch: async (wanted) => {
          await quota;
          const answers = await inner.launch(wanted);
          if (lost === 0) return answers;
          lost -= 1;
          throw new Error("the answer was lost");
        },
      };
      return {
        provider,
        close: () => inner.close(),
        request: { command: WAITS },
        inject: {
          loseAnswers: (count) => void (lost = count),
          quota: (isOn) => void (quota = setQuota(place.namespace, isOn)),
        },
      };
    };
    for (const { name, run } of providerSuite(make))
      test(name, async () => {
        const leftOut = await run();
        expect([undefined, "the provider's list cannot lag"]).toContain(leftOut);
      });
  });

  test("a refused pod is told in Kubernetes' words, and leaves no secret", async () => {
    const place = await newPlace();
    const provider = await open(place);
    await setQuota(place.namespace, true);
    const misspelt = { nodeConfig: { spec: { nodeSelektor: {} } } };
    const wrong = { nodeConfig: { spec: { containers: [{ image: "a", imagePullPolicy: "Perhaps" }] } } };
    const answers = await provider.launch([request("quota"), request("strict", misspelt), request("invalid", wrong)]);
    expect(answers).toMatchObject([
      {
        instanceId: "quota",
        cause: "quota",
        message: expect.stringContaining("exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0"),
      },
      { instanceId: "strict", cause: "config", message: expect.stringContaining('unknown field "spec.nodeSelektor"') },
      { instanceId: "invalid", cause: "config", message: expect.stringContaining('Unsupported value: "Perhaps"') },
    ]);
    expect([await namesAt(secrets(place.namespace)), await namesAt(pods(place.namespace))]).toEqual([[], []]);
  });

  test("two autoscalers that launch one instance make one pod, and either may end it", async () => {
    const place = await newPlace();
    const [first, second] = [await open(place), await open(place)];
    const answers = await Promise.all([first.launch([request("one")]), second.launch([request("one")])]);
    expect(answers.flat().every((answer) => !("cause" in answer))).toBe(true);
    expect(await namesAt(pods(place.namespace))).toEqual(["one"]);
    await untilListed(second, "one", ({ state }) => state === "running");
    await Promise.all([first.terminate(["one"]), second.terminate(["one"])]);
    await until(async () => (await namesAt(pods(place.namespace))).length === 0, "the pod to go");
    expect(await namesAt(secrets(place.namespace))).toEqual([]);
  });

  test("a pod of others under the instance's name is neither taken nor ended", async () => {
    const place = await newPlace();
    const provider = await open(place);
    await server.must("POST", pods(place.namespace), {
      metadata: { name: "theirs" },
      spec: { containers: [{ name: "a", image: "a", command: WAITS }] },
    });
    expect(await provider.launch([request("theirs")])).toMatchObject([
      { cause: "config", message: expect.stringContaining('"theirs" already exists') },
    ]);
    await provider.terminate(["theirs"]);
    expect(await provider.list()).toEqual([]);
    expect(await namesAt(pods(place.namespace))).toEqual(["theirs"]);
  });

  test("a pod that no machine can take is pending in the scheduler's words, and fails after the file's time", async () => {
    const place = await newPlace({ cpus: 1 });
    const waits = await open(place);
    await waits.launch([request("big", { resources: { CPU: 4 } })]);
    const pending = await untilListed(waits, "big", ({ reason }) => reason !== undefined);
    expect(pending).toMatchObject({ state: "pending", reason: "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu." });
    const gives = await open(place, { config: { unschedulable_timeout_s: 1 } });
    expect(await untilListed(gives, "big", ({ state }) => state === "failed")).toMatchObject({ reason: pending.reason });
  });

  test("an image that is not pulled is told, and a container that ends fails its instance", async () => {
    const place = await newPlace();
    const provider = await open(place);
    const nodeConfig = { spec: { containers: [{ image: "missing/app:1" }] } };
    await provider.launch([request("image", { nodeConfig }), request("short", { command: ["/bin/sh", "-c", "exit 3"] })]);
    const image = await untilListed(provider, "image", ({ reason }) => reason !== undefined);
    expect(image).toMatchObject({ state: "pending", reason: 'ImagePullBackOff: Back-off pulling image "missing/app:1"' });
    expect(await untilListed(provider, "short", ({ state }) => state === "failed")).toMatchObject({ reason: "Error (exit code 3)" });
  });

  test("a token is in a secret of the head's pod until the container runs, and in no pod", async () => {
    const place = await newPlace();
    place.kubelet.isPaused = true;
    const own = { metadata: { name: "head-0" }, spec: { containers: [{ name: "a", image: "a", command: WAITS }] } };
    const { metadata } = await server.must("POST", pods(place.namespace), own);
    const provider = await open(place, { podName: "head-0" });
    const owner = { apiVersion: "v1", kind: "Pod", name: "head-0", uid: metadata.uid };
    await provider.launch([request("kept", { joinToken: "SHOAL1-hidden" })]);
    const secret = await server.must("GET", `${secrets(place.namespace)}/kept-join`);
    expect(secret).toMatchObject({
      metadata: { ownerReferences: [owner] },
      data: { token: Buffer.from("SHOAL1-hidden").toString("base64") },
    });
    const pod = await server.must("GET", `${pods(place.namespace)}/kept`);
    expect(pod).toMatchObject({ metadata: { ownerReferences: [owner] } });
    expect(JSON.stringify(pod)).not.toContain("SHOAL1-hidden");
    place.kubelet.isPaused = false;
    await untilListed(provider, "kept", ({ state }) => state === "running");
    await until(
      async () => (await provider.list()).length > 0 && (await namesAt(secrets(place.namespace))).length === 0,
      "the secret to go",
    );
    // Pods of another head under the same name of a cluster are not this cluster's.
    await server.must("POST", pods(place.namespace), { metadata: { name: "head-1" }, spec: own.spec });
    expect(await (await open(place, { podName: "head-1" })).list()).toEqual([]);
  });

  test("a pod whose machine is lost leaves the server when it is deleted by force", async () => {
    const place = await newPlace();
    const provider = await open(place);
    await provider.launch([request("lost", { nodeConfig: { spec: { terminationGracePeriodSeconds: 1 } } })]);
    await untilListed(provider, "lost", ({ state }) => state === "running");
    place.kubelet.isPaused = true;
    await provider.terminate(["lost"]);
    await untilListed(provider, "lost", ({ state }) => state === "terminating");
    const api = new KubernetesApi(kubeconfigAccess(server.kubeconfig(place.namespace), undefined), {
      namespace: place.namespace,
      labelSelector: "",
    });
    const pod = await api.pod("lost");
    await api.deletePod("lost", "another-uid", { isForced: true });
    expect(await namesAt(pods(place.namespace))).toEqual(["lost"]);
    await api.deletePod("lost", pod?.metadata.uid ?? "", { isForced: true });
    expect(await namesAt(pods(place.namespace))).toEqual([]);
    api.close();
  });

  test("a version that the server has forgotten is refused with 410, and the next list goes on", async () => {
    const place = await newPlace();
    const access = kubeconfigAccess(server.kubeconfig(place.namespace), undefined);
    const api = new KubernetesApi(access, { namespace: place.namespace, labelSelector: "a=b" });
    const never = AbortSignal.timeout(20_000);
    const { version } = await api.listPods();
    // The last change survives a compaction, so one change is not enough.
    for (const name of ["later", "last"])
      await server.must("POST", pods(place.namespace), {
        metadata: { name },
        spec: { containers: [{ name: "a", image: "a", command: WAITS }] },
      });
    await server.compact();
    await expect(api.watchPods(version, () => {}, never)).rejects.toMatchObject({ status: 410, reason: "Expired" });
    expect(Number((await api.listPods()).version)).toBeGreaterThan(Number(version));
    api.close();
  });

  test("the recorded answers, on which the tests without a server run, are those of the server", async () => {
    const { namespace, kubelet } = await newPlace();
    kubelet.isPaused = true;
    const facts = { cluster: "demo", image: "node:1", owner: undefined };
    const pod = podOf(request("one"), facts);
    const secret = secretOf(request("one"), facts);
    const { metadata } = await server.must("GET", pods(namespace));
    const answers: Record<string, { status: number; body: unknown }> = {};
    const record = async (name: string, method: string, path: string, body?: object): Promise<void> => {
      const { status, text } = await server.ask(method, path, body);
      const objects = text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
      answers[name] = { status, body: objects.length > 1 ? objects : objects[0] };
    };
    await record("secretMade", "POST", secrets(namespace), secret);
    await record("secretTaken", "POST", secrets(namespace), secret);
    await record("secretMissing", "DELETE", `${secrets(namespace)}/none`);
    await record("podMade", "POST", `${pods(namespace)}?fieldValidation=Strict`, pod);
    await record("podTaken", "POST", pods(namespace), pod);
    await record("podMissing", "GET", `${pods(namespace)}/none`);
    await record("podUnknownField", "POST", `${pods(namespace)}?fieldValidation=Strict`, {
      ...pod,
      spec: { ...pod.spec, nodeSelektor: {} },
    });
    await record("podInvalid", "POST", pods(namespace), { ...pod, spec: { ...pod.spec, dnsPolicy: "Perhaps" } });
    await record("list", "GET", pods(namespace));
    const status = { phase: "Running", podIP: "10.0.0.9" };
    await server.must("PATCH", `${pods(namespace)}/one/status`, { status }, "application/strategic-merge-patch+json");
    await record("podDeleted", "DELETE", `${pods(namespace)}/one`, { gracePeriodSeconds: 0 });
    await record("changes", "GET", `${pods(namespace)}?watch=1&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`);
    await setQuota(namespace, true);
    await record("podBeyondQuota", "POST", pods(namespace), pod);
    await server.compact();
    await record("expired", "GET", `${pods(namespace)}?watch=1&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`);
    const text = JSON.stringify(answers, undefined, 1)
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "00000000-0000-0000-0000-000000000000")
      .replaceAll(/"resourceVersion": "\d+"/g, '"resourceVersion": "1"')
      .replaceAll(/too old resource version: \d+ \(\d+\)/g, "too old resource version: 1 (2)")
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "2026-01-01T00:00:00Z")
      .replaceAll(namespace, "team");
    await expect(`${text}\n`).toMatchFileSnapshot(join(REPOSITORY, "test", "fixtures", "kubernetes", "answers.json"));
  });

  test("the chart's objects are taken by the server, and its account may do nothing else", async () => {
    const { namespace } = await newPlace();
    const objects = render("sky", namespace);
    expect(objects.map(({ kind }) => String(kind)).toSorted((a, b) => a.localeCompare(b))).toEqual([
      "ConfigMap",
      "Role",
      "RoleBinding",
      "Service",
      "ServiceAccount",
      "StatefulSet",
    ]);
    const [map] = objects.filter(({ kind }) => kind === "ConfigMap") as unknown as [{ data: Record<string, string> }];
    // Helm writes large numbers as 4e+09.
    const config = readClusterConfig(map.data["cluster.yaml"] as string, "cluster.yaml");
    expect(config).toMatchObject({
      clusterName: "sky",
      maxWorkers: 10,
      provider: { type: "kubernetes", config: { namespace, image: "app:1" } },
    });
    expect(config.nodeTypes).toMatchObject([{ name: "worker", resources: { CPU: 2, memory: 4e9 } }]);
    const token = await install(namespace);
    const pod = { metadata: { name: "x" }, spec: { containers: [{ name: "a", image: "a" }] } };
    const status = async (method: string, path: string, body?: object): Promise<number> =>
      (await server.ask(method, path, body, { token })).status;
    const core = `/api/v1/namespaces/${namespace}`;
    expect([await status("GET", pods(namespace)), await status("POST", `${pods(namespace)}?dryRun=All`, pod)]).toEqual([200, 201]);
    expect(await status("POST", `${secrets(namespace)}?dryRun=All`, { metadata: { name: "y" } })).toBe(201);
    const refused: [string, string, object?][] = [
      ["GET", secrets(namespace)],
      ["GET", `${secrets(namespace)}/y`],
      ["PUT", `${secrets(namespace)}/y`, { metadata: { name: "y" } }],
      ["PATCH", `${pods(namespace)}/x`, {}],
      ["POST", `${pods(namespace)}/x/exec?command=sh`, {}],
      ["GET", `${pods(namespace)}/x/log`],
      ["GET", `${core}/configmaps`],
      ["GET", `${core}/serviceaccounts`],
      ["POST", `${core}/serviceaccounts/default/token`, { spec: {} }],
      ["POST", `/apis/apps/v1/namespaces/${namespace}/deployments`, pod],
      ["POST", `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`, { metadata: { name: "r" }, rules: [] }],
      ["GET", "/api/v1/namespaces/kube-system/pods"],
      ["GET", "/api/v1/nodes"],
      ["GET", "/api/v1/pods"],
    ];
    for (const [method, path, body] of refused) expect([method, path, await status(method, path, body)]).toEqual([method, path, 403]);
  });
});

/** Makes or removes a quota of no pods. Its controller's part is done here: the status. */
async function setQuota(namespace: string, isOn: boolean): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/resourcequotas`;
  if (isOn) {
    const quota = await server.must("POST", path, { metadata: { name: "few" }, spec: { hard: { pods: "0" } } });
    await server.must("PUT", `${path}/few/status`, { ...quota, status: { hard: { pods: "0" }, used: { pods: "0" } } });
  } else await server.must("DELETE", `${path}/few`);
  const pod = { metadata: { name: "probe" }, spec: { containers: [{ name: "a", image: "a" }] } };
  const isRefused = async (): Promise<boolean> => (await server.ask("POST", `${pods(namespace)}?dryRun=All`, pod)).status === 403;
  await until(async () => (await isRefused()) === isOn, "the quota to hold");
}

describe.skipIf(missing !== undefined)(`a cluster whose nodes are pods${title}`, () => {
  const { folder: own, run: shoal, program } = useShoal();

  test("a waiting task gets a pod, a deleted pod is replaced, an idle pod goes with its secret", async () => {
    const place = await newPlace();
    mkdirSync(join(own, "k"));
    const file = join(own, "k", "cluster.yaml");
    writeFileSync(
      file,
      `cluster_name: sky
max_workers: 3
idle_timeout_minutes: 0.02
provider: { type: kubernetes, kubeconfig: ${server.kubeconfig(place.namespace)}, image: "node:1" }
head_node_type: head
available_node_types:
  head: { resources: { CPU: 0 } }
  telescope: { resources: { CPU: 1, telescope: 1 }, max_workers: 2, node_config: { spec: { terminationGracePeriodSeconds: 10 } } }
`,
    );
    const started = await shoal("up", file, "--port", "0", "--no-dashboard", "--no-nats", "--json");
    expect([started.stderr, started.exitCode]).toEqual(["", 0]);
    const seen = program(`
import { init, remote, shutdown } from "shoal";
await init({ address: "auto" });
const ref = remote(async () => {
  const { existsSync, writeFileSync } = await import("node:fs");
  if (!existsSync(${JSON.stringify(join(own, "began"))})) {
    writeFileSync(${JSON.stringify(join(own, "began"))}, "");
    await new Promise((resolve) => setTimeout(resolve, 1_000_000));
  }
  return "done";
}).options({ resources: { telescope: 1 } }).remote();
const result = await ref;
await shutdown();
console.log(JSON.stringify(result));
`);
    await until(async () => (await namesAt(pods(place.namespace))).length === 1, "a pod for the task");
    const [first = ""] = await namesAt(pods(place.namespace));
    await until(() => existsSync(join(own, "began")), "the task to begin in the pod", { withinMs: 60_000 });
    // As Kubernetes does when it preempts a pod.
    await server.must("DELETE", `${pods(place.namespace)}/${first}`);
    expect(await seen).toBe("done");
    await until(async () => (await namesAt(pods(place.namespace))).length === 0, "the idle pod to go", { withinMs: 60_000 });
    expect(await namesAt(secrets(place.namespace))).toEqual([]);
    expect((await shoal("down", file)).exitCode).toBe(0);
  }, 180_000);
});
