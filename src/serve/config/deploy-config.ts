/**
 * Runs what a configuration says, and nothing else: applications that it does not name are ended. Keeps its text, so that `shoal serve config` can show it.
 *
 * All applications are loaded and checked before the first is deployed.
 */
import { resolve } from "node:path";
import { kvGet, kvPut } from "../../core/index.ts";
import type { Application } from "../deployment.ts";
import { SERVE_NAMESPACE } from "../names.ts";
import { delete as deleteApplication, run, type StartedServe, start, status } from "../run.ts";
import { httpOptionsOf } from "./config-options.ts";
import { importApplication, withDeploymentOptions } from "./load-application.ts";
import { type ConfigApplication, readConfig, type ServeConfig } from "./read-config.ts";

const CONFIG_KEY = "config";
const IN_SERVE = { namespace: SERVE_NAMESPACE };

/** Origin of the text that `deployConfig` gets. */
export interface ConfigPlace {
  /** For messages: the file's name. Default: "the configuration". */
  readonly source?: string | undefined;
  /** Where its relative paths begin. Default: the working directory. */
  readonly folder?: string | undefined;
}

/**
 * Runs the applications of a configuration in YAML or JSON, with Ray's keys, and ends all others. Resolves when they answer.
 *
 * @throws ServeConfigError with line and key; DeployFailedError where an application does not come up
 * @example
 * await serve.deployConfig(await readFile("serve.yaml", "utf8"));
 */
export async function deployConfig(
  text: string,
  { source = "the configuration", folder = process.cwd() }: ConfigPlace = {},
): Promise<StartedServe> {
  const config = readConfig(text, source);
  const loaded: { application: Application; name: string; routePrefix: string | null }[] = [];
  for (const { name, ...given } of config.applications)
    loaded.push({ name, routePrefix: routeOf(config, given.routePrefix), application: await load({ name, ...given }, folder) });
  const started = await start({ httpOptions: httpOptionsOf(config) });
  const wanted = new Set(loaded.map(({ name }) => name));
  const { applications } = await status();
  // First, as one of the others may want its route.
  await Promise.all(
    Object.keys(applications)
      .filter((name) => !wanted.has(name))
      .map((name) => deleteApplication(name)),
  );
  await Promise.all(loaded.map(({ application, name, routePrefix }) => run(application, { name, routePrefix })));
  await kvPut(CONFIG_KEY, text, IN_SERVE);
  return started;
}

/** The text that was deployed last; undefined where none was. */
export async function deployedConfig(): Promise<string | undefined> {
  return await kvGet<string>(CONFIG_KEY, IN_SERVE);
}

/** @throws what `importApplication` and `withDeploymentOptions` throw */
async function load({ importPath, args, runtimeEnv, deployments }: ConfigApplication, folder: string): Promise<Application> {
  const given = runtimeEnv["working_dir"] as string | undefined;
  const workingDir = given === undefined ? undefined : resolve(folder, given);
  const application = await importApplication({ importPath, args, folder: workingDir ?? folder });
  return withDeploymentOptions(application, deployments, { ...runtimeEnv, ...(workingDir !== undefined && { working_dir: workingDir }) });
}

function routeOf({ http }: ServeConfig, routePrefix: string | null): string | null {
  const root = ((http["root_path"] as string | undefined) ?? "").replace(/\/+$/, "");
  if (routePrefix === null || root === "") return routePrefix;
  return routePrefix === "/" ? root : root + routePrefix;
}
