import { describe, expect, test } from "vitest";
import type { ApplicationTarget, DeploymentTarget } from "../deployments/deployment-config.ts";
import { resolveDeploymentOptions } from "../deployments/deployment-options.ts";
import type { DeploymentOptions } from "../deployments/deployment-options.ts";
import type { ReplicaSettings } from "../replica/taken-settings.ts";
import type { FoundReplica, ReplicaStart, ServeEffect, ServeEvent } from "./serve-events.ts";
import { ServeState } from "./serve-state.ts";
import { checked } from "../../../sim/checked.ts";

/** The time limit of the options here. A message that only changes ranks has less time. */
const RECONFIGURE_WITHIN_MS = 600_000;

interface Simulated {
  readonly start: ReplicaStart;
  state: "starting" | "running" | "ending";
  nodeId: string;
  readyMs: number;
}

/** The rest of the world: replicas that take a while to start, nodes that die, versions that fail; time goes in steps. */
class World {
  nowMs = 0;
  readonly replicas = new Map<string, Simulated>();
  readonly deadNodes = new Set<string>();
  readonly badVersions = new Set<string>();
  readonly badConfigs = new Set<string>();
  /** Configurations in which `reconfigure` hangs. */
  readonly slowConfigs = new Set<string>();
  /** Ends of calls that tell ranks. */
  ranking: "taken" | "refused" | "unanswered" = "taken";
  readonly published = new Map<string, readonly string[]>();
  capacity = Number.POSITIVE_INFINITY;
  nodeCount = 10;
  effectCount = 0;
  onExplain: ((replica: string) => void) | undefined;
  /** Ranks of replicas that were told others than those of their start. */
  readonly settings = new Map<string, ReplicaSettings>();
  /** Replicas that were told a rank or a configuration which they have not taken. */
  readonly toldInVain: string[] = [];
  /** Replicas that were ended while routers still had them. */
  readonly routedToEnding: string[] = [];
  state = checked(new ServeState({ newId: () => this.#newId() }));
  #ids = 0;
  #random = 1;

  apply(event: ServeEvent): void {
    const effects = this.state.apply(event, this.nowMs);
    this.effectCount += effects.length;
    for (const effect of effects) if (effect.kind === "publishReplicas") this.#publish(effect.app, effect.deployment);
    for (const effect of effects) this.#carryOut(effect);
  }

  /** Advances the time by 100 ms. */
  step(): void {
    this.nowMs += 100;
    for (const [id, replica] of this.replicas) {
      if (replica.state === "ending") {
        this.replicas.delete(id);
        this.apply({ kind: "ended", replica: id, reason: "it was ended" });
      } else if (replica.state === "starting" && this.nowMs >= replica.readyMs && this.#running < this.capacity) this.#ready(id, replica);
    }
    this.apply({ kind: "tick" });
  }

  /** Steps until a condition holds, checking another in each step. */
  until(isDone: () => boolean, always: () => void = () => {}): void {
    for (let steps = 0; !isDone(); steps += 1) {
      if (steps > 3000) throw new Error(`in vain: ${JSON.stringify(this.status("app"))}`);
      this.step();
      always();
      if (this.routedToEnding.length > 0) throw new Error(`ended while routers had it: ${this.routedToEnding.join()}`);
    }
  }

  status(name: string): string | undefined {
    return this.state.status(name)?.status;
  }

  serving(deployment: string, version?: string): number {
    return (this.published.get(`app/${deployment}`) ?? []).filter(
      (id) => version === undefined || this.replicas.get(id)?.start.version === version,
    ).length;
  }

  /** Ranks and sizes that the replicas which serve have been told, by rank. */
  ranks(): [rank: number, worldSize: number][] {
    const told = (this.published.get("app/D") ?? []).map((id) => this.settings.get(id) ?? (this.replicas.get(id) as Simulated).start);
    return told.map(({ rank, worldSize }) => [rank, worldSize] as [number, number]).sort(([a], [b]) => a - b);
  }

  killNode(nodeId: string): void {
    this.deadNodes.add(nodeId);
    for (const [id, replica] of this.replicas) {
      if (replica.nodeId !== nodeId) continue;
      this.replicas.delete(id);
      this.apply({ kind: "ended", replica: id, reason: "its node died" });
    }
  }

  get #running(): number {
    let count = 0;
    for (const { state } of this.replicas.values()) if (state !== "starting") count += 1;
    return count;
  }

  #ready(id: string, replica: Simulated): void {
    const { version, userConfig } = replica.start;
    if (this.badVersions.has(version) || (userConfig !== undefined && this.badConfigs.has(userConfig))) {
      this.apply({ kind: "startFailed", replica: id, reason: `version ${version} does not start` });
      return;
    }
    replica.state = "running";
    replica.nodeId = this.#pickNode(replica.start.fullNodes);
    this.apply({ kind: "started", replica: id, nodeId: replica.nodeId, pid: 1, lacks: [] });
  }

  #pickNode(except: readonly string[]): string {
    const nodes = Array.from({ length: this.nodeCount }, (_, index) => `n${index}`).filter(
      (node) => !this.deadNodes.has(node) && !except.includes(node),
    );
    this.#random = (this.#random * 48271) % 2147483647;
    return nodes[this.#random % nodes.length] as string;
  }

  #publish(name: string, deployment: string): void {
    const routes = this.state.deployment(name, deployment)?.routes();
    this.published.set(
      `${name}/${deployment}`,
      (routes?.replicas ?? []).map(({ id }) => id),
    );
  }

  #carryOut(effect: ServeEffect): void {
    switch (effect.kind) {
      case "start":
        this.replicas.set(effect.start.id, { start: effect.start, state: "starting", nodeId: "", readyMs: this.nowMs + 300 });
        break;
      case "retire":
      case "kill": {
        const replica = this.replicas.get(effect.replica);
        // Routes must not name a replica that ends.
        for (const ids of this.published.values()) if (ids.includes(effect.replica)) this.routedToEnding.push(effect.replica);
        if (replica !== undefined) replica.state = "ending";
        break;
      }
      case "reconfigure":
        if (this.slowConfigs.has(effect.settings.userConfig ?? "")) {
          this.toldInVain.push(effect.replica);
          break;
        }
        if (effect.withinMs < RECONFIGURE_WITHIN_MS && this.ranking !== "taken") {
          this.toldInVain.push(effect.replica);
          if (this.ranking === "refused")
            this.apply({ kind: "reconfigureFailed", replica: effect.replica, reason: "no answer", isLate: false });
          break;
        }
        if (this.replicas.has(effect.replica)) this.settings.set(effect.replica, effect.settings);
        if (this.badConfigs.has(effect.settings.userConfig ?? ""))
          this.apply({ kind: "reconfigureFailed", replica: effect.replica, reason: "a bad configuration", isLate: false });
        else this.apply({ kind: "reconfigured", replica: effect.replica });
        break;
      case "explain":
        this.onExplain?.(effect.replica);
        break;
      case "checkHealth":
        this.apply({ kind: "healthy", replica: effect.replica });
        break;
      default:
        break;
    }
  }

  #newId(): string {
    this.#ids += 1;
    return String(this.#ids);
  }
}

function target(version: string, options: DeploymentOptions, name = "D"): DeploymentTarget {
  const { config } = resolveDeploymentOptions(name, options);
  return { name, config, version, versionKey: options.version, streaming: [], calls: [] };
}

function app(...deployments: DeploymentTarget[]): ApplicationTarget {
  return { name: "app", routePrefix: "/", ingress: deployments[0]?.name ?? "", deployments, deployedMs: 0, config: undefined };
}

function running(version: string, options: DeploymentOptions): World {
  const world = new World();
  world.apply({ kind: "deploy", target: app(target(version, options)) });
  world.until(() => world.status("app") === "RUNNING");
  return world;
}

test("a replica that takes long to start is explained from time to time, until it runs", () => {
  const world = new World();
  world.capacity = 0;
  const asked: number[] = [];
  world.onExplain = (replica) => {
    asked.push(world.nowMs);
    world.apply({ kind: "explained", replica, reason: "waits for resources: it needs 1 GPU" });
  };
  world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 2 })) });
  world.until(() => asked.length === 3);
  expect(asked).toEqual([2000, 7000, 12_000]);
  expect(world.state.status("app")).toMatchObject({
    status: "DEPLOYING",
    message: expect.stringMatching(/^D: replica app#D#\d+ waits for resources: it needs 1 GPU$/),
  });
  world.capacity = 2;
  world.until(() => world.status("app") === "RUNNING");
  expect(world.state.status("app")?.message).toBe("");
});

/** The state of the next controller, which finds these replicas. */
function restored(world: World, replicas: readonly Simulated[]): void {
  const record = world.state.record("app");
  world.state = checked(new ServeState({ newId: () => `again${Math.random()}` }));
  world.state.restore(JSON.parse(JSON.stringify(record)));
  for (const simulated of replicas) world.apply(foundEvent(simulated, false, world.settings.get(simulated.start.id)));
}

function foundEvent(
  { start, nodeId }: Simulated,
  isDraining = false,
  settings: Pick<ReplicaSettings, "rank" | "worldSize"> &
    Partial<Pick<FoundReplica, "isMisconfigured" | "isReconfiguring" | "isRankTold">> = start,
): ServeEvent {
  const { id, app: name, deployment, version, userConfig, maxOngoingRequests: maxOngoing, gang } = start;
  const { rank, worldSize, isMisconfigured = false, isReconfiguring = false, isRankTold = true } = settings;
  const place = { gang: gang?.id, nodeId, pid: 1, isDraining, rank, worldSize, isRankTold, isMisconfigured, isReconfiguring };
  return { kind: "found", replica: { id, app: name, deployment, version, userConfig, maxOngoing, ...place } };
}

/** A replica that runs with the configuration 1, and does not return from the one that it is told then. */
function busyWithConfig(userConfig: number): { world: World; found: Simulated } {
  const options = { numReplicas: 1, userConfig: 1 };
  const world = running("v1", options);
  const [found] = [...world.replicas.values()] as [Simulated];
  world.slowConfigs.add(String(userConfig));
  world.apply({ kind: "deploy", target: app(target("v1", { ...options, userConfig })) });
  return { world, found };
}

/** The next controller finds the replica while that call goes on. */
function foundBusyWithConfig(world: World, found: Simulated, userConfig: string): void {
  restored(world, []);
  const busy = { ...found, start: { ...found.start, userConfig } };
  world.apply(foundEvent(busy, false, { ...found.start, isMisconfigured: true, isReconfiguring: true }));
}

describe("updates", () => {
  test.each([1, 2, 7, 100])("of %i replicas never have fewer than are wanted, nor many more", (numReplicas) => {
    const world = running("v1", { numReplicas });
    world.apply({ kind: "deploy", target: app(target("v2", { numReplicas })) });
    world.until(
      () => world.status("app") === "RUNNING",
      () => {
        expect(world.serving("D")).toBeGreaterThanOrEqual(numReplicas);
        expect(world.replicas.size).toBeLessThanOrEqual(numReplicas + 2 * Math.max(1, Math.ceil(numReplicas * 0.25)));
      },
    );
    expect(world.serving("D", "v2")).toBe(numReplicas);
  });

  test("are none where the version has the name of the one that runs: replicas that follow have its code, and limits change in place", () => {
    const world = running("code A", { numReplicas: 2, version: "1" });
    const first = [...world.replicas.keys()];
    world.apply({ kind: "deploy", target: app(target("code B", { numReplicas: 3, version: "1", maxOngoingRequests: 9 })) });
    world.until(() => world.status("app") === "RUNNING");
    expect([...world.replicas.keys()].slice(0, 2)).toEqual(first);
    expect(world.serving("D", "code A")).toBe(3);
    expect(world.state.deployment("app", "D")?.routes()?.maxOngoingRequests).toBe(9);
    world.apply({ kind: "deploy", target: app(target("code B", { numReplicas: 3, version: "2" })) });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.serving("D", "code B")).toBe(3);
  });

  test("to a version of a name that does not start go back, and its code can be mended under the same name", () => {
    const world = running("v1", { numReplicas: 2, version: "1" });
    world.badVersions.add("bad");
    world.apply({ kind: "deploy", target: app(target("bad", { numReplicas: 2, version: "2" })) });
    world.until(() => world.status("app") === "DEPLOY_FAILED");
    world.apply({ kind: "deploy", target: app(target("other code", { numReplicas: 2, version: "1" })) });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.serving("D", "v1")).toBe(2);
    world.apply({ kind: "deploy", target: app(target("mended", { numReplicas: 2, version: "2" })) });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.serving("D", "mended")).toBe(2);
  });

  test("of a name whose replicas are all gone have the new code", () => {
    const world = running("code A", { numReplicas: 1, version: "1" });
    const capacity = { percent: 0, direction: "down" } as const;
    world.apply({ kind: "deploy", target: { ...app(target("code A", { numReplicas: 1, version: "1" })), capacity } });
    world.until(() => world.replicas.size === 0);
    world.apply({ kind: "deploy", target: app(target("code B", { numReplicas: 1, version: "1" })) });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.serving("D", "code B")).toBe(1);
  });

  test("without room for more give up a part of the old ones at a time", () => {
    const world = running("v1", { numReplicas: 10 });
    world.capacity = 10;
    world.apply({ kind: "deploy", target: app(target("v2", { numReplicas: 10, rollingUpdatePercentage: 0.2 })) });
    world.until(
      () => world.serving("D", "v2") === 10,
      () => expect(world.serving("D")).toBeGreaterThanOrEqual(8),
    );
  });

  test.each([
    { from: [4, 4], to: [4, 2] },
    { from: [4, 4], to: [4, undefined] },
    { from: [8, 4], to: [8, 2] },
    { from: [8, 2], to: [8, 4] },
    { from: [4, undefined], to: [4, 4] },
    { from: [15, 5], to: [15, 3] },
    { from: [12, 4], to: [2, 2] },
  ] as const)("change the size of gangs: $from to $to replicas and gangSize, with and without a surge", ({ from, to }) => {
    const sized = ([numReplicas, gangSize]: readonly [number, number | undefined]): DeploymentOptions => ({
      numReplicas,
      ...(gangSize !== undefined && { gangConfig: { gangSize } }),
    });
    for (const maxSurgePercent of [0.25, 0]) {
      const world = running("v1", { ...sized(from), maxSurgePercent });
      world.apply({ kind: "deploy", target: app(target("v2", { ...sized(to), maxSurgePercent })) });
      world.until(
        () => world.status("app") === "RUNNING",
        () => {
          if (maxSurgePercent > 0) expect(world.serving("D")).toBeGreaterThanOrEqual(Math.min(from[0], to[0]));
          else expect([...world.replicas.values()].filter(({ state }) => state !== "ending").length).toBeLessThanOrEqual(from[0]);
        },
      );
      expect(world.serving("D", "v2")).toBe(to[0]);
    }
  });

  test("that do not start leave the former version, and the status tells why", () => {
    const world = running("v1", { numReplicas: 4 });
    world.badVersions.add("v2");
    world.apply({ kind: "deploy", target: app(target("v2", { numReplicas: 4 })) });
    world.until(
      () => world.status("app") === "DEPLOY_FAILED",
      () => expect(world.serving("D", "v1")).toBe(4),
    );
    expect(world.state.status("app")).toMatchObject({ message: "D: version v2 does not start" });
    for (let step = 0; step < 100; step += 1) world.step();
    expect([world.serving("D", "v1"), world.replicas.size, world.status("app")]).toEqual([4, 4, "DEPLOY_FAILED"]);
    world.apply({ kind: "deploy", target: app(target("v3", { numReplicas: 4 })) });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.serving("D", "v3")).toBe(4);
  });

  test("of an application that is being deleted do not go back to its former version, whose code is forgotten", () => {
    const world = running("v1", { numReplicas: 2 });
    world.badVersions.add("v2");
    world.apply({ kind: "delete", app: "app" });
    world.apply({ kind: "deploy", target: app(target("v2", { numReplicas: 2 })) });
    world.until(() => world.status("app") === "DEPLOY_FAILED");
    for (let step = 0; step < 50; step += 1) world.step();
    expect(world.state.deployment("app", "D")?.versions).toEqual(["v2"]);
    expect([world.replicas.size, world.serving("D")]).toEqual([0, 0]);
  });

  test("that went back start replicas of the former version with growing pauses where those fail, too", () => {
    const world = running("v1", { numReplicas: 1 });
    world.badVersions.add("v2").add("v1");
    world.apply({ kind: "deploy", target: app(target("v2", { numReplicas: 1 })) });
    world.until(() => world.status("app") === "DEPLOY_FAILED");
    const [id] = [...world.replicas].find(([, { state }]) => state === "running") as [string, Simulated];
    world.replicas.delete(id);
    world.apply({ kind: "ended", replica: id, reason: "it died" });
    const started = new Set<string>();
    for (let step = 0; step < 300; step += 1) {
      world.step();
      for (const [replica, { start }] of world.replicas) if (start.version === "v1") started.add(replica);
    }
    expect(started.size).toBeGreaterThan(3);
    expect(started.size).toBeLessThan(12);
  });

  test("tell nothing of the failure of an earlier one", () => {
    const world = running("v1", { numReplicas: 1 });
    world.badVersions.add("v2");
    world.apply({ kind: "deploy", target: app(target("v2", { numReplicas: 1 })) });
    world.until(() => world.status("app") === "DEPLOY_FAILED");
    world.apply({ kind: "deploy", target: app(target("v3", { numReplicas: 1 })) });
    expect(world.state.status("app")).toMatchObject({ status: "DEPLOYING", message: "" });
  });

  test("of the configuration alone keep the replicas; one that fails is taken back", () => {
    const world = running("v1", { numReplicas: 5, userConfig: 1 });
    const before = [...world.replicas.keys()];
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 5, userConfig: 2 })) });
    world.until(() => world.status("app") === "RUNNING");
    expect([...world.replicas.keys()]).toEqual(before);
    world.badConfigs.add("3");
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 5, userConfig: 3 })) });
    world.until(() => world.status("app") === "DEPLOY_FAILED");
    for (let step = 0; step < 20; step += 1) world.step();
    expect([...world.replicas.keys()]).toEqual(before);
    expect(world.state.deployment("app", "D")?.target.config.userConfig).toBe("2");
  });

  test("of the configuration leave replicas running, as they take requests meanwhile; where they hang the former one comes back, in other replicas", () => {
    const options: DeploymentOptions = { autoscalingConfig: { minReplicas: 3, maxReplicas: 5 }, rollingUpdatePercentage: 1, userConfig: 1 };
    const world = running("v1", options);
    const before = [...world.replicas.keys()];
    world.slowConfigs.add("2");
    world.apply({ kind: "deploy", target: app(target("v1", { ...options, userConfig: 2 })) });
    expect([world.toldInVain, world.serving("D")]).toEqual([before, 3]);
    const deployment = world.state.deployment("app", "D");
    const counted: number[] = [];
    deployment?.scale(0, world.nowMs, ({ currentReplicas, runningReplicas }) => {
      counted.push(runningReplicas);
      return currentReplicas;
    });
    expect([deployment?.status, deployment?.replicaStates, counted]).toEqual(["UPDATING", { RUNNING: 3 }, [3]]);
    // The calls end with their time.
    for (const replica of before) world.apply({ kind: "reconfigureFailed", replica, reason: "it had not returned", isLate: true });
    // The calls may run on, and end whenever they like.
    world.until(
      () => world.replicas.size === 3 && before.every((replica) => !world.replicas.has(replica)),
      () => expect(world.serving("D")).toBeGreaterThanOrEqual(3),
    );
    expect(world.state.status("app")).toMatchObject({ status: "DEPLOY_FAILED", message: "D: it had not returned" });
    expect([...world.replicas.values()].map(({ start }) => start.userConfig)).toEqual(["1", "1", "1"]);
  });

  test.each([
    ["configuration", "v1", 3],
    ["version", "v2", 2],
  ])("a configuration that hangs or fails late does not give up the %s that the user has deployed since", (_, version, userConfig) => {
    for (const isLate of [true, false]) {
      const world = running("v1", { numReplicas: 1, userConfig: 1 });
      const [before] = world.replicas.keys() as Iterable<string> as [string];
      world.slowConfigs.add("2");
      world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 1, userConfig: 2 })) });
      world.slowConfigs.clear();
      world.apply({ kind: "deploy", target: app(target(version, { numReplicas: 1, userConfig })) });
      world.apply({ kind: "reconfigureFailed", replica: before, reason: "it had not returned", isLate });
      world.until(
        () => world.status("app") === "RUNNING",
        () => expect(world.serving("D")).toBeGreaterThanOrEqual(1),
      );
      world.step();
      expect(world.state.status("app")?.message).toBe("");
      expect(world.state.deployment("app", "D")?.target).toMatchObject({ version, config: { userConfig: String(userConfig) } });
      expect(world.replicas.has(before)).toBe(!isLate && version === "v1");
    }
  });

  test("of a configuration that hangs do not wait for it: the replica makes way for another", () => {
    const world = running("v1", { numReplicas: 1, userConfig: 1 });
    const before = [...world.replicas.keys()];
    world.slowConfigs.add("2");
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 1, userConfig: 2 })) });
    for (let step = 0; step < 1000; step += 1) world.step();
    expect([...world.replicas.keys()]).toEqual(before);
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 1, userConfig: 3 })) });
    world.until(
      () => world.status("app") === "RUNNING",
      () => expect(world.serving("D")).toBeGreaterThanOrEqual(1),
    );
    expect([...world.replicas.values()].filter(({ state }) => state === "running").map(({ start }) => start.userConfig)).toEqual(["3"]);
  });

  test.each([0, 100, 12_000])(
    "of a configuration that takes long are no reason to replace the only replica, where it returns %i ms after the next one was deployed",
    (afterMs) => {
      const options = { numReplicas: 1, userConfig: 1 };
      const world = running("v1", options);
      world.capacity = 1;
      const [before] = world.replicas.keys() as Iterable<string> as [string];
      world.slowConfigs.add("2");
      world.apply({ kind: "deploy", target: app(target("v1", { ...options, userConfig: 2 })) });
      for (let step = 0; step < 300; step += 1) world.step();
      world.apply({ kind: "deploy", target: app(target("v1", { ...options, userConfig: 3 })) });
      const deployedMs = world.nowMs;
      world.until(() => world.nowMs >= deployedMs + afterMs);
      expect(world.replicas.size).toBe(afterMs > 10_000 ? 2 : 1);
      world.apply({ kind: "reconfigured", replica: before });
      for (let step = 0; step < 200; step += 1) {
        world.step();
        expect(world.published.get("app/D")).toEqual([before]);
      }
      expect([[...world.replicas.keys()], world.settings.get(before)?.userConfig]).toEqual([[before], "3"]);
      expect(world.state.status("app")).toMatchObject({ status: "RUNNING", message: "" });
    },
  );

  test("of a configuration that fails late in all replicas are taken back in each of them", () => {
    const options = { numReplicas: 4, rollingUpdatePercentage: 1, userConfig: 1 };
    const world = running("v1", options);
    world.capacity = 4;
    const before = [...world.replicas.keys()];
    world.slowConfigs.add("2");
    world.apply({ kind: "deploy", target: app(target("v1", { ...options, userConfig: 2 })) });
    for (let step = 0; step < 150; step += 1) world.step();
    expect(world.toldInVain).toEqual(before);
    for (const replica of before) {
      world.apply({ kind: "reconfigureFailed", replica, reason: "a bad configuration", isLate: false });
      world.step();
    }
    for (let step = 0; step < 200; step += 1) {
      world.step();
      expect(world.published.get("app/D")).toEqual(before);
    }
    expect([...world.replicas.keys()]).toEqual(before);
    expect(before.map((replica) => world.settings.get(replica)?.userConfig)).toEqual(["1", "1", "1", "1"]);
    expect(world.state.status("app")).toMatchObject({ status: "DEPLOY_FAILED", message: "D: a bad configuration" });
  });

  test.each(["returns", "hangs"])(
    "of a configuration that is under way while the next controller takes over: the replica is not told another before it has returned; it %s",
    (end) => {
      const { world, found } = busyWithConfig(2);
      const { id } = found.start;
      world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 1, userConfig: 3 })) });
      foundBusyWithConfig(world, found, "2");
      world.step();
      // Behind the call of the last controller waits one of this one, with the same configuration.
      expect([world.toldInVain, world.settings.size]).toEqual([[id, id], 0]);
      if (end === "returns") world.apply({ kind: "reconfigured", replica: id });
      world.until(
        () => world.status("app") === "RUNNING" && world.replicas.size === 1,
        () => expect(world.serving("D")).toBeGreaterThanOrEqual(1),
      );
      expect(world.replicas.has(id)).toBe(end === "returns");
      const [after] = [...world.replicas.values()] as [Simulated];
      expect((world.settings.get(after.start.id) ?? after.start).userConfig).toBe("3");
      world.apply({ kind: "reconfigureFailed", replica: id, reason: "it had not returned", isLate: true });
      world.step();
      expect(world.state.status("app")).toMatchObject({ status: "RUNNING", message: "" });
    },
  );

  test("of a configuration that hung and was given up leave traffic alone under the next controller, too", () => {
    const { world, found } = busyWithConfig(2);
    const { id } = found.start;
    world.apply({ kind: "reconfigureFailed", replica: id, reason: "it had not returned", isLate: true });
    // The next controller ends replicas that have not started.
    for (const other of world.replicas.keys()) if (other !== id) world.replicas.delete(other);
    foundBusyWithConfig(world, found, "2");
    world.until(
      () => !world.replicas.has(id),
      () => expect(world.serving("D")).toBeGreaterThanOrEqual(1),
    );
    expect([...world.replicas.values()].map(({ start }) => start.userConfig)).toEqual(["1"]);
    expect(world.state.status("app")).toMatchObject({ status: "DEPLOY_FAILED", message: "D: it had not returned" });
  });

  test("of the configuration that a replica has not taken go on under the next controller", () => {
    const world = running("v1", { numReplicas: 2, userConfig: 1 });
    const record = world.state.record("app");
    world.state = checked(new ServeState({ newId: () => "again" }));
    world.state.restore(JSON.parse(JSON.stringify(record)));
    const [first, second] = [...world.replicas.values()] as [Simulated, Simulated];
    world.apply(foundEvent(first, false, { ...first.start, isMisconfigured: true }));
    world.apply(foundEvent(second));
    world.settings.clear();
    world.until(() => world.status("app") === "RUNNING");
    expect([...world.settings].map(([id, { userConfig }]) => [id, userConfig])).toEqual([[first.start.id, "1"]]);
  });

  test("add and remove deployments of the application", () => {
    const world = running("v1", {});
    world.apply({ kind: "deploy", target: app(target("v1", {}), target("v1", {}, "E")) });
    world.until(() => world.status("app") === "RUNNING");
    expect([world.serving("D"), world.serving("E")]).toEqual([1, 1]);
    world.apply({ kind: "deploy", target: app(target("v1", {}, "E")) });
    world.until(() => world.replicas.size === 1);
    expect(Object.keys(world.state.status("app")?.deployments ?? {})).toEqual(["E"]);
    world.apply({ kind: "delete", app: "app" });
    world.until(() => world.status("app") === undefined);
    expect(world.replicas.size).toBe(0);
  });
});

describe("an application of several deployments", () => {
  const two = (first: string, second: string): ApplicationTarget => app(target(first, {}), target(second, {}, "E"));

  function runningBoth(): World {
    const world = new World();
    world.apply({ kind: "deploy", target: two("d1", "e1") });
    world.until(() => world.status("app") === "RUNNING");
    return world;
  }

  test("goes back as a whole where one of them fails after another has changed", () => {
    const world = runningBoth();
    world.badVersions.add("e2");
    world.apply({ kind: "deploy", target: two("d2", "e2") });
    world.until(() => world.serving("D", "d2") === 1 && world.serving("D", "d1") === 0);
    world.until(() => world.status("app") === "DEPLOY_FAILED");
    world.until(() => world.serving("D", "d1") === 1 && world.replicas.size === 2);
    expect(world.serving("E", "e1")).toBe(1);
    expect(world.state.status("app")).toMatchObject({ status: "DEPLOY_FAILED", message: "E: version e2 does not start" });
    world.apply({ kind: "deploy", target: two("d3", "e3") });
    world.until(() => world.status("app") === "RUNNING");
    expect([world.serving("D", "d3"), world.serving("E", "e3")]).toEqual([1, 1]);
  });

  test("goes back under the next controller, too", () => {
    const world = runningBoth();
    world.badVersions.add("e2");
    world.apply({ kind: "deploy", target: two("d2", "e2") });
    world.until(() => world.serving("D", "d2") === 1 && world.serving("D", "d1") === 0);
    restored(
      world,
      [...world.replicas.values()].filter(({ state }) => state === "running"),
    );
    world.until(() => world.status("app") === "DEPLOY_FAILED" && world.serving("D", "d1") === 1);
    expect([world.serving("E", "e1"), world.state.status("app")?.message]).toEqual([1, "E: version e2 does not start"]);
    restored(
      world,
      [...world.replicas.values()].filter(({ state }) => state === "running"),
    );
    world.step();
    expect(world.status("app")).toBe("DEPLOY_FAILED");
  });

  test("keeps a deployment that is to go, its ingress and its path until all of it has changed", () => {
    const world = runningBoth();
    const changed = { ...app(target("f1", {}, "F"), target("d2", {})), routePrefix: "/new" };
    const former = [{ prefix: "/", app: "app", ingress: "D", keepsPrefix: false }];
    world.apply({ kind: "deploy", target: changed });
    world.until(
      () => world.status("app") === "RUNNING",
      () => {
        if (world.status("app") !== "DEPLOYING") return;
        expect([world.state.routes, world.serving("E", "e1")]).toEqual([former, 1]);
      },
    );
    expect(world.state.routes).toEqual([{ prefix: "/new", app: "app", ingress: "F", keepsPrefix: false }]);
    world.until(() => world.replicas.size === 2);
    expect(Object.keys(world.state.status("app")?.deployments ?? {})).toEqual(["D", "F"]);
  });

  test("tells the failure of a deployment that the former version did not have", () => {
    const world = running("d1", {});
    world.badVersions.add("e1");
    world.apply({ kind: "deploy", target: { ...two("d2", "e1"), routePrefix: "/new" } });
    world.until(() => world.status("app") === "DEPLOY_FAILED");
    world.until(() => world.replicas.size === 1 && world.serving("D", "d1") === 1);
    expect(world.state.status("app")).toMatchObject({
      status: "DEPLOY_FAILED",
      message: "E: version e1 does not start",
      deployments: { D: { status: "HEALTHY" } },
    });
    expect(world.state.routes).toEqual([{ prefix: "/", app: "app", ingress: "D", keepsPrefix: false }]);
  });
});

describe("two applications that exchange their paths", () => {
  const named = (name: string, routePrefix: string, version: string): ApplicationTarget => ({
    ...app(target(version, {})),
    name,
    routePrefix,
  });
  const paths = (world: World): string[] => world.state.routes.map(({ prefix, app: name }) => `${prefix} ${name}`).sort();

  test.each([
    { failing: undefined, after: ["/x right", "/y left"] },
    // The former path of the one that fails is taken.
    { failing: "l2", after: ["/x right", "/y left"] },
  ])("have both a path at any time, also where one fails: %o", ({ failing, after }) => {
    const world = new World();
    world.apply({ kind: "deploy", target: named("left", "/x", "l1") });
    world.apply({ kind: "deploy", target: named("right", "/y", "r1") });
    world.until(() => world.status("left") === "RUNNING" && world.status("right") === "RUNNING");
    if (failing !== undefined) world.badVersions.add(failing);
    const together = new Map([
      ["left", "/y"],
      ["right", "/x"],
    ]);
    expect([world.state.holderOf("/y", "left"), world.state.holderOf("/y", "left", together)]).toEqual(["right", undefined]);
    world.apply({ kind: "deploy", target: named("left", "/y", "l2") });
    world.apply({ kind: "deploy", target: named("right", "/x", "r2") });
    world.until(
      () => world.status("left") === (failing === undefined ? "RUNNING" : "DEPLOY_FAILED") && world.status("right") === "RUNNING",
      () => expect(paths(world)).toHaveLength(2),
    );
    expect(paths(world)).toEqual(after);
  });
});

describe("ranks", () => {
  const contiguous = (count: number): [number, number][] => Array.from({ length: count }, (_, rank) => [rank, count]);

  test.each([{ numReplicas: 4 }, { numReplicas: 4, gangConfig: { gangSize: 2 } }])(
    "are 0 to n - 1 once an update is through: %o",
    (options) => {
      const world = running("v1", options);
      expect(world.ranks()).toEqual(contiguous(4));
      world.apply({ kind: "deploy", target: app(target("v2", options)) });
      const seen = new Set<number>();
      world.until(
        () => world.status("app") === "RUNNING",
        () => {
          const ranks = world.ranks().map(([rank]) => rank);
          // No two have the same at a time, and replicas that come up beside others have higher ones.
          expect(new Set(ranks).size).toBe(ranks.length);
          for (const rank of ranks) seen.add(rank);
        },
      );
      expect(Math.max(...seen)).toBeGreaterThan(3);
      expect(world.serving("D", "v2")).toBe(4);
      expect(world.ranks()).toEqual(contiguous(4));
    },
  );

  test("stay with those that may keep them; with fewer and more replicas all are told the number, and nothing is told twice", () => {
    const world = running("v1", { numReplicas: 5 });
    const [first, second] = [...world.replicas.values()] as [Simulated, Simulated];
    // Replaced, so that a low rank is with a young replica, which leaves first.
    world.replicas.delete(first.start.id);
    world.apply({ kind: "ended", replica: first.start.id, reason: "it died" });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.settings.size).toBe(0);
    const before = new Map([...world.replicas].map(([id, { start }]) => [id, start.rank]));
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 3 })) });
    world.until(() => world.status("app") === "RUNNING" && world.replicas.size === 3);
    expect(world.ranks()).toEqual(contiguous(3));
    const moved = [...world.settings].filter(([id, { rank }]) => rank !== before.get(id));
    expect(moved.map(([, { rank }]) => rank)).toEqual([0]);
    expect(world.settings.get(second.start.id)).toMatchObject({ rank: 1, worldSize: 3 });
    const effects = world.effectCount;
    for (let steps = 0; steps < 10; steps += 1) world.apply({ kind: "tick" });
    expect(world.effectCount).toBe(effects);
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 6 })) });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.ranks()).toEqual(contiguous(6));
  });

  test("are told beside requests: all replicas go on to count as running, and one that does not answer holds nothing up", () => {
    const world = running("v1", { numReplicas: 3 });
    world.ranking = "unanswered";
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 4 })) });
    world.until(() => world.toldInVain.length === 3);
    const deployment = world.state.deployment("app", "D");
    expect(deployment?.replicaStates).toEqual({ RUNNING: 4 });
    for (let steps = 0; steps < 10; steps += 1) world.step();
    // The calls end with their time.
    expect([deployment?.status, world.toldInVain.length]).toEqual(["UPDATING", 3]);
    for (const replica of world.toldInVain.slice()) world.apply({ kind: "reconfigureFailed", replica, reason: "no answer", isLate: true });
    for (let steps = 0; steps < 100; steps += 1) {
      expect(deployment?.status).toBe("HEALTHY");
      world.step();
    }
    expect([deployment?.replicaStates, world.toldInVain.length]).toEqual([{ RUNNING: 4 }, 6]);
  });

  test("that replicas do not take are no bad configuration: the version stays, and they are told again", () => {
    const world = running("v1", { numReplicas: 2 });
    world.ranking = "refused";
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 4, userConfig: { a: 1 } })) });
    world.until(() => world.status("app") === "RUNNING");
    for (let steps = 0; steps < 50; steps += 1) world.step();
    expect(world.state.deployment("app", "D")?.status).toBe("HEALTHY");
    expect(world.toldInVain.length).toBeGreaterThan(2);
    // Not with each step.
    expect(world.toldInVain.length).toBeLessThan(20);
    expect(world.replicas.size).toBe(4);
    world.ranking = "taken";
    world.until(() => world.ranks().join() === contiguous(4).join());
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 4, userConfig: { a: 2 } })) });
    world.until(() => world.status("app") === "RUNNING");
    expect([...world.settings.values()].every(({ userConfig }) => userConfig === '{"a":2}')).toBe(true);
  });

  test("are those last told where another controller takes over, and mended where it finds gaps", () => {
    const world = running("v1", { numReplicas: 4 });
    world.apply({ kind: "deploy", target: app(target("v2", { numReplicas: 4 })) });
    world.until(() => world.status("app") === "RUNNING" && world.replicas.size === 4);
    const told = new Map(world.settings);
    restored(world, [...world.replicas.values()]);
    world.until(() => world.status("app") === "RUNNING");
    expect(world.settings).toEqual(told);
    expect(world.ranks()).toEqual(contiguous(4));
    // The last controller died before it told any.
    world.settings.clear();
    expect(world.ranks()).not.toEqual(contiguous(4));
    restored(world, [...world.replicas.values()]);
    world.until(() => world.status("app") === "RUNNING");
    expect(world.ranks()).toEqual(contiguous(4));
  });
});

test("a rank that a replica failed to take is told again by the next controller, though the replica shows it already", () => {
  const world = running("v1", { numReplicas: 2 });
  const [first, second] = [...world.replicas.values()] as [Simulated, Simulated];
  restored(world, [second]);
  world.apply(foundEvent(first, false, { ...first.start, isRankTold: false }));
  world.settings.clear();
  world.until(() => world.status("app") === "RUNNING");
  for (let steps = 0; steps < 30; steps += 1) world.step();
  expect([...world.settings].map(([id, { rank, worldSize }]) => [id, rank, worldSize])).toEqual([[first.start.id, first.start.rank, 2]]);
});

test("the death of a replica stays in the message of its deployment for ten minutes, or until the next deploy", () => {
  const world = running("v1", { numReplicas: 2 });
  const [dying] = world.replicas.keys();
  world.replicas.delete(dying as string);
  world.apply({ kind: "ended", replica: dying as string, reason: "it was ended by SIGKILL" });
  world.until(() => world.status("app") === "RUNNING");
  const message = `D: replica ${dying} died: it was ended by SIGKILL`;
  expect(world.state.status("app")?.message).toBe(message);
  world.nowMs += 599_000;
  world.step();
  expect(world.state.status("app")?.message).toBe(message);
  world.nowMs += 1000;
  world.step();
  expect(world.state.status("app")?.message).toBe("");
});

test("the time that reconfigure may take is an option, which changes without new replicas", () => {
  const world = running("v1", { numReplicas: 1, userConfig: 1 });
  const [id] = world.replicas.keys() as Iterable<string> as [string];
  const told = (options: DeploymentOptions): number[] => {
    const withinMs: number[] = [];
    for (const effect of world.state.apply({ kind: "deploy", target: app(target("v1", options)) }, world.nowMs))
      if (effect.kind === "reconfigure") withinMs.push(effect.withinMs);
    world.apply({ kind: "reconfigured", replica: id });
    return withinMs;
  };
  expect(told({ numReplicas: 1, userConfig: 2 })).toEqual([RECONFIGURE_WITHIN_MS]);
  expect(told({ numReplicas: 1, userConfig: 3, reconfigureTimeoutMs: 1500 })).toEqual([1500]);
  expect([...(world.state.deployment("app", "D")?.replicas.keys() ?? [])]).toEqual([id]);
});

describe("deaths", () => {
  test("of nodes, with 2,000 replicas: all are started elsewhere, and what is asked of the world grows with the deaths alone", () => {
    const world = new World();
    world.nodeCount = 100;
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 2000 })) });
    world.until(() => world.status("app") === "RUNNING");
    for (const nodeId of ["n1", "n2", "n3"]) {
      const lost = [...world.replicas.values()].filter((replica) => replica.nodeId === nodeId).length;
      const before = world.effectCount;
      world.killNode(nodeId);
      expect(world.serving("D")).toBe(2000 - lost);
      world.until(() => world.serving("D") === 2000);
      // Each death and each start is published, and each start is one effect; health checks come besides.
      expect(world.effectCount - before).toBeLessThan(4 * lost + 2100);
    }
    expect([...world.replicas.values()].every(({ nodeId }) => !world.deadNodes.has(nodeId))).toBe(true);
  });

  test("of a replica that dies at once again and again are not answered as fast", () => {
    const world = running("v1", {});
    let starts = 0;
    for (let step = 0; step < 200; step += 1) {
      world.step();
      for (const [id, replica] of world.replicas) {
        if (replica.state !== "running") continue;
        starts += 1;
        world.replicas.delete(id);
        world.apply({ kind: "ended", replica: id, reason: "it died" });
      }
    }
    expect(starts).toBeLessThan(15);
  });

  test("a gang serves once all of its members run", () => {
    const world = new World();
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 2, gangConfig: { gangSize: 2 } })) });
    world.apply({ kind: "tick" });
    const [first, second] = [...world.replicas.keys()] as [string, string];
    world.apply({ kind: "started", replica: first, nodeId: "n0", pid: 1, lacks: [] });
    expect(world.serving("D")).toBe(0);
    world.apply({ kind: "started", replica: second, nodeId: "n0", pid: 2, lacks: [] });
    expect(world.serving("D")).toBe(2);
  });

  test("of one take its gang with it", () => {
    const world = running("v1", { numReplicas: 6, gangConfig: { gangSize: 3 } });
    const [first] = [...world.replicas.values()];
    const gang = first?.start.gang?.id;
    world.replicas.delete(first?.start.id as string);
    world.apply({ kind: "ended", replica: first?.start.id as string, reason: "it died" });
    expect([...world.replicas.values()].filter(({ start, state }) => start.gang?.id === gang && state === "ending")).toHaveLength(2);
    world.until(() => world.status("app") === "RUNNING");
    expect(new Set([...world.replicas.values()].map(({ start }) => start.gang?.id)).size).toBe(2);
    // All members are told all of their gang, those of the new one too.
    for (const { start } of world.replicas.values()) {
      const { id = "", index = -1, members = [] } = start.gang ?? {};
      expect([members.length, members[index]]).toEqual([3, start.id]);
      for (const member of members) expect(world.replicas.get(member)?.start.gang?.id).toBe(id);
    }
  });

  test("a node that is to go is left: others start first", () => {
    const world = running("v1", { numReplicas: 20 });
    const [nodeId] = [...world.replicas.values()].map((replica) => replica.nodeId);
    world.deadNodes.add(nodeId as string);
    for (const [id, replica] of world.replicas) if (replica.nodeId === nodeId) world.apply({ kind: "moving", replica: id });
    world.until(
      () => [...world.replicas.values()].every((replica) => replica.nodeId !== nodeId) && world.replicas.size === 20,
      () => expect(world.serving("D")).toBeGreaterThanOrEqual(20),
    );
  });

  test("of a controller are survived: the next one takes over what it finds", () => {
    const world = running("v1", { numReplicas: 3 });
    const record = world.state.record("app");
    const found = [...world.replicas.values()];
    world.state = checked(new ServeState({ newId: () => `again${Math.random()}` }));
    world.state.restore(JSON.parse(JSON.stringify(record)));
    for (const simulated of found.slice(1)) world.apply(foundEvent(simulated));
    world.replicas.delete(found[0]?.start.id as string);
    world.until(() => world.status("app") === "RUNNING");
    expect(world.replicas.size).toBe(3);
    expect([...world.replicas.keys()]).toEqual(expect.arrayContaining(found.slice(1).map(({ start }) => start.id)));
    expect(new Set([...world.replicas.values()].map(({ start }) => start.rank))).toEqual(new Set([0, 1, 2]));
  });

  test("of a controller: a replica that drains already is not counted, gets nothing, and is followed to its end", () => {
    const world = running("v1", { numReplicas: 2 });
    const [draining, serving] = [...world.replicas.values()] as [Simulated, Simulated];
    restored(world, [serving]);
    world.apply(foundEvent(draining, true));
    expect(world.published.get("app/D")).toEqual([serving.start.id]);
    expect(world.replicas.get(draining.start.id)?.state).toBe("ending");
    expect(world.state.deployment("app", "D")?.replicaStates).toEqual({ RUNNING: 1, STOPPING: 1 });
    world.until(() => world.status("app") === "RUNNING" && world.replicas.size === 2);
    expect(world.serving("D")).toBe(2);
    expect(world.replicas.has(draining.start.id)).toBe(false);
  });

  test("of a controller are survived by gangs: one that has lost a member meanwhile is replaced, the others stay", () => {
    const world = running("v1", { numReplicas: 6, gangConfig: { gangSize: 3 } });
    const found = [...world.replicas.values()];
    world.replicas.delete(found[0]?.start.id as string);
    restored(world, found.slice(1));
    world.until(() => world.status("app") === "RUNNING" && world.replicas.size === 6);
    expect([...world.replicas.keys()]).toEqual(expect.arrayContaining(found.slice(3).map(({ start }) => start.id)));
    expect(found.slice(0, 3).some(({ start }) => world.replicas.has(start.id))).toBe(false);
    // A later death still takes the gang of the replica that was found.
    const last = found[5] as Simulated;
    world.replicas.delete(last.start.id);
    world.apply({ kind: "ended", replica: last.start.id, reason: "it died" });
    expect(found.slice(3, 5).map(({ start }) => world.replicas.get(start.id)?.state)).toEqual(["ending", "ending"]);
  });

  test("of a controller do not bring back a deployment that was to end", () => {
    const world = new World();
    world.apply({ kind: "deploy", target: app(target("v1", {}), target("w1", {}, "W")) });
    world.until(() => world.status("app") === "RUNNING");
    const replicas = [...world.replicas.values()];
    world.apply({ kind: "deploy", target: app(target("v1", {})) });
    restored(world, replicas);
    world.until(() => world.status("app") === "RUNNING" && world.replicas.size === 1);
    expect(world.serving("D", "v1")).toBe(1);
  });

  test("of a controller leave a failed update told, as does the death of a replica", () => {
    const world = running("v1", { numReplicas: 2 });
    world.badVersions.add("bad");
    world.apply({ kind: "deploy", target: app(target("bad", { numReplicas: 2 })) });
    world.until(() => world.status("app") === "DEPLOY_FAILED" && world.replicas.size === 2);
    const told = { status: "DEPLOY_FAILED", message: "D: version bad does not start" };
    const [dying, ...others] = [...world.replicas.values()];
    world.replicas.delete(dying?.start.id as string);
    restored(world, others);
    world.until(() => world.replicas.size === 2 && world.serving("D", "v1") === 2);
    expect(world.state.status("app")).toMatchObject(told);
    const [next] = world.replicas.keys();
    world.replicas.delete(next as string);
    world.apply({ kind: "ended", replica: next as string, reason: "it died" });
    world.until(() => world.serving("D", "v1") === 2);
    world.step();
    expect(world.state.status("app")).toMatchObject(told);
  });

  test("a gang of which one member is on a node that is to go moves as a whole", () => {
    const world = running("v1", { numReplicas: 4, gangConfig: { gangSize: 2 } });
    const [first, second, ...others] = [...world.replicas.keys()];
    world.apply({ kind: "moving", replica: first as string });
    world.until(
      () => !world.replicas.has(first as string) && !world.replicas.has(second as string) && world.replicas.size === 4,
      () => expect(world.serving("D")).toBeGreaterThanOrEqual(4),
    );
    expect([...world.replicas.keys()]).toEqual(expect.arrayContaining(others));
  });
});

describe("health", () => {
  test("three failures in a row replace a replica, fewer do not", () => {
    const world = running("v1", { numReplicas: 2, healthCheckPeriodMs: 100_000 });
    const [id] = [...world.replicas.keys()] as [string];
    for (let failure = 0; failure < 2; failure += 1) world.apply({ kind: "unhealthy", replica: id, reason: "dizzy" });
    world.apply({ kind: "healthy", replica: id });
    expect(world.replicas.get(id)?.state).toBe("running");
    for (let failure = 0; failure < 3; failure += 1) world.apply({ kind: "unhealthy", replica: id, reason: "dizzy" });
    expect(world.replicas.get(id)?.state).toBe("ending");
    expect(world.state.status("app")).toMatchObject({ status: "UNHEALTHY", message: expect.stringContaining("dizzy") });
    world.until(() => world.status("app") === "RUNNING");
  });

  test("a start names the nodes that have as many replicas as they may", () => {
    const world = new World();
    world.nodeCount = 1;
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 2, maxReplicasPerNode: 2 })) });
    world.until(() => world.status("app") === "RUNNING");
    world.nodeCount = 2;
    world.apply({ kind: "deploy", target: app(target("v1", { numReplicas: 3, maxReplicasPerNode: 2 })) });
    world.until(() => world.status("app") === "RUNNING");
    const last = [...world.replicas.values()].at(-1);
    expect([last?.start.fullNodes, last?.nodeId]).toEqual([["n0"], "n1"]);
  });
});

describe("load", () => {
  const autoscalingConfig = {
    minReplicas: 0,
    maxReplicas: 10,
    targetOngoingRequests: 2,
    upscaleDelayMs: 1000,
    downscaleDelayMs: 5000,
    lookBackPeriodMs: 1000,
  };

  test("wakes a deployment at once, and lets it sleep again", () => {
    const world = new World();
    world.apply({ kind: "deploy", target: app(target("v1", { autoscalingConfig })) });
    world.until(() => world.status("app") === "RUNNING");
    expect(world.replicas.size).toBe(0);
    world.apply({ kind: "load", source: "p1", report: [["app", "D", 1, 0]] });
    expect(world.replicas.size).toBe(1);
    const report = (requests: number) => (): void => world.apply({ kind: "load", source: "p1", report: [["app", "D", 0, requests]] });
    world.until(() => world.serving("D") === 10, report(20));
    world.until(() => world.serving("D") === 0, report(0));
    expect(world.status("app")).toBe("RUNNING");
  });

  test("that waits for places appears in the status after five seconds, with the limit", () => {
    const world = running("v1", { numReplicas: 2, maxOngoingRequests: 5 });
    const report = (queued: number): void => world.apply({ kind: "load", source: "p1", report: [["app", "D", queued, 10]] });
    const told: string[] = [];
    for (let step = 0; step < 60; step += 1) {
      report(3);
      world.step();
      told.push(world.state.status("app")?.message ?? "");
    }
    expect(told.findIndex((text) => text !== "")).toBe(50);
    expect(told.at(-1)).toMatch(/^D: 3 requests wait: its 2 replicas have maxOngoingRequests \(5\) under way\. /);
    expect(world.status("app")).toBe("RUNNING");
    report(0);
    world.step();
    expect(world.state.status("app")?.message).toBe("");
  });

  test("of processes that are gone does not count", () => {
    const world = running("v1", { autoscalingConfig: { ...autoscalingConfig, minReplicas: 1 } });
    world.apply({ kind: "load", source: "p1", report: [["app", "D", 0, 20]] });
    world.apply({ kind: "sourceGone", source: "p1" });
    for (let step = 0; step < 100; step += 1) world.step();
    expect(world.serving("D")).toBe(1);
  });
});

describe("a target capacity", () => {
  const at = (percent: number, direction: "up" | "down", deployment: DeploymentTarget): ServeEvent => ({
    kind: "deploy",
    target: { ...app(deployment), capacity: { percent, direction } },
  });

  test("takes replicas away and gives them back, without a new version, and outlives the controller", () => {
    const deployment = target("v1", { numReplicas: 8 });
    const world = running("v1", { numReplicas: 8 });
    world.apply(at(50, "down", deployment));
    world.until(
      () => world.replicas.size === 4,
      () => expect(world.serving("D")).toBeGreaterThanOrEqual(4),
    );
    const next = checked(new ServeState({ newId: () => "next" }));
    next.restore(JSON.parse(JSON.stringify(world.state.record("app"))));
    expect(next.deployment("app", "D")?.record).toMatchObject({ count: 4, capacity: { percent: 50 } });
    world.apply(at(0, "down", deployment));
    world.until(() => world.replicas.size === 0);
    expect(world.status("app")).toBe("RUNNING");
    world.apply({ kind: "deploy", target: app(deployment) });
    world.until(() => world.serving("D") === 8);
  });

  test("holds for the former version, too", () => {
    const world = running("v1", { numReplicas: 4 });
    world.badVersions.add("v2");
    world.apply(at(50, "down", target("v2", { numReplicas: 4 })));
    world.until(() => world.status("app") === "DEPLOY_FAILED" && world.replicas.size === 2);
    expect(world.serving("D", "v1")).toBe(2);
  });

  test("moves the bounds of autoscaling: on the way up no fewer than the initial number, on the way down what the load asks for", () => {
    const autoscalingConfig = { minReplicas: 2, initialReplicas: 8, maxReplicas: 10, upscaleDelayMs: 0, downscaleDelayMs: 500 };
    const world = new World();
    world.apply(at(50, "up", target("v1", { autoscalingConfig })));
    world.until(() => world.status("app") === "RUNNING");
    for (let step = 0; step < 100; step += 1) world.step();
    expect(world.serving("D")).toBe(4);
    world.apply(at(20, "down", target("v1", { autoscalingConfig })));
    world.until(() => world.replicas.size === 1);
    world.apply({ kind: "load", source: "p1", report: [["app", "D", 0, 100]] });
    world.until(() => world.serving("D") === 2);
    for (let step = 0; step < 5; step += 1) world.step();
    expect(world.replicas.size).toBe(2);
  });
});
