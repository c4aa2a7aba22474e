/**
 * Builds an application in a separate worker: for the REST API, where no program has loaded the user's code, and for `redeploy.ts`, where the program has
 * loaded the old code.
 *
 * The worker is fresh, has the application's environment variables, and takes no other call. So it loads changed code anew, and everything that the module
 * leaves behind ends with the worker. The result is data: the controller deploys it and never loads it.
 */
import { randomUUID } from "node:crypto";
import { getRuntimeContext, remote } from "../../core/index.ts";
import { buildApplication } from "../build/application-graph.ts";
import type { DeployedCode } from "../deployments/deployed-code.ts";
import type { ApplicationTarget } from "../deployments/deployment-config.ts";
import { BUILD_WITHIN_MS } from "../limits.ts";
import { loadConfigApplication } from "./load-application.ts";
import type { ConfigApplication, Fields } from "./read-config.ts";

/** An application to be built. */
export interface ApplicationToBuild extends Omit<ConfigApplication, "fields" | "line"> {
  /** As a configuration has it; undefined where none does. */
  readonly fields: Fields | undefined;
  /** Where relative paths begin. Default: nowhere, all paths are whole. */
  readonly folder?: string;
}

/** The same, as it travels. */
interface TravellingApplication extends Omit<ApplicationToBuild, "deployments"> {
  readonly deployments: readonly (readonly [name: string, fields: Fields])[];
}

/** An application that can be deployed. */
export interface BuiltInTask {
  readonly target: ApplicationTarget;
  readonly code: DeployedCode;
}

/** Runs in the worker. Registered, so that it travels by its name. */
export async function buildConfigApplication({ deployments, folder = "/", ...given }: TravellingApplication): Promise<BuiltInTask> {
  const application = await loadConfigApplication({ ...given, deployments: new Map(deployments) }, folder);
  const { name, routePrefix, fields: config } = given;
  const { target, code, functions } = buildApplication(application, { name, routePrefix, keepsCode: true, config });
  return { target, code: { code: [...code], functions: [...functions] } };
}

/**
 * @param options `revision`: the worker is that of a revision, and may become a replica. Default: one that takes no other call.
 * @throws what loading and building throws, as the cause of a TaskError
 */
export async function buildInTask(
  { deployments, ...given }: ApplicationToBuild,
  { revision }: { revision?: string } = {},
): Promise<BuiltInTask> {
  const { env_vars: variables = {} } = given.runtimeEnv as { env_vars?: Record<string, string> };
  const build = remote(buildConfigApplication, {
    name: `build of application ${given.name}`,
    numCpus: 0,
    ...(revision === undefined && { maxCalls: 1 }),
    maxRetries: 1,
    timeoutMs: BUILD_WITHIN_MS,
    // Folders of the configuration are those of this machine.
    schedulingStrategy: { nodeId: getRuntimeContext().nodeId },
    runtimeEnv: {
      envVars: { ...variables, ...(revision === undefined ? { SHOAL_SERVE_BUILD: randomUUID() } : revisionVariables(revision)) },
    },
  });
  return await build.remote({ ...given, deployments: [...deployments] });
}

/** The environment variables that keep processes of one revision apart from those of others. */
export function revisionVariables(revision: string): Record<string, string> {
  return { SHOAL_SERVE_REVISION: revision };
}
