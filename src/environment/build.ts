/**
 * Builds one runtime environment on this machine: copies its working directory, installs its packages.
 *
 * Runs in a process of its own (`entry/environment.ts`), because copying and installing take seconds to minutes and the node daemon waits for nothing. The result says
 * how workers of the environment are started; a failure says what went wrong, with the installer's last lines.
 */
import { copyDirectory, linkDirectory } from "../platform/directory-copy.ts";
import { installPackages, packageCacheFolder, PackageInstallError } from "../platform/package-install.ts";
import { isDirectory, joinPath } from "../platform/paths.ts";
import { PACKAGE_FILES_MAX, PACKAGE_SIZE_BYTES_MAX } from "./directory-package.ts";
import { expandedVariables, type RuntimeEnvSpec, SETUP_TIMEOUT_MS } from "./runtime-env.ts";

/** How a worker of an environment is started; in the terms of `node/environment-table.ts`. */
export interface BuiltEnvironment {
  readonly description: RuntimeEnvSpec;
  readonly envVars: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
  /** The folder whose `node_modules` its code finds first. */
  readonly packageFolder: string | undefined;
}

export type BuildResult = { readonly built: BuiltEnvironment } | { readonly failed: string; readonly output: readonly string[] };

export async function buildEnvironment(
  spec: RuntimeEnvSpec,
  options: { folder: string; variables: Readonly<Record<string, string | undefined>> },
): Promise<BuildResult> {
  const { envVars, workingDir, excludes, nodeModules, setupTimeoutMs } = spec;
  const { folder, variables } = options;
  try {
    let packageFolder: string | undefined;
    if (nodeModules !== undefined) {
      const cacheFolder = packageCacheFolder(variables);
      packageFolder = await installPackages({ from: nodeModules, cacheFolder, timeoutMs: setupTimeoutMs ?? SETUP_TIMEOUT_MS });
    }
    let workingDirectory: string | undefined;
    if (workingDir !== undefined) {
      workingDirectory = joinPath(folder, "work");
      await copyDirectory({
        from: workingDir,
        to: workingDirectory,
        excludes: excludes ?? [],
        sizeBytesMax: PACKAGE_SIZE_BYTES_MAX,
        filesMax: PACKAGE_FILES_MAX,
      });
      // Programs that are started in the copy find the packages that they would find in the original.
      const packages = joinPath(packageFolder ?? workingDir, "node_modules");
      if (isDirectory(packages)) await linkDirectory(packages, joinPath(workingDirectory, "node_modules"));
    }
    return { built: { description: spec, envVars: expandedVariables(envVars ?? {}, variables), workingDirectory, packageFolder } };
  } catch (error) {
    const output = error instanceof PackageInstallError ? error.output : [];
    return { failed: error instanceof Error ? error.message : String(error), output };
  }
}
