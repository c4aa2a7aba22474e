/**
 * Runs exactly the applications of a configuration, and ends all others. Keeps its text, so that `shoal serve config` can show it.
 *
 * All applications are loaded and checked before the first is deployed.
 */
import type { Application } from "../deployments/deployment.ts";
import { loadConfigText, saveConfigText, takeCapacity } from "../controller/serve-store.ts";
import { delete as deleteApplication, runConfigured, type StartedServe, start, status } from "../run.ts";
import { grpcOptionsOf, httpOptionsOf } from "./config-options.ts";
import { loadConfigApplication } from "./load-application.ts";
import type { ConfigApplication } from "./read-config.ts";

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
  const { readConfig } = await import("./read-config.ts");
  const config = readConfig(text, source);
  const loaded: { application: Application; given: ConfigApplication }[] = [];
  for (const given of config.applications) loaded.push({ given, application: await loadConfigApplication(given, folder) });
  const started = await start({ httpOptions: httpOptionsOf(config), grpcOptions: grpcOptionsOf(config, folder) });
  const wanted = new Set(config.applications.map(({ name }) => name));
  const { applications } = await status();
  // First, as one of the others may want its route.
  await Promise.all(
    Object.keys(applications)
      .filter((name) => !wanted.has(name))
      .map((name) => deleteApplication(name)),
  );
  const capacity = await takeCapacity(config);
  await runConfigured(loaded, capacity);
  await saveConfigText(text);
  return started;
}

/** The text that was deployed last; undefined where none was. */
export async function deployedConfig(): Promise<string | undefined> {
  return await loadConfigText();
}
