/**
 * Defines a runtime environment (environment variables, a working directory, npm packages), and how one is checked, merged and named.
 *
 * `core` checks the user's input and merges it into the inherited environment (job, then task or actor). The node's daemon gets the result
 * under its key and starts workers for it. Pure, except for a check that named folders exist: a wrong path is an error at the place where
 * it was written.
 */
import { defined, type Defined } from "../base/collections/defined.ts";
import { describeValue } from "../base/texts/describe.ts";
import { type Fault, outOfRange, wrongType } from "../base/fault.ts";
import type { JobId, NodeId } from "../base/ids.ts";
import { sha256Hex } from "../os/digest.ts";
import { isDirectory, isFile, joinPath, realPath, resolvePath } from "../os/files/paths.ts";

/**
 * Additions to the node's environment for the worker processes of a job, a task or an actor. Variables are merged into the inherited ones,
 * everything else replaces them. Workers of one environment are kept apart and reused for it; a failure to build it is a `RuntimeEnvError`.
 */
export interface RuntimeEnvInput {
  /** Environment variables; `${NAME}` in a value is replaced by the node's variable of that name. */
  readonly envVars?: Readonly<Record<string, string>> | undefined;
  /**
   * A folder that is copied when the first worker needs it, once a session; workers run in the copy. `node_modules`, `.git`, and files that
   * `.gitignore` files and `excludes` name are left out. At most 512 MiB. Workers find the folder's packages, too.
   */
  readonly workingDir?: string | undefined;
  /** More patterns to leave out of the copy, as in a `.gitignore` file. */
  readonly excludes?: readonly string[] | undefined;
  /**
   * npm packages that the code of tasks and actors finds before all others: a folder with `package.json` and `package-lock.json`, or packages such as
   * `["lodash@4.17.21"]`. Installed by npm, once for each lockfile, Node version and platform, and kept for later sessions.
   */
  readonly nodeModules?: string | readonly string[] | undefined;
  /**
   * The Python for functions and classes that are named with `python`. A path names a virtual environment or an interpreter, which must
   * exist on each node. A list names packages such as `["numpy==2.1.0"]`, which pip installs once for each list, interpreter and platform.
   * Default: `python3` in PATH.
   */
  readonly python?: string | readonly string[] | undefined;
  /**
   * Modules of Python that are imported once, in a process from which workers are then forked: a worker with heavy imports starts in
   * milliseconds. They must not start threads that are needed later, nor use CUDA. On Linux; without effect on other systems.
   */
  readonly pythonPreload?: readonly string[] | undefined;
  /**
   * The Node of the workers: the path of a program that exists on each node, version 22.18 or later. Python workers ignore it. Default: the
   * node's own.
   */
  readonly execPath?: string | undefined;
  /**
   * Flags of Node for the workers, such as `["--max-old-space-size=8192", "--import=./hooks.mjs"]`, after those from the driver's command
   * line. Write a value into the same text as its flag.
   */
  readonly execArgv?: readonly string[] | undefined;
  /** Time that npm or pip may take, in milliseconds. Default: 600,000. */
  readonly setupTimeoutMs?: number | undefined;
}

/** A path on a certain node. */
export interface NodePlace {
  readonly node: NodeId;
  /** For people. */
  readonly hostname: string;
}

/** In a cluster: the job that the workers belong to, and the driver's files that they have. */
interface JobEnvironment extends NodePlace {
  readonly jobId: JobId;
  readonly namespace: string;
  /** Where the driver runs: its workers on the same node run there, others in a copy that travelled. */
  readonly directory: string;
  /** Lets a node recognize the very same folder at this path, as nodes of one machine do; undefined if that cannot be determined. */
  readonly directoryIdentity?: string | undefined;
  /** Flags of Node that decide how the driver loads modules. */
  readonly execArgv: readonly string[];
}

/** A checked environment with absolute paths. Unset fields are inherited. */
export interface RuntimeEnvSpec extends Defined<RuntimeEnvInput> {
  /** Kind of worker; undefined is JavaScript. Users do not set it: it follows from the callee. */
  readonly language?: "python";
  /** Undefined where there is one driver, whose node it is. */
  readonly job?: JobEnvironment;
  /** In a cluster: whose folder `workingDir` names. */
  readonly workingDirAt?: NodePlace;
  /** In a cluster: whose folder `nodeModules` names. */
  readonly nodeModulesAt?: NodePlace;
}

export const NO_ENVIRONMENT: RuntimeEnvSpec = Object.freeze({});
/** The key of `NO_ENVIRONMENT`, under which ordinary workers run. */
export const DEFAULT_ENVIRONMENT_KEY = "";

const FIELDS_OF_RAY: Readonly<Record<string, string>> = {
  working_dir: "it is spelled workingDir",
  env_vars: "it is spelled envVars",
  pip: 'packages of Python are python: ["numpy"]; npm packages are nodeModules',
  conda: 'a Python environment is python: "path/to/environment"; npm packages are nodeModules',
  uv: 'packages of Python are python: ["numpy"]; npm packages are nodeModules',
  npm: "it is spelled nodeModules",
  py_executable: "a Python is python, a Node is execPath",
};
/** Flags that make Node run a program other than the worker's. */
const OTHER_PROGRAM_FLAG =
  /^(-[a-z]*[epich]|--(eval|print|interactive|check|help|version|run|test|watch|build-snapshot|build-sea|prof-process|v8-options|completion-bash).*|-v|--|-)$/;
const VARIABLE_NAME = /^[^=\0]+$/;
/** `name`, `@scope/name`, each with an optional version or range; no paths, no addresses: a worker's packages come from the registry. */
const PACKAGE = /^(@[a-z0-9-~][a-z0-9-._~]*\/)?[a-z0-9-~][a-z0-9-._~]*(@[\w.^~<>=*| -]+)?$/i;

/** `name`, `name[extra]`, each with an optional version; no options of pip, no paths, no addresses. */
const PYTHON_PACKAGE = /^[a-z0-9]([\w.-]*[a-z0-9])?(\[[\w, .-]+\])?\s*([<>=!~][=<>!~\w.*, -]+)?$/i;

const PYTHON_MODULE = /^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$/u;

const CHECKS: Readonly<Record<string, (given: unknown) => Fault | undefined>> = {
  envVars: faultOfVariables,
  workingDir: (given) => {
    if (!isText(given)) return wrongType("workingDir is the path of a folder");
    return isDirectory(resolvePath(given)) ? undefined : outOfRange(`workingDir names no folder: ${resolvePath(given)}`);
  },
  excludes: (given) => (isTexts(given) ? undefined : wrongType("excludes is an array of patterns, as in a .gitignore file")),
  nodeModules: faultOfNodeModules,
  python: faultOfPython,
  pythonPreload: (given) =>
    isTexts(given) && given.every((name) => PYTHON_MODULE.test(name))
      ? undefined
      : wrongType('pythonPreload is an array of modules, such as ["numpy"]'),
  execPath: (given) => (isText(given) ? undefined : wrongType("execPath is the path of a Node program")),
  execArgv: faultOfFlags,
  setupTimeoutMs: (given) => {
    if (typeof given !== "number") return wrongType("setupTimeoutMs is a number of milliseconds");
    return given > 0 && given < 2 ** 31 ? undefined : outOfRange("setupTimeoutMs is a number of milliseconds above 0");
  },
};

/** Why something is no runtime environment; undefined where it is one. */
export function faultOfRuntimeEnv(value: unknown): Fault | undefined {
  if (!isRecord(value)) return wrongType('an object such as { envVars: { NAME: "value" } } is needed');
  for (const [field, given] of Object.entries(value)) {
    const check = Object.hasOwn(CHECKS, field) ? CHECKS[field] : undefined;
    if (check === undefined) {
      const other = FIELDS_OF_RAY[field] ?? `there are ${Object.keys(CHECKS).join(", ")}`;
      return wrongType(`there is no field ${JSON.stringify(field.slice(0, 100))} in a runtime environment: ${other}`);
    }
    const fault = given === undefined ? undefined : check(given);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfVariables(given: unknown): Fault | undefined {
  if (!isRecord(given)) {
    return wrongType("envVars is an object of names and texts");
  }
  for (const [name, value] of Object.entries(given)) {
    if (!VARIABLE_NAME.test(name)) return outOfRange(`envVars has a name that no variable can have: ${describeValue(name)}`);
    if (typeof value !== "string" || value.includes("\0")) {
      return wrongType(`envVars.${name} is a text: use String(...) for ${describeValue(value)}`);
    }
  }
  return undefined;
}

function faultOfNodeModules(given: unknown): Fault | undefined {
  if (isText(given)) {
    for (const file of ["package.json", "package-lock.json"]) {
      const path = joinPath(resolvePath(given), file);
      if (!isFile(path)) {
        return outOfRange(`nodeModules names a folder with package.json and package-lock.json: there is no ${path}`);
      }
    }
    return undefined;
  }
  return faultOfPackages(given, {
    pattern: PACKAGE,
    field: 'nodeModules is a folder with a lockfile, or packages such as ["lodash@4.17.21"]',
    names: 'nodeModules names packages of the registry, such as "lodash@4.17.21"',
  });
}

function faultOfPython(given: unknown): Fault | undefined {
  if (isText(given)) return undefined;
  return faultOfPackages(given, {
    pattern: PYTHON_PACKAGE,
    field: 'python is the folder of a virtual environment, an interpreter, or packages such as ["numpy"]',
    names: 'python names packages as pip takes them, such as "numpy==2.1.0"',
  });
}

function faultOfPackages(
  given: unknown,
  { pattern, field, names }: { readonly pattern: RegExp; readonly field: string; readonly names: string },
): Fault | undefined {
  if (!isTexts(given) || given.length === 0) return wrongType(field);
  const wrong = given.find((name) => !pattern.test(name));
  return wrong === undefined ? undefined : outOfRange(`${names}: not ${describeValue(wrong)}`);
}

function faultOfFlags(given: unknown): Fault | undefined {
  if (!isTexts(given)) return wrongType('execArgv is an array of flags, such as ["--max-old-space-size=8192"]');
  for (const flag of given) {
    if (!flag.startsWith("-"))
      return outOfRange(`execArgv has flags with their values, such as "--import=./hooks.mjs": not ${describeValue(flag)}`);
    if (OTHER_PROGRAM_FLAG.test(flag)) return outOfRange(`execArgv has a flag with which Node runs no worker: ${describeValue(flag)}`);
  }
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Returns the environment with absolute paths, without unset fields. */
export function resolveRuntimeEnv(input: RuntimeEnvInput | undefined): RuntimeEnvSpec {
  if (input === undefined) return NO_ENVIRONMENT;
  const { envVars = {}, workingDir, excludes, nodeModules, python, pythonPreload = [], execPath, execArgv = [], setupTimeoutMs } = input;
  return Object.freeze(
    defined({
      envVars: Object.keys(envVars).length === 0 ? undefined : { ...envVars },
      workingDir: workingDir && resolvePath(workingDir),
      excludes: workingDir === undefined ? undefined : excludes?.slice(),
      nodeModules: typeof nodeModules === "string" ? resolvePath(nodeModules) : nodeModules?.toSorted(),
      python: typeof python === "string" ? resolvePath(python) : python?.toSorted(),
      pythonPreload: pythonPreload.length === 0 ? undefined : [...pythonPreload],
      execPath: execPath && resolvePath(execPath),
      execArgv: execArgv.length === 0 ? undefined : [...execArgv],
      setupTimeoutMs,
    }),
  );
}

/** Returns the environment for callees in Python. */
export function pythonRuntimeEnv(spec: RuntimeEnvSpec | undefined): RuntimeEnvSpec {
  return Object.freeze({ ...spec, language: "python" as const });
}

/** Merges two environments; the inner one wins. Variables are merged one by one, everything else is replaced, as in Ray. */
export function mergeRuntimeEnv(outer: RuntimeEnvSpec, inner: RuntimeEnvSpec): RuntimeEnvSpec {
  if (inner === NO_ENVIRONMENT) return outer;
  if (outer === NO_ENVIRONMENT) return inner;
  const envVars = { ...outer.envVars, ...inner.envVars };
  return Object.freeze(
    defined({
      ...outer,
      ...inner,
      envVars: Object.keys(envVars).length === 0 ? undefined : envVars,
      excludes: inner.workingDir === undefined ? outer.excludes : inner.excludes,
    }),
  );
}

/** Equal environments have equal keys; the default one's is empty. */
export function environmentKey(spec: RuntimeEnvSpec): string {
  const { envVars, workingDir, excludes, nodeModules, python, pythonPreload, execPath, execArgv, language, job } = spec;
  const parts = [workingDir, nodeModules, python, pythonPreload, execPath, execArgv, language];
  if ([envVars, job, ...parts].every((part) => part === undefined)) return DEFAULT_ENVIRONMENT_KEY;
  const variables = Object.entries(envVars ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const places = [job?.jobId, job?.namespace, spec.workingDirAt?.node, spec.nodeModulesAt?.node];
  return sha256Hex(JSON.stringify([variables, excludes, ...parts, ...places])).slice(0, 24);
}

/** Returns the fields that the user wrote. */
export function writtenRuntimeEnv(spec: RuntimeEnvSpec): RuntimeEnvInput {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => Object.hasOwn(CHECKS, field)));
}

/** With the node on which the folders in it were named. */
export function placedRuntimeEnv(spec: RuntimeEnvSpec, { node, hostname }: NodePlace): RuntimeEnvSpec {
  const { workingDir, nodeModules } = spec;
  const at: NodePlace = { node, hostname };
  return Object.freeze({
    ...spec,
    // Files are named by their real paths, so the folder has to be as well.
    ...(workingDir === undefined ? {} : { workingDir: realPath(workingDir), workingDirAt: at }),
    ...(typeof nodeModules === "string" ? { nodeModulesAt: at } : {}),
  });
}

/** Replaces `${NAME}` in a value by the node's variable; an unknown one by nothing. */
export function expandedVariables(
  envVars: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(envVars).map(([name, value]) => [
      name,
      value.replaceAll(/\$\{([^}]+)\}/g, (_, variable: string) => variables[variable] ?? ""),
    ]),
  );
}
