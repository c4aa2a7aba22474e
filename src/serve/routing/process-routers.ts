/**
 * The routers of this process, one for each deployment that it calls, and the process's link to the controller.
 *
 * Handles and proxies ask here, so that one process shares its knowledge and counts. A router ends with its deployment, or with the session (`closeRouters`). Also
 * finds the actors of replicas, once by name.
 */
import { SERVE_NAMESPACE } from "../names.ts";
import { type AnyActorHandle, getActor } from "../../core/index.ts";
import { actorIdOf, outsideCalls, within } from "../../core/internal.ts";
import { SYNC_WITHIN_MS } from "../limits.ts";
import { measureRouters } from "../metrics/router-metrics.ts";
import { measureQueues } from "../metrics/serve-metrics.ts";
import { ControllerLink } from "./controller-link.ts";
import { deploymentKey, ROUTES_KEY, type RouteTableValue } from "./controller-messages.ts";
import { DeploymentRouter, type DeploymentRoutes } from "./deployment-router.ts";
import type { RoutedReplica } from "./replica-set.ts";

interface ReplicaWatcher {
  added(replica: RoutedReplica): void;
  retired?(replica: RoutedReplica): void;
  released(replica: RoutedReplica): void;
  /** The deployment does not exist any more, and the router is no longer used: one of the same name has another. */
  over(): void;
}

class ProcessRouters {
  readonly #routers = new Map<string, DeploymentRouter>();
  readonly #watchers = new Map<string, Set<ReplicaWatcher>>();
  /** Proxies: several where they share a process. */
  readonly #routeWatchers = new Set<(routes: RouteTableValue) => void>();
  /** Undefined until the controller has told them. */
  #routes: RouteTableValue | undefined;
  /** Set before the first router is made: the routers of this process prefer replicas there. */
  preferredNodeId: string | undefined;
  /** Asks the head, which takes a while the first time. */
  findActor: (name: string) => Promise<AnyActorHandle> = (name) => getActor<object>(name, { namespace: SERVE_NAMESPACE });
  readonly #link = new ControllerLink(() =>
    [...this.#routers.values()]
      .filter((router) => router.queued > 0 || router.ongoing > 0)
      .map((router) => [router.app, router.deployment, router.queued, router.ongoing] as const),
  );

  router(app: string, deployment: string): DeploymentRouter {
    const key = deploymentKey(app, deployment);
    let router = this.#routers.get(key);
    if (router === undefined) {
      const made = new DeploymentRouter(app, deployment, {
        preferredNodeId: this.preferredNodeId,
        added: (replica) => {
          for (const watcher of this.#watchers.get(key) ?? []) watcher.added(replica);
        },
        retired: (replica) => {
          for (const watcher of this.#watchers.get(key) ?? []) watcher.retired?.(replica);
        },
        released: (replica) => {
          for (const watcher of this.#watchers.get(key) ?? []) watcher.released(replica);
          this.#link.released(key, replica.id);
        },
        warn: (text) => console.warn(text),
        needed: () => this.#link.report(),
        over: () => this.#remove(key, made),
      });
      router = made;
      this.#routers.set(key, made);
      this.#link.subscribe(key, {
        changed: (value) => made.update(value as DeploymentRoutes | null),
        held: () => made.held,
      });
    }
    return router;
  }

  /** Hears of the replicas of a deployment from now on. */
  watch(app: string, deployment: string, watcher: ReplicaWatcher): DeploymentRouter {
    const key = deploymentKey(app, deployment);
    const watchers = this.#watchers.get(key) ?? new Set<ReplicaWatcher>();
    this.#watchers.set(key, watchers);
    watchers.add(watcher);
    return this.router(app, deployment);
  }

  /** Hears of the routes of all applications from now on, and of those that are known at once. @returns ends it */
  watchRoutes(changed: (routes: RouteTableValue) => void): () => void {
    this.#routeWatchers.add(changed);
    if (this.#routes !== undefined) changed(this.#routes);
    else if (this.#routeWatchers.size === 1) this.#link.subscribe(ROUTES_KEY, { changed: (value) => this.#routed(value), held: () => [] });
    return () => void this.#routeWatchers.delete(changed);
  }

  #routed(value: unknown): void {
    this.#routes = (value ?? []) as RouteTableValue;
    for (const changed of this.#routeWatchers) changed(this.#routes);
  }

  /** The reason for which the controller cannot be reached; undefined where nothing has failed. */
  get unreachable(): string | undefined {
    return this.#link.unreachable;
  }

  /** Resolves when all routers here have the controller's present state, or when the time is over. */
  async synced(): Promise<void> {
    await this.#link.synced();
    const settled = Promise.allSettled(Array.from(this.all, (router) => router.settled));
    await within(settled, { timeoutMs: SYNC_WITHIN_MS, signal: undefined });
  }

  #remove(key: string, router: DeploymentRouter): void {
    if (this.#routers.get(key) !== router) return;
    this.#routers.delete(key);
    this.#link.unsubscribe(key);
    const watchers = this.#watchers.get(key) ?? [];
    this.#watchers.delete(key);
    for (const watcher of watchers) watcher.over();
  }

  get all(): Iterable<DeploymentRouter> {
    return this.#routers.values();
  }

  close(): void {
    this.#link.close();
    for (const router of this.#routers.values()) router.close();
    this.#routers.clear();
  }
}

let routers: ProcessRouters | undefined;
measureQueues(() => routers?.all ?? []);
measureRouters(() => routers?.all ?? []);

export function processRouters(): ProcessRouters {
  routers ??= new ProcessRouters();
  return routers;
}

/** Resolves when this process's routers, if any, have the controller's present state, or when the time is over. */
export async function routersSynced(): Promise<void> {
  await routers?.synced();
}

/** Serve or the session ends in this process. */
export function closeRouters(): void {
  routers?.close();
  routers = undefined;
}

const actors = new WeakMap<RoutedReplica, Promise<AnyActorHandle> | AnyActorHandle>();

/** The actor of a replica; at once where this process has found it before. @throws TypeError-like where it is gone */
export function actorOf(replica: RoutedReplica): AnyActorHandle | Promise<AnyActorHandle> {
  const known = actors.get(replica);
  if (known !== undefined) return known;
  const finding = outsideCalls(() => processRouters().findActor(replica.info.actorName));
  actors.set(replica, finding);
  finding.then(
    (handle) => actors.set(replica, handle),
    () => actors.delete(replica),
  );
  return finding;
}

/** The id of a replica's actor; undefined where this process has not found it. */
export function actorIdKnown(replica: RoutedReplica): string | undefined {
  const known = actors.get(replica);
  return known === undefined || known instanceof Promise ? undefined : actorIdOf(known, "compare an actor");
}
