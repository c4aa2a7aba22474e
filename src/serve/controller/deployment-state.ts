/**
 * The controller's state of one deployment: its replicas, its target, and the next steps towards the target.
 *
 * Pure: times come with the events, and actions leave as effects. An update starts replicas of the new version beside the old ones (`maxSurgePercent`) and
 * retires an old replica for each new one that runs. Without room for that it first gives up old replicas, `rollingUpdatePercentage` at a time. A version that
 * does not start, or fails its health check before all replicas have changed, gives way to the former version, together with the application's other deployments
 * (`serve-state.ts`). Replicas of a leaving node are replaced like those of an old version.
 */
import { invariant } from "../../core/internal.ts";
import { replicaActorName } from "../names.ts";
import type { DeploymentTarget, TargetCapacity } from "../deployments/deployment-config.ts";
import {
  DEATH_SHOWN_MS,
  ENDED_REPLICAS_KEPT,
  HEALTH_FAILURES_MAX,
  LONG_WAIT_MS,
  OUTDATED_CONFIG_WITHIN_MS,
  RANK_AGAIN_MS,
  SLOW_START_AGAIN_MS,
  SLOW_START_MS,
  START_RETRY_MAX_MS,
  START_RETRY_MIN_MS,
  SURGE_PATIENCE_MS,
} from "../limits.ts";
import { type DeploymentRoutes, waitCause } from "../routing/deployment-router.ts";
import { Autoscaler, type AutoscalingContext, desiredReplicas, loadOf } from "./capacity/autoscaling-policy.ts";
import type { DeploymentStatus, FoundReplica, ReplicaStart, ReplicaState, ServeEffect } from "./serve-events.ts";
import { configAt } from "./capacity/target-capacity.ts";

export interface ReplicaRecord {
  readonly id: string;
  readonly version: string;
  rank: number;
  worldSize: number;
  readonly gang: string | undefined;
  phase: "starting" | "running" | "updating" | "retiring";
  userConfig: string | undefined;
  maxOngoing: number;
  nodeId: string;
  pid: number;
  readonly sinceMs: number;
  models: readonly string[];
  healthFailures: number;
  nextHealthMs: number;
  isChecked: boolean;
  /** A new replica is to take its place, without a gap: the node is to go, or the code has not returned from a configuration in time. */
  isMoving: boolean;
  /** The time at which the configuration that the replica takes was no longer wanted. Undefined while it is. */
  outdatedMs: number | undefined;
  /** The replica failed to take its last configuration. */
  isMisconfigured: boolean;
  /** A rank is on its way to the replica, beside its requests, and it goes on to count as running. */
  isRanking: boolean;
  /** The time at which it failed to take its rank, which it is told again. */
  rankFailedMs: number | undefined;
}

/** The record of a deployment in the cluster's store. */
export interface DeploymentRecord {
  readonly target: DeploymentTarget;
  readonly former: DeploymentTarget | undefined;
  readonly count: number;
  readonly failure: string | undefined;
  readonly capacity?: TargetCapacity | undefined;
}

export class DeploymentState {
  readonly app: string;
  readonly name: string;
  readonly replicas = new Map<string, ReplicaRecord>();
  readonly autoscaler = new Autoscaler();
  /** The last replicas that have ended, oldest first. */
  readonly ended: ReplicaRecord[] = [];
  #target: DeploymentTarget;
  /** The last version that ran, with that of the whole application. */
  #former: DeploymentTarget | undefined;
  #count: number;
  #capacity: TargetCapacity | undefined;
  #status: DeploymentStatus = "UPDATING";
  #decision: { readonly requests: number; readonly wanted: number } | undefined;
  #message = "";
  /** A replica that takes long to start, and the resources that it waits for, as last heard. */
  #waiting: { readonly replica: string; readonly reason: string } | undefined;
  #nextExplainMs = 0;
  /** Since when requests have waited; undefined while none does. */
  #queuedSinceMs: number | undefined;
  #queueText = "";
  /** The last death of a replica: the status shows it for a while. */
  #death: { readonly text: string; readonly atMs: number } | undefined;
  #lacks: readonly string[] = [];
  /** Why the version that was wanted is given up. */
  #failure: string | undefined;
  #startFailures = 0;
  #nextStartMs = 0;
  #isDeleting = false;
  /** The replicas are those of the target, as of the last step. */
  #isDone = false;
  readonly #newId: () => string;

  constructor(app: string, record: DeploymentRecord, newId: () => string) {
    this.app = app;
    this.name = record.target.name;
    this.#target = record.target;
    // The record is a copy, so two equal targets become one object again.
    this.#former = JSON.stringify(record.former) === JSON.stringify(record.target) ? record.target : record.former;
    this.#count = record.count;
    this.#capacity = record.capacity;
    this.#failure = record.failure;
    if (record.failure !== undefined) this.#status = "DEPLOY_FAILED";
    this.#message = record.failure ?? "";
    this.#newId = newId;
  }

  get target(): DeploymentTarget {
    return this.#target;
  }

  get record(): DeploymentRecord {
    return { target: this.#target, former: this.#former, count: this.#count, failure: this.#failure, capacity: this.#capacity };
  }

  get count(): number {
    return this.#count;
  }

  /** The autoscaler's last decision; undefined where the number of replicas is fixed. */
  get decision(): { readonly requests: number; readonly wanted: number } | undefined {
    return this.#target.config.autoscaling === undefined ? undefined : this.#decision;
  }

  get status(): DeploymentStatus {
    return this.#status;
  }

  /** The last failure, and the reason why a replica has not started. */
  get message(): string {
    const waiting = this.#waiting;
    const isStarting = waiting !== undefined && this.replicas.get(waiting.replica)?.phase === "starting";
    const texts = [this.#message, isStarting ? `replica ${waiting.replica} ${waiting.reason}` : "", this.#queueText];
    return texts.filter((text) => text !== "").join("; ");
  }

  /** Methods that the last started replica lacks to answer clients of a proxy; empty where it answers them. */
  get lacks(): readonly string[] {
    return this.#lacks;
  }

  /** Why the version that was wanted is given up; undefined where it is not. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** The replicas are those of the target, as of the last step. */
  get isDone(): boolean {
    return this.#isDone;
  }

  get isDeleting(): boolean {
    return this.#isDeleting;
  }

  get isGone(): boolean {
    return this.#isDeleting && this.replicas.size === 0;
  }

  /** Versions whose code may be needed again. */
  get versions(): string[] {
    return this.#former === undefined ? [this.#target.version] : [this.#target.version, this.#former.version];
  }

  get replicaStates(): Partial<Record<ReplicaState, number>> {
    const states: Partial<Record<ReplicaState, number>> = {};
    for (const { phase } of this.replicas.values()) {
      // A replica takes requests while it takes a configuration.
      const state: ReplicaState = phase === "retiring" ? "STOPPING" : phase === "starting" ? "STARTING" : "RUNNING";
      states[state] = (states[state] ?? 0) + 1;
    }
    return states;
  }

  /** The routes for routers; `null`: no replica answers, and none will. */
  routes(): DeploymentRoutes | null {
    const serving = [...this.#serving];
    if (this.#isDeleting || (serving.length === 0 && this.#failure !== undefined && this.#count > 0)) return null;
    const { maxOngoingRequests, maxQueuedRequests, backpressure, idempotentMethods, routerId, requestRouterArgs } = this.#target.config;
    const replicas = serving.map(({ id, nodeId, models }) => ({ id, actorName: replicaActorName(id), nodeId, models }));
    return { replicas, maxOngoingRequests, maxQueuedRequests, backpressure, idempotentMethods, routerId, requestRouterArgs };
  }

  /** @throws Error for a state that no event may lead to */
  checkInvariants(): void {
    const { name } = this;
    const ended = new Set(this.ended.map(({ id }) => id));
    for (const { id, phase, isRanking, healthFailures } of this.replicas.values()) {
      invariant(!ended.has(id), `replica ${id} has ended, and is listed`);
      invariant(phase !== "starting" || (!isRanking && healthFailures === 0), `replica ${id} starts, and was told or asked something`);
    }
    const { autoscaling } = configAt(this.#target.config, this.#capacity);
    const isBounded = autoscaling === undefined || (this.#count >= 0 && this.#count <= autoscaling.maxReplicas);
    invariant(isBounded, `${name} wants ${this.#count} replicas, more than its ${autoscaling?.maxReplicas}`);
    invariant(!this.#isDeleting || this.#former === undefined, `${name} is deleted, and could go back to a version`);
  }

  /** Sets a new target, and drops the failure of the last one. */
  retarget(given: DeploymentTarget, capacity?: TargetCapacity): void {
    const target = this.#asNamed(given);
    const isSame = target.version === this.#target.version && target.config.userConfig === this.#target.config.userConfig;
    if (!isSame || this.#failure !== undefined) {
      this.#startFailures = 0;
      this.#nextStartMs = 0;
    }
    this.#failure = undefined;
    this.#death = undefined;
    this.#message = "";
    this.#isDeleting = false;
    this.#capacity = capacity;
    this.#take(target);
  }

  /** Returns to the former target, as a deployment of the application failed. Keeps the failure of this deployment. */
  goBack(former: DeploymentTarget): void {
    if (JSON.stringify(former) === JSON.stringify(this.#target)) return;
    this.#startFailures = 0;
    this.#nextStartMs = 0;
    this.#message = this.#failure ?? "";
    this.#take(former);
  }

  /** Keeps the target as the version to go back to, once it has run. @returns whether that is new */
  commit(): boolean {
    if (!this.#isDone || this.#isDeleting || this.#former === this.#target || this.#count === 0) return false;
    this.#former = this.#target;
    return true;
  }

  #take(target: DeploymentTarget): void {
    this.#target = target;
    this.#isDone = false;
    const { autoscaling, numReplicas } = configAt(target.config, this.#capacity);
    // A running deployment keeps the number that its load has brought about.
    this.#count =
      autoscaling === undefined ? numReplicas : Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, this.#count));
    this.#status = "UPDATING";
  }

  delete(): void {
    this.#isDeleting = true;
    // The code is forgotten with the record: nothing goes back to this version.
    this.#former = undefined;
  }

  /** A target whose version the user has named is of the version of that name that runs, with its code. Where none runs there is no update to be saved. */
  #asNamed(target: DeploymentTarget): DeploymentTarget {
    if (target.versionKey === undefined) return target;
    const running = new Set(Array.from(this.#serving, ({ version }) => version));
    const found = [this.#target, this.#former].find(
      (known) => known !== undefined && known.versionKey === target.versionKey && running.has(known.version),
    );
    if (found === undefined) return target;
    const { version, streaming } = found;
    return { ...target, version, streaming };
  }

  started(
    replica: ReplicaRecord,
    { nodeId, pid, lacks, nowMs }: { nodeId: string; pid: number; lacks: readonly string[]; nowMs: number },
  ): ServeEffect[] {
    if (replica.phase !== "starting") return [];
    this.#lacks = lacks;
    replica.phase = "running";
    replica.nodeId = nodeId;
    replica.pid = pid;
    replica.nextHealthMs = nowMs + this.#target.config.healthCheckPeriodMs;
    return [this.#publish()];
  }

  /** A replica failed to start, to take a configuration, or to pass its health check during an update. */
  failed(replica: ReplicaRecord, reason: string, nowMs: number): ServeEffect[] {
    const effects: ServeEffect[] = [{ kind: "kill", replica: replica.id }];
    const didServe = this.#serves(replica);
    replica.phase = "retiring";
    if (didServe) effects.push(this.#publish());
    if (replica.version !== this.#target.version) return effects;
    this.#startFailures += 1;
    this.#nextStartMs = nowMs + Math.min(START_RETRY_MAX_MS, START_RETRY_MIN_MS * 2 ** (this.#startFailures - 1));
    // The status goes on telling why the version that was wanted is given up.
    if (this.#failure !== undefined) return effects;
    this.#message = reason;
    // A version that has run before is retried without limit: the cause lies outside its code.
    if (this.#former === this.#target) {
      this.#status = "UNHEALTHY";
      return effects;
    }
    const { maxConstructorRetryCount } = this.#target.config;
    if (this.#startFailures < Math.min(maxConstructorRetryCount, 3 * Math.max(1, this.#count))) return effects;
    this.#giveUp(reason);
    effects.push({ kind: "save", app: this.app }, this.#publish());
    return effects;
  }

  /**
   * Handles a replica that failed to take a configuration. It gets the former configuration back, or a newer one if there is one by now; if that fails, too, it
   * is replaced. A replica whose call is late is replaced without a gap, because the late call may still end and undo a later configuration.
   */
  reconfigureFailed(replica: ReplicaRecord, { reason, isLate }: { reason: string; isLate: boolean }, nowMs: number): ServeEffect[] {
    const former = this.#former;
    if (replica.phase !== "updating") {
      // The call told its rank alone, which says nothing of the configuration.
      if (replica.isRanking) replica.rankFailedMs = nowMs;
      replica.isRanking = false;
      return [];
    }
    const isWanted = replica.version === this.#target.version && replica.userConfig === this.#target.config.userConfig;
    const mayGoBack = former !== undefined && former !== this.#target && former.version === replica.version;
    if (isWanted && !mayGoBack) return this.failed(replica, reason, nowMs);
    replica.phase = "running";
    replica.isMisconfigured = true;
    replica.isMoving ||= isLate;
    // The failure of a configuration that nobody wants any more says nothing of the one that is wanted.
    if (!isWanted) return [];
    this.#giveUp(reason);
    return [{ kind: "save", app: this.app }, this.#publish()];
  }

  /** Requests of all processes that wait for a place, as last reported. */
  queued(requests: number, nowMs: number): void {
    this.#queuedSinceMs = requests === 0 ? undefined : (this.#queuedSinceMs ?? nowMs);
    const isLong = this.#queuedSinceMs !== undefined && nowMs - this.#queuedSinceMs >= LONG_WAIT_MS;
    this.#queueText = isLong ? `${requests} requests wait: ${waitCause(this.#serving.size, this.#target.config.maxOngoingRequests)}` : "";
  }

  explained(replica: ReplicaRecord, reason: string): void {
    this.#waiting = { replica: replica.id, reason };
  }

  healthy(replica: ReplicaRecord, nowMs: number): void {
    replica.healthFailures = 0;
    replica.isChecked = false;
    replica.nextHealthMs = nowMs + this.#target.config.healthCheckPeriodMs;
  }

  unhealthy(replica: ReplicaRecord, reason: string, nowMs: number): ServeEffect[] {
    replica.isChecked = false;
    replica.healthFailures += 1;
    replica.nextHealthMs = nowMs + this.#target.config.healthCheckPeriodMs;
    if (replica.phase === "retiring" || replica.healthFailures < HEALTH_FAILURES_MAX) return [];
    if (this.#isUpdating) return this.failed(replica, `its health check failed: ${reason}`, nowMs);
    this.#status = "UNHEALTHY";
    this.#message = `replica ${replica.id} is unhealthy: ${reason}`;
    return this.#retire(replica, { withinMs: this.#target.config.gracefulShutdownTimeoutMs });
  }

  reconfigured(replica: ReplicaRecord): void {
    replica.isRanking = false;
    replica.rankFailedMs = undefined;
    if (replica.phase === "updating") replica.phase = "running";
  }

  /** Handles the end of a replica's process. */
  end(replica: ReplicaRecord, reason: string, nowMs: number): ServeEffect[] {
    this.replicas.delete(replica.id);
    this.ended.push(replica);
    if (this.ended.length > ENDED_REPLICAS_KEPT) this.ended.shift();
    const effects: ServeEffect[] = [];
    if (replica.phase === "starting") effects.push(...this.failed(replica, reason, nowMs).filter(({ kind }) => kind !== "kill"));
    else if (replica.phase !== "retiring") {
      effects.push(this.#publish(), { kind: "died", app: this.app, deployment: this.name, replica: replica.id, reason });
      this.#status = "UNHEALTHY";
      this.#message = `replica ${replica.id} died: ${reason}`;
      this.#death = { text: this.#message, atMs: nowMs };
      // Replicas that die soon after their start are started again with a growing delay.
      if (nowMs - replica.sinceMs < START_RETRY_MAX_MS) {
        this.#startFailures += 1;
        this.#nextStartMs = nowMs + Math.min(START_RETRY_MAX_MS, START_RETRY_MIN_MS * 2 ** (this.#startFailures - 1));
      }
    }
    if (replica.gang !== undefined)
      for (const other of this.replicas.values())
        if (other.gang === replica.gang && other.phase !== "retiring") effects.push(...this.#retire(other, { withinMs: 0 }));
    return effects;
  }

  /**
   * A replica of an earlier controller. One that drains already counts for nothing, and is followed to its end. One that takes a configuration is told the same again: the answer
   * comes once the call that is under way has ended.
   */
  found(replica: FoundReplica, nowMs: number): ServeEffect[] {
    const { id, version, userConfig, isMisconfigured, isReconfiguring, maxOngoing, rank, worldSize, gang, nodeId, pid } = replica;
    const { isDraining, isRankTold } = replica;
    if (this.replicas.has(id)) return [];
    const phase = isDraining ? "retiring" : isReconfiguring ? "updating" : "running";
    const settings = { version, rank, worldSize, gang, userConfig, maxOngoing };
    const record: ReplicaRecord = { ...newRecord(id, settings, nowMs), phase, nodeId, pid };
    record.isMisconfigured = isMisconfigured && !isReconfiguring;
    // The call that told it may be under way, or have failed where nobody was there to tell it again.
    if (!isRankTold) record.rankFailedMs = nowMs;
    this.replicas.set(id, record);
    if (isDraining) return [{ kind: "retire", replica: id, withinMs: this.#target.config.gracefulShutdownTimeoutMs }];
    return isReconfiguring ? [this.#publish(), this.#tell(record, this.#target.config.reconfigureTimeoutMs)] : [this.#publish()];
  }

  /** The next steps. To be called after every event and from time to time. */
  reconcile(nowMs: number): ServeEffect[] {
    if (this.#isDeleting) return this.#retireAll();
    const effects: ServeEffect[] = this.#retireBrokenGangs();
    const current: ReplicaRecord[] = [];
    const old: ReplicaRecord[] = [];
    this.#noteOutdated(nowMs);
    for (const replica of this.replicas.values()) {
      if (replica.phase === "retiring") continue;
      if (replica.version === this.#target.version && !this.#isToMove(replica, nowMs)) current.push(replica);
      else old.push(replica);
    }
    effects.push(...this.#start(current, old, nowMs));
    effects.push(...this.#reconfigure(current));
    effects.push(...this.#retireOld(current, old, nowMs));
    if (old.length === 0 && current.length > this.#count) effects.push(...this.#retireExcess(current));
    effects.push(...this.#checkHealth(nowMs));
    effects.push(...this.#explain(nowMs));
    effects.push(...this.#conclude(nowMs));
    return effects;
  }

  /** @param requests waiting and under way, of all processes @param wanted of a policy of the user, if there is one */
  scale(requests: number, nowMs: number, wanted?: (context: AutoscalingContext) => number): ServeEffect[] {
    const { autoscaling } = configAt(this.#target.config, this.#capacity);
    if (autoscaling === undefined || this.#isDeleting) return [];
    this.autoscaler.observe({ atMs: nowMs, requests }, autoscaling.lookBackPeriodMs);
    const context: AutoscalingContext = {
      app: this.app,
      deployment: this.name,
      currentReplicas: this.#count,
      runningReplicas: this.#serving.size,
      totalRequests: loadOf(this.autoscaler.samples, autoscaling, nowMs),
      samples: this.autoscaler.samples,
      config: autoscaling,
    };
    const desired = (wanted ?? desiredReplicas)(context);
    this.#decision = { requests: context.totalRequests, wanted: desired };
    const next = this.autoscaler.decide(desired, context, nowMs);
    if (next === this.#count) return [];
    this.#status = next > this.#count ? "UPSCALING" : "DOWNSCALING";
    this.#count = next;
    return [{ kind: "save", app: this.app }];
  }

  models(replica: ReplicaRecord, models: readonly string[]): ServeEffect[] {
    replica.models = models;
    return [this.#publish()];
  }

  get #isUpdating(): boolean {
    return this.#status === "UPDATING" && this.#former?.version !== this.#target.version;
  }

  get #serving(): Set<ReplicaRecord> {
    const starting = this.#startingGangs;
    return new Set([...this.replicas.values()].filter((replica) => this.#serves(replica, starting)));
  }

  /** A gang serves as a whole. @param starting spares the search where many are asked about */
  #serves({ phase, gang }: ReplicaRecord, starting?: ReadonlySet<string>): boolean {
    if (phase !== "running" && phase !== "updating") return false;
    return gang === undefined || !(starting ?? this.#startingGangs).has(gang);
  }

  get #startingGangs(): Set<string> {
    const gangs = new Set<string>();
    for (const { gang, phase } of this.replicas.values()) if (gang !== undefined && phase === "starting") gangs.add(gang);
    return gangs;
  }

  #noteOutdated(nowMs: number): void {
    const { userConfig } = this.#target.config;
    for (const replica of this.replicas.values()) {
      if (replica.phase !== "updating" || replica.userConfig === userConfig) replica.outdatedMs = undefined;
      else replica.outdatedMs ??= nowMs;
    }
  }

  /** A gang moves as a whole. A replica that is busy with an outdated configuration stays after all where it ends with that before another has taken its place. */
  #isToMove(replica: ReplicaRecord, nowMs: number): boolean {
    const members = replica.gang === undefined ? [replica] : this.#members(replica.gang);
    return members.some(
      ({ isMoving, outdatedMs }) => isMoving || (outdatedMs !== undefined && nowMs - outdatedMs >= OUTDATED_CONFIG_WITHIN_MS),
    );
  }

  #members(gang: string): ReplicaRecord[] {
    return [...this.replicas.values()].filter((replica) => replica.gang === gang && replica.phase !== "retiring");
  }

  #publish(): ServeEffect {
    return { kind: "publishReplicas", app: this.app, deployment: this.name };
  }

  #giveUp(reason: string): void {
    this.#failure = reason;
    this.#message = reason;
    this.#status = "DEPLOY_FAILED";
    this.#startFailures = 0;
    if (this.#former === undefined || this.#former === this.#target) return;
    this.#target = this.#former;
    const { autoscaling, numReplicas } = configAt(this.#target.config, this.#capacity);
    if (autoscaling === undefined) this.#count = numReplicas;
  }

  /**
   * Returns the fewest replicas that an update must add or give up at a time. An old gang leaves as a whole once as many new replicas run,
   * and the freed room must hold a new gang.
   */
  #leastStep(old: readonly ReplicaRecord[]): number {
    const gangs = Map.groupBy(
      old.filter(({ phase }) => phase !== "retiring"),
      ({ id, gang = id }) => gang,
    );
    const largest = [...gangs.values()].reduce((most, { length }) => Math.max(most, length), 1);
    return largest + (this.#target.config.gang?.gangSize ?? 1) - 1;
  }

  #start(current: readonly ReplicaRecord[], old: readonly ReplicaRecord[], nowMs: number): ServeEffect[] {
    const { config } = this.#target;
    const gangSize = config.gang?.gangSize ?? 1;
    const surge = config.maxSurgePercent === 0 ? 0 : Math.max(this.#leastStep(old), Math.ceil(this.#count * config.maxSurgePercent));
    const room = this.#count + surge - current.length - old.length;
    const hasGivenUp = this.#failure !== undefined && (this.#former === undefined || this.#former.version !== this.#target.version);
    if (hasGivenUp || nowMs < this.#nextStartMs) return [];
    const wanted = Math.floor(Math.min(this.#count - current.length, room) / gangSize) * gangSize;
    // Where a replica is to be is known once it runs: with a limit for each node they start one by one.
    const isStarting = config.maxReplicasPerNode !== undefined && [...this.replicas.values()].some(({ phase }) => phase === "starting");
    const number = isStarting ? 0 : config.maxReplicasPerNode === undefined ? wanted : Math.min(wanted, gangSize);
    if (number <= 0) return [];
    const effects: ServeEffect[] = [];
    const ranks = this.#freeRanks();
    for (let started = 0; started < number; started += gangSize) {
      // All ids go to all members.
      const members = Array.from({ length: gangSize }, () => `${this.app}#${this.name}#${this.#newId()}`);
      const gang = config.gang && { ...config.gang, id: this.#newId(), members };
      for (const [index, id] of members.entries())
        effects.push(this.#startOne({ id, gang: gang && { ...gang, index }, rank: ranks.next().value }, nowMs));
    }
    return effects;
  }

  #startOne({ id, gang, rank }: Pick<ReplicaStart, "id" | "gang" | "rank">, nowMs: number): ServeEffect {
    const { config, version } = this.#target;
    const { userConfig, maxOngoingRequests } = config;
    const worldSize = this.#count;
    this.replicas.set(id, newRecord(id, { version, rank, worldSize, gang: gang?.id, userConfig, maxOngoing: maxOngoingRequests }, nowMs));
    return {
      kind: "start",
      start: {
        id,
        app: this.app,
        deployment: this.name,
        version,
        rank,
        worldSize,
        userConfig,
        maxOngoingRequests,
        logging: config.logging,
        tracing: config.tracing,
        actorOptions: config.actorOptions,
        fullNodes: this.#fullNodes(config.maxReplicasPerNode),
        gang,
        placementGroupBundles: config.placementGroupBundles,
        placementGroupBundleLabelSelector: config.placementGroupBundleLabelSelector,
        placementGroupStrategy: config.placementGroupStrategy,
      },
    };
  }

  /** The lowest that no replica has, one after the other. */
  *#freeRanks(): Generator<number, never, undefined> {
    const taken = new Set([...this.replicas.values()].filter(({ phase }) => phase !== "retiring").map(({ rank }) => rank));
    for (let rank = 0; ; rank += 1) if (!taken.has(rank)) yield rank;
  }

  /** Makes the ranks of the replicas that stay those from 0 to their number less 1. Each keeps its own where it may; the others, of which an update or fewer replicas left too high ones, fill the gaps. */
  #rank(live: readonly ReplicaRecord[], nowMs: number): ServeEffect[] {
    const free = this.#freeRanks();
    const kept = new Set<number>();
    const effects: ServeEffect[] = [];
    for (const replica of live) {
      const { rank, worldSize, rankFailedMs } = replica;
      const isKept = rank < live.length && !kept.has(rank);
      const isWaiting = replica.isRanking || (rankFailedMs !== undefined && nowMs - rankFailedMs < RANK_AGAIN_MS);
      if (isWaiting || (isKept && worldSize === live.length && rankFailedMs === undefined)) {
        kept.add(rank);
        continue;
      }
      if (!isKept) replica.rank = free.next().value;
      kept.add(replica.rank);
      replica.worldSize = live.length;
      replica.isRanking = true;
      effects.push(this.#tell(replica, this.#target.config.healthCheckTimeoutMs));
    }
    return effects;
  }

  /** Sends a replica the configuration, the limit and the rank of its record. */
  #tell(replica: ReplicaRecord, withinMs: number): ServeEffect {
    const { id, userConfig, maxOngoing: maxOngoingRequests, rank, worldSize } = replica;
    return { kind: "reconfigure", replica: id, withinMs, settings: { userConfig, maxOngoingRequests, rank, worldSize } };
  }

  #fullNodes(max: number | undefined): string[] {
    if (max === undefined) return [];
    const counts = new Map<string, number>();
    for (const { nodeId, phase } of this.replicas.values())
      if (nodeId !== "" && phase !== "retiring") counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= max).map(([node]) => node);
  }

  /** A new `userConfig` or limit, in place: some replicas at a time. */
  #reconfigure(current: readonly ReplicaRecord[]): ServeEffect[] {
    const { userConfig, maxOngoingRequests, rollingUpdatePercentage, reconfigureTimeoutMs } = this.#target.config;
    let room = Math.max(1, Math.floor(this.#count * rollingUpdatePercentage)) - current.filter(({ phase }) => phase === "updating").length;
    const effects: ServeEffect[] = [];
    for (const replica of current) {
      if (room <= 0) break;
      const isRight = replica.userConfig === userConfig && replica.maxOngoing === maxOngoingRequests && !replica.isMisconfigured;
      // Calls go one at a time: an answer does not say which of the two it is for.
      if (replica.phase !== "running" || replica.isRanking || isRight) continue;
      room -= 1;
      replica.phase = "updating";
      replica.isMisconfigured = false;
      replica.userConfig = userConfig;
      replica.maxOngoing = maxOngoingRequests;
      effects.push(this.#tell(replica, reconfigureTimeoutMs));
    }
    return effects;
  }

  #retireOld(current: readonly ReplicaRecord[], old: readonly ReplicaRecord[], nowMs: number): ServeEffect[] {
    if (old.length === 0) return [];
    const { config } = this.#target;
    const effects: ServeEffect[] = [];
    for (const replica of old) if (replica.phase === "starting") effects.push(...this.#retire(replica, { withinMs: 0 }));
    const all = this.#serving;
    const serving = old.filter((replica) => all.has(replica));
    const running = current.filter((replica) => all.has(replica)).length;
    // No room beside the old ones: either there is to be none, or a new one finds none.
    const isStuck = current.some(({ phase, sinceMs }) => phase === "starting" && nowMs - sinceMs >= SURGE_PATIENCE_MS);
    const few = Math.max(this.#leastStep(old), Math.floor(this.#count * config.rollingUpdatePercentage));
    const mayMiss = config.maxSurgePercent === 0 || isStuck ? few : 0;
    let excess = running + serving.length - Math.max(0, this.#count - mayMiss);
    for (const replica of serving) {
      if (replica.phase === "retiring") continue;
      const leaving = replica.gang === undefined ? [replica] : this.#members(replica.gang);
      if (excess < leaving.length) break;
      excess -= leaving.length;
      for (const member of leaving) effects.push(...this.#retire(member, { withinMs: config.gracefulShutdownTimeoutMs }));
    }
    return effects;
  }

  /** Retires replicas that have not started first, then the youngest, as the old ones have warm caches, of the same age those of high rank. A gang retires as a whole. */
  #retireExcess(current: readonly ReplicaRecord[]): ServeEffect[] {
    const gangSize = this.#target.config.gang?.gangSize ?? 1;
    const ordered = [...current].sort(
      (a, b) => Number(a.phase !== "starting") - Number(b.phase !== "starting") || b.sinceMs - a.sinceMs || b.rank - a.rank,
    );
    const effects: ServeEffect[] = [];
    let excess = Math.floor((current.length - this.#count) / gangSize) * gangSize;
    for (const replica of ordered) {
      if (excess <= 0) break;
      if (replica.phase === "retiring") continue;
      const leaving = replica.gang === undefined ? [replica] : this.#members(replica.gang);
      for (const member of leaving) effects.push(...this.#retire(member, { withinMs: this.#target.config.gracefulShutdownTimeoutMs }));
      excess -= leaving.length;
    }
    return effects;
  }

  /** A gang of which a member is gone, as it died while no controller was there. */
  #retireBrokenGangs(): ServeEffect[] {
    const gangSize = this.#target.config.gang?.gangSize;
    if (gangSize === undefined) return [];
    const current = [...this.replicas.values()].filter(
      ({ gang, version, phase }) => gang !== undefined && version === this.#target.version && phase !== "retiring",
    );
    return [...Map.groupBy(current, ({ gang }) => gang).values()]
      .filter((members) => members.length < gangSize)
      .flatMap((members) => members.flatMap((member) => this.#retire(member, { withinMs: 0 })));
  }

  #retireAll(): ServeEffect[] {
    const { gracefulShutdownTimeoutMs } = this.#target.config;
    return [...this.replicas.values()]
      .filter(({ phase }) => phase !== "retiring")
      .flatMap((replica) => this.#retire(replica, { withinMs: gracefulShutdownTimeoutMs }));
  }

  #retire(replica: ReplicaRecord, { withinMs }: { withinMs: number }): ServeEffect[] {
    const didServe = this.#serves(replica);
    const isStarting = replica.phase === "starting";
    replica.phase = "retiring";
    const end: ServeEffect = isStarting ? { kind: "kill", replica: replica.id } : { kind: "retire", replica: replica.id, withinMs };
    // Routers are informed first: the replica ends once they have let go.
    return didServe ? [this.#publish(), end] : [end];
  }

  #checkHealth(nowMs: number): ServeEffect[] {
    const effects: ServeEffect[] = [];
    for (const replica of this.replicas.values()) {
      if ((replica.phase !== "running" && replica.phase !== "updating") || replica.isChecked || nowMs < replica.nextHealthMs) continue;
      replica.isChecked = true;
      effects.push({ kind: "checkHealth", replica: replica.id, withinMs: this.#target.config.healthCheckTimeoutMs });
    }
    return effects;
  }

  /** Asks about one replica alone: slow replicas of a deployment mostly wait for the same. */
  #explain(nowMs: number): ServeEffect[] {
    if (nowMs < this.#nextExplainMs) return [];
    for (const { id, phase, sinceMs } of this.replicas.values()) {
      if (phase !== "starting" || nowMs - sinceMs < SLOW_START_MS) continue;
      this.#nextExplainMs = nowMs + SLOW_START_AGAIN_MS;
      return [{ kind: "explain", replica: id }];
    }
    return [];
  }

  /** Once the replicas match the target: gives them their ranks, and sets the status. */
  #conclude(nowMs: number): ServeEffect[] {
    const live = [...this.replicas.values()].filter(({ phase }) => phase !== "retiring");
    const { version, config } = this.#target;
    const isThere =
      live.length === this.#count &&
      live.every(
        (replica) =>
          replica.phase === "running" &&
          replica.version === version &&
          !replica.isMoving &&
          replica.userConfig === config.userConfig &&
          !replica.isMisconfigured,
      );
    const told = isThere ? this.#rank(live, nowMs) : [];
    // A replica that does not take its rank at the first time is told it again, and holds nothing up.
    this.#isDone = isThere && !live.some(({ isRanking, rankFailedMs }) => isRanking && rankFailedMs === undefined);
    if (!this.#isDone) {
      if (this.#status === "HEALTHY") this.#status = "UPDATING";
      return told;
    }
    // A young replica may still die: the count of failures is reset once all replicas are old enough.
    if (live.every(({ sinceMs }) => nowMs - sinceMs >= START_RETRY_MAX_MS)) this.#startFailures = 0;
    this.#status = this.#failure === undefined ? "HEALTHY" : "DEPLOY_FAILED";
    if (this.#death !== undefined && nowMs - this.#death.atMs >= DEATH_SHOWN_MS) this.#death = undefined;
    this.#message = this.#failure ?? this.#death?.text ?? "";
    return told;
  }
}

function newRecord(
  id: string,
  given: Pick<ReplicaRecord, "version" | "rank" | "worldSize" | "gang" | "userConfig" | "maxOngoing">,
  nowMs: number,
): ReplicaRecord {
  return {
    ...given,
    id,
    phase: "starting",
    nodeId: "",
    pid: 0,
    sinceMs: nowMs,
    models: [],
    healthFailures: 0,
    nextHealthMs: nowMs,
    isChecked: false,
    isMoving: false,
    outdatedMs: undefined,
    isMisconfigured: false,
    isRanking: false,
    rankFailedMs: undefined,
  };
}
