/**
 * From `app.ts:app` to an application: loads the module, takes its export, lets a builder build, and puts the configuration's options over those in the code. A class of
 * Python (`model.py:Model`, `package.module:Model`) becomes a deployment of its own; `args`, where there are any, are the argument of its constructor.
 *
 * Runs user code in the process that deploys, as `serve.run` in a program does.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describeValue } from "../../core/internal.ts";
import { python } from "../../python/python.ts";
import { deploymentNames, isApplication } from "../build/application-graph.ts";
import { replaceIn } from "../build/handle-marks.ts";
import { Application, applicationParts, deployment } from "../deployment.ts";
import { deploymentOptionsOf } from "./config-options.ts";
import { type Fields, ServeConfigError } from "./read-config.ts";

/** An export of a module by its import path, and the arguments for an export that is a builder. */
export interface ImportTarget {
  readonly importPath: string;
  /** Where relative paths begin. */
  readonly folder: string;
  readonly args: Fields;
}

/** @throws ServeConfigError where there is no such module, no such export, or it is no application; what the user's code throws */
export async function importApplication({ importPath, folder, args }: ImportTarget): Promise<Application> {
  const colon = importPath.lastIndexOf(":");
  const [place, name] = colon < 1 ? [importPath, ""] : [importPath.slice(0, colon), importPath.slice(colon + 1)];
  if (name === "") throw refused(importPath, "the export is missing", `Write it as "${place}:app".`);
  const pythonFile = pythonFileOf(place, folder);
  if (pythonFile !== undefined) {
    const target = python.actor<object, Fields[]>(pythonFile, name);
    return deployment(target).bind(...(Object.keys(args).length > 0 ? [args] : []));
  }
  const file = resolve(folder, place);
  if (!existsSync(file)) throw refused(importPath, `there is no file ${file}`);
  const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  if (!Object.hasOwn(module, name))
    throw refused(importPath, `${place} exports no ${name}: it exports ${Object.keys(module).join(", ") || "nothing"}`);
  const exported = module[name];
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

/** The file of a module of Python: a path that ends in .py, or a dotted module that is in the folder. */
function pythonFileOf(place: string, folder: string): string | undefined {
  if (place.endsWith(".py")) return resolve(folder, place);
  if (!/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(place)) return undefined;
  const file = resolve(folder, `${place.replaceAll(".", "/")}.py`);
  // A module of several parts is imported by its name from the folder, so that its relative imports hold.
  return existsSync(file) ? (place.includes(".") ? `${resolve(folder)}/${place}` : file) : undefined;
}

/**
 * A copy of an application with other options for its deployments; `runtimeEnv` is for all of them.
 *
 * @throws ServeConfigError for a deployment that it does not have; TypeError, RangeError that name an option
 */
export function withDeploymentOptions(application: Application, overrides: ReadonlyMap<string, Fields>, runtimeEnv: Fields): Application {
  const names = deploymentNames(application);
  const known = new Set(names.values());
  for (const name of overrides.keys())
    if (!known.has(name)) throw refused(name, `the application has no deployment of this name: it has ${[...known].join(", ")}`);
  const copies = new Map<Application<any>, Application<any>>();
  const copyOf = (original: Application<any>): Application<any> => {
    const copied = copies.get(original);
    if (copied !== undefined) return copied;
    const { deployment: bound, args } = applicationParts(original);
    const fields = overrides.get(names.get(original) as string) ?? {};
    const copy = new Application<any>({
      deployment: bound.options(deploymentOptionsOf(fields, runtimeEnv)),
      args: replaceIn(args, (value) => (isApplication(value) ? copyOf(value) : value)) as unknown[],
    });
    copies.set(original, copy);
    return copy;
  };
  return copyOf(application);
}

function refused(what: string, problem: string, hint?: string): ServeConfigError {
  return new ServeConfigError(`Cannot load ${what}: ${problem}`, { reason: problem, ...(hint !== undefined && { hint }) });
}
