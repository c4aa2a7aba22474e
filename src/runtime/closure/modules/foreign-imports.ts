/**
 * Resolves imports of a driver's code on another node: finds packages, and explains differences between the two machines.
 *
 * A hook on Node's resolution, for imports from files of the unpacked folder. Packages are not sent. They are looked up in the unpacked
 * folder, then in folders of this machine with the same layout. A version other than the driver's is refused, since it would fail later or,
 * worse, silently differ.
 */
import { createRequire, isBuiltin, registerHooks } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { RuntimeEnvError } from "../../base/errors.ts";
import { type ForeignCode, foreignCode, type NamedNode, setForeignCode, toDriverPath } from "./foreign-code.ts";
import { isMissingModule } from "./missing-loader.ts";
import { compareVersions, packageNameOf, packageOf } from "./package-version.ts";

type Resolve = Extract<Parameters<typeof registerHooks>[0]["resolve"], (...args: never[]) => unknown>;
type Resolved = ReturnType<Resolve>;

/** Arguments that Node passes to a resolution hook. */
interface Question {
  readonly specifier: string;
  readonly context: Parameters<Resolve>[1];
  readonly next: Parameters<Resolve>[2];
  /** Specifiers of `require` are paths, those of imports are parts of URLs. */
  readonly isRequire: boolean;
}

/** Resolves to the running copy of Shoal, even if another one is installed. */
const RUNTIME_PACKAGE = "shoal";
const warned = new Set<string>();

interface ForeignImportOptions {
  /** Package folder that the user chose for this environment. Its packages are accepted in any version. */
  readonly chosenFolder: string | undefined;
}

/** Makes this process resolve imports for a driver on another node. */
export function useForeignCode(code: ForeignCode, { chosenFolder }: ForeignImportOptions): void {
  setForeignCode(code);
  const root = pathToFileURL(`${code.here}/`).href;
  const chosen = chosenFolder === undefined ? undefined : pathToFileURL(`${chosenFolder}/`).href;
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (parentURL?.startsWith(root) !== true || parentURL.includes("/node_modules/") || isBuiltin(specifier))
        return next(specifier, context);
      const name = packageNameOf(specifier);
      const parent = fileURLToPath(parentURL);
      const question: Question = { specifier, context, next, isRequire: context.conditions.includes("require") };
      if (name === undefined) return findFile(code, question);
      // A package finds itself by its name.
      if (name === RUNTIME_PACKAGE) return resolvedFrom(import.meta.url, question);
      const found = explained(
        () => findPackage(code, question),
        () => missingPackage(code, name, parent),
      );
      if (chosen === undefined || !found.url.startsWith(chosen)) checkVersion(code, { name, parent, url: found.url });
      return found;
    },
  });
}

/** Finds a file outside of the sent folder. It exists here only if this machine shares files with the driver's, at the same path. */
function findFile(code: ForeignCode, { specifier, context, next, isRequire }: Question): Resolved {
  const parentUrl = context.parentURL as string;
  const parent = fileURLToPath(parentUrl);
  let asked = specifier;
  let file = isRequire ? path.resolve(path.dirname(parent), specifier) : fileOf(specifier, parentUrl);
  if (/^[./]/.test(specifier) && !file.startsWith(`${code.here}/`)) {
    asked = isRequire ? path.resolve(path.dirname(toDriverPath(parent)), specifier) : new URL(specifier, toDriverPath(parentUrl)).href;
    file = isRequire ? asked : fileURLToPath(asked);
  }
  return explained(
    () => next(asked, context),
    () => missingFile(code, file, parent),
  );
}

/** As a module of this URL would find it. */
function resolvedFrom(parentURL: string, { specifier, context, next, isRequire }: Question): Resolved {
  if (!isRequire) return next(specifier, { ...context, parentURL });
  // For `require`, Node's loader starts from the calling module and ignores the context.
  return { url: pathToFileURL(createRequire(parentURL).resolve(specifier)).href, shortCircuit: true };
}

/** Tries the package's own place first, then the same place under each other root. */
function findPackage(code: ForeignCode, question: Question): Resolved {
  const { specifier, context, next } = question;
  try {
    return next(specifier, context);
  } catch (error) {
    if (!isMissingModule(error)) throw error;
    const file = path.relative(code.here, fileURLToPath(context.parentURL as string));
    for (const folder of code.packageRoots) {
      try {
        return resolvedFrom(pathToFileURL(path.join(folder, file)).href, question);
      } catch {
        // Not there either.
      }
    }
    throw error;
  }
}

/** Explanations already given for an error of Node's, read by code that wraps the error. */
const explanations = new WeakMap<object, string>();

export function explanationOf(error: unknown): string | undefined {
  return explanations.get(error as object);
}

/** The error stays the one that Node throws, with its code: programs look for optional packages that way. */
function explained<Result>(resolve: () => Result, explain: () => string): Result {
  try {
    return resolve();
  } catch (error) {
    if (!(error instanceof Error) || !isMissingModule(error)) throw error;
    const text = explain();
    explanations.set(error, text);
    error.message = `${error.message}\n${text}`;
    throw error;
  }
}

/** Resolves a specifier to a file. Specifiers of imports are parts of URLs, those of `require` are paths. */
function fileOf(specifier: string, parentUrl: string): string {
  const url = new URL(specifier, parentUrl);
  return url.protocol === "file:" ? fileURLToPath(url) : specifier;
}

/** Why a file of the driver is not here; also for files that no file of the folder imported. */
function missingFile(code: ForeignCode, file: string, importer: string | undefined): string {
  const there = toDriverPath(file);
  const by = importer === undefined ? "" : `, which ${toDriverPath(importer)} imports,`;
  const isInside = there !== file || file.startsWith(`${code.there}/`);
  if (!isInside) {
    return (
      `${there}${by} lies outside of the folder ${code.there} of the driver's node ${named(code.driver)}, which alone travelled to node ${named(code.self)}: ` +
      "start the program in a folder that holds both, or name such a folder with runtimeEnv.workingDir"
    );
  }
  const inside = path.relative(code.there, there);
  return (
    `${there}${by} is not among the files that travelled from the driver's node ${named(code.driver)} to node ${named(code.self)} (there it would be ${file}). ` +
    `Does it exist there? Files that .gitignore names stay behind: a file .shoalignore with the line !${inside} brings it back`
  );
}

function missingPackage(code: ForeignCode, name: string, parent: string): string {
  const version = versionThere(code, name, parent);
  const has = version === undefined ? "" : ` It has ${name} ${version}.`;
  const places = [path.dirname(parent), ...code.packageRoots];
  const wanted = version === undefined ? name : `${name}@${version}`;
  return (
    `${toDriverPath(parent)} of the driver's node ${named(code.driver)} imports the package ${name}, which is not installed on node ${named(code.self)}.${has} ` +
    `Packages do not travel with the working directory; it was looked for from ${places.join(", ")}. ` +
    `Name it with runtimeEnv: { nodeModules: ["${wanted}"] } (or a folder with package-lock.json), or install it on that node`
  );
}

function checkVersion(code: ForeignCode, { name, parent, url }: { name: string; parent: string; url: string }): void {
  const there = versionThere(code, name, parent);
  if (there === undefined || !url.startsWith("file:")) return;
  const here = packageOf(fileURLToPath(url), name);
  if (here === undefined) return;
  const verdict = compareVersions(there, here.version);
  if (verdict === "same") return;
  const both =
    `the package ${name}, which ${toDriverPath(parent)} imports, is of version ${there} on the driver's node ${named(code.driver)} ` +
    `and of version ${here.version} on node ${named(code.self)} (${here.folder})`;
  if (verdict === "other") {
    throw new RuntimeEnvError(`Cannot import "${name}": ${both}`, {
      reason: "the versions of a package differ between nodes",
      hint: `Name one version for all nodes with runtimeEnv: { nodeModules: ["${name}@${there}"] } (or a folder with package-lock.json), or install ${there} there.`,
    });
  }
  if (warned.has(name)) return;
  warned.add(name);
  console.warn(`Shoal: ${both}: they should be the same`);
}

/** By the nearest folder around the importing file that the driver has packages for. */
function versionThere(code: ForeignCode, name: string, parent: string): string | undefined {
  const folder = path.relative(code.here, path.dirname(parent));
  let best: readonly [string, string, string] | undefined;
  for (const known of code.packages) {
    if (known[1] !== name || !(known[0] === "" || folder === known[0] || folder.startsWith(`${known[0]}/`))) continue;
    if (best === undefined || known[0].length > best[0].length) best = known;
  }
  return best?.[2];
}

function named({ node, hostname }: NamedNode): string {
  return `${node.slice(0, 8)} (${hostname})`;
}

/** Explains why a file of the driver cannot be imported here. Returns undefined on the driver's own node. */
export function explainMissingFile(file: string): string | undefined {
  const code = foreignCode();
  return code === undefined ? undefined : missingFile(code, file, undefined);
}
