/**
 * The settings of the engine: those of this process, which `configure` changes, and those of single pipelines.
 *
 * Settings are checked where the user sets them. Each setting of a pipeline replaces the process's setting as a whole. `Dataset` resolves settings when it is
 * consumed, and `engine/run.ts` applies them.
 */
import { count, custom, customResources, flag, LABEL_SELECTOR, type LabelSelector, number, readOptions } from "../../core/internal.ts";

/** The settings of `configure` and `withSettings`. */
export interface DataSettings {
  /** Bytes that the blocks of all running pipelines may have together. Default: half of the object store. */
  memoryBytes?: number | undefined;
  /** Whether rows keep the order of their source. Without it a slow task holds nothing back. Default: true. */
  preserveOrder?: boolean | undefined;
  /**
   * How many tasks of a run may fail by an error of a function of yours, or by a bad file. Their further blocks are left out, and `stats()` counts them with the first errors. One more fails the run.
   * -1 or Infinity: any number. Default: 0.
   */
  maxErroredBlocks?: number | undefined;
  /**
   * Whether runs of more than half a second show the progress of their operators on stderr. A terminal shows a line for each operator, drawn in place; another
   * output gets a line every 5 seconds. Both get a line at the end. Default: on a terminal alone. The environment variable `SHOAL_PROGRESS=0` ends it everywhere.
   */
  progress?: boolean | undefined;
  /**
   * Whether stderr gets warnings: of a task that gives nothing for much longer than its step's other tasks, and of tasks that use more
   * memory than they ask for and than their CPUs' share. Default: true.
   */
  detectIssues?: boolean | undefined;
  /**
   * Conditions on the labels of the nodes where all tasks and actors run. A step's own `labelSelector` goes before it on the same label, and a step that names a node or a placement group
   * keeps that. Default: none.
   *
   * @example
   * data.configure({ labelSelector: { pool: "in(data,spare)" } });
   */
  labelSelector?: LabelSelector | undefined;
  /**
   * Limits on the resources that all tasks and actors of a pipeline hold together: `CPU`, `GPU`, `memory` (in bytes), and custom resources by name. A step that
   * needs more is refused before the run starts. So are pools whose fewest actors leave too little for a task. Default: the cluster's totals.
   *
   * @example
   * rides.withSettings({ resourceLimits: { CPU: 4, GPU: 1 } });
   */
  resourceLimits?: Readonly<Record<string, number>> | undefined;
  /** Resources of the cluster that the pipeline leaves to others, by the same names; the limits are what remains when a run begins. Default: none. */
  excludeResources?: Readonly<Record<string, number>> | undefined;
}

/** The settings with their defaults. */
export interface Settings {
  readonly memoryBytes: number | undefined;
  readonly preserveOrder: boolean;
  readonly maxErroredBlocks: number;
  readonly progress: boolean | undefined;
  readonly detectIssues: boolean;
  readonly labelSelector: LabelSelector | undefined;
  readonly resourceLimits: Readonly<Record<string, number>>;
  readonly excludeResources: Readonly<Record<string, number>>;
}

/** Resources under the names of nodes. Blocks in the object store have a separate limit. */
const AMOUNTS = customResources({ cpu: "CPU", gpu: "GPU", memory: "memory", object_store_memory: "memoryBytes of data" }, [
  "CPU",
  "GPU",
  "memory",
]);

const SETTINGS = {
  of: "data",
  otherNames: {
    resource_limits: "it is resourceLimits: { CPU: 4, GPU: 1 }, and memoryBytes for the object store",
    exclude_resources: "it is excludeResources: { CPU: 4 }",
  },
  options: {
    memoryBytes: count({ min: 1 }, undefined),
    preserveOrder: flag(true),
    detectIssues: flag(true),
    labelSelector: LABEL_SELECTOR,
    resourceLimits: AMOUNTS,
    excludeResources: AMOUNTS,
    progress: custom<boolean | undefined>("true or false is needed", undefined, (value) =>
      typeof value === "boolean" ? "ok" : "wrong type",
    ),
    maxErroredBlocks: number(
      "a whole number from 0, or -1 or Infinity for any number, is needed",
      0,
      (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= -1),
    ),
  },
};

let processSettings: DataSettings = {};

/**
 * Changes the settings of all pipelines that this process begins from now on. Other settings stay.
 *
 * @throws TypeError for an unknown setting or a value of a wrong type, RangeError for one out of range
 */
export function configure(settings: DataSettings): void {
  readOptions(settings, SETTINGS);
  processSettings = { ...processSettings, ...settings };
}

/** The settings of a pipeline: its own before those of the process. */
export function resolveSettings(own: DataSettings): Settings {
  return readOptions({ ...processSettings, ...own }, SETTINGS);
}

export function checkSettings(settings: DataSettings): void {
  readOptions(settings, SETTINGS);
}
