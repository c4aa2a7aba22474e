/**
 * Runs proxies as actors: a number on each node of the cluster, or on one node. Proxies that die are started again.
 *
 * Proxies are detached actors with names, like replicas: they serve while no controller runs, and the next controller finds them. A drained node gets no proxy,
 * because it would never start there. Owns the state of each proxy: its address, or the error that keeps it from listening. The controller calls this file.
 */
import { SERVE_NAMESPACE } from "../../names.ts";
import { ActorDiedError, type ActorHandle, actors, getRuntimeContext, kill, type NodeInfo, nodes, remote } from "../../../core/index.ts";
import { within } from "../../../core/internal.ts";
import {
  COMPONENT_START_WITHIN_MS,
  DRAIN_ANSWER_MS,
  DRAIN_WITHIN_MS,
  METRICS_WITHIN_MS,
  REPLICA_CONCURRENCY,
  START_RETRY_MIN_MS,
} from "../../limits.ts";
import type { ProcessMetrics } from "../../../metrics/registry.ts";
import { proxyEnded } from "../../metrics/replica-life-metrics.ts";
import type { ResolvedHttpOptions } from "../../proxy/options/http-options.ts";
import type { ResolvedGrpcOptions } from "../../grpc/grpc-options.ts";
import { ServeProxy } from "../../proxy/proxy.ts";
import { reasonOf } from "./replica-starter.ts";

/** Ray's words. */
export type ProxyStatus = "STARTING" | "HEALTHY" | "UNHEALTHY" | "DRAINING" | "DRAINED";

export interface ProxyStatusInfo {
  status: ProxyStatus;
  readonly nodeId: string;
  /** Where it listens, such as `http://127.0.0.1:8000`; absent until it does. */
  address: string | undefined;
  /** Address of the proxy for gRPC, such as `127.0.0.1:9000`; absent where it does not. */
  grpcAddress?: string;
  message: string;
}

const PROXY_NAME = /^SERVE_PROXY::(.+)::(\d+)$/;

interface RunningProxy {
  handle: ActorHandle<ServeProxy>;
  readonly info: ProxyStatusInfo;
  /** Settles with the first start, and where there will be none. */
  readonly started: Promise<void>;
  /** Ends the wait for its start. */
  readonly giveUp: () => void;
  isEnding: boolean;
}

export class ProxyStarter {
  readonly #options: ResolvedHttpOptions;
  readonly #grpcOptions: ResolvedGrpcOptions | undefined;
  readonly #proxies = new Map<string, RunningProxy>();
  /** By node, where its proxies listen. */
  readonly #ports = new Map<string, number>();
  readonly #grpcPorts = new Map<string, number>();
  #found: Promise<void> | undefined;
  #isOver = false;

  constructor(options: ResolvedHttpOptions, grpc: ResolvedGrpcOptions | undefined) {
    this.#options = options;
    this.#grpcOptions = grpc;
  }

  get statuses(): Record<string, ProxyStatusInfo> {
    return Object.fromEntries([...this.#proxies].map(([name, { info }]) => [name, info]));
  }

  /** Whether any proxy has come to listen. */
  get hasListened(): boolean {
    return this.#ports.size > 0;
  }

  /** Every node that stays has its proxies, and nodes that have gone have none. */
  async follow(): Promise<void> {
    const { location, proxies } = this.#options;
    if (location === "disabled") return;
    await (this.#found ??= this.#find().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    }));
    const alive = new Map((await nodes()).filter((node) => node.alive).map((node) => [node.nodeId as string, node]));
    // The nodes may have been asked for before the end: a proxy that started now would stay, with these options.
    if (this.#isOver) return;
    const home = location === "headOnly" ? this.#home(alive) : undefined;
    for (const { nodeId, draining } of alive.values())
      if (!draining && (home ?? nodeId) === nodeId) for (let index = 0; index < proxies; index += 1) this.#start(nodeId, index);
    for (const [name, proxy] of this.#proxies) {
      const node = alive.get(proxy.info.nodeId);
      if (node === undefined) this.#end(name, proxy);
      else if (node.draining) proxy.giveUp();
    }
  }

  /** Proxies that an earlier controller has started. */
  async #find(): Promise<void> {
    for (const { name = "", phase } of await actors({ namespace: SERVE_NAMESPACE })) {
      const [, nodeId, index] = PROXY_NAME.exec(name) ?? [];
      if (nodeId !== undefined && phase !== "dead" && !this.#isOver) this.#start(nodeId, Number(index));
    }
  }

  /** The node of the only proxies. They stay where they are, as clients know their address, when the controller goes to another node. */
  #home(alive: ReadonlyMap<string, NodeInfo>): string {
    const kept = [...this.#proxies.values()].find(({ info }) => alive.get(info.nodeId)?.draining === false);
    return kept?.info.nodeId ?? getRuntimeContext().nodeId;
  }

  /** @throws where one that was to start could not listen */
  async ready(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map(({ started }) => started));
  }

  /** All proxies that serve, with those that start now, route to the application; one that does not get there in time holds nobody up. */
  async routesTo(app: string): Promise<void> {
    const asked = [...this.#proxies.values()].map(async (proxy) => {
      await proxy.started.catch(() => {});
      if (proxy.info.status === "HEALTHY") await proxy.handle.routesTo.options({ timeoutMs: COMPONENT_START_WITHIN_MS }).remote(app);
    });
    await within(Promise.allSettled(asked), { timeoutMs: COMPONENT_START_WITHIN_MS, signal: undefined });
  }

  async metrics(): Promise<ProcessMetrics[]> {
    const asked = await Promise.allSettled(
      [...this.#proxies].map(async ([name, { handle }]) => ({
        tags: { proxy: name },
        metrics: await handle.metrics.options({ timeoutMs: METRICS_WITHIN_MS }).remote(),
      })),
    );
    return asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }

  /** Lets proxies finish their requests and end. No proxy starts any more. */
  async shutdown(withinMs: number): Promise<void> {
    this.#isOver = true;
    await Promise.all(
      [...this.#proxies].map(async ([name, proxy]) => {
        proxy.isEnding = true;
        await this.#drain(proxy, { withinMs });
        this.#proxies.delete(name);
        // The next one of this name is to be another.
        await Promise.allSettled([kill(proxy.handle)]);
      }),
    );
  }

  #start(nodeId: string, index: number): void {
    const name = nameOf(nodeId, index);
    if (this.#proxies.has(name)) return;
    const info: ProxyStatusInfo = { status: "STARTING", nodeId, address: undefined, message: "" };
    const { promise: started, resolve, reject } = Promise.withResolvers<void>();
    // `ready()` reports a failed start. Without a call to it, only the status shows the failure.
    started.catch(() => {});
    const proxy: RunningProxy = { handle: this.#actor(name, nodeId), info, started, giveUp: resolve, isEnding: false };
    this.#proxies.set(name, proxy);
    void this.#keepRunning(name, proxy, { resolve, reject }).finally(resolve);
  }

  /** With port 0 the first proxy of a node gets one that is free, for HTTP and for gRPC, and the others, and those that are started again, the same. */
  async #portOf(name: string, nodeId: string): Promise<number> {
    const first = nameOf(nodeId, 0);
    const isAny = this.#options.port === 0 || this.#grpcOptions?.port === 0;
    if (isAny && name !== first) await this.#proxies.get(first)?.started.catch(() => {});
    return this.#ports.get(nodeId) ?? this.#options.port;
  }

  /** Makes a proxy's actor without restarts: an actor with restarts would be moved off a leaving node amid its requests. */
  #actor(name: string, nodeId: string): ActorHandle<ServeProxy> {
    return remote(ServeProxy, {
      name,
      namespace: SERVE_NAMESPACE,
      getIfExists: true,
      lifetime: "detached",
      numCpus: 0,
      maxConcurrency: REPLICA_CONCURRENCY,
      schedulingStrategy: { nodeId },
    }).remote(this.#options, this.#grpcOptions);
  }

  async #keepRunning(name: string, proxy: RunningProxy, first: { resolve: () => void; reject: (error: unknown) => void }): Promise<void> {
    const { info } = proxy;
    while (!proxy.isEnding) {
      try {
        const { host, port } = await proxy.handle.start.remote(await this.#portOf(name, info.nodeId));
        this.#ports.set(info.nodeId, port);
        info.address = `${this.#options.tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
        const grpc = await this.#startGrpc(proxy);
        if (grpc !== undefined) info.grpcAddress = grpc;
        info.status = "HEALTHY";
        info.message = "";
        first.resolve();
        await proxy.handle.preempted.remote();
        await this.#leaveNode(proxy);
        return;
      } catch (error) {
        if (proxy.isEnding) return;
        info.status = "UNHEALTHY";
        info.message = reasonOf(error);
        // A proxy that died with its node is no failed start: `follow` takes it out once it hears of that.
        if (error instanceof ActorDiedError && (await hasDied(info.nodeId))) first.resolve();
        else first.reject(error);
      }
      await new Promise<void>((resolve) => setTimeout(resolve, START_RETRY_MIN_MS));
      // A proxy that could not listen still runs, and the same actor is asked again.
      if (!proxy.isEnding) proxy.handle = this.#actor(name, info.nodeId);
    }
  }

  /** @returns where it listens; undefined where it does not */
  async #startGrpc({ handle, info: { nodeId } }: RunningProxy): Promise<string | undefined> {
    if (this.#grpcOptions === undefined) return undefined;
    const bound = await handle.startGrpc.remote(this.#grpcPorts.get(nodeId) ?? this.#grpcOptions.port);
    if (bound === undefined) return undefined;
    this.#grpcPorts.set(nodeId, bound.port);
    return `${bound.host.includes(":") ? `[${bound.host}]` : bound.host}:${bound.port}`;
  }

  /**
   * Ends a proxy on a leaving node: `/-/healthz` announces the end, the proxy serves for a grace period, finishes its requests, and ends. It stays in the table, so
   * that no other proxy is started there.
   */
  async #leaveNode(proxy: RunningProxy): Promise<void> {
    proxy.isEnding = true;
    await this.#drain(proxy, { graceMs: this.#options.drainGraceMs, withinMs: DRAIN_WITHIN_MS });
    proxy.info.status = "DRAINED";
    await Promise.allSettled([kill(proxy.handle)]);
  }

  /** @param times how long the proxy serves on, and how long requests that are open then have */
  async #drain({ handle, info }: RunningProxy, { graceMs = 0, withinMs }: { graceMs?: number; withinMs: number }): Promise<void> {
    const startMs = performance.now();
    info.status = "DRAINING";
    const timeoutMs = Math.min(2 ** 31 - 1, graceMs + withinMs + DRAIN_ANSWER_MS);
    const [outcome] = await Promise.allSettled([handle.drain.options({ timeoutMs }).remote(graceMs, withinMs)]);
    if (outcome.status === "fulfilled") proxyEnded(info.nodeId, performance.now() - startMs);
  }

  #end(name: string, proxy: RunningProxy): void {
    proxy.isEnding = true;
    this.#proxies.delete(name);
    void kill(proxy.handle).catch(() => {});
  }
}

async function hasDied(nodeId: string): Promise<boolean> {
  const known = await nodes().catch(() => []);
  return !known.some((node) => node.nodeId === nodeId && node.alive);
}

function nameOf(nodeId: string, index: number): string {
  return `SERVE_PROXY::${nodeId}::${index}`;
}
