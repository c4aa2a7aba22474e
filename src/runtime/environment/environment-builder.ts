/**
 * Builds the environments of a node: fetches folders from other nodes, then runs the rest in a separate process.
 *
 * The daemon's end of `build.ts`. A damaged package is fetched once more. Never throws: a failure is a result that both sides can read.
 */
import { messageOf } from "../base/texts/describe.ts";
import type { NodePlace, RuntimeEnvSpec } from "./runtime-env.ts";
import { folderIdentity } from "../os/files/paths.ts";
import { buildEnvironment, type BuildResult } from "./build.ts";
import { type EnvironmentFolders, foreignFoldersOf, type ObtainedFolders } from "./environment-folders.ts";
import type { ObtainedPackage, PackagePlace } from "./package-exchange.ts";

interface EnvironmentBuilderOptions {
  readonly here: NodePlace;
  /** Whether a driver's folder that is seen here, too, is used as it is. */
  readonly sharesFolders: boolean;
  /** Environment variables of the node's process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly packages: {
    obtain(place: PackagePlace): Promise<ObtainedPackage>;
    obtainAnew(place: PackagePlace): Promise<ObtainedPackage>;
  };
  /** Runs `buildEnvironment` in another process. */
  readonly run: (key: string, spec: RuntimeEnvSpec, obtained: ObtainedFolders) => Promise<BuildResult>;
}

export async function buildWithFolders(key: string, given: RuntimeEnvSpec, options: EnvironmentBuilderOptions): Promise<BuildResult> {
  const { here, packages, run, sharesFolders, variables } = options;
  const spec = sharesFolders ? inPlace(given, here) : given;
  const folders = foreignFoldersOf(spec, here.node);
  try {
    if (isThere(spec, here)) return await buildEnvironment(spec, { folder: "", variables, here, obtained: {} });
    const result = await run(key, spec, await all(folders, (place) => packages.obtain(place)));
    if ("built" in result || result.isDamaged !== true) return result;
    return await run(key, spec, await all(folders, (place) => packages.obtainAnew(place)));
  } catch (error) {
    return { failed: messageOf(error), output: [] };
  }
}

/** Nodes of one machine run in the driver's folder itself, with the packages that are installed there. */
function inPlace(spec: RuntimeEnvSpec, here: NodePlace): RuntimeEnvSpec {
  const { job } = spec;
  const isSame = job?.directoryIdentity !== undefined && folderIdentity(job.directory) === job.directoryIdentity;
  return isSame ? { ...spec, job: { ...job, ...here } } : spec;
}

/** A job that runs where its driver does, with nothing to copy or to install: no other process is needed to find that out. */
function isThere({ job, workingDir, nodeModules, execPath, language }: RuntimeEnvSpec, { node }: NodePlace): boolean {
  return job?.node === node && [workingDir, nodeModules, execPath, language].every((part) => part === undefined);
}

async function all(folders: EnvironmentFolders, obtain: (place: PackagePlace) => Promise<ObtainedPackage>): Promise<ObtainedFolders> {
  return Object.fromEntries(await Promise.all(Object.entries(folders).map(async ([name, place]) => [name, await obtain(place)])));
}
