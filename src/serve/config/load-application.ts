/**
 * Turns `app.ts:app` into an application: loads the module, takes its export, runs a builder, and applies the configuration's options over those in the code. A
 * class of Python (`model.py:Model`, `package.module:Model`) becomes one deployment, with `args` as its constructor's argument.
 *
 * Runs user code in the process that deploys, as `serve.run` in a program does; for the REST API that is a worker.
 * Called by `deploy-config.ts` and `build-in-task.ts`.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describeValue } from "../../core/internal.ts";
import { python } from "../../python/python.ts";
import { deploymentNames, isApplication } from "../build/application-graph.ts";
import { replaceIn } from "../build/handle-marks.ts";
import { Application, applicationParts, deployment } from "../deployments/deployment.ts";
import type { TracingOptions } from "../deployments/deployment-options.ts";
import { ServeConfigError } from "../errors.ts";
import { type ApplicationSettings, deploymentOptionsOf } from "./config-options.ts";
import type { ConfigApplication, Fields } from "./read-config.ts";

/** An export of a module by its import path, and the arguments for an export that is a builder. */
export interface ImportTarget {
  readonly importPath: string;
  /** Where relative paths begin. */
  readonly folder: string;
  readonly args: Fields;
  /** The environment of all replicas, as YAML or JSON by Ray's keys, and where it comes from, for messages. */
  readonly runtimeEnv?: { readonly text: string; readonly source: string } | undefined;
  /** A folder that goes with the replicas; `importPath` is relative to it. */
  readonly workingDir?: string | undefined;
}

/** Imports an application. @throws ServeConfigError for a missing module or export, and for an export that is not an application; errors of the user's code */
export async function importApplication({ runtimeEnv, workingDir, ...target }: ImportTarget): Promise<Application> {
  if (runtimeEnv === undefined && workingDir === undefined) return await importExport(target);
  const read = runtimeEnv === undefined ? {} : (await import("./read-config.ts")).readRuntimeEnv(runtimeEnv.text, runtimeEnv.source);
  const environment = workingDir === undefined ? read : { ...read, working_dir: workingDir };
  return await loadConfigApplication(
    { ...target, runtimeEnv: environment, deployments: new Map(), places: new Map(), logging: {}, tracing: {} },
    target.folder,
  );
}

async function importExport({ importPath, folder, args }: ImportTarget): Promise<Application> {
  const [place, name] = placeAndName(importPath);
  const pythonFile = pythonFileOf(place, folder);
  if (pythonFile !== undefined)
    return deployment(python.actor<object, Fields[]>(pythonFile, name)).bind(...(Object.keys(args).length > 0 ? [args] : []));
  const exported = await exportOf(importPath, folder);
  if (isApplication(exported)) {
    if (Object.keys(args).length > 0) throw refused(importPath, "args are for a builder, and this is an application");
    return exported;
  }
  if (typeof exported !== "function")
    throw refused(importPath, `an application or a function that builds one is needed: received ${describeValue(exported)}`);
  const built = await (exported as (args: Fields) => unknown)(args);
  if (!isApplication(built)) throw refused(importPath, `the builder gave no application: received ${describeValue(built)}`);
  return built;
}

function placeAndName(importPath: string): [place: string, name: string] {
  const colon = importPath.lastIndexOf(":");
  const [place, name] = colon < 1 ? [importPath, ""] : [importPath.slice(0, colon), importPath.slice(colon + 1)];
  if (name === "") throw refused(importPath, "the export is missing", `Write it as "${place}:app".`);
  return [place, name];
}

/** The export of a module that the name behind the colon names. */
async function exportOf(importPath: string, folder: string): Promise<unknown> {
  const [place, name] = placeAndName(importPath);
  const file = resolve(folder, place);
  if (!existsSync(file))
    throw refused(importPath, `there is no file ${file}${file.includes(".", file.lastIndexOf("/")) ? "" : ` or ${file}.py`}`);
  const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  if (!Object.hasOwn(module, name))
    throw refused(importPath, `${place} exports no ${name}: it exports ${Object.keys(module).join(", ") || "nothing"}`);
  return module[name];
}

/** @throws ServeConfigError for one of Python: policies run in the controller, routers in every process that sends, and tracing in the process of Node that each replica is */
async function functionOf(importPath: string, folder: string): Promise<(...args: any) => any> {
  const [place] = placeAndName(importPath);
  const isModule = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(place) && !/\.[cm]?[jt]sx?$/.test(place) && !existsSync(resolve(folder, place));
  if (place.endsWith(".py") || isModule)
    throw refused(
      importPath,
      "it names a function of Python, and one of TypeScript or JavaScript is needed here",
      'Name a module and its export, such as "settings.ts:setup".',
    );
  const exported = await exportOf(importPath, folder);
  if (typeof exported !== "function") throw refused(importPath, `a function is needed: received ${describeValue(exported)}`);
  return exported as (...args: any) => any;
}

/** The fields of deployments with the functions and classes that they name in place of the names. */
async function withFunctions(deployments: ReadonlyMap<string, Fields>, folder: string): Promise<Map<string, Fields>> {
  const loaded = new Map<string, Fields>();
  for (const [name, given] of deployments) {
    let fields = given;
    const scaling = fields["autoscaling_config"] as Fields | undefined;
    const policy = scaling?.["policy"] as { policy_function: string; policy_kwargs?: Fields } | null | undefined;
    if (policy !== undefined && policy !== null) {
      const { policy_function: path, policy_kwargs: args } = policy;
      const withPolicy = { ...scaling, policy: await functionOf(path, folder), ...(args !== undefined && { policy_args: args }) };
      fields = { ...fields, autoscaling_config: withPolicy };
    }
    const router = fields["request_router_config"] as { request_router_class: string } | null | undefined;
    if (router !== undefined && router !== null)
      fields = {
        ...fields,
        request_router_config: { ...router, request_router_class: await functionOf(router.request_router_class, folder) },
      };
    loaded.set(name, fields);
  }
  return loaded;
}

async function tracingOf(
  { enabled, exporter_import_path: path, sampling_ratio: samplingRatio }: Fields,
  folder: string,
): Promise<TracingOptions | undefined> {
  if (enabled === false || typeof path !== "string" || path === "") return undefined;
  return { setup: await functionOf(path, folder), ...(typeof samplingRatio === "number" && { samplingRatio }) };
}

/** An application of a configuration with its options. @throws what `importApplication` and `withDeploymentOptions` throw */
export async function loadConfigApplication(
  given: Pick<ConfigApplication, "importPath" | "args" | "runtimeEnv" | "deployments" | "places" | "logging" | "tracing">,
  folder: string,
): Promise<Application> {
  const { importPath, args, runtimeEnv, logging } = given;
  const workingDir = workingDirOf(runtimeEnv, folder);
  const from = workingDir ?? folder;
  const application = await importExport({ importPath, args, folder: from });
  return withDeploymentOptions(application, {
    overrides: await withFunctions(given.deployments, from),
    places: given.places,
    settings: {
      runtimeEnv: { ...runtimeEnv, ...(workingDir !== undefined && { working_dir: workingDir }) },
      logging,
      tracing: await tracingOf(given.tracing, from),
    },
  });
}

/** The folder that a `working_dir` names: a path from the configuration's folder, or Ray's URI of a folder that is there already. */
export function workingDirOf(runtimeEnv: ConfigApplication["runtimeEnv"], folder: string): string | undefined {
  const wanted = runtimeEnv["working_dir"] as string | undefined;
  return wanted === undefined ? undefined : resolve(folder, wanted.replace(/^local:\/\//, ""));
}

/** The file of a module of Python: a path that ends in .py, or a dotted module that is in the folder. */
function pythonFileOf(place: string, folder: string): string | undefined {
  if (place.endsWith(".py")) return resolve(folder, place);
  if (!/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(place)) return undefined;
  const file = resolve(folder, `${place.replaceAll(".", "/")}.py`);
  // A module of several parts is imported by its name from the folder, so that its relative imports hold.
  return existsSync(file) ? (place.includes(".") ? `${resolve(folder)}/${place}` : file) : undefined;
}

/**
 * A copy of an application with other options for its deployments; `settings` are for all of them.
 *
 * @throws ServeConfigError for a deployment that it does not have, and for options that it cannot have, with line and key; TypeError, RangeError that name an option of the settings
 */
function withDeploymentOptions(
  application: Application,
  {
    overrides,
    places,
    settings,
  }: { overrides: ReadonlyMap<string, Fields>; places: ReadonlyMap<string, string>; settings: ApplicationSettings },
): Application {
  const names = deploymentNames(application);
  const known = new Set(names.values());
  for (const name of overrides.keys())
    if (!known.has(name))
      throw unreadable(places.get(name), `the application has no deployment ${describeValue(name)}: it has ${[...known].join(", ")}`);
  const copies = new Map<Application<any>, Application<any>>();
  const copyOf = (original: Application<any>): Application<any> => {
    const copied = copies.get(original);
    if (copied !== undefined) return copied;
    const { deployment: bound, args } = applicationParts(original);
    const name = names.get(original) as string;
    const options = deploymentOptionsOf(overrides.get(name) ?? {}, settings, bound.config.actorOptions);
    const copy = new Application<any>({
      deployment: optionsAt(places.get(name), () => bound.options(options)),
      args: replaceIn(args, (value) => (isApplication(value) ? copyOf(value) : value)) as unknown[],
    });
    copies.set(original, copy);
    return copy;
  };
  return copyOf(application);
}

/** Adds the place in the configuration to an error. @param place - undefined if the configuration does not mention the deployment */
function optionsAt<T>(place: string | undefined, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (place === undefined || !(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw unreadable(place, error.message);
  }
}

function unreadable(place: string | undefined, reason: string): ServeConfigError {
  return new ServeConfigError(`Cannot read ${place ?? "the configuration"}: ${reason}`, { reason, details: { place } });
}

function refused(what: string, problem: string, hint?: string): ServeConfigError {
  return new ServeConfigError(`Cannot load ${what}: ${problem}`, { reason: problem, ...(hint !== undefined && { hint }) });
}
