/**
 * All applications as the controller has them: events in, effects out.
 *
 * Pure: no clock, no socket, no actor. Owns who has which path, the deployments of each application, and what the processes report of their load. The shell beside it
 * (`controller.ts`) turns what happens into events and carries the effects out. Simulated in `serve-state.test.ts` with thousands of replicas and dying nodes.
 */
import type { ApplicationTarget } from "../deployment-config.ts";
import { REPORT_VALID_MS } from "../limits.ts";
import type { LoadReport, RouteTableValue } from "../routing/controller-messages.ts";
import { type DeploymentRecord, DeploymentState, type ReplicaRecord } from "./deployment-state.ts";
import type { AutoscalingContext } from "./autoscaling-policy.ts";
import type { ApplicationStatus, DeploymentStatus, ReplicaState, ServeEffect, ServeEvent } from "./serve-events.ts";
import { configAt } from "./target-capacity.ts";

interface ApplicationState {
  target: ApplicationTarget;
  readonly deployments: Map<string, DeploymentState>;
  isDeleting: boolean;
}

/** The record of an application in the cluster's store. */
export interface ApplicationRecord {
  readonly target: ApplicationTarget;
  readonly deployments: readonly DeploymentRecord[];
}

interface DeploymentStatusInfo {
  readonly status: DeploymentStatus;
  readonly message: string;
  readonly replicaStates: Partial<Record<ReplicaState, number>>;
}

export interface ApplicationStatusInfo {
  readonly status: ApplicationStatus;
  readonly message: string;
  readonly routePrefix: string | null;
  readonly deployments: Readonly<Record<string, DeploymentStatusInfo>>;
}

/** A deployment that is being deleted is not saved: the next controller ends the replicas that it finds of it. */
function isKept({ isDeleting }: DeploymentState): boolean {
  return !isDeleting;
}

interface ServeStateOptions {
  /** A short text that no other call has given. */
  readonly newId: () => string;
  /** Policies of users, by application and deployment. */
  readonly policyOf?: (app: string, deployment: string) => ((context: AutoscalingContext) => number) | undefined;
}

export class ServeState {
  readonly #options: ServeStateOptions;
  readonly #apps = new Map<string, ApplicationState>();
  readonly #byReplica = new Map<string, DeploymentState>();
  readonly #reports = new Map<string, { atMs: number; report: LoadReport }>();

  constructor(options: ServeStateOptions) {
    this.#options = options;
  }

  get apps(): string[] {
    return [...this.#apps.keys()];
  }

  get routes(): RouteTableValue {
    const routes: { prefix: string; app: string; ingress: string }[] = [];
    for (const { target, isDeleting } of this.#apps.values())
      if (!isDeleting && target.routePrefix !== null)
        routes.push({ prefix: target.routePrefix, app: target.name, ingress: target.ingress });
    return routes;
  }

  deployment(app: string, name: string): DeploymentState | undefined {
    return this.#apps.get(app)?.deployments.get(name);
  }

  application(app: string): ApplicationTarget | undefined {
    return this.#apps.get(app)?.target;
  }

  record(app: string): ApplicationRecord | undefined {
    const found = this.#apps.get(app);
    return found === undefined
      ? undefined
      : { target: found.target, deployments: [...found.deployments.values()].filter(isKept).map(({ record }) => record) };
  }

  /** Restores an application from the record of an earlier controller; its replicas follow as `found` events. */
  restore({ target, deployments }: ApplicationRecord): void {
    const states = deployments.map(
      (record) => [record.target.name, new DeploymentState(target.name, record, this.#options.newId)] as const,
    );
    this.#apps.set(target.name, { target, deployments: new Map(states), isDeleting: false });
  }

  /** The application that has a path already; undefined where it is free. */
  holderOf(routePrefix: string | null, app: string): string | undefined {
    if (routePrefix === null) return undefined;
    for (const { target, isDeleting } of this.#apps.values())
      if (!isDeleting && target.name !== app && target.routePrefix === routePrefix) return target.name;
    return undefined;
  }

  status(app: string): ApplicationStatusInfo | undefined {
    const found = this.#apps.get(app);
    if (found === undefined) return undefined;
    const deployments: Record<string, DeploymentStatusInfo> = {};
    for (const [name, { status, message, replicaStates }] of found.deployments) deployments[name] = { status, message, replicaStates };
    const all = Object.entries(deployments);
    const [failedName, failed] = all.find(([, { status }]) => status === "DEPLOY_FAILED") ?? [];
    const [sickName, sick] = all.find(([, { status }]) => status === "UNHEALTHY") ?? [];
    const isBusy = all.some(([, { status }]) => status === "UPDATING");
    const status: ApplicationStatus = found.isDeleting
      ? "DELETING"
      : failed !== undefined
        ? "DEPLOY_FAILED"
        : sick !== undefined
          ? "UNHEALTHY"
          : isBusy
            ? "DEPLOYING"
            : "RUNNING";
    const [slowName, slow] = all.find(([, { message: text }]) => text !== "") ?? [];
    const [name, told] = failed !== undefined ? [failedName, failed] : sick !== undefined ? [sickName, sick] : [slowName, slow];
    const message = told === undefined ? "" : `${name}: ${told.message}`;
    return { status, message, routePrefix: found.target.routePrefix, deployments };
  }

  apply(event: ServeEvent, nowMs: number): ServeEffect[] {
    const effects = this.#applied(event, nowMs);
    effects.push(...this.#removeGone());
    return effects;
  }

  #applied(event: ServeEvent, nowMs: number): ServeEffect[] {
    switch (event.kind) {
      case "deploy":
        return this.#deploy(event.target, nowMs);
      case "delete":
        return this.#delete(event.app, nowMs);
      case "load":
        this.#reports.set(event.source, { atMs: nowMs, report: event.report });
        // A request that waits where nothing runs is not to wait for the next tick as well.
        return event.report.flatMap(([app, name]) => this.#wake(this.deployment(app, name), nowMs));
      case "sourceGone":
        this.#reports.delete(event.source);
        return [];
      case "tick":
        return this.#tick(nowMs);
      case "found": {
        const deployment = this.deployment(event.replica.app, event.replica.deployment);
        if (deployment === undefined) return [{ kind: "kill", replica: event.replica.id }];
        this.#byReplica.set(event.replica.id, deployment);
        return deployment.found(event.replica, nowMs);
      }
      default:
        return this.#ofReplica(event, nowMs);
    }
  }

  #ofReplica(event: Extract<ServeEvent, { replica: string }>, nowMs: number): ServeEffect[] {
    const deployment = this.#byReplica.get(event.replica);
    const replica = deployment?.replicas.get(event.replica);
    if (deployment === undefined || replica === undefined) return [];
    const effects = this.#replicaEvent(deployment, replica, event, nowMs);
    return [...effects, ...this.#reconcile(deployment, nowMs)];
  }

  #replicaEvent(
    deployment: DeploymentState,
    replica: ReplicaRecord,
    event: Extract<ServeEvent, { replica: string }>,
    nowMs: number,
  ): ServeEffect[] {
    switch (event.kind) {
      case "started":
        return deployment.started(replica, { ...event, nowMs });
      case "reconfigureFailed":
        return deployment.reconfigureFailed(replica, event, nowMs);
      case "explained":
        deployment.explained(replica, event.reason);
        return [];
      case "startFailed":
        return replica.phase === "retiring" ? [] : deployment.failed(replica, event.reason, nowMs);
      case "reconfigured":
        deployment.reconfigured(replica);
        return [];
      case "moving":
        replica.isMoving = true;
        return [];
      case "healthy":
        deployment.healthy(replica, nowMs);
        return [];
      case "unhealthy":
        return deployment.unhealthy(replica, event.reason, nowMs);
      case "ended":
        this.#byReplica.delete(replica.id);
        return deployment.end(replica, event.reason, nowMs);
      case "models":
        return deployment.models(replica, event.models);
    }
  }

  #deploy(target: ApplicationTarget, nowMs: number): ServeEffect[] {
    const known = this.#apps.get(target.name);
    const deployments = known?.deployments ?? new Map<string, DeploymentState>();
    this.#apps.set(target.name, { target, deployments, isDeleting: false });
    const effects: ServeEffect[] = [{ kind: "save", app: target.name }, { kind: "publishRoutes" }];
    for (const wanted of target.deployments) {
      const there = deployments.get(wanted.name);
      if (there === undefined) {
        const count = configAt(wanted.config, target.capacity).numReplicas;
        const record = { target: wanted, former: undefined, count, failure: undefined, capacity: target.capacity };
        deployments.set(wanted.name, new DeploymentState(target.name, record, this.#options.newId));
      } else there.retarget(wanted, target.capacity);
      effects.push({ kind: "publishReplicas", app: target.name, deployment: wanted.name });
    }
    const names = new Set(target.deployments.map(({ name }) => name));
    for (const [name, deployment] of deployments) if (!names.has(name)) deployment.delete();
    for (const deployment of deployments.values()) effects.push(...this.#reconcile(deployment, nowMs));
    return effects;
  }

  #delete(app: string, nowMs: number): ServeEffect[] {
    const found = this.#apps.get(app);
    if (found === undefined) return [];
    found.isDeleting = true;
    const effects: ServeEffect[] = [{ kind: "publishRoutes" }, { kind: "forget", app }];
    for (const deployment of found.deployments.values()) {
      deployment.delete();
      effects.push({ kind: "publishReplicas", app, deployment: deployment.name }, ...this.#reconcile(deployment, nowMs));
    }
    return effects;
  }

  #tick(nowMs: number): ServeEffect[] {
    for (const [source, { atMs }] of this.#reports) if (nowMs - atMs > REPORT_VALID_MS) this.#reports.delete(source);
    const loads = this.#loads();
    const effects: ServeEffect[] = [];
    for (const { deployments } of this.#apps.values()) {
      for (const deployment of deployments.values()) {
        effects.push(...this.#scale(deployment, loads, nowMs), ...this.#reconcile(deployment, nowMs));
      }
    }
    return effects;
  }

  #wake(deployment: DeploymentState | undefined, nowMs: number): ServeEffect[] {
    if (deployment === undefined || deployment.count > 0) return [];
    return [...this.#scale(deployment, this.#loads(), nowMs), ...this.#reconcile(deployment, nowMs)];
  }

  #scale(deployment: DeploymentState, loads: ReadonlyMap<string, number>, nowMs: number): ServeEffect[] {
    const requests = loads.get(`${deployment.app}/${deployment.name}`) ?? 0;
    return deployment.scale(requests, nowMs, this.#options.policyOf?.(deployment.app, deployment.name));
  }

  #loads(): Map<string, number> {
    const loads = new Map<string, number>();
    for (const { report } of this.#reports.values())
      for (const [app, name, queued, ongoing] of report) loads.set(`${app}/${name}`, (loads.get(`${app}/${name}`) ?? 0) + queued + ongoing);
    return loads;
  }

  #reconcile(deployment: DeploymentState, nowMs: number): ServeEffect[] {
    const effects = deployment.reconcile(nowMs);
    for (const effect of effects) if (effect.kind === "start") this.#byReplica.set(effect.start.id, deployment);
    return effects;
  }

  /** Removes deleted deployments and applications that have no replica left. */
  #removeGone(): ServeEffect[] {
    const effects: ServeEffect[] = [];
    for (const [app, { deployments, isDeleting }] of this.#apps) {
      for (const [name, deployment] of deployments) {
        if (!deployment.isGone) continue;
        deployments.delete(name);
        effects.push({ kind: "publishReplicas", app, deployment: name });
      }
      if (isDeleting && deployments.size === 0) this.#apps.delete(app);
    }
    return effects;
  }
}
