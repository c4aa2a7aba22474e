/**
 * Decides which runtimes can run this package, and the error for the others.
 *
 * Read before all other files of the package, even by runtimes that cannot parse the others. So it imports nothing, is compiled for old
 * runtimes, and is imported first by every published file (scripts/bundle.mjs), as modules are evaluated in the order of their imports.
 */

/** As in package.json; a test compares the two. */
export const NODE_MIN: readonly [major: number, minor: number] = [22, 18];

/** Globals that may be missing outside Node. */
interface RuntimeFacts {
  process?: { versions?: Readonly<Record<string, string | undefined>> };
  // oxlint-disable-next-line typescript/naming-convention -- the runtime's own name
  Deno?: { version?: { deno?: string } };
}

/** Returns a line with the reason why the package cannot run here and the remedy; undefined if it can. */
export function unsupportedRuntime(facts: RuntimeFacts): string | undefined {
  const received = unsupportedName(facts);
  if (received === undefined) return undefined;
  const wanted = `Node.js ${NODE_MIN.join(".")} or newer`;
  return `Cannot load Shoal: it runs on ${wanted}, and not on Bun or Deno: received ${received}. Run the program with ${wanted}.`;
}

function unsupportedName({ process, Deno }: RuntimeFacts): string | undefined {
  const versions = process?.versions ?? {};
  const deno = versions["deno"] ?? Deno?.version?.deno;
  if (deno !== undefined) return `Deno ${deno}`;
  if (versions["bun"] !== undefined) return `Bun ${versions["bun"]}`;
  if (versions["node"] === undefined) return "a runtime without the version of Node.js";
  return isVersionFrom(versions["node"], NODE_MIN) ? undefined : `Node.js ${versions["node"]}`;
}

/** Whether a version such as "22.18.0" is that one or a later one. */
export function isVersionFrom(version: string, [majorMin, minorMin]: readonly [major: number, minor: number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
