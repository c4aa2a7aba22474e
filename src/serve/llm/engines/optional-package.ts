/** Loads a package that is installed by those who use it. */
import { LLMEngineError } from "../llm-errors.ts";

/** @throws LLMEngineError with the command that installs it */
export async function optionalPackage(name: string, range: string, load: () => Promise<unknown>): Promise<unknown> {
  try {
    return await load();
  } catch (error) {
    throw new LLMEngineError(`This model needs the package ${name}, which cannot be loaded`, {
      reason: "a package is missing",
      hint: `Install it: npm install "${name}@${range}"`,
      cause: error,
    });
  }
}
