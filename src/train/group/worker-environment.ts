/** The runtime environment of the ranks, merged of several: the loop's, that of `runConfig`, and the trainer's. */
import type { RuntimeEnv } from "../../core/index.ts";

/** Later ones win: variables are merged one by one, everything else is replaced, as where a task's environment meets its job's. Undefined where there is none. */
export function workerEnvironment(...environments: readonly (RuntimeEnv | undefined)[]): RuntimeEnv | undefined {
  const given = environments.filter((each) => each !== undefined);
  if (given.length < 2) return given[0];
  return given.reduce((outer, inner) => {
    // `excludes` belongs to the folder that it is given with.
    const { excludes: _, ...withoutExcludes } = outer;
    const base = inner.workingDir === undefined ? outer : withoutExcludes;
    const envVars = { ...outer.envVars, ...inner.envVars };
    return { ...base, ...inner, ...(Object.keys(envVars).length === 0 ? {} : { envVars }) };
  });
}
