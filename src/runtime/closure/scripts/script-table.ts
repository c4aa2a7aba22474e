/**
 * The scripts that captured functions come from: text, file, imports and exports, source map, by the engine's script id.
 *
 * Owns a cache of one `Script` for each id that was asked for; everything that needs parsing is computed at first use. Called by
 * `function-facts`. Invariant: a script's text never changes, so nothing here is ever invalidated.
 */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { sourceMapPackage } from "../parsing/parsing-packages.ts";
import { type ParsedScript, withDebugger } from "./hidden-parts.ts";
import { ModuleTable } from "../parsing/parse-module.ts";
import { loadedFile } from "./loaded-file.ts";
import { cutSourceMap, lineStartsOf, placeAt, type SourceMap, type TextPositions } from "../reviving/positions.ts";
import { evaluatedSourceMap } from "./vite-modules.ts";
import { workingFolder } from "./working-folder.ts";

export class Script {
  readonly id: string;
  /** The engine's name: a `file:` URL, a path, `node:...`, or our name for revived text. */
  readonly url: string;
  /** Absolute path, `null` for text that no file holds (`-e`, `new Function`). */
  readonly file: string | null;
  readonly text: string;
  readonly isModule: boolean;
  readonly #startLine: number;
  readonly #startColumn: number;
  readonly #sourceMapUrl: string;
  #table: ModuleTable | undefined;
  #map: SourceMap | null | undefined;
  #lineStarts: number[] | undefined;

  constructor(parsed: ParsedScript, text: string) {
    this.id = parsed.scriptId;
    this.url = parsed.url;
    this.file = fileOfUrl(parsed.url);
    this.text = text;
    this.isModule = parsed.isModule === true;
    this.#startLine = parsed.startLine;
    this.#startColumn = parsed.startColumn;
    this.#sourceMapUrl = parsed.sourceMapURL || inlineSourceMapUrl(text);
  }

  get isInternal(): boolean {
    return this.url.startsWith("node:");
  }

  get table(): ModuleTable {
    this.#table ??= new ModuleTable(this.text, this.isModule);
    return this.#table;
  }

  get lineStarts(): number[] {
    this.#lineStarts ??= lineStartsOf(this.text);
    return this.#lineStarts;
  }

  get #sourceMap(): SourceMap | null {
    if (this.#map === undefined) this.#map = readSourceMap(this.#sourceMapUrl, this.file);
    return this.#map;
  }

  /**
   * Finds `text` in the script, given the line and column that the engine reports for a function (not always its first character); -1 if it
   * is not found.
   */
  offsetOf(text: string, location: { lineNumber: number; columnNumber?: number }): number {
    const line = location.lineNumber - this.#startLine;
    const column = (location.columnNumber ?? 0) - (line === 0 ? this.#startColumn : 0);
    const near = (this.lineStarts[line] ?? 0) + column;
    const before = this.text.lastIndexOf(text, near);
    if (before >= 0 && before + text.length >= near) return before;
    return this.text.indexOf(text);
  }

  /** Origin of the text at `offset`. */
  positionsOf(offset: number, length: number): TextPositions | null {
    const map = this.#sourceMap;
    if (map) return cutSourceMap(map, this.lineStarts, { offset, length });
    if (!this.file) return null;
    return { sources: [this.file], start: placeAt(this.lineStarts, offset) };
  }

  /** `file.ts:12`, as the user wrote it, relative to the working directory. */
  describePosition(offset: number): string {
    const [line, column] = placeAt(this.lineStarts, offset);
    const map = this.#sourceMap;
    let name = this.file ?? "";
    let originalLine = line;
    for (const segment of map?.lines[line] ?? []) {
      if (segment.length === 1 || segment[0] > column) continue;
      name = map?.sources[segment[1]] ?? name;
      originalLine = segment[2];
    }
    const shown = name ? path.relative(workingFolder(), name) : this.url || `script ${this.id}`;
    return `${shown}:${originalLine + 1}`;
  }
}

const scripts = new Map<string, Script>();

export function scriptById(id: string): Script {
  const known = scripts.get(id);
  if (known) return known;
  const script = withDebugger((parsed, sourceOf) => {
    const found = parsed.find(({ scriptId }) => scriptId === id);
    const placeless = { scriptId: id, url: "", startLine: 0, startColumn: 0 } as ParsedScript;
    return new Script(found ?? placeless, sourceOf(id));
  });
  scripts.set(id, script);
  return script;
}

/** Reads the scripts of this process (40-80 ms) ahead of the first capture, and the program's own file. */
export function readScriptsAhead(mainFile: string | null): void {
  withDebugger((parsed, sourceOf) => {
    const main = mainFile && parsed.find(({ url }) => fileOfUrl(url) === mainFile);
    if (main && !scripts.has(main.scriptId)) scripts.set(main.scriptId, new Script(main, sourceOf(main.scriptId)));
  });
}

/** Strips the queries that loaders add to the URLs of modules (`?namespace=...`, `?t=...`). */
function fileOfUrl(url: string): string | null {
  if (url.startsWith("file:")) return fileURLToPath(url.split("?")[0] as string);
  return path.isAbsolute(url) ? loadedFile(url) : null;
}

function readSourceMap(url: string, file: string | null): SourceMap | null {
  const folder = file ? path.dirname(file) : workingFolder();
  try {
    const text = url ? sourceMapText(url, folder) : file && evaluatedSourceMap(file);
    if (!text) return null;
    const map = JSON.parse(text) as { mappings: string; sources: (string | null)[]; sourceRoot?: string };
    const sources = map.sources.map((source) => source && absoluteSource(source, { folder, file, root: map.sourceRoot ?? "" }));
    return { lines: sourceMapPackage().decode(map.mappings), sources };
  } catch {
    return null; // a missing or broken map costs exact lines, nothing else
  }
}

const SOURCE_MAP_COMMENT = "//# sourceMappingURL=";

/** The engine does not report a comment that a loader left inside its wrapper function, as Vite does. */
function inlineSourceMapUrl(text: string): string {
  const start = text.lastIndexOf(`\n${SOURCE_MAP_COMMENT}data:application/json`);
  if (start < 0) return "";
  const from = start + 1 + SOURCE_MAP_COMMENT.length;
  const end = text.indexOf("\n", from);
  return text.slice(from, end < 0 ? undefined : end);
}

function sourceMapText(url: string, folder: string): string {
  if (!url.startsWith("data:")) return fs.readFileSync(path.resolve(folder, url), "utf8");
  const comma = url.indexOf(",");
  const isBase64 = url.slice(0, comma).endsWith(";base64");
  return isBase64 ? Buffer.from(url.slice(comma + 1), "base64").toString() : decodeURIComponent(url.slice(comma + 1));
}

function absoluteSource(source: string, place: { folder: string; file: string | null; root: string }): string {
  if (source.startsWith("file:")) return fileURLToPath(source);
  if (!path.isAbsolute(source)) return path.resolve(place.folder, place.root, source);
  // Vite writes paths relative to its root as if they were absolute.
  return fs.existsSync(source) ? source : (place.file ?? source);
}
