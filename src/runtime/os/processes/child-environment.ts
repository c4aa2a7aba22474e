/**
 * The environment of started processes: that of this process, without its secrets.
 *
 * A join token is for the command that was given it. Environments are inherited by all children of a task, and are printed by tools that
 * report failures, so no process of ours has a secret of Shoal in its environment. Secrets travel on inherited descriptors
 * (`worker-process.ts`). Called wherever a process is started.
 */

/** Variables in which a command takes a secret. */
const SECRETS: readonly string[] = ["SHOAL_TOKEN"];

type Environment = Readonly<Record<string, string | undefined>>;

/** @param more additional variables, which override those of this process */
export function childEnvironment(more: Environment = {}): Record<string, string | undefined> {
  const environment: Record<string, string | undefined> = { ...process.env, ...more };
  for (const name of SECRETS) delete environment[name];
  return environment;
}

/** Moves the secrets out of this process's environment into the result. */
export function takeSecrets(): Environment {
  const before = { ...process.env };
  for (const name of SECRETS) delete process.env[name];
  return before;
}
