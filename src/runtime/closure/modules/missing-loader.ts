/**
 * Modules that Node.js alone does not load as the driver did: a test runner or loader transforms files inside the driver's process alone.
 *
 * The error's class and code tell whether a loader may be missing. Then tsx is registered in this process, once, if the importing file's
 * project has it, and the import is repeated. Otherwise `loaderHint` names the flag for a loader. Called by `revive-imports` and
 * `evaluate-text`.
 */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { tryRead } from "../values/known-values.ts";

const LOADER_CODES: ReadonlySet<unknown> = new Set([
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNSUPPORTED_DIR_IMPORT",
  "ERR_IMPORT_ATTRIBUTE_MISSING",
]);

/** Whether an import or a require did not find its module. */
export function isMissingModule(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}

/** Whether a loader could make the import work: the file is not found under its written name, or Node.js cannot run it. */
export function mayNeedLoader(error: unknown): boolean {
  if (error instanceof SyntaxError) return true;
  return error instanceof Error && (isMissingModule(error) || LOADER_CODES.has((error as { code?: unknown }).code));
}

/** Suggests how to make an import work that failed for lack of a loader. */
export function loaderHint(): string {
  return (
    "A worker loads modules with Node.js alone, not as a test runner or a loader that the program registers by itself: " +
    'install tsx in the project, which workers then use for such modules, or name a loader: init({ runtimeEnv: { execArgv: ["--import=tsx"] } }).'
  );
}

/**
 * Imports; where Node.js alone cannot, once more with the project's loader.
 *
 * @param target URL of the imported module. Node.js keeps the failure of a file that it could not parse, so such a file is required
 * instead. This affects files of CommonJS packages, whose importers use `require` modules, too.
 */
export async function importWithLoader(load: () => Promise<object>, file: string, target?: string): Promise<object> {
  let failure: unknown;
  try {
    return await load();
  } catch (error) {
    failure = error;
  }
  if (!mayNeedLoader(failure) || !registerLoader(file)) throw failure;
  try {
    return await load();
  } catch (error) {
    if (error !== failure || target?.startsWith("file:") !== true) throw error;
    return createRequire(file)(fileURLToPath(target)) as object;
  }
}

/** `importWithLoader` for `require`. */
export function requireWithLoader(load: () => unknown, file: string): unknown {
  try {
    return load();
  } catch (error) {
    if (!mayNeedLoader(error) || !registerLoader(file)) throw error;
    return load();
  }
}

let isRegistered = false;

/** @returns whether it was registered now: an import that failed with it fails for another reason */
function registerLoader(file: string): boolean {
  if (isRegistered) return false;
  const project = createRequire(file);
  const [esm, commonJs] = ["tsx/esm/api", "tsx/cjs/api"].map((name) => tryRead(() => project(name) as { register(): unknown }));
  if (!esm || !commonJs) return false;
  isRegistered = true;
  esm.register();
  commonJs.register();
  return true;
}
