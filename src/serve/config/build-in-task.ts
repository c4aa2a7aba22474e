/**
 * Builds an application of a configuration in a worker of its own: for the REST API, where no program has loaded the user's code.
 *
 * The worker is fresh, has the application's environment variables, and takes no other call, so code that has changed is loaded anew, and what the module leaves behind ends
 * with it. What comes back is data: the controller deploys it and never loads it.
 */
import { randomUUID } from "node:crypto";
import { getRuntimeContext, remote } from "../../core/index.ts";
import { buildApplication } from "../build/application-graph.ts";
import type { DeployedCode } from "../deployed-code.ts";
import type { ApplicationTarget } from "../deployment-config.ts";
import { BUILD_WITHIN_MS } from "../limits.ts";
import { loadConfigApplication } from "./load-application.ts";
import type { ConfigApplication, Fields } from "./read-config.ts";

/** An application of a configuration, as it travels. */
interface ApplicationToBuild extends Omit<ConfigApplication, "deployments"> {
  readonly deployments: readonly (readonly [name: string, fields: Fields])[];
}

/** An application that can be deployed. */
export interface BuiltInTask {
  readonly target: ApplicationTarget;
  readonly code: DeployedCode;
}

/** Runs in the worker. Registered, so that it travels by its name. */
export async function buildConfigApplication({ deployments, ...given }: ApplicationToBuild): Promise<BuiltInTask> {
  const application = await loadConfigApplication({ ...given, deployments: new Map(deployments) }, "/");
  const { name, routePrefix, fields: config } = given;
  const { target, code, functions } = buildApplication(application, { name, routePrefix, keepsCode: true, config });
  return { target, code: { code: [...code], functions: [...functions] } };
}

/** @throws what loading and building throws, as the cause of a TaskError */
export async function buildInTask({ deployments, ...given }: ConfigApplication): Promise<BuiltInTask> {
  const { env_vars: variables = {} } = given.runtimeEnv as { env_vars?: Record<string, string> };
  const build = remote(buildConfigApplication, {
    name: `build of application ${given.name}`,
    numCpus: 0,
    maxCalls: 1,
    maxRetries: 1,
    timeoutMs: BUILD_WITHIN_MS,
    // Folders of the configuration are those of this machine.
    schedulingStrategy: { nodeId: getRuntimeContext().nodeId },
    runtimeEnv: { envVars: { ...variables, SHOAL_SERVE_BUILD: randomUUID() } },
  });
  return await build.remote({ ...given, deployments: [...deployments] });
}
