/**
 * Runs replicas as actors: starts, calls and ends them.
 *
 * Each method carries out one effect of the state and reports its outcome as an event. Replicas are detached actors with names, so they outlive a controller,
 * and the next controller finds them.
 */
import { bundleOf } from "../../deployments/actor-options.ts";
import { SERVE_NAMESPACE, replicaActorName } from "../../names.ts";
import {
  ActorDiedError,
  type ActorHandle,
  getActor,
  kill,
  type LabelSelector,
  type PlacementGroup,
  type PlacementGroupOptions,
  placementGroup,
  placementGroupTable,
  type ObjectRef,
  remote,
  ShoalError,
  TaskError,
  TaskTimeoutError,
  why,
} from "../../../core/index.ts";
import { actorIdOf, placementGroupOfId, runsInProcess } from "../../../core/internal.ts";
import { ADOPT_WITHIN_MS, METRICS_WITHIN_MS, REPLICA_CONCURRENCY } from "../../limits.ts";
import type { ProcessMetrics } from "../../../metrics/registry.ts";
import { ReplicaLifeMetrics } from "../../metrics/replica-life-metrics.ts";
import type { ReplicaContext } from "../../replica/context/replica-context.ts";
import type { LoggingConfig } from "../../replica/context/replica-log.ts";
import type { TracingConfig } from "../../tracing.ts";
import { type CodeSource, Replica, type ReplicaDescription, type ReplicaGroup } from "../../replica/replica.ts";
import type { ReplicaSettings } from "../../replica/taken-settings.ts";
import type { ReplicaStart, ServeEvent } from "../serve-events.ts";
import { spreadOptions } from "./spread-options.ts";
import type { Subscribers } from "../subscribers.ts";
import { waitText } from "./wait-text.ts";

const GROUP_PREFIX = "SERVE_GROUP::";

type ReplicaHandle = ActorHandle<Replica>;

interface ReservedGroup {
  readonly group: PlacementGroup;
  readonly members: Set<string>;
  /** The group's bundles, in words; undefined where another controller has made the group. */
  readonly bundles: string | undefined;
}

interface ReplicaStarterOptions {
  readonly happened: (event: ServeEvent) => void;
  readonly subscribers: Subscribers;
  /** The options of `serve.start` as they are now; `logging` and `tracing` are for replicas of deployments without their own. */
  readonly options: () => {
    readonly showsErrors: boolean;
    readonly logging?: LoggingConfig | undefined;
    readonly tracing?: TracingConfig | undefined;
  };
  /** Names of methods of the services of gRPC that the proxies offer. */
  readonly grpcMethods: () => readonly string[];
}

export class ReplicaStarter {
  readonly #handles = new Map<string, ReplicaHandle>();
  /** The calls of `start` that have not ended. */
  readonly #starting = new Map<string, ObjectRef<Awaited<ReturnType<Replica["start"]>>>>();
  readonly #groups = new Map<string, ReservedGroup>();
  readonly #life = new ReplicaLifeMetrics();
  readonly #happened: (event: ServeEvent) => void;
  readonly #subscribers: Subscribers;
  readonly #options: ReplicaStarterOptions["options"];
  readonly #grpcMethods: () => readonly string[];

  constructor(options: ReplicaStarterOptions) {
    this.#happened = options.happened;
    this.#subscribers = options.subscribers;
    this.#options = options.options;
    this.#grpcMethods = options.grpcMethods;
  }

  start(start: ReplicaStart, code: CodeSource): void {
    const { id, app, deployment, version, rank, worldSize, userConfig, maxOngoingRequests, gang } = start;
    const { showsErrors, logging, tracing } = this.#options();
    const gangContext = gang && { gangId: gang.id, rank: gang.index, worldSize: gang.gangSize, memberReplicaIds: gang.members };
    const context: ReplicaContext = { appName: app, deployment, replicaId: id, rank, worldSize, gangContext };
    const isInProcess = runsInProcess();
    const startMs = performance.now();
    try {
      const actor = this.#actorOf(start);
      const replica = actor.remote(
        {
          context,
          version,
          maxOngoingRequests,
          userConfig,
          group: this.#groupWith(id),
          logging: start.logging ?? logging,
          tracing: start.tracing ?? tracing,
          showsErrors,
          isInProcess,
        },
        code,
      );
      this.#handles.set(id, replica);
      this.#watch(id, replica);
      const started = replica.start.remote(this.#grpcMethods());
      this.#starting.set(id, started);
      started.then(
        ({ codeTookMs, ...facts }) => {
          this.#starting.delete(id);
          this.#life.started(id, { tookMs: performance.now() - startMs, codeTookMs });
          this.#happened({ kind: "started", replica: id, ...facts });
        },
        (error: unknown) => {
          this.#starting.delete(id);
          this.#happened({ kind: "startFailed", replica: id, reason: reasonOf(error) });
        },
      );
    } catch (error) {
      this.#happened({ kind: "startFailed", replica: id, reason: reasonOf(error) });
      this.#happened({ kind: "ended", replica: id, reason: reasonOf(error) });
    }
  }

  /** Finds out why a replica has not started. */
  async explain(id: string): Promise<void> {
    const started = this.#starting.get(id);
    if (started === undefined) return;
    try {
      const bundles = [...this.#groups.values()].find(({ members }) => members.has(id))?.bundles;
      const reason = waitText(await why(started), (actorId) => this.#replicaOf(actorId), bundles);
      this.#happened({ kind: "explained", replica: id, reason });
    } catch {
      // The runtime cannot tell, or not now: it is asked again.
    }
  }

  /**
   * Takes over a replica that an earlier controller has started; `follow` then watches it.
   *
   * @throws if the replica is gone or does not answer; a silent replica is killed
   */
  async adopt(id: string): Promise<ReplicaDescription> {
    const replica = await getActor<Replica>(replicaActorName(id), { namespace: SERVE_NAMESPACE });
    try {
      const description = await replica.describe.options({ timeoutMs: ADOPT_WITHIN_MS }).remote();
      const { group } = description;
      if (group !== undefined) {
        this.#groupOf(group.key, id, { bundles: undefined, make: () => placementGroupOfId(group.id) });
      }
      this.#handles.set(id, replica);
      return description;
    } catch (error) {
      void kill(replica).catch(() => {});
      throw error;
    }
  }

  /** Tells what comes of a replica that was taken over. */
  follow(id: string): void {
    const replica = this.#handles.get(id);
    if (replica !== undefined) this.#watch(id, replica);
  }

  /** Removes placement groups whose replicas all died while no controller was there. */
  async removeOrphanedGroups(): Promise<void> {
    const table = await placementGroupTable();
    // Not before: replicas may have been started meanwhile.
    const known = new Set([...this.#groups.values()].map(({ group }) => group.id));
    const orphans = table.filter(({ id, name = "", state }) => name.startsWith(GROUP_PREFIX) && state !== "removed" && !known.has(id));
    await Promise.allSettled(orphans.map(({ id }) => placementGroupOfId(id).remove()));
  }

  /** Metrics of the replicas that answer in time. */
  async metrics(): Promise<ProcessMetrics[]> {
    const asked = await Promise.allSettled(
      [...this.#handles].map(async ([id, replica]) => ({
        tags: { replica: id },
        metrics: await replica.metrics.options({ timeoutMs: METRICS_WITHIN_MS }).remote(),
      })),
    );
    return asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }

  reconfigure(id: string, settings: ReplicaSettings, withinMs: number): void {
    const startMs = performance.now();
    this.#handles
      .get(id)
      ?.reconfigure.options({ timeoutMs: withinMs })
      .remote(settings)
      .then(
        () => {
          this.#life.reconfigured(id, performance.now() - startMs);
          this.#happened({ kind: "reconfigured", replica: id });
        },
        (error: unknown) => {
          const isLate = error instanceof TaskTimeoutError;
          const reason = isLate ? slowReconfigure(id, withinMs) : reasonOf(error);
          this.#happened({ kind: "reconfigureFailed", replica: id, reason, isLate });
        },
      );
  }

  checkHealth(id: string, withinMs: number): void {
    const startMs = performance.now();
    const checked = (isHealthy: boolean): void => this.#life.checked(id, { tookMs: performance.now() - startMs, isHealthy });
    this.#handles
      .get(id)
      ?.checkHealth.options({ timeoutMs: withinMs })
      .remote()
      .then(
        () => {
          checked(true);
          this.#happened({ kind: "healthy", replica: id });
        },
        (error: unknown) => {
          checked(false);
          this.#happened({ kind: "unhealthy", replica: id, reason: reasonOf(error) });
        },
      );
  }

  /** Ends a replica that is no longer in the routes: once all subscribers have released it and its requests are over, or after `withinMs`. */
  async retire(id: string, withinMs: number): Promise<void> {
    const replica = this.#handles.get(id);
    if (replica === undefined) return;
    const startMs = performance.now();
    this.#life.ending(id, startMs);
    await this.#subscribers.released(id, withinMs);
    const leftMs = Math.max(0, withinMs - (performance.now() - startMs));
    // An error of its dispose method does not stop its end.
    if (leftMs > 0) await Promise.allSettled([replica.drain.options({ timeoutMs: leftMs }).remote()]);
    this.kill(id);
  }

  kill(id: string): void {
    const replica = this.#handles.get(id);
    if (replica !== undefined) {
      this.#life.ending(id, performance.now());
      void kill(replica).catch(() => {});
    }
    // The actor was never made. The event comes later, not amid the event that gave the replica up.
    else queueMicrotask(() => this.#happened({ kind: "ended", replica: id, reason: "it was not started" }));
  }

  /** Watches a replica and reports its end, for any cause. */
  #watch(id: string, replica: ReplicaHandle): void {
    replica.preempted.remote().then(
      () => this.#happened({ kind: "moving", replica: id }),
      () => {
        // The code below reports the end.
      },
    );
    replica.alive.remote().then(undefined, (error: unknown) => {
      // The replica's process may live on where the process of its Python code has ended.
      void kill(replica).catch(() => {});
      this.#handles.delete(id);
      this.#leaveGroups(id);
      this.#life.ended(id, performance.now());
      this.#happened({ kind: "ended", replica: id, reason: reasonOf(error) });
    });
  }

  #actorOf({ id, actorOptions, fullNodes, gang, ...reserved }: ReplicaStart): ReturnType<typeof replicaClass> {
    const { labelSelector, ...unlabelled } = actorOptions as { labelSelector?: LabelSelector };
    const bundles = reserved.placementGroupBundles ?? (gang === undefined ? undefined : [bundleOf(actorOptions)]);
    if (bundles === undefined) return replicaClass({ ...spreadOptions(actorOptions, fullNodes), name: replicaActorName(id) });
    // All members of a gang share one group, with separate bundles.
    const { id: groupId, gangSize, index, strategy } = gang ?? { id, gangSize: 1, index: 0, strategy: reserved.placementGroupStrategy };
    const labels = reserved.placementGroupBundleLabelSelector ?? bundles.map(() => labelSelector ?? {});
    const group = this.#groupOf(groupId, id, {
      bundles: `${gangSize === 1 ? "" : `${gangSize} times `}${bundlesText(bundles, labels)}`,
      make: () =>
        placementGroup(
          Array.from({ length: gangSize }, () => bundles).flat(),
          detached(groupId, { strategy, bundleLabelSelector: Array.from({ length: gangSize }, () => labels).flat() }),
        ),
    });
    const schedulingStrategy = { placementGroup: group, bundleIndex: index * bundles.length };
    return replicaClass({ ...unlabelled, schedulingStrategy, name: replicaActorName(id) });
  }

  #replicaOf(actorId: string): string | undefined {
    for (const [id, handle] of this.#handles) if (actorIdOf(handle, "name a replica") === actorId) return id;
    return undefined;
  }

  #groupOf(key: string, member: string, { bundles, make }: { bundles: string | undefined; make: () => PlacementGroup }): PlacementGroup {
    const known = this.#groups.get(key) ?? { group: make(), members: new Set<string>(), bundles };
    this.#groups.set(key, known);
    known.members.add(member);
    return known.group;
  }

  #groupWith(id: string): ReplicaGroup | undefined {
    for (const [key, { group, members }] of this.#groups) if (members.has(id)) return { key, id: group.id };
    return undefined;
  }

  #leaveGroups(id: string): void {
    for (const [key, { group, members }] of this.#groups) {
      if (!members.delete(id) || members.size > 0) continue;
      this.#groups.delete(key);
      void group.remove().catch(() => {});
    }
  }
}

function replicaClass(options: object) {
  return remote(Replica, {
    namespace: SERVE_NAMESPACE,
    lifetime: "detached",
    maxConcurrency: REPLICA_CONCURRENCY,
    allowOutOfOrderExecution: true,
    ...options,
  });
}

function detached(id: string, options: PlacementGroupOptions): PlacementGroupOptions {
  return { ...options, name: `${GROUP_PREFIX}${id}`, lifetime: "detached" };
}

function bundlesText(bundles: readonly Readonly<Record<string, number>>[], labels: readonly LabelSelector[]): string {
  const texts = bundles.map((bundle, index) => {
    const selector = labels[index] ?? {};
    return `${JSON.stringify(bundle)}${Object.keys(selector).length === 0 ? "" : ` on a node of ${JSON.stringify(selector)}`}`;
  });
  return texts.join(", ");
}

/** Tells why a replica that does not take its configuration is given up, with the remedy. */
function slowReconfigure(id: string, withinMs: number): string {
  return `reconfigure() of replica ${id} had not returned after ${withinMs / 1000} s: let it begin slow work and return, give what takes so long to the constructor, as an argument of bind(), or set a longer reconfigureTimeoutMs`;
}

/** The error of the user's code in one line, with its remedy, or the reason for which its process ended. */
export function reasonOf(error: unknown): string {
  const { cause } = (error ?? {}) as { cause?: unknown };
  // The error of a call or an actor has the user's error as its cause; the cause of any other error is a detail.
  const isWrapped = (error instanceof TaskError || error instanceof ActorDiedError) && cause instanceof Error;
  const shown: unknown = isWrapped ? cause : error;
  if (!(shown instanceof Error)) return String(shown);
  // The names of the controller's own calls say nothing to users.
  if (shown instanceof ShoalError && isReplicaCall(shown.details?.["call"])) return `${shown.reason ?? shown.message}${endOf(shown)}`;
  const hint = shown instanceof ShoalError && shown.hint !== undefined ? `. ${shown.hint}` : "";
  return isWrapped ? `${shown.name}: ${shown.message}${hint}` : `${shown.message}${hint}`;
}

function isReplicaCall(call: unknown): boolean {
  return typeof call === "string" && call.startsWith("Replica.");
}

/** How the process of the replica ended, where the error knows. */
function endOf({ signal, exitCode, lastOutput = [] }: ShoalError): string {
  const end = signal ?? (exitCode === undefined ? "" : `exit code ${exitCode}`);
  const isHeapFull = lastOutput.some((line) => line.includes("heap out of memory"));
  return end === "" ? "" : ` (${end}${isHeapFull ? ": JavaScript heap out of memory" : ""})`;
}
