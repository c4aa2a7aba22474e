"use strict";
var __importDefault =
  (this && this.__importDefault) ||
  function (mod) {
    return mod && mod.__esModule ? mod : { default: mod };
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.markByValueFile = markByValueFile;
exports.mainFile = mainFile;
exports.isByValueFile = isByValueFile;
exports.isRuntimeFile = isRuntimeFile;
/**
 * Files whose exports must not be imported by a worker, because importing them would run the program again.
 *
 * Decides by reference or by value, per file: the program's main file, a test file under Vitest, and every file that `init()` was
 * called from are by value. Owns the set that `init()` adds to. Called by `capture`.
 */
const node_fs_1 = __importDefault(require("node:fs"));
const node_path_1 = __importDefault(require("node:path"));
const node_url_1 = require("node:url");
const known_values_ts_1 = require("./known-values.js");
const vite_modules_ts_1 = require("./vite-modules.js");
const markedFiles = new Set();
/** @param file - absolute path or `file:` URL of a file that starts the program, such as those on the stack of `init()` */
function markByValueFile(file) {
  markedFiles.add(realPath(file.startsWith("file:") ? (0, node_url_1.fileURLToPath)(file) : file));
}
const realPaths = new Map();
function realPath(file) {
  let real = realPaths.get(file);
  if (real === undefined) {
    real = (0, known_values_ts_1.tryRead)(() => node_fs_1.default.realpathSync(file)) ?? file;
    realPaths.set(file, real);
  }
  return real;
}
/** `process.argv[1]`: the user's file, or the tool that runs it. */
function mainFile() {
  const argument = process.argv[1];
  return argument ? realPath(node_path_1.default.resolve(argument)) : null;
}
function isByValueFile(file) {
  const real = realPath(file);
  if (markedFiles.has(real) || real === mainFile()) return true;
  const test = (0, vite_modules_ts_1.testFile)();
  return test !== undefined && realPath(test) === real;
}
const RUNTIME_FOLDER = realPath(node_path_1.default.dirname(node_path_1.default.dirname((0, node_url_1.fileURLToPath)(import.meta.url))));
/** Whether a file is part of this runtime: its state is never shipped by value. */
function isRuntimeFile(file) {
  const real = realPath(file);
  return real.startsWith(RUNTIME_FOLDER + node_path_1.default.sep) && !isByValueFile(file);
}
//# sourceMappingURL=by-value-files.js.map
