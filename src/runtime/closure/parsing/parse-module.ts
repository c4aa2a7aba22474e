/**
 * The table of one script as V8 runs it: its imports by local name, its exports by position, and where its top level is.
 *
 * Finds the file's top level inside the loader's output: the script itself, Vite's async wrapper function, jest's and tsx's CommonJS
 * wrappers. Called by `script-table`, once for each script that a captured function comes from (an 850 KB file takes 0.1 s).
 */
import { analyzeScopes, type Scope } from "./free-variables.ts";
import { type ImportForm, importFormOf, interopAppliedTo, isViteImportMeta } from "./import-forms.ts";
import { type AnyNode, declaredNames, isFunctionNode, literalKey, type Program, parseProgram } from "./syntax.ts";

/** First parameter of the function around a revived text. The function's body is the top level of the revived code. */
const REVIVED_TEXT_MARK = "$shoal_value";

interface TextSpan {
  readonly offset: number;
  readonly length: number;
}

export class ModuleTable {
  readonly imports = new Map<string, ImportForm>();
  readonly isStrict: boolean;
  /** Run by Vite's module runner: an ES module inside a function. */
  readonly isVite: boolean;
  readonly #top: Scope;
  readonly #topScopes: ReadonlySet<Scope>;
  readonly #exportedNames = new Map<string, string>();
  readonly #declarations: { start: number; end: number; name: string; exportName: string | null }[] = [];

  constructor(text: string, isModule: boolean) {
    const program = parse(text, isModule);
    this.#top = analyzeScopes(program).top;
    const level = findTopLevel(program, this.#top, text.length);
    this.#topScopes = level.scopes;
    this.isVite = level.isVite;
    this.isStrict = isModule || level.isVite || startsStrict(program.body) || startsStrict(level.body);
    for (const statement of level.body) this.#readStatement(statement, text);
  }

  /** Whether the script itself declares `name`, not a wrapper that a loader put around the file. */
  declares(name: string): boolean {
    return this.#top.names.has(name);
  }

  /** The name under which the module exports the declaration with exactly this text. */
  exportAt({ offset, length }: TextSpan): string | undefined {
    const found = this.#declarations.find(({ start, end }) => start === offset && end === offset + length);
    return found && (found.exportName ?? this.#exportedNames.get(found.name));
  }

  /** The scopes around a text, outermost first. */
  enclosing({ offset, length }: TextSpan): Scope[] {
    const end = offset + length;
    const scopes = [this.#top];
    for (let scope: Scope | undefined = this.#top; scope; ) {
      const inner: Scope | undefined = scope.children.find(
        (child) => child.start <= offset && child.end >= end && !(child.start === offset && child.end === end),
      );
      if (inner) scopes.push(inner);
      scope = inner;
    }
    return scopes;
  }

  /** Whether `name`, as seen from this text, is a variable of the top level, or no variable of the file. */
  isTopLevel(name: string, span: TextSpan): boolean {
    const declaring = this.#declaring(name, span);
    return !declaring || this.#topScopes.has(declaring);
  }

  /** How often the script changes the variable that `name` means at this text, after its declaration. */
  changesOf(name: string, span: TextSpan): number {
    return this.#declaring(name, span)?.changes.get(name) ?? 0;
  }

  #declaring(name: string, span: TextSpan): Scope | undefined {
    return this.enclosing(span).at(-1)?.declaring(name);
  }

  #readStatement(statement: AnyNode, text: string): void {
    switch (statement.type) {
      case "ImportDeclaration":
        this.#readImport(statement);
        return;
      case "ExportNamedDeclaration":
        if (!statement.source) {
          for (const { local, exported } of statement.specifiers) this.#export(moduleName(local), moduleName(exported));
        }
        if (statement.declaration) {
          for (const name of declaredNames(statement.declaration)) this.#export(name, name);
          this.#readDeclaration(statement.declaration);
        }
        return;
      case "ExportDefaultDeclaration":
        this.#readDefaultExport(statement.declaration);
        return;
      case "ExpressionStatement":
        if (this.isVite) this.#readViteExport(statement.expression, text);
        this.#readAssignment(statement.expression);
        return;
      default:
        this.#readDeclaration(statement);
    }
  }

  #export(local: string, exported: string): void {
    if (!this.#exportedNames.has(local)) this.#exportedNames.set(local, exported);
  }

  #readImport(statement: Extract<AnyNode, { type: "ImportDeclaration" }>): void {
    const attributes = Object.fromEntries(
      statement.attributes.map(({ key, value }) => [literalKey(key, false) ?? "", String(value.value)]),
    );
    const specifier = String(statement.source.value);
    for (const entry of statement.specifiers) {
      let path: string[] = [];
      if (entry.type === "ImportDefaultSpecifier") path = ["default"];
      else if (entry.type === "ImportSpecifier") path = [moduleName(entry.imported)];
      const live = path.length > 0 ? { isLive: true as const } : {};
      this.imports.set(entry.local.name, { via: "import", specifier, attributes, path, ...live });
    }
  }

  #readDefaultExport(declaration: AnyNode): void {
    if (declaration.type === "Identifier") {
      this.#export(declaration.name, "default");
      return;
    }
    const name = "id" in declaration && declaration.id?.type === "Identifier" ? declaration.id.name : "";
    if (name) this.#export(name, "default");
    this.#declare(declaration, name, "default");
  }

  #readDeclaration(statement: AnyNode): void {
    if ((statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration") && statement.id) {
      this.#declare(statement, statement.id.name);
    }
    if (statement.type !== "VariableDeclaration") return;
    for (const { id, init } of statement.declarations) {
      const form = importFormOf(init);
      if (form) this.#bindImport(id, form);
      else if (init && id.type === "Identifier") {
        this.#declare(init, id.name);
      }
    }
  }

  #declare({ start, end }: AnyNode, name: string, exportName: string | null = null): void {
    this.#declarations.push({ start, end, name, exportName });
  }

  #bindImport(target: AnyNode, form: ImportForm): void {
    if (target.type === "Identifier") this.imports.set(target.name, form);
    if (target.type !== "ObjectPattern" || form.via === "create-require") return;
    for (const property of target.properties) {
      if (property.type !== "Property" || property.value.type !== "Identifier") continue;
      const key = literalKey(property.key, property.computed);
      if (key !== undefined) this.imports.set(property.value.name, { ...form, path: [...form.path, key] });
    }
  }

  /** `dep = __toESM(dep)` after `let dep = require("./dep")`. */
  #readAssignment(expression: AnyNode): void {
    if (expression.type !== "AssignmentExpression" || expression.left.type !== "Identifier") return;
    const known = this.imports.get(expression.left.name);
    const applied = known && interopAppliedTo(expression.left.name, expression.right);
    if (known && applied) this.imports.set(expression.left.name, { ...known, ...applied });
  }

  /** `Object.defineProperty(exports, "name", { get() { return local } })`, or a helper of that shape. */
  #readViteExport(expression: AnyNode, text: string): void {
    if (expression.type !== "CallExpression") return;
    const callee = text.slice(expression.callee.start, expression.callee.end);
    if (!/(?:_exportName__|defineProperty)$/.test(callee)) return;
    const exported = expression.arguments.find((argument) => argument.type === "Literal");
    const local = /(?:return|=>)\s*([\w$]+)/.exec(text.slice(expression.start, expression.end))?.[1];
    if (local && exported?.type === "Literal") this.#export(local, String(exported.value));
  }
}

function parse(text: string, isModule: boolean): Program {
  if (isModule) return parseProgram(text, "module");
  try {
    return parseProgram(text, "script");
  } catch {
    return parseProgram(text, "module"); // a script to the debugger may be a module that a loader compiled by other means
  }
}

function startsStrict(body: readonly AnyNode[]): boolean {
  const first = body[0];
  return first?.type === "ExpressionStatement" && first.directive === "use strict";
}

function moduleName(node: AnyNode): string {
  return node.type === "Identifier" ? node.name : String((node as { value?: unknown }).value);
}

interface TopLevel {
  body: readonly AnyNode[];
  readonly scopes: Set<Scope>;
  isVite: boolean;
}

/** Descends through the wrapper functions that loaders put around a file. */
function findTopLevel(program: Program, top: Scope, textLength: number): TopLevel {
  const level: TopLevel = { body: program.body, scopes: new Set([top]), isVite: false };
  const expressions = program.body.flatMap((statement) =>
    statement.type === "ExpressionStatement" ? [statement.expression as AnyNode] : [],
  );
  const vite = expressions.find(isViteWrapper);
  if (vite && isFunctionNode(vite)) {
    level.isVite = true;
    enterFunction(level, vite, top);
    const [only] = level.body;
    if (level.body.length === 1 && only?.type === "BlockStatement") {
      const inner = [...level.scopes].at(-1)?.children.find((scope) => scope.start === only.start);
      if (inner) level.scopes.add(inner);
      level.body = only.body;
    }
    return level;
  }
  const first = expressions[0]?.type === "ObjectExpression" ? expressions[0].properties[0] : undefined;
  const jest = first?.type === "Property" ? (first.value as AnyNode) : undefined;
  const isJest = jest?.type === "FunctionExpression" && firstParameter(jest) === "module";
  const revived = expressions[0];
  const isRevived = revived?.type === "FunctionExpression" && firstParameter(revived) === REVIVED_TEXT_MARK;
  if (isJest) enterFunction(level, jest, top);
  else if (isRevived) enterFunction(level, revived, top);
  // The only immediately called function that spans a good part of the file: tsx's CommonJS output, esbuild's iife format.
  const called = expressions.flatMap((expression) =>
    expression.type === "CallExpression" && isFunctionNode(expression.callee as AnyNode) ? [expression] : [],
  );
  const [iife] = called;
  if (iife && called.length === 1 && iife.end - iife.start > textLength / 4) {
    enterFunction(level, iife.callee, top);
  }
  return level;
}

function enterFunction(level: TopLevel, wrapper: AnyNode, top: Scope): void {
  if (!isFunctionNode(wrapper)) return;
  const scope = top.children.find((child) => child.start === wrapper.start);
  if (scope) level.scopes.add(scope);
  if (wrapper.body.type === "BlockStatement") level.body = wrapper.body.body;
}

function isViteWrapper(expression: AnyNode): boolean {
  if (!isFunctionNode(expression) || !expression.async) return false;
  return expression.params.some((parameter) => parameter.type === "Identifier" && isViteImportMeta(parameter.name));
}

function firstParameter(node: Extract<AnyNode, { type: "FunctionExpression" }>): string | undefined {
  const first = node.params[0];
  return first?.type === "Identifier" ? first.name : undefined;
}
