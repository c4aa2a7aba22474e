/**
 * Runs assembled text as part of the original file: `import()`, `require`, `import.meta` and stack traces behave as there.
 *
 * A small script under the original's file name, compiled for the main loader (so `import()` resolves beside the original file, loader
 * hooks included), evaluates the text. Only `eval` makes the engine follow the text's source map. Owns one such script for each file.
 * Called by `revive`.
 */
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import { IMPORT_META_NAME } from "../scripts/code-place.ts";
import { type MappedText, surround } from "../parsing/code-edits.ts";
import type { SourcePlace } from "../graph.ts";
import { sourceMapComment } from "./positions.ts";
import { workingFolder } from "../scripts/working-folder.ts";

interface ImportOptions {
  readonly with?: Readonly<Record<string, string>>;
}

interface FileHarness {
  evaluate(text: string): unknown;
  importFrom(specifier: string, options?: ImportOptions): Promise<object>;
}

const harnesses = new Map<string, FileHarness>();

function harnessOf(file: string, isStrict: boolean): FileHarness {
  const key = `${isStrict} ${file}`;
  let harness = harnesses.get(key);
  if (!harness) {
    const directive = isStrict ? '"use strict"; ' : "";
    const text =
      `(function () { ${directive}return { evaluate: function ($shoal_text) { return eval($shoal_text); }, ` +
      "importFrom: ($shoal_from, $shoal_with) => import($shoal_from, $shoal_with) }; })()";
    harness = withoutLoaderWarning(() => {
      const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
      return new vm.Script(text, { filename: file, importModuleDynamically }).runInThisContext() as FileHarness;
    });
    harnesses.set(key, harness);
  }
  return harness;
}

/** Node 24 and 26 call that loader option experimental; the warning would blame the user's file. */
function withoutLoaderWarning<Result>(run: () => Result): Result {
  const emit = process.emitWarning;
  const filtered = (...parameters: unknown[]): void => {
    if (!String(parameters[0]).includes("USE_MAIN_CONTEXT_DEFAULT_LOADER")) Reflect.apply(emit, process, parameters);
  };
  process.emitWarning = filtered;
  try {
    return run();
  } finally {
    process.emitWarning = emit;
  }
}

export type TextGenerator = Generator<undefined, undefined, undefined>;

type Template = (...values: unknown[]) => TextGenerator;

/** Enough for the functions of a large program; a text is some kilobytes, compiled. */
const TEMPLATES_MAX = 1000;

/**
 * Evaluated texts, least recently used first. Functions made at one place differ only in their captures, which are passed in, so their text
 * is compiled once and run once for each function. Invariant: a template holds code and no captured values.
 */
const templates = new Map<string, Template>();

function templateOf(key: string, evaluate: () => Template): Template {
  const known = templates.get(key);
  const template = known ?? evaluate();
  templates.delete(key);
  templates.set(key, template);
  if (templates.size > TEMPLATES_MAX) {
    const [oldest = key] = templates.keys();
    templates.delete(oldest);
  }
  return template;
}

/** The top level of one file, as revived code sees it. */
export class FileScope {
  readonly file: string;
  readonly isStrict: boolean;
  /** Names that every module of this format has in scope. */
  readonly provided: Readonly<Record<string, unknown>>;
  readonly require: NodeJS.Require;

  constructor(source: SourcePlace) {
    this.file = source.file ?? path.join(workingFolder(), "[eval]");
    this.isStrict = source.isStrict;
    this.require = createRequire(this.file);
    this.provided = { [IMPORT_META_NAME]: importMetaOf(this.file, this.require), ...this.#commonJsScope(source) };
  }

  #commonJsScope({ format }: SourcePlace): Record<string, unknown> {
    if (format !== "commonjs") return {};
    const module = { exports: {}, id: this.file, filename: this.file };
    return { require: this.require, module, exports: module.exports, __filename: this.file, __dirname: path.dirname(this.file) };
  }

  importFrom(specifier: string, options?: ImportOptions): Promise<object> {
    return withoutLoaderWarning(() => harnessOf(this.file, this.isStrict).importFrom(specifier, options));
  }

  /** Starts the generator with this `body`. `names` and the module's own names are in scope. */
  start(body: MappedText, { names, url }: { names: Readonly<Record<string, unknown>>; url: string }): TextGenerator {
    const parameters = Object.keys(names).join(", ");
    const template = templateOf(`${url} ${this.isStrict} ${parameters}`, () => {
      const { text, segments } = surround(body, `(function* (${parameters}) { ${this.isStrict ? '"use strict";' : ""}\n`, "})");
      const map = segments.length > 0 ? `\n${sourceMapComment(text, segments)}` : "";
      return harnessOf(this.file, this.isStrict).evaluate(`${text}\n//# sourceURL=${url}${map}`) as Template;
    });
    return Reflect.apply(template, this.provided.exports, Object.values(names));
  }

  /** A name for the text in stack traces; the same text of the same place with the same bindings has the same one. */
  urlFor({ text, segments }: MappedText, bindings: string): string {
    const place = JSON.stringify([segments.length, segments[0], segments.at(-1)]);
    const hash = createHash("sha256").update([this.file, place, bindings, text].join("\0")).digest("hex").slice(0, 16);
    // The engine takes no name with a quotation mark or a space in it.
    return `shoal-revived:${hash}/${encodeURIComponent(path.basename(this.file)).replaceAll("'", "%27")}`;
  }
}

function importMetaOf(file: string, require: NodeJS.Require): object {
  const resolve = (specifier: string): string => {
    if (specifier.startsWith("node:")) return specifier;
    return /^(\.{0,2}\/|file:|data:)/.test(specifier)
      ? new URL(specifier, pathToFileURL(file)).href
      : pathToFileURL(require.resolve(specifier)).href;
  };
  return { url: pathToFileURL(file).href, filename: file, dirname: path.dirname(file), resolve, main: false };
}
