/**
 * All applications as the controller has them: events in, effects out.
 *
 * Pure: no clock, no socket, no actor. Owns the paths, the deployments of each application, and the load reports of processes. The deployments of an application change together or not at all. The shell beside it
 * (`controller.ts`) turns what happens into events and carries the effects out. Simulated in `serve-state.test.ts` with thousands of replicas and dying nodes.
 */
import { invariant } from "../../core/internal.ts";
import type { ApplicationTarget, DeploymentTarget } from "../deployments/deployment-config.ts";
import { REPORT_VALID_MS } from "../limits.ts";
import type { LoadReport, RouteTableValue } from "../routing/controller-messages.ts";
import { type DeploymentRecord, DeploymentState, type ReplicaRecord } from "./deployment-state.ts";
import type { AutoscalingContext } from "./capacity/autoscaling-policy.ts";
import type { ApplicationStatus, DeploymentStatus, ReplicaState, ServeEffect, ServeEvent } from "./serve-events.ts";
import { configAt } from "./capacity/target-capacity.ts";

interface ApplicationState {
  target: ApplicationTarget;
  /** The last that ran as a whole, which is `target` once that does; undefined while none has. */
  former: ApplicationTarget | undefined;
  /** Why an update was given up; undefined where none was. */
  failure: string | undefined;
  readonly deployments: Map<string, DeploymentState>;
  isDeleting: boolean;
}

/** The record of an application in the cluster's store. */
export interface ApplicationRecord {
  readonly target: ApplicationTarget;
  readonly deployments: readonly DeploymentRecord[];
  /** All deployments have run with that target. */
  readonly isWhole: boolean;
  /** Runs during an update. A deployment is named where its own record has that target. */
  readonly former?: (Omit<ApplicationTarget, "deployments"> & { readonly deployments: readonly (DeploymentTarget | string)[] }) | undefined;
  readonly failure?: string | undefined;
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

/** Tells whether a deployment is saved. The next controller ends the replicas of a deployment that is being deleted. */
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

  /**
   * During an update an application keeps its former path and ingress. Where two applications exchange their paths, the one that is through first takes the path of the other,
   * which moves to its new one then.
   */
  get routes(): RouteTableValue {
    const routes = new Map<string, RouteTableValue[number]>();
    const apps = [...this.#apps.values()].filter(({ isDeleting }) => !isDeleting);
    const claim = (prefix: string | null, { name, ingress, deployments }: ApplicationTarget): boolean => {
      if (prefix === null || routes.has(prefix)) return false;
      const keepsPrefix = deployments.find((deployment) => deployment.name === ingress)?.config.keepRoutePrefix === true;
      routes.set(prefix, { prefix, app: name, ingress, keepsPrefix });
      return true;
    };
    for (const { target, former } of apps) if (former === target) claim(target.routePrefix, target);
    for (const { target, former } of apps)
      if (former !== undefined && former !== target && !claim(former.routePrefix, former) && former.routePrefix !== null)
        claim(target.routePrefix, former);
    for (const { target, former } of apps) if (former === undefined) claim(target.routePrefix, target);
    return [...routes.values()];
  }

  deployment(app: string, name: string): DeploymentState | undefined {
    return this.#apps.get(app)?.deployments.get(name);
  }

  /** The application as it answers: during an update the former one. */
  application(app: string): ApplicationTarget | undefined {
    const found = this.#apps.get(app);
    return found?.former ?? found?.target;
  }

  record(app: string): ApplicationRecord | undefined {
    const found = this.#apps.get(app);
    if (found === undefined) return undefined;
    const { target, former, failure } = found;
    const deployments = [...found.deployments.values()].filter(isKept).map(({ record }) => record);
    const formers = new Map(deployments.map((record) => [record.target.name, record.former]));
    const isWhole = former === target;
    const named = (one: DeploymentTarget): DeploymentTarget | string => (formers.get(one.name) === one ? one.name : one);
    return {
      target,
      deployments,
      isWhole,
      ...(!isWhole && former !== undefined && { former: { ...former, deployments: former.deployments.map(named) } }),
      failure,
    };
  }

  /** Restores an application from the record of an earlier controller; its replicas follow as `found` events. */
  restore({ target, deployments, isWhole, former, failure }: ApplicationRecord): void {
    const states = deployments.map(
      (record) => [record.target.name, new DeploymentState(target.name, record, this.#options.newId)] as const,
    );
    const formers = new Map(deployments.map((record) => [record.target.name, record.former]));
    const ran = former && {
      ...former,
      deployments: former.deployments.flatMap((one) => (typeof one === "string" ? (formers.get(one) ?? []) : one)),
    };
    this.#apps.set(target.name, { target, former: isWhole ? target : ran, failure, deployments: new Map(states), isDeleting: false });
  }

  /**
   * The application that has a path, or goes back to it where its update fails; undefined where the path is free.
   *
   * @param together paths of the applications that are deployed together: one that leaves its path for another does not hold it
   */
  holderOf(routePrefix: string | null, app: string, together: ReadonlyMap<string, string | null> = new Map()): string | undefined {
    if (routePrefix === null) return undefined;
    for (const { target, former, isDeleting } of this.#apps.values()) {
      const { name } = target;
      if (isDeleting || name === app || (together.has(name) && together.get(name) !== routePrefix)) continue;
      if (target.routePrefix === routePrefix || former?.routePrefix === routePrefix) return name;
    }
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
    const isBusy = all.some(([, { status }]) => status === "UPDATING") || (found.failure === undefined && found.former !== found.target);
    const status: ApplicationStatus = found.isDeleting
      ? "DELETING"
      : failed !== undefined || found.failure !== undefined
        ? "DEPLOY_FAILED"
        : sick !== undefined
          ? "UNHEALTHY"
          : isBusy
            ? "DEPLOYING"
            : "RUNNING";
    const [slowName, slow] = all.find(([, { message: text }]) => text !== "") ?? [];
    const [name, told] = failed !== undefined ? [failedName, failed] : sick !== undefined ? [sickName, sick] : [slowName, slow];
    const deploymentMessage = told === undefined ? "" : `${name}: ${told.message}`;
    // The deployment that failed may be none of the former version.
    const message = failed === undefined ? (found.failure ?? deploymentMessage) : deploymentMessage;
    return { status, message, routePrefix: found.target.routePrefix, deployments };
  }

  apply(event: ServeEvent, nowMs: number): ServeEffect[] {
    const effects = this.#applied(event, nowMs);
    for (const app of this.#apps.values()) effects.push(...this.#settle(app, nowMs));
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

  /** @throws Error for a state that no event may lead to */
  checkInvariants(): void {
    let replicas = 0;
    for (const [app, { deployments }] of this.#apps)
      for (const [name, deployment] of deployments) {
        invariant(deployment.app === app && deployment.name === name, `${app} has ${deployment.app}'s deployment as ${name}`);
        for (const id of deployment.replicas.keys())
          invariant(this.#byReplica.get(id) === deployment, `replica ${id} of ${app}/${name} is not found by its id`);
        replicas += deployment.replicas.size;
        deployment.checkInvariants();
      }
    invariant(
      this.#byReplica.size === replicas,
      `${this.#byReplica.size} replicas are found by their ids, and deployments have ${replicas}`,
    );
  }

  #deploy(target: ApplicationTarget, nowMs: number): ServeEffect[] {
    const known = this.#apps.get(target.name);
    const deployments = known?.deployments ?? new Map<string, DeploymentState>();
    const former = known?.isDeleting === true ? undefined : known?.former;
    this.#apps.set(target.name, { target, former, failure: undefined, deployments, isDeleting: false });
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
    // Replicas of the former version call removed deployments until the update ends.
    const names = new Set([...target.deployments, ...(former?.deployments ?? [])].map(({ name }) => name));
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
      effects.push(...this.#changed(deployment, nowMs));
    }
    return effects;
  }

  #tick(nowMs: number): ServeEffect[] {
    for (const [source, { atMs }] of this.#reports) if (nowMs - atMs > REPORT_VALID_MS) this.#reports.delete(source);
    const loads = this.#loads();
    const queues = this.#queues();
    const effects: ServeEffect[] = [];
    for (const { deployments } of this.#apps.values()) {
      for (const deployment of deployments.values()) {
        deployment.queued(queues.get(`${deployment.app}/${deployment.name}`) ?? 0, nowMs);
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

  #queues(): Map<string, number> {
    const queues = new Map<string, number>();
    for (const { report } of this.#reports.values())
      for (const [app, name, queued] of report) if (queued > 0) queues.set(`${app}/${name}`, (queues.get(`${app}/${name}`) ?? 0) + queued);
    return queues;
  }

  #reconcile(deployment: DeploymentState, nowMs: number): ServeEffect[] {
    const effects = deployment.reconcile(nowMs);
    for (const effect of effects) if (effect.kind === "start") this.#byReplica.set(effect.start.id, deployment);
    return effects;
  }

  /** An application changes as a whole: once all its deployments have changed, or else all go back. */
  #settle(app: ApplicationState, nowMs: number): ServeEffect[] {
    if (app.isDeleting) return [];
    const effects: ServeEffect[] = [];
    if (app.failure === undefined && app.former !== app.target) {
      const wanted = app.target.deployments.map(({ name }) => app.deployments.get(name) as DeploymentState);
      const failed = wanted.find(({ failure }) => failure !== undefined);
      if (failed !== undefined) effects.push(...this.#goBack(app, failed, nowMs));
      else if (wanted.every(({ isDone }) => isDone)) effects.push(...this.#conclude(app, wanted, nowMs));
      else return [];
    }
    for (const deployment of app.deployments.values()) if (deployment.commit()) effects.push({ kind: "save", app: app.target.name });
    return effects;
  }

  #conclude(app: ApplicationState, wanted: readonly DeploymentState[], nowMs: number): ServeEffect[] {
    // The version of a target may be that of a replica which ran under the same name.
    app.target = { ...app.target, deployments: wanted.map(({ target }) => target) };
    app.former = app.target;
    const effects: ServeEffect[] = [{ kind: "save", app: app.target.name }, { kind: "publishRoutes" }];
    for (const deployment of app.deployments.values()) {
      if (wanted.includes(deployment) || deployment.isDeleting) continue;
      deployment.delete();
      effects.push(...this.#changed(deployment, nowMs));
    }
    return effects;
  }

  #goBack(app: ApplicationState, { name, failure }: DeploymentState, nowMs: number): ServeEffect[] {
    const { target, former } = app;
    app.failure = `${name}: ${failure}`;
    const effects: ServeEffect[] = [{ kind: "save", app: target.name }, { kind: "publishRoutes" }];
    if (former === undefined) return effects;
    const isTaken = this.holderOf(former.routePrefix, target.name) !== undefined;
    app.target = { ...former, capacity: target.capacity, ...(isTaken && { routePrefix: target.routePrefix }) };
    app.former = app.target;
    const kept = new Map(former.deployments.map((one) => [one.name, one]));
    for (const deployment of app.deployments.values()) {
      const before = kept.get(deployment.name);
      if (before === undefined) deployment.delete();
      else deployment.goBack(before);
      effects.push(...this.#changed(deployment, nowMs));
    }
    return effects;
  }

  #changed(deployment: DeploymentState, nowMs: number): ServeEffect[] {
    return [{ kind: "publishReplicas", app: deployment.app, deployment: deployment.name }, ...this.#reconcile(deployment, nowMs)];
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
