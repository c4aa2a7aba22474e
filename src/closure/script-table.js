"use strict";
var __importDefault =
  (this && this.__importDefault) ||
  function (mod) {
    return mod && mod.__esModule ? mod : { default: mod };
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.Script = void 0;
exports.scriptById = scriptById;
exports.readScriptsAhead = readScriptsAhead;
/**
 * The scripts that captured functions come from: text, file, imports and exports, source map, by the engine's script id.
 *
 * Owns a cache of one `Script` for each id that was asked for; what needs parsing is computed at first use. Called by `function-facts`.
 * Invariant: a script's text never changes, so nothing here is ever invalidated.
 */
const node_fs_1 = __importDefault(require("node:fs"));
const node_path_1 = __importDefault(require("node:path"));
const node_url_1 = require("node:url");
const sourcemap_codec_1 = require("@jridgewell/sourcemap-codec");
const inspector_session_ts_1 = require("./inspector-session.js");
const parse_module_ts_1 = require("./parse-module.js");
const positions_ts_1 = require("./positions.js");
const vite_modules_ts_1 = require("./vite-modules.js");
class Script {
  id;
  /** As the engine names it: a `file:` URL, a path, `node:...`, or a name of our own for revived text. */
  url;
  /** Absolute path, `null` for text that no file holds (`-e`, `new Function`). */
  file;
  text;
  isModule;
  #startLine;
  #startColumn;
  #sourceMapUrl;
  #table;
  #map;
  #lineStarts;
  constructor(parsed, text) {
    this.id = parsed.scriptId;
    this.url = parsed.url;
    this.file = fileOfUrl(parsed.url);
    this.text = text;
    this.isModule = parsed.isModule === true;
    this.#startLine = parsed.startLine;
    this.#startColumn = parsed.startColumn;
    this.#sourceMapUrl = parsed.sourceMapURL || inlineSourceMapUrl(text);
  }
  get isInternal() {
    return this.url.startsWith("node:");
  }
  get table() {
    this.#table ??= new parse_module_ts_1.ModuleTable(this.text, this.isModule);
    return this.#table;
  }
  get lineStarts() {
    this.#lineStarts ??= (0, positions_ts_1.lineStartsOf)(this.text);
    return this.#lineStarts;
  }
  get #sourceMap() {
    if (this.#map === undefined) this.#map = readSourceMap(this.#sourceMapUrl, this.file);
    return this.#map;
  }
  /** Where `text` stands, given the line and column that the engine reports for a function (not always its first character); -1 if nowhere. */
  offsetOf(text, location) {
    const line = location.lineNumber - this.#startLine;
    const column = (location.columnNumber ?? 0) - (line === 0 ? this.#startColumn : 0);
    const near = (this.lineStarts[line] ?? 0) + column;
    const before = this.text.lastIndexOf(text, near);
    if (before >= 0 && before + text.length >= near) return before;
    return this.text.indexOf(text);
  }
  /** Where the text at `offset` came from. */
  positionsOf(offset, length) {
    const map = this.#sourceMap;
    if (map) return (0, positions_ts_1.cutSourceMap)(map, this.lineStarts, { offset, length });
    if (!this.file) return null;
    const line = (0, positions_ts_1.lineAt)(this.lineStarts, offset);
    return { sources: [this.file], start: [line, offset - this.lineStarts[line]] };
  }
  /** `file.ts:12`, as the user wrote it, relative to the working directory. */
  describePosition(offset) {
    const line = (0, positions_ts_1.lineAt)(this.lineStarts, offset);
    const column = offset - this.lineStarts[line];
    const map = this.#sourceMap;
    let name = this.file ?? "";
    let originalLine = line;
    for (const segment of map?.lines[line] ?? []) {
      if (segment.length === 1 || segment[0] > column) continue;
      name = map?.sources[segment[1]] ?? name;
      originalLine = segment[2];
    }
    const shown = name ? node_path_1.default.relative(process.cwd(), name) : this.url || `script ${this.id}`;
    return `${shown}:${originalLine + 1}`;
  }
}
exports.Script = Script;
const scripts = new Map();
function scriptById(id) {
  const known = scripts.get(id);
  if (known) return known;
  const script = (0, inspector_session_ts_1.withDebugger)((parsed, sourceOf) => {
    const found = parsed.find(({ scriptId }) => scriptId === id);
    const placeless = { scriptId: id, url: "", startLine: 0, startColumn: 0 };
    return new Script(found ?? placeless, sourceOf(id));
  });
  scripts.set(id, script);
  return script;
}
/** Pays for the first look at the scripts of this process (40-80 ms) ahead of the first capture, and reads the program's own file. */
function readScriptsAhead(mainFile) {
  (0, inspector_session_ts_1.withDebugger)((parsed, sourceOf) => {
    const main = mainFile && parsed.find(({ url }) => fileOfUrl(url) === mainFile);
    if (main && !scripts.has(main.scriptId)) scripts.set(main.scriptId, new Script(main, sourceOf(main.scriptId)));
  });
}
/** Loaders add queries to the URLs of what they run (`?namespace=...`, `?t=...`). */
function fileOfUrl(url) {
  const plain = url.split("?")[0] ?? "";
  if (plain.startsWith("file:")) return (0, node_url_1.fileURLToPath)(plain);
  return node_path_1.default.isAbsolute(plain) ? plain : null;
}
function readSourceMap(url, file) {
  const folder = file ? node_path_1.default.dirname(file) : process.cwd();
  try {
    const text = url ? sourceMapText(url, folder) : file && (0, vite_modules_ts_1.evaluatedSourceMap)(file);
    if (!text) return null;
    const map = JSON.parse(text);
    const sources = map.sources.map((source) => source && absoluteSource(source, { folder, file, root: map.sourceRoot ?? "" }));
    return { lines: (0, sourcemap_codec_1.decode)(map.mappings), sources };
  } catch {
    return null; // a missing or broken map costs exact lines, nothing else
  }
}
const SOURCE_MAP_COMMENT = "//# sourceMappingURL=";
/** The engine does not report a comment that a loader left inside its wrapper function, as Vite does. */
function inlineSourceMapUrl(text) {
  const start = text.lastIndexOf(`\n${SOURCE_MAP_COMMENT}data:application/json`);
  if (start < 0) return "";
  const from = start + 1 + SOURCE_MAP_COMMENT.length;
  const end = text.indexOf("\n", from);
  return text.slice(from, end < 0 ? undefined : end);
}
function sourceMapText(url, folder) {
  if (!url.startsWith("data:")) return node_fs_1.default.readFileSync(node_path_1.default.resolve(folder, url), "utf8");
  const comma = url.indexOf(",");
  const isBase64 = url.slice(0, comma).endsWith(";base64");
  return isBase64 ? Buffer.from(url.slice(comma + 1), "base64").toString() : decodeURIComponent(url.slice(comma + 1));
}
function absoluteSource(source, place) {
  if (source.startsWith("file:")) return (0, node_url_1.fileURLToPath)(source);
  if (!node_path_1.default.isAbsolute(source)) return node_path_1.default.resolve(place.folder, place.root, source);
  // Vite writes paths relative to its root as if they were absolute.
  return node_fs_1.default.existsSync(source) ? source : (place.file ?? source);
}
//# sourceMappingURL=script-table.js.map
