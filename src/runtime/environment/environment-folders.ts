/**
 * Which folders of other nodes an environment needs here, and what of them are its own.
 *
 * Decides what lies on this node and what has to be brought: the working directory that the user named, else the driver's; the two files that say what to install.
 * Pure. Called by `environment-builder.ts` before the environment is built.
 */
import { defined } from "../base/defined.ts";
import type { NodeId } from "../base/ids.ts";
import type { ObtainedPackage, PackagePlace } from "./package-exchange.ts";
import type { RuntimeEnvSpec } from "./runtime-env.ts";

/** What npm needs to know, and all that travels of a folder of packages. */
const INSTALL_FILES: readonly string[] = ["package.json", "package-lock.json"];

type Folders<Folder> = { readonly [Name in "workingDir" | "nodeModules"]?: Folder };

export type EnvironmentFolders = Folders<PackagePlace>;
/** What has been brought from other nodes. */
export type ObtainedFolders = Folders<ObtainedPackage>;

/** Every folder of an environment of a job, wherever it lies. */
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

/** Those that have to be brought to this node. */
export function foreignFoldersOf(spec: RuntimeEnvSpec, here: NodeId): EnvironmentFolders {
  return Object.fromEntries(Object.entries(foldersOf(spec)).filter(([, { node }]) => node !== here));
}
