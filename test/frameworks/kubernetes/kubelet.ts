/**
 * Scheduler and kubelet in one, for tests: runs the node's container of each pod as a process of this machine, and tells its states.
 *
 * The machine has so many CPUs. A pod that asks for more waits, unschedulable, in the scheduler's words. An image that begins with
 * `missing/` cannot be pulled. A deleted pod gets SIGTERM, its grace, then SIGKILL. A container's first word `shoal` is the program under test.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { ApiServer, Manifest } from "./api-server.ts";

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly env?: readonly { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
  readonly resources?: { requests?: Record<string, string> };
}
interface Spec {
  readonly nodeName?: string;
  readonly containers: readonly Container[];
}
interface PodEvent {
  readonly type: string;
  readonly object: Manifest & { spec: Spec };
}

const LOOKS_EVERY_MS = 50;
const NODE = "test-machine";

export class Kubelet {
  readonly #server: ApiServer;
  readonly #namespace: string;
  readonly #options: { cpus: number; shoal: readonly string[]; environment: Readonly<Record<string, string>> };
  /** By uid. */
  readonly #running = new Map<string, { child: ChildProcess; cpus: number }>();
  readonly #told = new Map<string, string>();
  #isStopping = false;
  #loop: Promise<void> | undefined;
  /** While paused it answers nothing, as a kubelet without a connection. */
  isPaused = false;

  constructor(
    server: ApiServer,
    namespace: string,
    options: { cpus: number; shoal: readonly string[]; environment?: Record<string, string> },
  ) {
    this.#server = server;
    this.#namespace = namespace;
    this.#options = { environment: {}, ...options };
  }

  start(): void {
    this.#loop = (async () => {
      while (!this.#isStopping) {
        if (!this.isPaused) await this.#look();
        await new Promise((resolve) => setTimeout(resolve, LOOKS_EVERY_MS));
      }
    })();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop;
    for (const { child } of this.#running.values()) child.kill("SIGKILL");
  }

  get processes(): number {
    return this.#running.size;
  }

  async #look(): Promise<void> {
    const { items } = (await this.#server.must("GET", this.#path(""))) as unknown as { items: PodEvent["object"][] };
    for (const pod of items) await this.#tend(pod);
  }

  async #tend(pod: PodEvent["object"]): Promise<void> {
    const uid = pod.metadata.uid as string;
    const [container] = pod.spec.containers as [Container];
    if (pod.metadata["deletionTimestamp"] !== undefined) return await this.#end(pod);
    if (pod.spec.nodeName === undefined && !(await this.#bind(pod, container))) return;
    if (this.#told.has(uid)) return;
    if (container.image.startsWith("missing/")) {
      this.#told.set(uid, "image");
      const message = `Back-off pulling image "${container.image}"`;
      return await this.#status(pod, { phase: "Pending", containerStatuses: [waiting(container, "ImagePullBackOff", message)] });
    }
    await this.#run(pod, container);
  }

  async #bind({ metadata: { name, uid } }: Manifest, container: Container): Promise<boolean> {
    const cpus = cpusOf(container);
    const used = Array.from(this.#running.values()).reduce((sum, one) => sum + one.cpus, 0);
    if (used + cpus > this.#options.cpus) {
      if (this.#told.get(`${uid}/waits`) === undefined)
        await this.#condition(name, {
          type: "PodScheduled",
          status: "False",
          reason: "Unschedulable",
          message: "0/1 nodes are available: 1 Insufficient cpu.",
        });
      this.#told.set(`${uid}/waits`, "");
      return false;
    }
    const target = { apiVersion: "v1", kind: "Node", name: NODE };
    const bound = await this.#server.ask("POST", this.#path(`/${name}/binding`), {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target,
    });
    // 404, 409: the pod was deleted meanwhile.
    if (bound.status === 404 || bound.status === 409) return false;
    if (bound.status >= 300) throw new Error(`binding of ${name}: ${bound.text}`);
    return true;
  }

  async #run(pod: PodEvent["object"], container: Container): Promise<void> {
    const { name, uid = "" } = pod.metadata;
    const env: Record<string, string> = {};
    for (const { name: variable, value, valueFrom } of container.env ?? []) {
      if (valueFrom === undefined) env[variable] = value ?? "";
      else {
        const secret = await this.#server.ask("GET", `/api/v1/namespaces/${this.#namespace}/secrets/${valueFrom.secretKeyRef.name}`);
        if (secret.status !== 200)
          return await this.#status(pod, { containerStatuses: [waiting(container, "CreateContainerConfigError", "secret not found")] });
        const { data } = secret.body as { data: Record<string, string> };
        env[variable] = Buffer.from(data[valueFrom.secretKeyRef.key] ?? "", "base64").toString();
      }
    }
    this.#told.set(uid, "runs");
    const folder = join(this.#server.folder, "pods", name);
    mkdirSync(join(folder, "tmp"), { recursive: true });
    const [first = "", ...rest] = container.command;
    const words = first === "shoal" ? [...this.#options.shoal, ...rest] : [first, ...rest];
    const log = openSync(join(folder, "log"), "w");
    const own = { TMPDIR: join(folder, "tmp"), XDG_STATE_HOME: join(folder, "state"), PATH: "/usr/bin:/bin", ...this.#options.environment };
    const child = spawn(words[0] as string, words.slice(1), { cwd: folder, env: { ...own, ...env }, stdio: ["ignore", log, log] });
    closeSync(log);
    this.#running.set(uid, { child, cpus: cpusOf(container) });
    // The end is told after the start, as a state never goes back.
    const runs = this.#status(pod, { phase: "Running", podIP: "127.0.0.1", containerStatuses: [statusOf(container, { running: {} })] });
    child.once("exit", (exitCode, signal) => {
      this.#running.delete(uid);
      if (this.#isStopping) return;
      const terminated = {
        exitCode: exitCode ?? 137,
        reason: exitCode === 0 ? "Completed" : "Error",
        ...(signal !== null && { message: signal }),
      };
      const ended = { phase: exitCode === 0 ? "Succeeded" : "Failed", containerStatuses: [statusOf(container, { terminated })] };
      void runs.then(() => this.#status(pod, ended)).catch(() => {});
    });
    await runs;
  }

  async #end({ metadata: { name, uid = "", ...rest } }: Manifest): Promise<void> {
    const running = this.#running.get(uid);
    if (running === undefined) {
      await this.#server.ask("DELETE", this.#path(`/${name}`), { gracePeriodSeconds: 0, preconditions: { uid } });
      return;
    }
    if (this.#told.get(uid) === "ends") return;
    this.#told.set(uid, "ends");
    running.child.kill("SIGTERM");
    const graceMs = 1_000 * Number(rest["deletionGracePeriodSeconds"] ?? 30);
    const timer = setTimeout(() => running.child.kill("SIGKILL"), graceMs);
    running.child.once("exit", () => clearTimeout(timer));
  }

  async #condition(name: string, condition: object): Promise<void> {
    await this.#patch(name, { conditions: [condition] });
  }

  async #status({ metadata: { name } }: Manifest, status: object): Promise<void> {
    await this.#patch(name, status);
  }

  async #patch(name: string, status: object): Promise<void> {
    const answer = await this.#server.ask(
      "PATCH",
      this.#path(`/${name}/status`),
      { status },
      { type: "application/strategic-merge-patch+json" },
    );
    // 404: the pod was deleted meanwhile.
    if (answer.status >= 300 && answer.status !== 404) throw new Error(`status of ${name}: ${answer.text}`);
  }

  #path(rest: string): string {
    return `/api/v1/namespaces/${this.#namespace}/pods${rest}`;
  }
}

function cpusOf({ resources }: Container): number {
  const text = resources?.requests?.["cpu"] ?? "0";
  return text.endsWith("m") ? Number(text.slice(0, -1)) / 1_000 : Number(text);
}

function statusOf({ name, image }: Container, state: object): object {
  return { name, image, imageID: "", ready: "running" in state, restartCount: 0, state };
}

function waiting(container: Container, reason: string, message: string): object {
  return statusOf(container, { waiting: { reason, message } });
}
