/**
 * The processes of one attempt: placed together, brought into the order of ranks, made to meet, and ended.
 *
 * Owns a placement group and an actor for each rank, of either language. Made by `training-run.ts` for each attempt anew: the processes of a failed group are never used again, because the
 * state of their frameworks is unknown. After `end` no process of a rank is left.
 */
import {
  type ActorHandle,
  ActorDiedError,
  ActorUnavailableError,
  getRuntimeContext,
  kill,
  NodeDiedError,
  OutOfMemoryError,
  type PlacementGroup,
  remote,
  type Resources,
  type RuntimeEnv,
  RuntimeEnvError,
  TaskError,
} from "../../core/index.ts";
import { pythonCodeOf } from "../../core/internal.ts";
import type { DataIterator } from "../../data/index.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import { python } from "../../python/python.ts";
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import type { Backend, BackendGroup } from "../backends/backend.ts";
import { PROBE_MS, RENDEZVOUS_MS, SETTLE_MS, TEAR_DOWN_MS } from "../limits.ts";
import type { Loop } from "../loop.ts";
import { type Placement, place } from "./placement.ts";
import { RankActor } from "../ranks/rank-actor.ts";
import type { RankFailure } from "../ranks/rank-failure.ts";
import { type RankPlace, rankOrder } from "./rank-order.ts";
import type { RankContext, RankDecision, RankEvent, RankFacts, RankNotice, UploadOutcome } from "../ranks/rank-protocol.ts";
import type { ScalingConfig } from "../scaling-config.ts";
import type { TorchrunPlace } from "../backends/torchrun.ts";

export interface GroupRequest {
  readonly loop: Loop;
  readonly scaling: ScalingConfig;
  /** The ranks of an elastic run that had room, or have been found room for; infinity at first. */
  readonly expected: number;
  readonly backend: Backend;
  readonly runtimeEnv: RuntimeEnv | undefined;
  /** How long room and processes may take to be there; undefined is without limit. */
  readonly startTimeoutMs: number | undefined;
  /** How long the ranks may take to meet. */
  readonly rendezvousTimeoutMs: number;
  /** The part of the context that all ranks share. */
  readonly context: Pick<
    RankContext,
    "experimentName" | "trialName" | "trialId" | "trialDir" | "storagePath" | "runPath" | "attempt" | "rayCompatibility"
  >;
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
  /** Local mode: the place among the programs that torchrun started. The group has this rank alone. */
  readonly torchrun: TorchrunPlace | undefined;
}

interface BeginRequest {
  readonly config: unknown;
  readonly checkpoint: Checkpoint | undefined;
  /** The checkpoints that the run has, in their order. */
  readonly reported: readonly { readonly checkpoint: Checkpoint; readonly metrics: Metrics }[];
  /** By rank. */
  readonly datasets: readonly Readonly<Record<string, DataIterator>>[];
  /** By rank, where its loop works; empty where the loops stay in the folder in which their processes began. */
  readonly folders: readonly string[];
  readonly onFailure: (failure: RankFailure) => void;
}

/** The group could not be made. */
export class GroupNotStarted extends Error {
  readonly failures: readonly RankFailure[];
  /** Whether another attempt would fail in the same way. */
  readonly isFinal: boolean;

  constructor(failures: readonly RankFailure[], isFinal: boolean) {
    super("the group was not started");
    this.failures = failures;
    this.isFinal = isFinal;
  }
}

/** The methods of a rank's actor, whichever language it is in. */
interface RankCalls {
  // oxlint-disable-next-line no-explicit-any -- the methods of actors of both languages
  readonly [method: string]: any;
}

export class WorkerGroup {
  readonly #request: GroupRequest;
  #placement: Placement | undefined;
  /** In the order of ranks once that is known. */
  #actors: ActorHandle<object>[] = [];
  #places: readonly RankPlace[] = [];
  readonly #startedAtMs = Date.now();
  readonly #environments: Record<string, string>[] = [];
  #ending: Promise<void> | undefined;
  /** Ranks that have not answered a call of the backend. */
  readonly #meeting = new Set<number>();

  constructor(request: GroupRequest) {
    this.#request = request;
  }

  get size(): number {
    return this.#actors.length;
  }

  get places(): readonly RankPlace[] {
    return this.#places;
  }

  /** Places and starts the processes, and loads the loop in each. @throws GroupNotStarted */
  async start(): Promise<void> {
    const { startTimeoutMs, signal } = this.#request;
    if (startTimeoutMs === undefined) return await this.#start(signal);
    const late = new AbortController();
    const isLate = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const what = this.#placement === undefined ? "has no room yet" : "has not started all its processes";
      const error = new Error(`the group of ranks ${what} after ${startTimeoutMs} ms (startTimeoutMs of failureConfig)`);
      isLate.reject(new GroupNotStarted([{ rank: undefined, cause: "hung", error }], false));
      late.abort();
    }, startTimeoutMs);
    try {
      await Promise.race([this.#start(AbortSignal.any([signal, late.signal])), isLate.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { scaling, expected, warn } = this.#request;
    this.#placement = await place({ scaling, expected, warn, signal });
    if (this.#ending !== undefined) return await this.#placement.remove();
    this.#actors = Array.from({ length: this.#placement.size }, (_, index) => this.#newActor(index));
    const facts = (await this.#each("start", () => [{}])) as RankFacts[];
    this.#places = rankOrder(facts);
    this.#actors = this.#places.map(({ index }) => this.#actors[index] as ActorHandle<object>);
    this.#environments.push(...this.#places.map((rank) => this.#environmentOf(rank)));
    await this.#request.backend.onStart?.(this.#backendGroup());
    await this.#each("prepare", (rank) => [this.#preparationOf(this.#places[rank] as RankPlace)]);
  }

  /** The rendezvous of the framework. @throws GroupNotStarted */
  async meet(): Promise<void> {
    const { backend, rendezvousTimeoutMs } = this.#request;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => void this.#describeLate().then(late.reject), rendezvousTimeoutMs);
    try {
      await Promise.race([backend.onTrainingStart?.(this.#backendGroup()), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The failure of a rendezvous that lasts too long: of the ranks that do not answer, else of all that are not through, with the line where each stands. */
  async #describeLate(): Promise<GroupNotStarted> {
    const { rendezvousTimeoutMs } = this.#request;
    const since = `after ${rendezvousTimeoutMs} ms (rendezvousTimeoutMs of failureConfig)`;
    const late = [...this.#meeting];
    const signs = await this.#signsOfLife(late);
    const silent = late.filter((rank) => signs.get(rank) === undefined);
    const failures = (silent.length > 0 ? silent : late).map((rank): RankFailure => {
      const line = signs.get(rank);
      const where = line === undefined ? ", and its process does not answer" : line === "" ? "" : `: it is at ${line}`;
      return { rank, cause: "hung", error: new Error(`rank ${rank} has not met the others ${since}${where}`) };
    });
    const ofBackend = {
      rank: undefined,
      cause: "user",
      error: new Error(`onTrainingStart of the backend has not ended ${since}`),
    } as const;
    return new GroupNotStarted(failures.length > 0 ? failures : [ofBackend], false);
  }

  /** Begins the loops. How they end is told by `nextEvent`; a loop that cannot begin is told to `onFailure`. */
  begin(request: BeginRequest): void {
    const { config, checkpoint, reported, datasets, folders, onFailure } = request;
    const { loop } = this.#request;
    for (const rank of this.#actors.keys()) {
      const begin = loop.kind === "typescript" ? { loop: loop.fn } : {};
      const ofRank = { datasets: datasets[rank] ?? {}, folder: folders[rank] ?? null };
      const own = { ...begin, config, checkpoint: checkpoint ?? null, reported, ...ofRank };
      this.#call(rank, "begin", [own], this.#logSource(rank)).catch((error: Error) => onFailure(lostRank(rank, error)));
    }
  }

  /** Answers a rank's last event, and resolves to the next one. */
  async nextEvent(rank: number, decision: RankDecision<Checkpoint> | undefined): Promise<RankEvent> {
    const event = (await this.#call(rank, "nextEvent", [decision ?? null], this.#logSource(rank))) as RankEvent;
    if (event.type === "failed") return { ...event, error: errorOf(event.error) };
    // Python omits a missing checkpoint, which arrives as undefined.
    return event.type === "report" ? { ...event, checkpoint: event.checkpoint ?? null } : event;
  }

  /** Has a rank make an upload itself. @returns the checkpoint's place @throws the error of the rank's function, or that of a rank that is lost */
  async uploaded(rank: number, upload: number): Promise<string> {
    const outcome = (await this.#call(rank, "uploadOutcome", [upload], this.#logSource(rank))) as UploadOutcome;
    if ("error" in outcome) throw errorOf(outcome.error);
    return outcome.path;
  }

  notify(rank: number, notice: RankNotice<Checkpoint>): void {
    this.#call(rank, "notify", [notice]).catch(() => {});
  }

  /** Resolves when the process of a rank answers. */
  async ping(rank: number): Promise<void> {
    await this.#call(rank, "ping", []);
  }

  /** The ranks, of those given, that do not answer a ping. */
  async silentAmong(ranks: readonly number[]): Promise<number[]> {
    const signs = await this.#signsOfLife(ranks);
    return ranks.filter((rank) => signs.get(rank) === undefined);
  }

  /** By rank, the line where its code stands, empty where that is not known; undefined for a rank that does not answer. */
  async #signsOfLife(ranks: readonly number[]): Promise<Map<number, string | undefined>> {
    const signs = ranks.map(async (rank): Promise<[number, string | undefined]> => {
      const late = new Promise<undefined>((resolve) => setTimeout(resolve, PROBE_MS, undefined).unref());
      const answer = this.#call(rank, "ping", []).then(
        (line) => line as string,
        () => undefined,
      );
      return [rank, await Promise.race([answer, late])];
    });
    return new Map(await Promise.all(signs));
  }

  /** Ends all processes; with `gently` the frameworks may say goodbye first. Resolves when nothing is left. */
  end({ gently }: { gently: boolean }): Promise<void> {
    this.#ending ??= this.#end(gently);
    return this.#ending;
  }

  async #end(gently: boolean): Promise<void> {
    if (gently && this.#places.length > 0) {
      const goodbye = (async () => {
        await this.#request.backend.onShutdown?.(this.#backendGroup());
        await Promise.allSettled(this.#actors.map((_, rank) => this.#call(rank, "tearDown", [])));
      })().catch(() => {});
      await Promise.race([goodbye, new Promise((resolve) => setTimeout(resolve, TEAR_DOWN_MS).unref())]);
    }
    await Promise.allSettled(this.#actors.filter((actor) => !(actor instanceof LocalRank)).map((actor) => kill(actor)));
    await this.#placement?.remove();
  }

  #newActor(index: number): ActorHandle<object> {
    const { loop, scaling, runtimeEnv } = this.#request;
    if (scaling.max === 0) return this.#newLocalActor();
    const { CPU = 0, GPU = 0, memory, ...resources } = scaling.resourcesPerWorker as Record<string, number>;
    // Undefined in local mode alone.
    const placementGroup = this.#placement?.group as PlacementGroup;
    const options = {
      numCpus: CPU,
      numGpus: GPU,
      ...(memory === undefined ? {} : { memoryBytes: memory }),
      resources: resources as Resources,
      maxConcurrency: CALLS_MAX,
      schedulingStrategy: { placementGroup, bundleIndex: index, captureChildTasks: true },
      ...(runtimeEnv === undefined ? {} : { runtimeEnv }),
    };
    if (loop.kind === "typescript") return remote(RankActor, options).remote();
    return python.actor<object, []>("shoal.train._session", "RankSession", options).remote();
  }

  /** A loop of TypeScript runs in this process, one of Python beside it, on the same node; neither takes a CPU from others. */
  #newLocalActor(): ActorHandle<object> {
    const { loop, scaling, runtimeEnv, torchrun } = this.#request;
    if (loop.kind === "typescript") return new LocalRank() as unknown as ActorHandle<object>;
    // Programs of torchrun share a machine's GPUs, and torch takes the local rank's.
    const numGpus = torchrun === undefined ? scaling.resourcesPerWorker["GPU"] : torchrun.localWorldSize;
    return python
      .actor<object, []>("shoal.train._session", "RankSession", {
        numCpus: 0,
        ...(scaling.useGpu && numGpus !== undefined ? { numGpus } : {}),
        maxConcurrency: CALLS_MAX,
        schedulingStrategy: { nodeId: getRuntimeContext().nodeId },
        ...(runtimeEnv === undefined ? {} : { runtimeEnv }),
      })
      .remote();
  }

  #environmentOf({ rank, localRank, localWorldSize, nodeRank, nodeGpuIds }: RankPlace): Record<string, string> {
    const { scaling, torchrun } = this.#request;
    if (scaling.max === 0) return { ...torchrun?.env };
    const first = (this.#places[0] as RankPlace).facts;
    const isOneNode = this.#places.every(({ facts }) => facts.nodeId === first.nodeId);
    return {
      RANK: String(rank),
      WORLD_SIZE: String(this.#places.length),
      LOCAL_RANK: String(localRank),
      LOCAL_WORLD_SIZE: String(localWorldSize),
      NODE_RANK: String(nodeRank),
      GROUP_RANK: String(nodeRank),
      MASTER_ADDR: isOneNode ? "127.0.0.1" : first.ip,
      ...(first.port === 0 ? {} : { MASTER_PORT: String(first.port) }),
      // Each rank sees the GPUs of all ranks of its node, as NCCL and the habit of cuda:LOCAL_RANK need it.
      ...(nodeGpuIds.length === 0 ? {} : { CUDA_VISIBLE_DEVICES: nodeGpuIds.join(",") }),
    };
  }

  #preparationOf(rank: RankPlace): object {
    const { loop, context, scaling, torchrun } = this.#request;
    const { worldSize, worldRank, localRank, localWorldSize, nodeRank } = torchrun ?? {
      ...rank,
      worldSize: this.#places.length,
      worldRank: rank.rank,
    };
    const cpus = Math.max(1, Math.floor(scaling.resourcesPerWorker["CPU"] ?? 1));
    return {
      env: this.#environments[rank.rank],
      defaultEnv: scaling.max === 0 ? {} : { OMP_NUM_THREADS: String(cpus) },
      context: {
        ...context,
        startedAtMs: this.#startedAtMs,
        worldSize,
        worldRank,
        localRank,
        localWorldSize,
        nodeRank,
        deviceIndices: torchrun !== undefined && scaling.useGpu ? [torchrun.localRank] : rank.deviceIndices,
        logSource: this.#logSource(rank.rank),
      },
      loop: loop.kind === "python" ? { place: loop.place, name: loop.name } : null,
    };
  }

  #logSource(rank: number): string {
    return logSource(rank, this.#request.context.trialName ?? this.#request.context.experimentName);
  }

  #backendGroup(): BackendGroup {
    const ranksOf = (rank: number | undefined): number[] => (rank === undefined ? [...this.#actors.keys()] : [rank]);
    return {
      ranks: this.#places.map(({ facts, rank, localRank, localWorldSize, nodeRank }) => ({
        ...facts,
        rank,
        localRank,
        localWorldSize,
        nodeRank,
      })),
      setEnvironment: (env, rank) => {
        for (const each of ranksOf(rank)) Object.assign(this.#environments[each] as object, env);
      },
      execute: async (fn, args = [], rank) => {
        const code = pythonCodeOf(fn);
        const request = code === undefined ? { fn, args } : { place: code.place, name: code.name, args };
        return await this.#each("execute", () => [request], ranksOf(rank));
      },
      setUp: async (framework, options, rank) =>
        await this.#each("setUp", () => [{ framework, options, timeoutMs: RENDEZVOUS_MS }], ranksOf(rank)),
    };
  }

  /**
   * Calls a method of all ranks at once. After a failure it waits shortly for the other ranks, which may fail as a consequence or have the cause.
   *
   * @throws GroupNotStarted
   */
  async #each(
    method: string,
    argsOf: (rank: number) => readonly unknown[],
    ranks: readonly number[] = [...this.#actors.keys()],
  ): Promise<unknown[]> {
    const failures: RankFailure[] = [];
    const calls = ranks.map((rank) => {
      this.#meeting.add(rank);
      return this.#call(rank, method, argsOf(rank))
        .catch((error: Error) => {
          failures.push(failureOfStart(rank, error, method));
          throw error;
        })
        .finally(() => this.#meeting.delete(rank));
    });
    try {
      return await Promise.all(calls);
    } catch {
      await Promise.race([Promise.allSettled(calls), new Promise((resolve) => setTimeout(resolve, SETTLE_MS))]);
      const isFinal = failures.every(({ cause }) => cause === "user");
      throw new GroupNotStarted(failures, isFinal);
    }
  }

  async #call(rank: number, method: string, args: readonly unknown[], name?: string): Promise<unknown> {
    const spelled = this.#request.loop.kind === "typescript" ? method : method.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const call = (this.#actors[rank] as unknown as RankCalls)[spelled];
    return await (name === undefined ? call : call.options({ name })).remote(...args);
  }
}

/** A rank in this process, called as an actor is. Its loop is not copied: breakpoints and variables of the program are the loop's, too. */
class LocalRank {
  readonly #rank = new RankActor();

  constructor() {
    const call = (method: keyof RankActor) => {
      const remoteMethod = {
        remote: async (...args: unknown[]): Promise<unknown> =>
          await (this.#rank[method] as (...given: unknown[]) => unknown).apply(this.#rank, args),
        options: () => remoteMethod,
      };
      return remoteMethod;
    };
    const methods = ["start", "prepare", "execute", "begin", "nextEvent", "notify", "ping", "tearDown"] as const;
    for (const method of methods) Object.defineProperty(this, method, { value: call(method) });
  }
}

/** `nextEvent`, the loop itself, and a few short calls run at once. */
const CALLS_MAX = 16;

/** Marks a rank's output, and begins its lines in the terminal. */
export function logSource(rank: number, run: string): string {
  return `rank ${rank} of ${run}`;
}

/** An exception of Python comes as its parts. */
function errorOf(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  const { type, message, traceback } = thrown as { type: string; message: string; traceback: string };
  const error = new TaskError(`${type}: ${message}`, { taskName: "the training loop" });
  // Python's own lines, as its users know them.
  Object.defineProperty(error, "stack", { value: `${error.message}\n${traceback}`, configurable: true, writable: true });
  return error;
}

function failureOfStart(rank: number, error: Error, method: string): RankFailure {
  if (isDeath(error)) return { rank, cause: "died", error };
  const thrown = error instanceof TaskError && error.cause instanceof Error ? error.cause : error;
  // A rendezvous may fail in one rank because another one died. An error of the loop's module, or of an environment that cannot be made, comes again each time.
  return { rank, cause: method === "setUp" ? "communication" : "user", error: thrown };
}

/** The failure of a rank whose call failed: its process is gone, and maybe its node with it, or the call could not be made. */
export function lostRank(rank: number, error: Error): RankFailure {
  return { rank, cause: isDeath(error) ? "died" : "user", error };
}

function isDeath(error: Error): boolean {
  return (
    error instanceof ActorUnavailableError ||
    error instanceof NodeDiedError ||
    error instanceof OutOfMemoryError ||
    // A constructor that fails is no death, and would fail again.
    (error instanceof ActorDiedError && error.details?.["ending"] !== "constructorFailed" && !(error.cause instanceof RuntimeEnvError))
  );
}
