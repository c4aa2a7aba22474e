/**
 * Checks of users' environments: their members, and what `reset` and `step` return.
 *
 * Rewards and flags are checked in every step, observations in the first ones (`CHECKED_STEPS_MAX`). Errors name the class, the method, the field and the value. A throw of the user's
 * code is wrapped, with its own stack as the cause.
 */
import { describeValue, messageOf } from "../../core/internal.ts";
import { EnvironmentError } from "../errors.ts";
import { Space } from "../spaces/space.ts";
import type { Env, ResetResult, StepResult } from "./env.ts";

/** Checks the members that every kind of environment has. @throws EnvironmentError */
export function checkMembers(env: Partial<Env>, name: string): void {
  for (const method of ["reset", "step"] as const)
    if (typeof env[method] !== "function")
      throw new EnvironmentError(
        `Cannot use ${name} as an environment: it needs a method ${method}(): received ${describeValue(env[method])}`,
      );
  for (const space of ["observationSpace", "actionSpace"] as const)
    if (!(env[space] instanceof Space))
      throw new EnvironmentError(
        `Cannot use ${name} as an environment: ${space} is a space of shoal/rl, such as new Discrete(2): received ${describeValue(env[space])}`,
      );
}

/** Checks what `reset` returned. @throws EnvironmentError */
export function checkReset(result: ResetResult, space: Space, name: string): void {
  if (typeof result !== "object" || result === null || !("observation" in result))
    throw new EnvironmentError(`Cannot use ${name}: reset() returns an object such as { observation }: received ${describeValue(result)}`);
  checkObservation(result.observation, space, `${name}: the observation of reset()`);
}

export function checkObservation(observation: unknown, space: Space, what: string): void {
  const misfit = space.misfit(observation);
  if (misfit !== undefined) throw new EnvironmentError(`Cannot use ${what} is not in the observation space: ${misfit}`);
}

/** Checks everything of a step but its observation. @throws EnvironmentError */
export function checkStep(result: StepResult, name: string): void {
  if (typeof result !== "object" || result === null || !("observation" in result))
    throw new EnvironmentError(
      `Cannot use ${name}: step() returns an object such as { observation, reward, terminated, truncated }: received ${describeValue(result)}`,
    );
  if (!Number.isFinite(result.reward))
    throw new EnvironmentError(`Cannot use ${name}: the reward of step() is a finite number: received ${describeValue(result.reward)}`);
  for (const flag of ["terminated", "truncated"] as const)
    if (typeof result[flag] !== "boolean")
      throw new EnvironmentError(`Cannot use ${name}: ${flag} of step() is true or false: received ${describeValue(result[flag])}`);
}

/** The error for a throw of the user's code. */
export function envThrew(name: string, what: "construct" | "reset" | "step", cause: unknown): EnvironmentError {
  if (cause instanceof EnvironmentError) return cause;
  return new EnvironmentError(`Cannot ${what} ${name}: it threw ${messageOf(cause)}`, { cause });
}
