"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.testFile = testFile;
exports.viteRoot = viteRoot;
exports.evaluatedExports = evaluatedExports;
exports.evaluatedSourceMap = evaluatedSourceMap;
/**
 * What Vitest knows of the modules that it runs: it transforms and evaluates files by itself, beside Node's own loader.
 *
 * Decides nothing; answers from the state object that Vitest keeps on the global of its test processes, and with nothing elsewhere. A test
 * that gets an instance of an imported class back from a worker must get the class of its own copy of the module, not of a second one that
 * Node's loader would make. Called by `by-value-files`, `script-table` and `revive-imports`.
 */
const known_values_ts_1 = require("./known-values.js");
function vitestState() {
  return (0, known_values_ts_1.tryRead)(() => globalThis.__vitest_worker__);
}
/** The test file that runs in this process. */
function testFile() {
  return (0, known_values_ts_1.tryRead)(() => vitestState()?.filepath);
}
/** The folder against which Vite resolves specifiers that start with a slash. */
function viteRoot() {
  return (0, known_values_ts_1.tryRead)(() => vitestState()?.config?.root) ?? process.cwd();
}
/** The exports of a file as the test imported it. */
function evaluatedExports(file) {
  return (0, known_values_ts_1.tryRead)(() => vitestState()?.evaluatedModules?.getModuleById(file)?.exports);
}
/** The source map of a file's transformed text, as JSON. */
function evaluatedSourceMap(file) {
  return (0, known_values_ts_1.tryRead)(() => vitestState()?.evaluatedModules?.getModuleById(file)?.meta?.sourceMap);
}
//# sourceMappingURL=vite-modules.js.map
