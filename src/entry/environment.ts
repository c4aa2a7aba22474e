/**
 * The process that builds one runtime environment: started by the node daemon, says what came of it on the parent's line, and ends.
 *
 * Copying a folder and installing packages take up to minutes; the daemon waits for nothing meanwhile, and ends this process with itself.
 */
import { type BuildResult, buildEnvironment } from "../environment/build.ts";
import type { RuntimeEnvSpec } from "../environment/runtime-env.ts";
import { readParentLine } from "../platform/worker-process.ts";

export interface EnvironmentConfiguration {
  readonly spec: RuntimeEnvSpec;
  /** For what belongs to this environment alone; removed with the session. */
  readonly folder: string;
}

// With its group: an installer that goes on alone would be nobody's.
const { configuration, send } = await readParentLine<EnvironmentConfiguration>(() => process.kill(-process.pid, "SIGKILL"));
const result: BuildResult = await buildEnvironment(configuration.spec, { folder: configuration.folder, variables: process.env });
send(JSON.stringify(result));
// The line is written by now or never: it is short.
setImmediate(() => process.exit(0));
