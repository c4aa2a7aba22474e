/**
 * The environment of the processes that are started here: that of this process, without what no other is to know.
 *
 * A join token is for the command that was given it. Environments are inherited by all that a task starts, and are printed by tools that report failures, so none of our processes has
 * one of Shoal's secrets in its own: they travel on inherited descriptors (`worker-process.ts`). Called wherever a process is started.
 */

/** Variables in which a command takes a secret. */
const SECRETS: readonly string[] = ["SHOAL_TOKEN"];

type Environment = Readonly<Record<string, string | undefined>>;

/** @param more variables besides, which go before those of this process */
export function childEnvironment(more: Environment = {}): Record<string, string | undefined> {
  const environment: Record<string, string | undefined> = { ...process.env, ...more };
  for (const name of SECRETS) delete environment[name];
  return environment;
}

/** Takes the secrets out of the environment of this process, where only whoever is given the result finds them. */
export function takeSecrets(): Environment {
  const before = { ...process.env };
  for (const name of SECRETS) delete process.env[name];
  return before;
}
