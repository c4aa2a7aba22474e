/**
 * The option `runtimeEnv` of jobs, tasks and actors: its checks and its resolved form. `options.ts` calls it.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { errorOf, wrongType } from "../../runtime/base/fault.ts";
import { faultOfRuntimeEnv, resolveRuntimeEnv, type RuntimeEnvInput, type RuntimeEnvSpec } from "../../runtime/environment/runtime-env.ts";
import { placing } from "../../runtime/worker/tasks/task-context.ts";
import { custom, type Option } from "./option-kinds.ts";

/** Reads a given runtime environment; from then on the environments of this process's calls are compared. */
export function environmentOf({ runtimeEnv: given }: { runtimeEnv: RuntimeEnvInput | undefined }): { runtimeEnv?: RuntimeEnvSpec } {
  if (given === undefined) return {};
  placing.isInherited = true;
  return { runtimeEnv: resolveRuntimeEnv(given) };
}

export const RUNTIME_ENV: Option<RuntimeEnvInput | undefined> = custom(
  'an object such as { envVars: { NAME: "value" } } is needed',
  undefined,
  (value) => faultOfRuntimeEnv(value) ?? "ok",
);

/**
 * A program that names no runtime environment has that of `SHOAL_RUNTIME_ENV`: whoever starts it gives its workers variables or flags without changing it.
 *
 * @throws TypeError, RangeError
 */
export function withRuntimeEnvOfEnvironment(checked: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const text = process.env["SHOAL_RUNTIME_ENV"];
  if (text === undefined || text === "" || checked["runtimeEnv"] !== undefined || checked["mode"] === "inProcess") return checked;
  const given = parsed(text);
  const fault = given === undefined ? wrongType("JSON is needed") : faultOfRuntimeEnv(given);
  if (fault === undefined) return { ...checked, runtimeEnv: given };
  throw errorOf(fault, `Cannot use SHOAL_RUNTIME_ENV as the runtime environment: ${fault.reason}: received ${describeValue(text)}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
