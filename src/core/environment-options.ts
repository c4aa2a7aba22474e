/**
 * The option `runtimeEnv` of jobs, tasks and actors: what is accepted, and what is made of it. Called by `options.ts`.
 */
import { faultOfRuntimeEnv, resolveRuntimeEnv, type RuntimeEnvInput, type RuntimeEnvSpec } from "../environment/runtime-env.ts";
import { placing } from "./inherited-place.ts";
import { custom, type Option } from "./option-kinds.ts";

/** What is given of a runtime environment; from now on, calls of this process have to be looked at. */
export function environmentOf({ runtimeEnv: given }: { runtimeEnv: RuntimeEnvInput | undefined }): { runtimeEnv?: RuntimeEnvSpec } {
  if (given === undefined) return {};
  placing.isInherited = true;
  return { runtimeEnv: resolveRuntimeEnv(given) };
}

export function runtimeEnv(): Option<RuntimeEnvInput | undefined> {
  return custom<RuntimeEnvInput | undefined>(
    'an object such as { envVars: { NAME: "value" } } is needed',
    undefined,
    (value) => faultOfRuntimeEnv(value) ?? "ok",
  );
}
