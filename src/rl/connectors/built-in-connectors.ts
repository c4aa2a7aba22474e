/**
 * Built-in connectors by their names, as checkpoints have them.
 *
 * A checkpoint has the name, the options and the state of each connector. So built-in ones come back without code; those of one's own need the configuration.
 */
import { ClipRewards } from "./clip-rewards.ts";
import type { Connector, SavedConnector } from "./connector.ts";
import { FrameStack } from "./frame-stack.ts";
import { MeanStdFilter } from "./mean-std-filter.ts";
import { PreviousActions } from "./previous-actions.ts";

const BUILT_IN: Readonly<Record<string, new (options: never) => Connector>> = { ClipRewards, FrameStack, MeanStdFilter, PreviousActions };

/** @returns a maker of the connectors, or `undefined` where some are not built in */
export function builtInConnectors(saved: readonly SavedConnector[]): (() => Connector[]) | undefined {
  if (!saved.every(({ name }) => Object.hasOwn(BUILT_IN, name))) return undefined;
  return () => madeConnectors(saved);
}

/** Registered for runners, in which the maker runs. */
export function madeConnectors(saved: readonly SavedConnector[]): Connector[] {
  return saved.map(({ name, options }) => new (BUILT_IN[name] as new (options: unknown) => Connector)(options));
}
