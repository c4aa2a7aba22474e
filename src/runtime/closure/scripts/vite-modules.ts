/**
 * Reads Vitest's table of the modules that it runs. Vitest transforms and evaluates files by itself, beside Node's own loader.
 *
 * Only answers from the state object that Vitest keeps on the global of a test process; elsewhere every answer is empty. A test that gets
 * an instance of an imported class back from a worker must get the class from its own copy of the module, not from a second copy that
 * Node's loader would make. Called by `by-value-files`, `script-table` and `revive-imports`.
 */
import fs from "node:fs";
import { tryRead } from "../values/known-values.ts";

interface EvaluatedModule {
  readonly exports?: object;
  readonly meta?: { readonly sourceMap?: string };
}

interface VitestState {
  readonly filepath?: string;
  readonly config?: { readonly root?: string };
  readonly evaluatedModules?: { getModuleById(id: string): EvaluatedModule | undefined };
}

function vitestState(): VitestState | undefined {
  return (globalThis as { __vitest_worker__?: VitestState }).__vitest_worker__;
}

/** The test file that runs in this process. */
export function testFile(): string | undefined {
  return tryRead(() => vitestState()?.filepath);
}

/** The folder against which Vite resolves specifiers that start with a slash. */
export function viteRoot(): string {
  return tryRead(() => vitestState()?.config?.root) ?? process.cwd();
}

/** The exports of a file as the test imported it. */
export function evaluatedExports(file: string): object | undefined {
  return tryRead(() => vitestState()?.evaluatedModules?.getModuleById(file)?.exports);
}

/** The source map of a file's transformed text, as JSON. */
export function evaluatedSourceMap(file: string): string | undefined {
  return tryRead(() => vitestState()?.evaluatedModules?.getModuleById(file)?.meta?.sourceMap);
}

/** Names that Vite documents for `import.meta.env`. Test runners add the whole environment of their process. */
const ENVIRONMENT_NAME = /^(?:MODE|BASE_URL|PROD|DEV|SSR|VITE_.*)$/;

/** The environment that Vite puts on `import.meta`. */
export function viteEnvironment(meta: unknown): Record<string, unknown> | undefined {
  const env = tryRead(() => (meta as { env?: Record<string, unknown> }).env);
  if (typeof env !== "object" || env === null) return undefined;
  const names = Object.keys(env).filter((name) => ENVIRONMENT_NAME.test(name));
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

const readers = new Map<string, boolean>();

/** Whether a file that Vitest transforms reads the environment that Vite alone provides. */
export function readsViteEnvironment(file: string): boolean {
  if (testFile() === undefined || file.includes("/node_modules/")) return false;
  let reads = readers.get(file);
  if (reads === undefined) {
    reads = tryRead(() => fs.readFileSync(file, "utf8"))?.includes("import.meta.env") === true;
    readers.set(file, reads);
  }
  return reads;
}
