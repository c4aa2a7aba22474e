/**
 * The public types of scheduling: where a task or an actor runs, placement groups, and what `why` tells.
 *
 * Apart from `types.ts`, which infers; here is only what options and answers look like. No code. Checked by `scheduling-options.ts` and
 * `group-options.ts`.
 */
import type { RuntimeEnvInput } from "../../runtime/environment/runtime-env.ts";
import type { GetOptions } from "../types/ref-types.ts";

/** Amounts of resources by name: `CPU`, `GPU`, `memory` in bytes, `object_store_memory` in bytes, and custom ones. */
export type Resources = Readonly<Record<string, number>>;

/**
 * Conditions on the labels of a node, all of which must hold: `"v"`, `"!v"`, `"in(a,b)"` or `"!in(a,b)"` by key. A node without the label meets the
 * negated ones. What no node meets stays pending, with one warning.
 *
 * @example
 * remote(train, { labelSelector: { region: "in(eu,us)", "market-type": "!spot" } });
 */
export type LabelSelector = Readonly<Record<string, string>>;

/** Options in place of those of a task or an actor; see `fallbackStrategy`. */
export interface FallbackOption {
  /** Conditions on the node's labels; without any, every node will do. */
  readonly labelSelector: LabelSelector;
}

/** Runs on one node. */
export interface NodeAffinity {
  /** A node's id, as in `nodes()`. */
  readonly nodeId: string;
  /** Whether another node may be taken when this one is gone; without it, the call fails then. Default: false. */
  readonly soft?: boolean | undefined;
}

/** Runs within the resources of a placement group. */
export interface PlacementGroupStrategy {
  readonly placementGroup: PlacementGroup;
  /** The bundle, from 0; -1 is any that has room. Default: -1. */
  readonly bundleIndex?: number | undefined;
  /** Whether its own calls run in the group, too, unless they say otherwise. Default: false. */
  readonly captureChildTasks?: boolean | undefined;
}

/** Where something runs: packed by default, spread over the nodes, on one node, or in a placement group. */
export type SchedulingStrategy = "default" | "spread" | NodeAffinity | PlacementGroupStrategy;

/** Additions to the node's environment for worker processes: variables, a working directory, npm packages. */
export interface RuntimeEnv extends RuntimeEnvInput {}

/** The options that decide where a task or an actor runs. */
export interface SchedulingOptions {
  /** Where it runs. Default: `"default"`, which fills nodes to half before it spreads; calls of a captured parent go into its group. */
  schedulingStrategy?: SchedulingStrategy | undefined;
  /** Short for `schedulingStrategy: { placementGroup }`. Default: none. */
  placementGroup?: PlacementGroup | undefined;
  /** Conditions on the node's labels. Default: none. */
  labelSelector?: LabelSelector | undefined;
  /**
   * Other conditions, in their order, for when no node that meets `labelSelector` has room: the first with room now is taken. Where none has, it waits for
   * whichever comes free first. Not within a placement group. Default: none.
   *
   * @example
   * remote(train, { labelSelector: { region: "eu" }, fallbackStrategy: [{ labelSelector: { region: "us" } }, { labelSelector: {} }] });
   */
  fallbackStrategy?: readonly FallbackOption[] | undefined;
  /** Additions to the environment that its worker process inherits from the submitting task or actor, or from the job. Default: none. */
  runtimeEnv?: RuntimeEnv | undefined;
}

/** How the bundles of a placement group lie: on few nodes, on many, all on one, or each on another. */
export type PlacementStrategy = "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";

/** The options of `placementGroup`. */
export interface PlacementGroupOptions {
  /** How the bundles lie: on few nodes, on many, all on one, or each on another. Default: `"PACK"`. */
  strategy?: PlacementStrategy | undefined;
  /** A name under which `getPlacementGroup` finds it, unique in its namespace. Default: none. */
  name?: string | undefined;
  /** `"detached"`: it outlives the program or actor that made it. Default: it ends with its creator. */
  lifetime?: "detached" | undefined;
  /** For each bundle, conditions on the labels of its node. Default: none. */
  bundleLabelSelector?: readonly LabelSelector[] | undefined;
}

/**
 * Resources that are reserved together, as bundles. It can be passed to tasks and actors.
 *
 * @example
 * const group = placementGroup([{ CPU: 1 }, { CPU: 1, GPU: 1 }]);
 * await group.ready({ timeoutMs: 10_000 });
 * await train.options({ placementGroup: group, numGpus: 1 }).remote();
 * await group.remove();
 */
export interface PlacementGroup {
  readonly id: string;
  /**
   * Resolves with the group itself when all of its bundles are reserved.
   *
   * @throws GetTimeoutError when `timeoutMs` is over: it goes on waiting.
   * @throws PlacementGroupRemovedError when it was removed, or its name was taken.
   */
  ready(options?: GetOptions): Promise<PlacementGroup>;
  /** Gives its resources back: tasks and actors in it are ended, and those that wait for it fail with `PlacementGroupRemovedError`. */
  remove(): Promise<void>;
}

/** A placement group as `placementGroupTable()` lists it. */
export interface PlacementGroupInfo {
  readonly id: string;
  readonly name: string | undefined;
  readonly namespace: string;
  readonly strategy: PlacementStrategy;
  /** `"rescheduling"` while bundles of a node that died are placed again; the work in the others goes on. */
  readonly state: "pending" | "created" | "rescheduling" | "removed";
  readonly bundles: readonly Resources[];
  /** For each bundle the node that it lies on; absent while it is pending. */
  readonly nodeIds: readonly (string | undefined)[];
}

/** Where a call stands. */
export type WhyState =
  | "ready"
  | "failed"
  | "waits for arguments"
  | "waits for resources"
  | "can never run"
  | "waits for a placement group"
  | "waits for a worker"
  | "waits for its turn"
  | "waits for the actor"
  | "running"
  | "waits for refs"
  | "cycle"
  | "unknown";

/** The reasons why a call waits, as a tree: `toString()` is for people. */
export interface Why {
  /** The call or object, such as `task resize`. */
  readonly what: string;
  readonly state: WhyState;
  /** One sentence with the numbers. */
  readonly reason: string;
  /** The reasons behind this one. */
  readonly causes: readonly Why[];
  readonly details: Readonly<Record<string, unknown>>;
  toString(): string;
}

/** A request of `requestResources`. Each one takes the place of the last. */
export interface ResourceRequest {
  /** So many bundles of one CPU. Default: none. */
  numCpus?: number;
  /** Bundles, each of which fits on one node. `[]` takes the last request back. */
  bundles?: readonly Resources[];
  /** Conditions on the labels of a node, one set for each bundle. */
  bundleLabelSelectors?: readonly LabelSelector[];
}
