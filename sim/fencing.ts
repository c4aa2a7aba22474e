/**
 * Runs `fencing-world.ts` once, with misfortunes at random times, and returns the result.
 *
 * The same seed is the same run. Called by the tests of the node's fence.
 */
import { type FencingOptions, FencingWorld } from "./fencing-world.ts";

interface FencingResult {
  readonly violations: string[];
  readonly deaths: number;
  readonly fences: number;
  readonly pauses: number;
  readonly takeovers: number;
  /** How often a node took the absence of the store for a proof. */
  readonly absences: number;
}

export function simulateFencing({ lengthMs = 300_000, ...options }: FencingOptions & { readonly lengthMs?: number }): FencingResult {
  const world = new FencingWorld(options);
  const plan = (): void => {
    world.misfortune();
    world.time.after(world.random.between(1_000, 30_000), plan);
  };
  world.time.after(world.random.between(1_000, 20_000), plan);
  world.time.runUntil(lengthMs);
  const { violations, deaths, takeovers, node } = world;
  return { violations, deaths, fences: node.fences, pauses: node.pauses, takeovers, absences: node.absences };
}
