/**
 * The process that builds one runtime environment or packs one folder: the node daemon starts it, gets the outcome on the parent's line, and the process ends.
 *
 * Copying and packing a folder and installing packages take up to minutes; the daemon waits for nothing meanwhile, and ends this process with itself.
 */
import { messageOf } from "../runtime/base/texts/describe.ts";
import { type BuildOptions, type BuildResult, buildEnvironment } from "../runtime/environment/build.ts";
import { type PackedDirectory, packDirectory, type PackRequest } from "../runtime/environment/pack-directory.ts";
import type { RuntimeEnvSpec } from "../runtime/environment/runtime-env.ts";
import { readParentLine } from "../runtime/os/processes/worker-process.ts";

/** The process's job. */
export type EnvironmentConfiguration =
  | { readonly kind: "build"; readonly spec: RuntimeEnvSpec; readonly options: Omit<BuildOptions, "variables"> }
  | { readonly kind: "pack"; readonly request: PackRequest; readonly cacheFolder: string };

export type PackResult = { readonly packed: PackedDirectory } | { readonly failed: string };

// With its group: an installer that goes on alone would be nobody's.
const { configuration, send } = await readParentLine<EnvironmentConfiguration>(() => process.kill(-process.pid, "SIGKILL"));
const result = configuration.kind === "build" ? await build(configuration) : pack(configuration);
send(JSON.stringify(result), () => process.exit(0));

function build({ spec, options }: Extract<EnvironmentConfiguration, { kind: "build" }>): Promise<BuildResult> {
  return buildEnvironment(spec, { ...options, variables: process.env });
}

function pack({ request, cacheFolder }: Extract<EnvironmentConfiguration, { kind: "pack" }>): PackResult {
  try {
    return { packed: packDirectory(request, { cacheFolder, nowMs: () => Date.now() }) };
  } catch (error) {
    return { failed: messageOf(error) };
  }
}
