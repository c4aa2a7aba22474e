/** Configurations by the names of their algorithms, which checkpoints have. */
import { RLError } from "../errors.ts";
import type { AlgorithmConfig } from "./algorithm-config.ts";

// oxlint-disable-next-line no-explicit-any -- algorithms differ in the values of their training
export type AnyConfig = AlgorithmConfig<any>;

const configs = new Map<string, new () => AnyConfig>();

/** Lets checkpoints of an algorithm be read by `Algorithm.fromCheckpoint` and `Policy.fromCheckpoint`. */
export function registerAlgorithm(name: string, configClass: new () => AnyConfig): void {
  configs.set(name, configClass);
}

/** A new configuration of an algorithm. @throws RLError where nobody registered the name */
export function configOf(algorithm: string, path: string): AnyConfig {
  const configClass = configs.get(algorithm);
  if (configClass === undefined)
    throw new RLError(`Cannot restore ${path}: its algorithm is ${algorithm}, which was not imported. Give the configuration: { config }`);
  return new configClass();
}
