/** From applications in code to a configuration that runs them: `shoal serve build`. */
import { deploymentNames } from "../build/application-graph.ts";
import { applicationParts } from "../deployments/deployment.ts";
import type { DeploymentConfig } from "../deployments/deployment-config.ts";
import { importApplication } from "./load-application.ts";

const HEADER = "# Made by `shoal serve build`. Deploy it with `shoal serve deploy`; docs/serve-config.md has all keys.\n";

/**
 * Writes the YAML of a configuration with one application for each target, such as `app.ts:app`. Several applications get names and routes in their order.
 *
 * @throws ServeConfigError for a target that is not an application
 */
export async function buildConfig(targets: readonly string[], folder: string = process.cwd()): Promise<string> {
  const applications: object[] = [];
  for (const [index, importPath] of targets.entries()) {
    const application = await importApplication({ importPath, folder, args: {} });
    const deployments = [...deploymentNames(application)].map(([bound, name]) => fieldsOf(name, applicationParts(bound).deployment.config));
    const [name, route] = targets.length === 1 ? ["default", "/"] : [`app${index + 1}`, `/app${index + 1}`];
    applications.push({ name, route_prefix: route, import_path: importPath, runtime_env: {}, deployments });
  }
  const { stringify } = await import("yaml");
  return HEADER + stringify({ proxy_location: "EveryNode", http_options: { host: "127.0.0.1", port: 8000 }, applications });
}

/** The commonly changed fields of a deployment, with the values from its code. */
function fieldsOf(name: string, { autoscaling, numReplicas, maxOngoingRequests, maxQueuedRequests, userConfig }: DeploymentConfig): object {
  return {
    name,
    ...(autoscaling === undefined
      ? { num_replicas: numReplicas }
      : {
          autoscaling_config: {
            min_replicas: autoscaling.minReplicas,
            max_replicas: autoscaling.maxReplicas,
            target_ongoing_requests: autoscaling.targetOngoingRequests,
          },
        }),
    max_ongoing_requests: maxOngoingRequests,
    ...(maxQueuedRequests !== undefined && { max_queued_requests: maxQueuedRequests }),
    ...(userConfig !== undefined && { user_config: JSON.parse(userConfig) as unknown }),
  };
}
