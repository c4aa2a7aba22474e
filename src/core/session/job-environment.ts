/**
 * Makes the runtime environment for a driver's job in a cluster: the user's options, the job's identity and the paths of the job's folders.
 *
 * Drivers share the workers of a cluster. Each job gets a separate environment, even if its program names none, so no worker ever serves
 * two jobs. Called by the session of a driver that joins a cluster; a driver that has its node for itself has no need.
 */
import type { JobId, NodeId } from "../../runtime/base/ids.ts";
import { placedRuntimeEnv, resolveRuntimeEnv, type RuntimeEnvInput, type RuntimeEnvSpec } from "../../runtime/environment/runtime-env.ts";
import { machineName } from "../../runtime/os/machine/machine.ts";
import { programExecArgv } from "./program-loaders.ts";
import { folderIdentity, realPath, resolvePath } from "../../runtime/os/files/paths.ts";

export function jobEnvironment(
  given: RuntimeEnvInput | undefined,
  { jobId, namespace, nodeId }: { jobId: JobId; namespace: string; nodeId: NodeId },
): RuntimeEnvSpec {
  const here = { node: nodeId, hostname: machineName() };
  const directory = realPath(resolvePath("."));
  const job = {
    ...here,
    jobId,
    namespace,
    directory,
    directoryIdentity: folderIdentity(directory),
    execArgv: programExecArgv(),
  };
  return Object.freeze({ ...placedRuntimeEnv(resolveRuntimeEnv(given), here), job });
}
