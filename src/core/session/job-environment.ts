/**
 * The runtime environment of a driver's job in a cluster: the user's options, with the job's identity and the places of its folders.
 *
 * Where many drivers share the workers of nodes, each job has an environment of its own even if its program names none, so that no worker
 * ever serves two. Called by the session of a driver that joins a cluster; a driver that has its node for itself has no need.
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
