"use strict";
var __importDefault =
  (this && this.__importDefault) ||
  function (mod) {
    return mod && mod.__esModule ? mod : { default: mod };
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.FileScope = void 0;
/**
 * Runs assembled text as if it stood in the file that it came from: `import()`, `require`, `import.meta` and stack traces behave as there.
 *
 * Decides how text is evaluated: a small script under the original's file name, compiled for the main loader (so `import()` resolves
 * beside the original file, loader hooks included), which then evaluates the text; `eval` alone makes the engine follow its source map.
 * Owns one such script for each file. Called by `revive`.
 */
const node_crypto_1 = require("node:crypto");
const node_module_1 = require("node:module");
const node_path_1 = __importDefault(require("node:path"));
const node_url_1 = require("node:url");
const node_vm_1 = __importDefault(require("node:vm"));
const code_place_ts_1 = require("./code-place.js");
const positions_ts_1 = require("./positions.js");
const harnesses = new Map();
function harnessOf(file, isStrict) {
  const key = `${isStrict} ${file}`;
  let harness = harnesses.get(key);
  if (!harness) {
    const directive = isStrict ? '"use strict"; ' : "";
    const text =
      `(function () { ${directive}return { evaluate: function ($shoal_text) { return eval($shoal_text); }, ` +
      "importFrom: ($shoal_from, $shoal_with) => import($shoal_from, $shoal_with) }; })()";
    harness = withoutLoaderWarning(() => {
      const importModuleDynamically = node_vm_1.default.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
      return new node_vm_1.default.Script(text, { filename: file, importModuleDynamically }).runInThisContext();
    });
    harnesses.set(key, harness);
  }
  return harness;
}
/** Node 24 and 26 call that loader option experimental; the warning would blame the user's file. */
function withoutLoaderWarning(run) {
  const emit = process.emitWarning;
  const filtered = (...parameters) => {
    if (!String(parameters[0]).includes("USE_MAIN_CONTEXT_DEFAULT_LOADER")) Reflect.apply(emit, process, parameters);
  };
  process.emitWarning = filtered;
  try {
    return run();
  } finally {
    process.emitWarning = emit;
  }
}
/** The top level of one file, as revived code sees it. */
class FileScope {
  file;
  isStrict;
  /** What every module of this format has in scope. */
  provided;
  require;
  constructor(source) {
    this.file = source.file ?? node_path_1.default.join(process.cwd(), "[eval]");
    this.isStrict = source.isStrict;
    this.require = (0, node_module_1.createRequire)(this.file);
    this.provided = { [code_place_ts_1.IMPORT_META_NAME]: importMetaOf(this.file, this.require), ...this.#commonJsScope(source) };
  }
  #commonJsScope({ format }) {
    if (format !== "commonjs") return {};
    const module = { exports: {}, id: this.file, filename: this.file };
    return {
      require: this.require,
      module,
      exports: module.exports,
      __filename: this.file,
      __dirname: node_path_1.default.dirname(this.file),
    };
  }
  importFrom(specifier, options) {
    return harnessOf(this.file, this.isStrict).importFrom(specifier, options);
  }
  /** Starts the generator whose body is `body`, with `names` (and what a module has) in scope. */
  start(body, { names, url, segments }) {
    const parameters = Object.keys(names);
    const head = `(function* (${parameters.join(", ")}) { ${this.isStrict ? '"use strict";' : ""}\n`;
    const text = `${head}${body}})`;
    const shifted = segments.map((segment) => ({ ...segment, offset: segment.offset + head.length }));
    const map = shifted.length > 0 ? `\n${(0, positions_ts_1.sourceMapComment)(text, shifted)}` : "";
    const evaluated = harnessOf(this.file, this.isStrict).evaluate(`${text}\n//# sourceURL=${url}${map}`);
    const self = this.provided.exports;
    return Reflect.apply(evaluated, self, Object.values(names));
  }
  /** A name for the text in stack traces; the same text with the same bindings has the same one. */
  urlFor(body, bindings) {
    const hash = (0, node_crypto_1.createHash)("sha256")
      .update(this.file)
      .update("\0")
      .update(bindings)
      .update("\0")
      .update(body)
      .digest("hex")
      .slice(0, 16);
    return `shoal-revived:${hash}/${encodeURIComponent(node_path_1.default.basename(this.file))}`;
  }
}
exports.FileScope = FileScope;
function importMetaOf(file, require) {
  const resolve = (specifier) => {
    if (specifier.startsWith("node:")) return specifier;
    return specifier.startsWith("./") || specifier.startsWith("../")
      ? new URL(specifier, (0, node_url_1.pathToFileURL)(file)).href
      : (0, node_url_1.pathToFileURL)(require.resolve(specifier)).href;
  };
  return {
    url: (0, node_url_1.pathToFileURL)(file).href,
    filename: file,
    dirname: node_path_1.default.dirname(file),
    resolve,
    main: false,
  };
}
//# sourceMappingURL=evaluate-text.js.map
