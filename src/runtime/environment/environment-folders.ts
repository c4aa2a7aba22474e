/**
 * Which folders of other nodes an environment needs here, and what of them are its own.
 *
 * Decides what lies on this node and what has to be brought: the working directory that the user named, else the driver's; the two files that say what to install.
 * Pure. Called by `environment-builder.ts` before the environment is built.
 */
import type { NodeId } from "../base/ids.ts";
import type { PackagePlace } from "./package-exchange.ts";
import type { RuntimeEnvSpec } from "./runtime-env.ts";

/** What npm needs to know, and all that travels of a folder of packages. */
const INSTALL_FILES: readonly string[] = ["package.json", "package-lock.json"];

export interface EnvironmentFolders {
  readonly workingDir?: PackagePlace;
  readonly nodeModules?: PackagePlace;
}

/** Every folder of an environment of a job, wherever it lies. */
export function foldersOf(spec: RuntimeEnvSpec): EnvironmentFolders {
  const { job, workingDir, workingDirAt, nodeModules, nodeModulesAt, excludes = [] } = spec;
  if (job === undefined) return {};
  const { jobId, directory, node, hostname } = job;
  const workingPlace = workingDir === undefined ? { node, hostname } : workingDirAt;
  const working: PackagePlace | undefined =
    workingPlace === undefined ? undefined : { ...workingPlace, job: jobId, directory: workingDir ?? directory, excludes };
  const packages: PackagePlace | undefined =
    typeof nodeModules !== "string" || nodeModulesAt === undefined
      ? undefined
      : { ...nodeModulesAt, job: jobId, directory: nodeModules, excludes: [], only: INSTALL_FILES };
  return { ...(working === undefined ? {} : { workingDir: working }), ...(packages === undefined ? {} : { nodeModules: packages }) };
}

/** Those that have to be brought to this node. */
export function foreignFoldersOf(spec: RuntimeEnvSpec, here: NodeId): EnvironmentFolders {
  const { workingDir, nodeModules } = foldersOf(spec);
  return {
    ...(workingDir === undefined || workingDir.node === here ? {} : { workingDir }),
    ...(nodeModules === undefined || nodeModules.node === here ? {} : { nodeModules }),
  };
}
