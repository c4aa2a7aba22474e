/**
 * The sources of modules that are imported by a name: of a package, or an alias in `imports` of package.json (`#db`).
 *
 * Decides whether a package counts by its files or by its version. A workspace that is linked into node_modules, and the project itself, are sources that change without
 * a new version; an installed package changes with its version. All targets of an alias or of an entry of `exports` count, whatever their conditions:
 * one too many only makes a version that need not be. Modules of Node and of Shoal do not count. Called by `module-files.ts`, once for each digest, as folders may change.
 */
import { readFileSync, realpathSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { VERSIONED_FILES_MAX } from "../limits.ts";
import { statIfThere } from "./file-stat.ts";

const INSTALLED = /[\\/]node_modules[\\/]/u;
const PACKAGE_NAME = /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*(?=\/|$)/u;
/** The package itself: its version is the cluster's, and in this repository its sources are all of Shoal. */
const SHOAL = "shoal";

/** The parts of a package.json that count. */
type Manifest = Partial<Readonly<Record<"name" | "version" | "main" | "exports" | "imports", unknown>>>;

/** A package: its folder without links, and its package.json. */
interface Package {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The modules that a name may stand for. */
interface NamedSources {
  /** Paths of sources, as package.json names them: endings may lack. */
  readonly paths: readonly string[];
  /** Installed packages, as `name@version`. */
  readonly packages: readonly string[];
}

const NOTHING: NamedSources = { paths: [], packages: [] };

/** By path, with the stamp of the file that was read: package managers give files the times of their archives. */
const manifests = new Map<string, { readonly stamp: string; readonly manifest: Manifest }>();

export class NamedModules {
  readonly #scopes = new Map<string, Package | undefined>();
  readonly #linked = new Map<string, Package | undefined>();

  sourcesOf(specifier: string, from: string): NamedSources {
    if (isBuiltin(specifier)) return NOTHING;
    if (specifier.startsWith("#")) return this.#aliased(specifier, from);
    const name = PACKAGE_NAME.exec(specifier)?.[0];
    if (name === undefined || name === SHOAL) return NOTHING;
    const found = this.#packageNamed(name, dirname(from));
    if (found === undefined) return NOTHING;
    const label = isInstalled(found.folder) ? labelOf(found) : undefined;
    if (label !== undefined) return { paths: [], packages: [label] };
    const { exports, main } = found.manifest;
    const subpath = `.${specifier.slice(name.length)}`;
    if (exports !== undefined) return pathsIn(found, targetsOf(asEntries(exports), subpath));
    return pathsIn(found, [subpath === "." && typeof main === "string" ? main : subpath]);
  }

  /** The package of an installed file; undefined where the file counts as a source. */
  installedWith(file: string): string | undefined {
    if (!INSTALLED.test(file)) return undefined;
    let scope = this.#scopeOf(dirname(file));
    // A package.json within a package may only say of which type its modules are.
    while (scope !== undefined && scope.manifest.version === undefined && isInstalled(dirname(scope.folder)))
      scope = this.#scopeOf(dirname(scope.folder));
    return scope === undefined || !isInstalled(scope.folder) ? undefined : labelOf(scope);
  }

  #aliased(alias: string, from: string): NamedSources {
    const scope = this.#scopeOf(dirname(from));
    if (scope === undefined) return NOTHING;
    const targets = targetsOf(scope.manifest.imports, alias);
    // Targets that are no paths are names of packages: Node refuses aliases of aliases.
    const paths = targets.filter((target) => target.startsWith("./"));
    const sources = targets.filter((target) => !/^[.#]/u.test(target)).map((name) => this.sourcesOf(name, from));
    return {
      paths: [...pathsIn(scope, paths).paths, ...sources.flatMap((one) => one.paths)],
      packages: sources.flatMap((one) => one.packages),
    };
  }

  /** The package that Node finds under a name: the one around the file where its name it is, or the first in a node_modules folder on the way up. */
  #packageNamed(name: string, folder: string): Package | undefined {
    const key = `${name} ${folder}`;
    if (this.#linked.has(key)) return this.#linked.get(key);
    const scope = this.#scopeOf(folder);
    const isOwn = scope?.manifest.name === name && scope.manifest.exports !== undefined;
    const above = dirname(folder);
    const found = isOwn
      ? scope
      : (packageIn(join(folder, "node_modules", name)) ?? (above === folder ? undefined : this.#packageNamed(name, above)));
    this.#linked.set(key, found);
    return found;
  }

  /** The nearest package.json at a folder or above. */
  #scopeOf(folder: string): Package | undefined {
    if (this.#scopes.has(folder)) return this.#scopes.get(folder);
    const above = dirname(folder);
    const found = packageIn(folder) ?? (above === folder ? undefined : this.#scopeOf(above));
    this.#scopes.set(folder, found);
    return found;
  }
}

function isInstalled(folder: string): boolean {
  return INSTALLED.test(join(folder, "/"));
}

/** Undefined where a package has no version: then its files count. */
function labelOf({ manifest: { name, version } }: Package): string | undefined {
  return typeof name === "string" && typeof version === "string" ? `${name}@${version}` : undefined;
}

function pathsIn({ folder }: Package, targets: readonly string[]): NamedSources {
  return { paths: targets.map((target) => join(folder, target)), packages: [] };
}

function packageIn(folder: string): Package | undefined {
  const path = join(folder, "package.json");
  const found = statIfThere(path);
  if (found === undefined) return undefined;
  const stamp = `${found.mtimeMs} ${found.ctimeMs} ${found.ino} ${found.size}`;
  let known = manifests.get(path);
  if (known?.stamp !== stamp) {
    known = { stamp, manifest: readManifest(path) };
    if (manifests.size >= VERSIONED_FILES_MAX) manifests.clear();
    manifests.set(path, known);
  }
  return { folder: realpathSync(folder), manifest: known.manifest };
}

/** Reads a manifest. A half-written or malformed file counts as empty; Node reports it when the module is loaded. */
function readManifest(path: string): Manifest {
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!isRecord(read)) return {};
    const { name, version, main, exports, imports } = read;
    return { name, version, main, exports, imports };
  } catch {
    return {};
  }
}

/** `exports` may be the entry of the package's name alone. */
function asEntries(exports: unknown): unknown {
  const isTable = isRecord(exports) && Object.keys(exports).every((key) => key.startsWith("."));
  return isTable ? exports : { ".": exports };
}

/** The paths and names that an entry leads to; of patterns with a `*`, the one with the longest beginning counts. */
function targetsOf(entries: unknown, key: string): string[] {
  if (!isRecord(entries)) return [];
  if (Object.hasOwn(entries, key)) return stringsIn(entries[key]);
  const fitting = Object.keys(entries).flatMap((pattern) => {
    const [start = "", end] = pattern.split("*");
    const fits = end !== undefined && key.length >= pattern.length && key.startsWith(start) && key.endsWith(end);
    return fits ? [{ pattern, start, part: key.slice(start.length, key.length - end.length) }] : [];
  });
  const [best] = fitting.toSorted((left, right) => right.start.length - left.start.length);
  return best === undefined ? [] : stringsIn(entries[best.pattern]).map((target) => target.replaceAll("*", best.part));
}

/** Declarations of types never run. */
function stringsIn(target: unknown): string[] {
  if (typeof target === "string") return [target];
  if (Array.isArray(target)) return target.flatMap(stringsIn);
  return isRecord(target) ? Object.entries(target).flatMap(([condition, value]) => (condition === "types" ? [] : stringsIn(value))) : [];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
