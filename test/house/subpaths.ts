/**
 * The public subpaths as `exports` of package.json lists them: the one list, from which the bundler, knip and the tests take theirs.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./source-files.ts";

interface Subpath {
  /** As users import it: `shoal/util`. */
  readonly specifier: string;
  /** The file that it begins with, relative to the repository. */
  readonly source: string;
  /** The compiled file, and the declarations. */
  readonly published: readonly string[];
}

interface Conditions {
  readonly "shoal-source": string;
  readonly types: string;
  readonly default: string;
}

export const SUBPATHS: readonly Subpath[] = readSubpaths();

function readSubpaths(): Subpath[] {
  const { exports } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")) as {
    exports: Record<string, Conditions | string>;
  };
  return Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === "string"
      ? []
      : [{ specifier: subpath.replace(".", "shoal"), source: target["shoal-source"].slice(2), published: [target.types, target.default] }],
  );
}
