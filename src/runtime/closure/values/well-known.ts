/**
 * The package's own exports, known in every process under the same name.
 *
 * `remote`, `get`, `Queue` and the like are never shipped by value, even when the package is bundled into the user's program: functions that travel
 * meet the worker's instance of them. Each subpath registers its exports when it is loaded; `capture` asks by value, `revive` by name.
 */
import { isObjectLike, tryRead } from "./known-values.ts";

const idByValue = new WeakMap<object, string>();
const valueById = new Map<string, object>();

/** @param id - the same on every process of one version, such as `shoal:get` */
export function registerWellKnown(id: string, value: object): void {
  idByValue.set(value, id);
  valueById.set(id, value);
}

/**
 * Registers the exports of a subpath, so that functions which travel refer to them by name. Functions, classes and objects are registered: other values are copied anyway.
 *
 * @param subpath - of the package, such as `shoal/util`
 */
export function registerExports(subpath: string, exported: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(exported)) if (isObjectLike(value)) registerWellKnown(`${subpath}:${name}`, value);
}

let importSubpath: ((subpath: string) => Promise<unknown>) | undefined;

/** Sets the loader of the package's subpaths, used when an export arrives whose subpath has not been imported yet. */
export function setSubpathImport(load: (subpath: string) => Promise<unknown>): void {
  importSubpath = load;
}

/** Loads the subpath that has the export, unless the export is known already. */
export async function loadWellKnown(id: string): Promise<void> {
  const subpath = id.slice(0, id.indexOf(":"));
  // `shoal` itself is loaded, and only our own package is imported by such a name.
  if (!valueById.has(id) && subpath.startsWith("shoal/")) await importSubpath?.(subpath);
}

/** Whether an id names an export of the package, and no definition, whose ids are hashes. */
export function isWellKnownId(id: string): boolean {
  return id.startsWith("shoal:") || id.startsWith("shoal/");
}

export function wellKnownId(value: object): string | undefined {
  return idByValue.get(value);
}

export function wellKnownValue(id: string): object | undefined {
  return valueById.get(id);
}

/** Members of a module's namespace and the ids of those that are runtime exports. */
export type WellKnownMembers = readonly (readonly [name: string, id: string])[];

/** Larger objects are no module namespace of ours. */
const NAMESPACE_MEMBERS_MAX = 500;

/**
 * Recognizes the runtime's own module in any import form: a namespace, the result of `require`, or an interop wrapper. Loaders may load a
 * second copy of the runtime for `require` (tsx does), so a worker must get the exports from its own copy.
 */
export function wellKnownMembers(value: object): WellKnownMembers | undefined {
  const names = Object.keys(value);
  if (names.length === 0 || names.length > NAMESPACE_MEMBERS_MAX) return undefined;
  const members: [string, string][] = [];
  for (const name of names) {
    // An export may not be initialized yet.
    const member = tryRead(() => (value as Record<string, unknown>)[name]);
    const id = isObjectLike(member) ? idByValue.get(member) : undefined;
    if (id !== undefined) members.push([name, id]);
  }
  return members.length > 0 ? members : undefined;
}
