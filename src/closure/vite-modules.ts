/**
 * What Vitest knows of the modules that it runs: it transforms and evaluates files by itself, beside Node's own loader.
 *
 * Decides nothing; answers from the state object that Vitest keeps on the global of its test processes, and with nothing elsewhere. A test
 * that gets an instance of an imported class back from a worker must get the class of its own copy of the module, not of a second one that
 * Node's loader would make. Called by `by-value-files`, `script-table` and `revive-imports`.
 */
import { tryRead } from "./known-values.ts";

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
  return tryRead(() => (globalThis as { __vitest_worker__?: VitestState }).__vitest_worker__);
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
