/**
 * Compares environments with trajectories that Gymnasium has recorded (`test/systems/gymnasium_trajectories.py`).
 *
 * The environment gets the first state and the actions of a trajectory; observations agree to a float32's precision, rewards, ends and the number of steps exactly.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { makeVectorEnv } from "../../src/rl/environments/make-env.ts";
import { REPOSITORY } from "../house/source-files.ts";

export interface Trajectory {
  readonly id: string;
  /** Arguments of Gymnasium's environment, in Python's spelling. */
  readonly kwargs: Readonly<Record<string, unknown>>;
  readonly state: readonly number[];
  /** Action, observation, reward, terminated, truncated. */
  readonly steps: readonly (readonly [number | number[], number[], number, boolean, boolean])[];
}

export function recordedTrajectories(): Trajectory[] {
  return JSON.parse(readFileSync(join(REPOSITORY, "test", "vectors", "rl", "gymnasium.json"), "utf8")) as Trajectory[];
}

/** The outcomes of a toy text environment. */
export interface RecordedTable {
  readonly id: string;
  readonly kwargs: Readonly<Record<string, unknown>>;
  readonly limit: number | null;
  readonly starts: readonly number[];
  readonly masks: readonly (readonly number[])[] | null;
  /** By state and action: probability, next state, reward, end. */
  readonly table: readonly (readonly (readonly [number, number, number, boolean])[])[][];
}

export function recordedTables(): RecordedTable[] {
  return JSON.parse(readFileSync(join(REPOSITORY, "test", "vectors", "rl", "toy-text.json"), "utf8")) as RecordedTable[];
}

export async function compareTrajectories({ id, kwargs, state, steps }: Trajectory): Promise<void> {
  const envConfig = camelCased(kwargs);
  const env = await makeVectorEnv(id, { envConfig, autoresetMode: "disabled" });
  await env.reset({ seed: 0 });
  env.setState?.({ ...(env.getState?.() as object), states: state } as never);
  for (const [index, [action, observation, reward, terminated, truncated]] of steps.entries()) {
    const actions = Array.isArray(action) ? Float32Array.from(action) : [action];
    const step = await env.step(actions);
    for (const [at, number] of observation.entries())
      expect(Math.abs((step.observations[at] as number) - number), `step ${index}, element ${at}`).toBeLessThan(1e-4);
    expect([step.rewards[0], step.terminateds[0], step.truncateds[0]], `step ${index}`).toEqual([
      expect.closeTo(reward, 6),
      Number(terminated),
      Number(truncated),
    ]);
  }
}

/** Arguments of Python under TypeScript's names. */
export function camelCased(kwargs: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(kwargs).map(([name, value]) => [camelCase(name), value]));
}

function camelCase(name: string): string {
  return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
