/** Definitions of searchers and schedulers: how a run that goes on makes them again, where their options are JSON and domains. */
import { decodeSpace, encodeSpace } from "./space-codec.ts";
import type { Definition } from "../trials/trial.ts";

/** Returns the definition of an object that was made with some options; undefined where an option is a function or an object of a class. */
export function definitionOf(type: string, options: object): Definition | undefined {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const { encoded, isWhole } = encodeSpace(given);
  return isWhole ? { type, options: encoded } : undefined;
}

/** Returns the options of a definition as they were given. */
export function optionsOf({ options }: Definition): Readonly<Record<string, unknown>> {
  return decodeSpace(options);
}
