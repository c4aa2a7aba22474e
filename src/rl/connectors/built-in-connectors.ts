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

type Maker = () => Connector | readonly Connector[];

/** The connectors behind makers of `builtInConnectors`. */
const recipes = new WeakMap<Maker, readonly SavedConnector[]>();

/** @returns a maker of the connectors, or `undefined` where some are not built in */
export function builtInConnectors(saved: readonly SavedConnector[]): Maker | undefined {
  if (!saved.every(({ name }) => Object.hasOwn(BUILT_IN, name))) return undefined;
  const maker = (): Connector[] => madeConnectors(saved);
  recipes.set(maker, saved);
  return maker;
}

/** A maker in the form that travels to runners: a user's function, or the data of built-in connectors. */
export function travelling(maker: Maker | undefined): Maker | readonly SavedConnector[] | undefined {
  return maker === undefined ? undefined : (recipes.get(maker) ?? maker);
}

export function madeConnectors(saved: readonly SavedConnector[]): Connector[] {
  return saved.map(({ name, options }) => new (BUILT_IN[name] as new (options: unknown) => Connector)(options));
}
