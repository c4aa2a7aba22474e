/** The settings of the engine: those of this process, which `configure` changes, and those of single pipelines. */
import { count, flag, readOptions } from "../core/internal.ts";

/** What `configure` and `withSettings` take. */
export interface DataSettings {
  /** Bytes that the blocks of all running pipelines may have together. Default: half of the object store. */
  memoryBytes?: number | undefined;
  /** Whether rows keep the order of their source. Without it a slow task holds nothing back. Default: true. */
  preserveOrder?: boolean | undefined;
}

/** The settings with their defaults. */
export interface Settings {
  readonly memoryBytes: number | undefined;
  readonly preserveOrder: boolean;
}

const SETTINGS = {
  of: "data",
  options: {
    memoryBytes: count({ min: 1 }, undefined),
    preserveOrder: flag(true),
  },
};

let processSettings: DataSettings = {};

/**
 * Changes the settings of all pipelines that this process begins from now on; what is not named stays.
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
