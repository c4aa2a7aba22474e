/**
 * Lets a worker's code find packages in its runtime environment's folder first.
 *
 * A hook on Node's resolution, for `import` and `require` alike. Packages inside that folder find each other as usual. Packages that the
 * folder lacks are found where they would be without it.
 */
import { createRequire, isBuiltin, registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const HAS_SCHEME_OR_PATH = /^([a-z][a-z0-9+.-]*:|[./#])/i;

/** `except`: packages that keep their usual place. */
export function resolvePackagesFrom(folder: string, options: { except: readonly string[] }): void {
  const folderUrl = pathToFileURL(join(folder, "/")).href;
  const parentURL = new URL("package.json", folderUrl).href;
  const requireThere = createRequire(parentURL);
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const isPackage = !HAS_SCHEME_OR_PATH.test(specifier) && !isBuiltin(specifier);
      const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
      if (!isPackage || options.except.includes(name) || context.parentURL?.startsWith(folderUrl) === true)
        return nextResolve(specifier, context);
      try {
        // For `require`, Node's loader starts from the calling module and ignores the context.
        if (context.conditions.includes("require")) return { url: pathToFileURL(requireThere.resolve(specifier)).href, shortCircuit: true };
        return nextResolve(specifier, { ...context, parentURL });
      } catch {
        return nextResolve(specifier, context);
      }
    },
  });
}
