/**
 * Lists the folders of other nodes that an environment needs on this node.
 *
 * Tells local folders from those to fetch: the working directory that the user named, else the driver's, and the two files that list
 * packages to install. Pure. Called by `environment-builder.ts` before the environment is built.
 */
import { defined } from "../base/collections/defined.ts";
import type { NodeId } from "../base/ids.ts";
import type { ObtainedPackage, PackagePlace } from "./package-exchange.ts";
import type { RuntimeEnvSpec } from "./runtime-env.ts";

/** Files that npm needs. Nothing else of a package folder is sent. */
const INSTALL_FILES: readonly string[] = ["package.json", "package-lock.json"];

type Folders<Folder> = { readonly [Name in "workingDir" | "nodeModules"]?: Folder };

export type EnvironmentFolders = Folders<PackagePlace>;
/** Folders fetched from other nodes. */
export type ObtainedFolders = Folders<ObtainedPackage>;

/** Returns every folder of a job's environment, on any node. */
export function foldersOf(spec: RuntimeEnvSpec): EnvironmentFolders {
  const { job, workingDir, workingDirAt, nodeModules, nodeModulesAt, excludes = [] } = spec;
  if (job === undefined) return {};
  const { jobId, directory, node, hostname } = job;
  const workingPlace = workingDir === undefined ? { node, hostname } : workingDirAt;
  return defined({
    workingDir: workingPlace && { ...workingPlace, job: jobId, directory: workingDir ?? directory, excludes },
    nodeModules:
      typeof nodeModules === "string" && nodeModulesAt
        ? { ...nodeModulesAt, job: jobId, directory: nodeModules, excludes: [], only: INSTALL_FILES }
        : undefined,
  });
}

/** Returns the folders that have to be fetched to this node. */
export function foreignFoldersOf(spec: RuntimeEnvSpec, here: NodeId): EnvironmentFolders {
  return Object.fromEntries(Object.entries(foldersOf(spec)).filter(([, { node }]) => node !== here));
}
