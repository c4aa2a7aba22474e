/**
 * Place of a captured text, which gives its free names their meaning. A place is either a script as its loader ran it, or a text revived
 * from another process, which stands for its original file.
 *
 * Decides whether a name is an import, something that every module has (`require`, `import.meta`), a variable of the top level or one of an
 * enclosing call. Called by `capture-function` for each function; owns nothing.
 */
import fs from "node:fs";
import path from "node:path";
import type { Scope } from "../parsing/free-variables.ts";
import type { FunctionFacts, ScriptPlace } from "../capturing/function-facts.ts";
import type { BindingNode, Node, SourcePlace } from "../graph.ts";
import { toDriverPath } from "../modules/foreign-code.ts";
import { type ImportForm, isViteDynamicImport, isViteImportMeta } from "../parsing/import-forms.ts";
import { isByValueFile } from "../modules/by-value-files.ts";
import { isCommonJsModule } from "../values/known-values.ts";
import { loadedUrl } from "./loaded-file.ts";
import { startOf, type TextPositions } from "../reviving/positions.ts";
import { type RevivedCode, type RevivedSource, revivedCodeOf, revivedSourceAt } from "../reviving/revived-code.ts";
import type { Script } from "./script-table.ts";
import { viteRoot } from "./vite-modules.ts";
import { workingFolder } from "./working-folder.ts";

/** Binding of a top-level name. `provided`: every module of that format has the name. */
type Binding = Node | "provided";

export interface CodePlace {
  /** Identity of one top level: code with the same identity shares its module variables. */
  readonly identity: object;
  readonly source: SourcePlace;
  isTopLevel(name: string): boolean;
  /** Number of changes to the variable that `name` means here, after its declaration, as far as the script tells. */
  changesOf(name: string): number;
  /**
   * Returns the binding that the loader or an import gives to `name` at the top level. `isCaptured`: the closure holds a variable of that
   * name.
   */
  bindingOf(name: string, source: number, isCaptured: boolean): Binding | undefined;
  /** Import bindings that hold whole module namespaces. */
  namespaceImports(): readonly [name: string, form: ImportForm][];
  positions(): TextPositions | null;
  /** `main.ts:12`; `offset`: of a place inside the text. */
  describe(offset?: number): string;
  /** The functions and class members around the text, outermost first. */
  enclosingFunctions(): readonly Scope[];
}

/** The place of a function's text, `null` when it has none (natives, functions internal to Node.js). */
export function placeOf(facts: FunctionFacts, at: ScriptPlace | null): CodePlace | null {
  const revived = revivedCodeOf(facts.target);
  if (revived) return new RevivedPlace(revived);
  return at && new ScriptText(at, facts.text.length);
}

const COMMONJS_SCOPE: ReadonlySet<string> = new Set(["require", "module", "__filename", "__dirname"]);
const REVIVED_SCOPE: ReadonlySet<string> = new Set([...COMMONJS_SCOPE, "exports"]);
export const IMPORT_META_NAME = "import_meta";

class ScriptText implements CodePlace {
  readonly identity: object;
  readonly source: SourcePlace;
  readonly #script: Script;
  readonly #span: { offset: number; length: number };
  /** Set for a closure that revived code created. */
  readonly #revived: RevivedSource | undefined;

  constructor({ script, offset }: ScriptPlace, length: number) {
    this.#script = script;
    this.#span = { offset, length };
    this.#revived = revivedSourceAt(script.url);
    this.identity = script;
    const { table, isModule, file } = script;
    this.source = this.#revived ?? { file, format: isModule || table.isVite ? "esm" : "commonjs", isStrict: table.isStrict };
  }

  isTopLevel(name: string): boolean {
    return this.#script.table.isTopLevel(name, this.#span);
  }

  changesOf(name: string): number {
    return this.#script.table.changesOf(name, this.#span);
  }

  bindingOf(name: string, source: number, isCaptured: boolean): Binding | undefined {
    if (this.#revived) return revivedBinding(this.#revived, { name, source });
    if (isViteImportMeta(name)) return { kind: "importMeta", source };
    if (isViteDynamicImport(name)) return { kind: "dynamicImport", source, root: viteRoot() };
    const form = this.#script.table.imports.get(name);
    if (!this.#script.isModule && !this.#script.table.declares(name)) {
      if (COMMONJS_SCOPE.has(name) && !(isCaptured && form)) return "provided";
      const { file } = this.source;
      if (name === "exports" && file && isCommonJsModule(file) && !isByValueFile(file)) return { kind: "commonJs", file, name: null };
    }
    return form && importNode(form, source);
  }

  namespaceImports(): readonly [string, ImportForm][] {
    if (this.#revived) return [];
    return [...this.#script.table.imports].filter(
      ([, { via, path: members }]) => members.length === 0 && (via === "import" || via === "vite"),
    );
  }

  positions(): TextPositions | null {
    return this.#script.positionsOf(this.#span.offset, this.#span.length);
  }

  describe(offset = 0): string {
    return this.#script.describePosition(Math.max(this.#span.offset, 0) + offset);
  }

  enclosingFunctions(): readonly Scope[] {
    return this.#script.table.enclosing(this.#span).filter(({ kind }) => kind === "function" || kind === "member");
  }
}

class RevivedPlace implements CodePlace {
  readonly identity: object;
  readonly source: SourcePlace;
  readonly #revived: RevivedCode;

  constructor(revived: RevivedCode) {
    this.#revived = revived;
    this.identity = revived.source;
    this.source = revived.source;
  }

  isTopLevel(name: string): boolean {
    return !this.#revived.localNames.has(name);
  }

  /** The meaning of the names was settled by the process that captured the text first. */
  changesOf(): number {
    return 0;
  }

  bindingOf(name: string, source: number): Binding | undefined {
    return revivedBinding(this.#revived.source, { name, source });
  }

  namespaceImports(): readonly [string, ImportForm][] {
    return [];
  }

  positions(): TextPositions | null {
    return this.#revived.code.positions;
  }

  describe(): string {
    const { positions } = this.#revived.code;
    const start = positions === null ? undefined : startOf(positions);
    const name = start?.source ?? this.source.file;
    if (!name) return "revived code";
    // Positions name the files where the driver has them.
    const shown = path.relative(toDriverPath(workingFolder()), name);
    return start === undefined ? shown : `${shown}:${start.line + 1}`;
  }

  enclosingFunctions(): readonly Scope[] {
    return [];
  }
}

function revivedBinding(source: RevivedSource, { name, source: index }: { name: string; source: number }): Binding | undefined {
  const binding = source.bindings.get(name);
  if (binding) return { ...binding, source: index };
  if (name === IMPORT_META_NAME) return "provided";
  return source.format === "commonjs" && REVIVED_SCOPE.has(name) ? "provided" : undefined;
}

export function importNode({ via, attributes = {}, ...form }: ImportForm, source: number): BindingNode {
  switch (via) {
    case "create-require":
      return { kind: "requireFunction", source };
    case "require":
      return { kind: "require", source, ...form };
    default: {
      const specifier = via === "vite" ? unviteSpecifier(form.specifier) : absoluteAsUrl(form.specifier);
      const hasAttributes = Object.keys(attributes).length > 0;
      const { path: members, isLive } = form;
      return { kind: "import", source, specifier, path: members, ...(isLive ? { isLive } : {}), ...(hasAttributes ? { attributes } : {}) };
    }
  }
}

/** A specifier of an `import` that begins with a slash is a part of a URL: `%20` in it is a space. */
function absoluteAsUrl(specifier: string): string {
  return specifier.startsWith("/") ? new URL(specifier, "file:///").href : specifier;
}

/** Vite's specifiers: `/@fs/` before absolute paths, `/@id/` before packages, else absolute from its root. Paths are not escaped in them. */
function unviteSpecifier(specifier: string): string {
  if (specifier.startsWith("/@fs/")) return loadedUrl(specifier.slice("/@fs".length));
  if (specifier.startsWith("/@id/")) return specifier.slice("/@id/".length);
  if (!specifier.startsWith("/")) return specifier;
  const below = path.join(viteRoot(), specifier);
  return loadedUrl(fs.existsSync(below) ? below : specifier);
}
