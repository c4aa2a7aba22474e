/**
 * Finds the extensions of a process: those that its program registered, and in the processes of a node the modules that it was started with.
 *
 * A driver that starts its own node hands the modules on; the processes of a cluster get theirs from whoever starts it (`shoal start --extension`).
 */
import { describeValue } from "../base/texts/describe.ts";
import { type Extension, requireExtension } from "./extension.ts";

const registered = new Map<string, { extension: Extension; module: string }>();

/**
 * Has the node that this program starts load an extension. Before `init`; the same one may be registered again.
 *
 * @param options.module the module that exports the extension by default, for the node's processes: its own `import.meta.url`
 * @throws TypeError for an invalid extension or file, and for a name that another extension has
 */
export function registerExtension(extension: Extension, options: { readonly module: string | URL }): void {
  const module = String(options.module);
  const { name } = requireExtension(extension, module);
  if (!/^(file|data):/.test(module))
    throw new TypeError(`Cannot register extension ${name}: its module is a file URL: received ${describeValue(options.module)}`);
  const known = registered.get(name);
  if (known !== undefined && known.module !== module)
    throw new TypeError(`Cannot register extension ${name} of ${module}: ${known.module} has that name`);
  registered.set(name, { extension, module });
}

/** Returns the extensions registered in this process. */
export function registeredExtensions(): { extensions: Extension[]; modules: string[] } {
  const rows = Array.from(registered.values());
  return { extensions: rows.map(({ extension }) => extension), modules: rows.map(({ module }) => module) };
}

/** @throws Error for a module that cannot be loaded, or is no extension: a process without it would fail later, at somebody's call */
export async function loadExtensions(modules: readonly string[]): Promise<Extension[]> {
  const found = new Map<string, Extension>();
  for (const module of modules) {
    const loaded = (await import(module).catch((error: Error) => {
      throw new Error(`Cannot load the extension ${module}: ${error.message}`, { cause: error });
    })) as { default?: unknown };
    const extension = requireExtension(loaded.default, module);
    if (found.has(extension.name)) throw new TypeError(`Cannot load the extension ${module}: another has the name ${extension.name}`);
    found.set(extension.name, extension);
  }
  return Array.from(found.values());
}
