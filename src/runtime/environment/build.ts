/**
 * Builds one runtime environment on this machine: its working directory, its packages.
 *
 * Runs in a separate process (`entry/environment.ts`), because copying and installing take seconds to minutes and the node daemon must not
 * block. Folders of other nodes have already been fetched as packages. The result tells how to start workers of the environment; a failure
 * names the cause, with the installer's last lines.
 */
import { messageOf } from "../base/texts/describe.ts";
import type { ForeignCode } from "../closure/modules/foreign-code.ts";
import { copyDirectory, linkDirectory } from "../os/files/folders/directory-copy.ts";
import { DamagedContentsError } from "../os/files/archives/package-files.ts";
import { installPackages, packageCacheFolder, PackageInstallError } from "../os/packages/package-install.ts";
import { isDirectory, isFile, joinPath, resolvePath } from "../os/files/paths.ts";
import { foldersOf, type ObtainedFolders } from "./environment-folders.ts";
import { PACKAGE_FILES_MAX, PACKAGE_SIZE_BYTES_MAX, SETUP_TIMEOUT_MS } from "./limits.ts";
import { unpackDirectory } from "./pack-directory.ts";
import { checkedNode } from "./node-program.ts";
import { pythonInterpreter } from "./python-interpreter.ts";
import { expandedVariables, type NodePlace, type RuntimeEnvSpec } from "./runtime-env.ts";

/** How a worker of an environment is started; in the terms of `runtime/node/environments/environment-table.ts`. */
export interface BuiltEnvironment {
  readonly description: RuntimeEnvSpec;
  readonly envVars: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
  /** The folder whose `node_modules` its code finds first. */
  readonly packageFolder: string | undefined;
  /** Where the driver's files are, when they are not where the driver has them. */
  readonly foreignCode?: ForeignCode;
  /** Interpreter of Python workers. */
  readonly interpreter?: string;
  /** Node of the workers, if it is not the daemon's. */
  readonly program?: string;
  /** Modules that are imported before workers are forked; empty if workers are started one by one. */
  readonly preload?: readonly string[];
}

export type BuildResult =
  | { readonly built: BuiltEnvironment }
  | { readonly failed: string; readonly output: readonly string[]; readonly isDamaged?: boolean };

export interface BuildOptions {
  /** Folder that belongs to this environment alone. */
  readonly folder: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly here: NodePlace;
  /** Folders fetched from other nodes. */
  readonly obtained: ObtainedFolders;
}

type Working = Pick<BuiltEnvironment, "workingDirectory" | "foreignCode">;

export async function buildEnvironment(spec: RuntimeEnvSpec, options: BuildOptions): Promise<BuildResult> {
  const { folder, variables } = options;
  try {
    const packageFolder = await installedFolder(spec, options);
    const working = workingFolderOf(spec, options) ?? (await copied(spec, joinPath(folder, "work")));
    const { workingDirectory } = working;
    if (workingDirectory !== undefined && workingDirectory !== spec.job?.directory)
      await linkPackages(spec, workingDirectory, packageFolder);
    const interpreter =
      spec.language === "python" ? { interpreter: await interpreterOf(spec, variables), preload: spec.pythonPreload ?? [] } : {};
    const program = spec.language !== undefined || spec.execPath === undefined ? {} : { program: await checkedNode(spec.execPath) };
    const given = expandedVariables(spec.envVars ?? {}, variables);
    const envVars = "interpreter" in interpreter ? activated(interpreter.interpreter, given, variables) : given;
    return { built: { description: spec, envVars, packageFolder, ...working, ...interpreter, ...program } };
  } catch (error) {
    const output = error instanceof PackageInstallError ? error.output : [];
    const isDamaged = error instanceof DamagedContentsError;
    return { failed: messageOf(error), output, ...(isDamaged ? { isDamaged } : {}) };
  }
}

/** In a virtual environment, programs that a worker starts find its `python` and its commands, as in an activated shell. */
function activated(
  interpreter: string,
  envVars: Readonly<Record<string, string>>,
  variables: BuildOptions["variables"],
): Readonly<Record<string, string>> {
  const programs = joinPath(interpreter, "..");
  const folder = joinPath(programs, "..");
  if (!isFile(joinPath(folder, "pyvenv.cfg"))) return envVars;
  const path = envVars["PATH"] ?? variables["PATH"];
  return { VIRTUAL_ENV: folder, ...envVars, PATH: path === undefined ? programs : `${programs}:${path}` };
}

function installedFolder(spec: RuntimeEnvSpec, { folder, variables, obtained }: BuildOptions): Promise<string> | undefined {
  if (spec.nodeModules === undefined) return undefined;
  let from = spec.nodeModules;
  if (obtained.nodeModules !== undefined) {
    from = joinPath(folder, "packages");
    unpackDirectory(obtained.nodeModules.folder, from);
  }
  const cacheFolder = packageCacheFolder(variables);
  return installPackages({ from, cacheFolder, timeoutMs: spec.setupTimeoutMs ?? SETUP_TIMEOUT_MS });
}

function interpreterOf(spec: RuntimeEnvSpec, variables: BuildOptions["variables"]): Promise<string> {
  const cacheFolder = packageCacheFolder(variables);
  return pythonInterpreter(spec, { variables, cacheFolder, timeoutMs: spec.setupTimeoutMs ?? SETUP_TIMEOUT_MS });
}

/** Returns a job's working folder if it is not copied: the fetched folder, or the driver's own. */
function workingFolderOf(spec: RuntimeEnvSpec, { folder, here, obtained }: BuildOptions): Working | undefined {
  const place = foldersOf(spec).workingDir;
  if (place === undefined) return undefined;
  const { directory, node, hostname } = place;
  if (obtained.workingDir === undefined) return spec.workingDir === undefined ? { workingDirectory: directory } : undefined;
  const workingDirectory = joinPath(folder, "work");
  unpackDirectory(obtained.workingDir.folder, workingDirectory);
  // A machine with the same folders, and where the node itself was started.
  const packageRoots = [directory, resolvePath(".")].filter(isDirectory);
  const foreignCode = {
    there: directory,
    here: workingDirectory,
    driver: { node, hostname },
    self: here,
    packageRoots,
    packages: obtained.workingDir.installed,
  };
  return { workingDirectory, foreignCode };
}

async function copied({ workingDir, excludes }: RuntimeEnvSpec, to: string): Promise<Working> {
  if (workingDir === undefined) return { workingDirectory: undefined };
  const limits = { sizeBytesMax: PACKAGE_SIZE_BYTES_MAX, filesMax: PACKAGE_FILES_MAX };
  await copyDirectory({ from: workingDir, to, excludes: excludes ?? [], ...limits });
  return { workingDirectory: to };
}

/** Programs that are started in the copy find the packages that they would find in the original. */
async function linkPackages(
  { workingDir, job }: RuntimeEnvSpec,
  workingDirectory: string,
  packageFolder: string | undefined,
): Promise<void> {
  const packages = joinPath(packageFolder ?? workingDir ?? job?.directory ?? workingDirectory, "node_modules");
  const place = joinPath(workingDirectory, "node_modules");
  if (isDirectory(packages) && !isDirectory(place)) await linkDirectory(packages, place);
}
