"use strict";
var __importDefault =
  (this && this.__importDefault) ||
  function (mod) {
    return mod && mod.__esModule ? mod : { default: mod };
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.IMPORT_META_NAME = void 0;
exports.placeOf = placeOf;
exports.importNode = importNode;
/**
 * Where a captured text stands: what its free names mean there. Two kinds: a script as its loader ran it, and text revived from
 * another process, which stands for the file it came from.
 *
 * Decides whether a name is an import, something that every module has (`require`, `import.meta`), a variable of the top level or one of an
 * enclosing call. Called by `capture-function` for each function; owns nothing.
 */
const node_fs_1 = __importDefault(require("node:fs"));
const node_path_1 = __importDefault(require("node:path"));
const import_forms_ts_1 = require("./import-forms.js");
const by_value_files_ts_1 = require("./by-value-files.js");
const known_values_ts_1 = require("./known-values.js");
const revived_code_ts_1 = require("./revived-code.js");
const vite_modules_ts_1 = require("./vite-modules.js");
/** The place of a function's text, `null` when it has none (natives, functions internal to Node.js). */
function placeOf(facts, at) {
  const revived = (0, revived_code_ts_1.revivedCodeOf)(facts.target);
  if (revived) return new RevivedPlace(revived);
  if (!at) return null;
  const source = (0, revived_code_ts_1.revivedSourceAt)(at.script.url);
  return new ScriptText(at, { length: facts.text.length, source });
}
const COMMONJS_SCOPE = new Set(["require", "module", "__filename", "__dirname"]);
const REVIVED_SCOPE = new Set([...COMMONJS_SCOPE, "exports"]);
exports.IMPORT_META_NAME = "import_meta";
class ScriptText {
  identity;
  file;
  format;
  isStrict;
  #script;
  #span;
  /** Set for a closure that revived code created. */
  #revived;
  constructor(at, { length, source }) {
    this.#script = at.script;
    this.#span = { offset: at.offset, length };
    this.#revived = source;
    this.identity = at.script;
    const { table, isModule, file } = at.script;
    this.file = source ? source.file : file;
    this.format = source ? source.format : isModule || table.isVite ? "esm" : "commonjs";
    this.isStrict = source ? source.isStrict : table.isStrict;
  }
  isTopLevel(name) {
    return this.#script.table.isTopLevel(name, this.#span);
  }
  bindingOf(name, source, isCaptured) {
    if (this.#revived) return revivedBinding(this.#revived, { name, source });
    if ((0, import_forms_ts_1.isViteImportMeta)(name)) return { kind: "importMeta", source };
    if ((0, import_forms_ts_1.isViteDynamicImport)(name)) return { kind: "dynamicImport", source, root: (0, vite_modules_ts_1.viteRoot)() };
    const form = this.#script.table.imports.get(name);
    if (!this.#script.isModule && !this.#script.table.declares(name)) {
      if (COMMONJS_SCOPE.has(name) && !(isCaptured && form)) return "provided";
      if (
        name === "exports" &&
        this.file &&
        (0, known_values_ts_1.isCommonJsModule)(this.file) &&
        !(0, by_value_files_ts_1.isByValueFile)(this.file)
      ) {
        return { kind: "commonJs", file: this.file, name: null };
      }
    }
    return form && importNode(form, source);
  }
  namespaceImports() {
    if (this.#revived) return [];
    return [...this.#script.table.imports].filter(
      ([, { via, path: members }]) => members.length === 0 && (via === "import" || via === "vite"),
    );
  }
  positions() {
    return this.#script.positionsOf(this.#span.offset, this.#span.length);
  }
  describe() {
    return this.#script.describePosition(Math.max(this.#span.offset, 0));
  }
  enclosingFunctions() {
    return this.#script.table.enclosing(this.#span).filter(({ kind }) => kind === "function" || kind === "member");
  }
}
class RevivedPlace {
  identity;
  file;
  format;
  isStrict;
  #revived;
  constructor(revived) {
    this.#revived = revived;
    this.identity = revived.source;
    this.file = revived.source.file;
    this.format = revived.source.format;
    this.isStrict = revived.source.isStrict;
  }
  isTopLevel(name) {
    return !this.#revived.localNames.has(name);
  }
  bindingOf(name, source) {
    return revivedBinding(this.#revived.source, { name, source });
  }
  namespaceImports() {
    return [];
  }
  positions() {
    return this.#revived.code.positions;
  }
  describe() {
    const { positions } = this.#revived.code;
    const name = positions?.sources[0] ?? this.file;
    if (!name) return "revived code";
    const shown = node_path_1.default.relative(process.cwd(), name);
    return positions?.start ? `${shown}:${positions.start[0] + 1}` : shown;
  }
  enclosingFunctions() {
    return [];
  }
}
function revivedBinding(source, { name, source: index }) {
  const binding = source.bindings.get(name);
  if (binding) return { ...binding, source: index };
  if (name === exports.IMPORT_META_NAME) return "provided";
  return source.format === "commonjs" && REVIVED_SCOPE.has(name) ? "provided" : undefined;
}
function importNode(form, source) {
  const { via, path: members, attributes, interop, isNodeMode } = form;
  switch (via) {
    case "create-require":
      return { kind: "requireFunction", source };
    case "require":
      return {
        kind: "require",
        source,
        specifier: form.specifier,
        path: members,
        ...(interop ? { interop } : {}),
        ...(isNodeMode ? { isNodeMode } : {}),
      };
    default: {
      const specifier = via === "vite" ? unviteSpecifier(form.specifier) : form.specifier;
      const hasAttributes = attributes && Object.keys(attributes).length > 0;
      return { kind: "import", source, specifier, path: members, ...(hasAttributes ? { attributes } : {}) };
    }
  }
}
/** Vite's specifiers: `/@fs/` before absolute paths, `/@id/` before packages, else absolute from its root. */
function unviteSpecifier(specifier) {
  if (specifier.startsWith("/@fs/")) return specifier.slice("/@fs".length);
  if (specifier.startsWith("/@id/")) return specifier.slice("/@id/".length);
  if (!specifier.startsWith("/")) return specifier;
  const below = node_path_1.default.join((0, vite_modules_ts_1.viteRoot)(), specifier);
  return node_fs_1.default.existsSync(below) ? below : specifier;
}
//# sourceMappingURL=code-place.js.map
