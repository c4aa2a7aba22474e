/**
 * `scalingConfig`, checked and with all values: the number of ranks, and the resources of each.
 *
 * Read once, when a trainer is made. A fixed number of ranks is an elastic one whose bounds are the same; 0 is local mode.
 * A rank reserves a GPU exactly where `useGpu` says so, so that neither can be forgotten.
 */
import type { LabelSelector, PlacementStrategy, Resources } from "../core/index.ts";
import { custom, describeValue, flag, isPlainObject, milliseconds, oneOf, plainObject, readOptions, text } from "../core/internal.ts";
import { RESIZE_INTERVAL_MS } from "./limits.ts";

/** Number of ranks: fixed, or as many as there is room for between two numbers. */
export type NumWorkers = number | { readonly min: number; readonly max: number };

/** The option `scalingConfig` of trainers. */
export interface ScalingConfigOptions {
  /**
   * Number of ranks. `{ min, max }` is elastic: the run begins with all ranks that fit, continues with fewer when a node dies, and grows at
   * a checkpoint when there is room. 0 is local mode, for debugging. A loop of TypeScript then runs in this process, a Python loop in a
   * process beside it, without a rendezvous. Default: 1.
   */
  numWorkers?: NumWorkers | undefined;
  /** Whether each rank has a GPU. Default: false. */
  useGpu?: boolean | undefined;
  /** Resources that each rank reserves, such as `{ CPU: 8, GPU: 1 }`. Default: a GPU with `useGpu`, else a CPU. */
  resourcesPerWorker?: Resources | undefined;
  /** How the ranks lie on nodes. Default: `"PACK"`. */
  placementStrategy?: PlacementStrategy | undefined;
  /** A kind of GPU, such as `"A100"`. Default: any. */
  acceleratorType?: string | undefined;
  /** Conditions on the labels of the ranks' nodes. Default: none. */
  labelSelector?: LabelSelector | undefined;
  /** How often an elastic run looks for room to grow, in milliseconds. Default: 60,000. */
  elasticResizeMonitorIntervalMs?: number | undefined;
}

export interface ScalingConfig {
  readonly min: number;
  readonly max: number;
  readonly useGpu: boolean;
  readonly resourcesPerWorker: Resources;
  readonly placementStrategy: PlacementStrategy;
  readonly labelSelector: LabelSelector | undefined;
  readonly resizeIntervalMs: number;
}

const isWorkers = (value: unknown, min: number): boolean => typeof value === "number" && Number.isInteger(value) && value >= min;

const SCALING = {
  of: "scalingConfig",
  otherNames: {
    trainer_resources: "there is none: the controller runs in the program that calls fit, and reserves nothing",
    trainerResources: "there is none: the controller runs in the program that calls fit, and reserves nothing",
    use_tpu: "there is none: ask for resourcesPerWorker: { TPU: 4 }",
    useTpu: "there is none: ask for resourcesPerWorker: { TPU: 4 }",
    topology: "there is none: labelSelector chooses nodes by their labels",
    elastic_resize_monitor_interval_s: "it is elasticResizeMonitorIntervalMs, in milliseconds",
  },
  options: {
    numWorkers: custom<NumWorkers>("a whole number, or { min, max }, is needed", 1, (value) => {
      if (typeof value === "number") return isWorkers(value, 0) ? "ok" : "out of range";
      if (!isPlainObject(value)) return "wrong type";
      const { min, max, ...others } = value;
      if (Object.keys(others).length > 0) return "wrong type";
      return isWorkers(min, 1) && isWorkers(max, min as number) ? "ok" : "out of range";
    }),
    useGpu: flag(false),
    resourcesPerWorker: custom<Resources | undefined>("an object such as { CPU: 2, GPU: 1 } is needed", undefined, (value) =>
      isPlainObject(value) && Object.values(value).every((amount) => typeof amount === "number" && amount >= 0) ? "ok" : "wrong type",
    ),
    placementStrategy: oneOf(["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"], "PACK"),
    acceleratorType: text<string | undefined>(undefined),
    labelSelector: plainObject<LabelSelector>("an object of labels and conditions is needed"),
    elasticResizeMonitorIntervalMs: milliseconds(RESIZE_INTERVAL_MS),
  },
};

/** @throws TypeError, RangeError that name the option */
export function readScalingConfig(given: ScalingConfigOptions | undefined): ScalingConfig {
  const { numWorkers, useGpu, acceleratorType, elasticResizeMonitorIntervalMs, ...others } = readOptions(given, SCALING);
  const { min, max } = typeof numWorkers === "number" ? { min: numWorkers, max: numWorkers } : numWorkers;
  const resources: Record<string, number> = { ...(others.resourcesPerWorker ?? (useGpu ? { GPU: 1 } : { CPU: 1 })) };
  if (useGpu && !(resources["GPU"] !== undefined && resources["GPU"] > 0)) {
    if (resources["GPU"] === 0)
      throw new RangeError(
        `Cannot set resourcesPerWorker of scalingConfig: with useGpu each rank needs a GPU, or a part of one: received ${describeValue(others.resourcesPerWorker)}`,
      );
    resources["GPU"] = 1;
  }
  if (!useGpu && (resources["GPU"] ?? 0) > 0)
    throw new RangeError(
      `Cannot set resourcesPerWorker of scalingConfig: GPU needs useGpu: true: received ${describeValue(others.resourcesPerWorker)}`,
    );
  if (acceleratorType !== undefined) resources[`accelerator_type:${acceleratorType}`] = ACCELERATOR_SHARE;
  return {
    min,
    max,
    useGpu,
    resourcesPerWorker: resources,
    placementStrategy: others.placementStrategy,
    labelSelector: others.labelSelector,
    resizeIntervalMs: elasticResizeMonitorIntervalMs,
  };
}

/** A node has one unit of its accelerator type. This small part selects such a node and reserves almost nothing. Ray's value. */
const ACCELERATOR_SHARE = 0.001;

/** `2 × (CPU: 1, GPU: 1)`. */
export function scalingText(workers: number, resources: Resources): string {
  const each = Object.entries(resources).map(([name, amount]) => `${name}: ${amount}`);
  return `${workers} × (${each.join(", ")})`;
}
