"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.ModuleTable = exports.REVIVED_TEXT_MARK = void 0;
/**
 * The table of one script as V8 runs it: its imports by local name, its exports by position, and where its top level is.
 *
 * Decides what counts as top level in what a loader made of a file: the script itself, Vite's async wrapper function, jest's and tsx's
 * CommonJS wrappers. Called by `script-table`, once for each script that a captured function comes from (an 850 KB file takes 0.1 s).
 */
const free_variables_ts_1 = require("./free-variables.js");
const import_forms_ts_1 = require("./import-forms.js");
const syntax_ts_1 = require("./syntax.js");
/** First parameter of the function around a revived text: its body is the top level of what it brings. */
exports.REVIVED_TEXT_MARK = "$shoal_value";
class ModuleTable {
  imports = new Map();
  isStrict;
  /** Run by Vite's module runner: an ES module inside a function. */
  isVite;
  #top;
  #topScopes;
  #exportedNames = new Map();
  #declarations = [];
  constructor(text, isModule) {
    const program = parse(text, isModule);
    this.#top = (0, free_variables_ts_1.analyzeScopes)(program).top;
    const level = findTopLevel(program, this.#top, text.length);
    this.#topScopes = level.scopes;
    this.isVite = level.isVite;
    this.isStrict = isModule || level.isVite || startsStrict(program.body) || startsStrict(level.body);
    for (const statement of level.body) this.#readStatement(statement, text);
  }
  /** Whether the script itself declares `name`, not a wrapper that a loader put around the file. */
  declares(name) {
    return this.#top.names.has(name);
  }
  /** The name under which the module exports the declaration with exactly this text. */
  exportAt({ offset, length }) {
    const found = this.#declarations.find(({ start, end }) => start === offset && end === offset + length);
    return found && (found.exportName ?? this.#exportedNames.get(found.name));
  }
  /** The scopes around a text, outermost first. */
  enclosing({ offset, length }) {
    const end = offset + length;
    const scopes = [this.#top];
    for (let scope = this.#top; scope; ) {
      const inner = scope.children.find(
        (child) => child.start <= offset && child.end >= end && !(child.start === offset && child.end === end),
      );
      if (inner) scopes.push(inner);
      scope = inner;
    }
    return scopes;
  }
  /** Whether `name`, as seen from this text, is a variable of the top level (or none of the file's at all). */
  isTopLevel(name, span) {
    const declaring = this.enclosing(span).at(-1)?.declaring(name);
    return !declaring || this.#topScopes.has(declaring);
  }
  #readStatement(statement, text) {
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
  #export(local, exported) {
    if (!this.#exportedNames.has(local)) this.#exportedNames.set(local, exported);
  }
  #readImport(statement) {
    const attributes = Object.fromEntries(
      statement.attributes.map(({ key, value }) => [(0, syntax_ts_1.literalKey)(key, false) ?? "", String(value.value)]),
    );
    const specifier = String(statement.source.value);
    for (const entry of statement.specifiers) {
      let path = [];
      if (entry.type === "ImportDefaultSpecifier") path = ["default"];
      else if (entry.type === "ImportSpecifier") path = [moduleName(entry.imported)];
      this.imports.set(entry.local.name, { via: "import", specifier, attributes, path });
    }
  }
  #readDefaultExport(declaration) {
    if (declaration.type === "Identifier") {
      this.#export(declaration.name, "default");
      return;
    }
    const name = "id" in declaration && declaration.id?.type === "Identifier" ? declaration.id.name : "";
    if (name) this.#export(name, "default");
    this.#declarations.push({ start: declaration.start, end: declaration.end, name, exportName: "default" });
  }
  #readDeclaration(statement) {
    if ((statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration") && statement.id) {
      this.#declarations.push({
        start: statement.start,
        end: statement.end,
        name: statement.id.name,
        exportName: null,
      });
    }
    if (statement.type !== "VariableDeclaration") return;
    for (const { id, init } of statement.declarations) {
      const form = (0, import_forms_ts_1.importFormOf)(init);
      if (form) this.#bindImport(id, form);
      else if (init && id.type === "Identifier") {
        this.#declarations.push({ start: init.start, end: init.end, name: id.name, exportName: null });
      }
    }
  }
  #bindImport(target, form) {
    if (target.type === "Identifier") this.imports.set(target.name, form);
    if (target.type !== "ObjectPattern" || form.via === "create-require") return;
    for (const property of target.properties) {
      if (property.type !== "Property" || property.value.type !== "Identifier") continue;
      const key = (0, syntax_ts_1.literalKey)(property.key, property.computed);
      if (key !== undefined) this.imports.set(property.value.name, { ...form, path: [...form.path, key] });
    }
  }
  /** `dep = __toESM(dep)` after `let dep = require("./dep")`. */
  #readAssignment(expression) {
    if (expression.type !== "AssignmentExpression" || expression.left.type !== "Identifier") return;
    const known = this.imports.get(expression.left.name);
    const applied = known && (0, import_forms_ts_1.interopAppliedTo)(expression.left.name, expression.right);
    if (known && applied) this.imports.set(expression.left.name, { ...known, ...applied });
  }
  /** `Object.defineProperty(exports, "name", { get() { return local } })`, or a helper of that shape. */
  #readViteExport(expression, text) {
    if (expression.type !== "CallExpression") return;
    const callee = text.slice(expression.callee.start, expression.callee.end);
    if (!/(?:_exportName__|defineProperty)$/.test(callee)) return;
    const exported = expression.arguments.find((argument) => argument.type === "Literal");
    const local = /(?:return|=>)\s*([\w$]+)/.exec(text.slice(expression.start, expression.end))?.[1];
    if (local && exported?.type === "Literal") this.#export(local, String(exported.value));
  }
}
exports.ModuleTable = ModuleTable;
function parse(text, isModule) {
  if (isModule) return (0, syntax_ts_1.parseProgram)(text, "module");
  try {
    return (0, syntax_ts_1.parseProgram)(text, "script");
  } catch {
    return (0, syntax_ts_1.parseProgram)(text, "module"); // what a debugger calls a script may be a module that a loader compiled by other means
  }
}
function startsStrict(body) {
  const first = body[0];
  return first?.type === "ExpressionStatement" && first.directive === "use strict";
}
function moduleName(node) {
  return node.type === "Identifier" ? node.name : String(node.value);
}
function declaredNames(declaration) {
  if (declaration.type === "VariableDeclaration") return declaration.declarations.flatMap(({ id }) => (0, syntax_ts_1.namesOfPattern)(id));
  const named = declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration";
  return named && declaration.id ? [declaration.id.name] : [];
}
/** Descends through the wrapper functions that loaders put around a file. */
function findTopLevel(program, top, textLength) {
  const level = { body: program.body, scopes: new Set([top]), isVite: false };
  const expressions = program.body.flatMap((statement) => (statement.type === "ExpressionStatement" ? [statement.expression] : []));
  const vite = expressions.find(isViteWrapper);
  if (vite && (0, syntax_ts_1.isFunctionNode)(vite)) {
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
  const jest = first?.type === "Property" ? first.value : undefined;
  const isJest = jest?.type === "FunctionExpression" && firstParameter(jest) === "module";
  const revived = expressions[0];
  const isRevived = revived?.type === "FunctionExpression" && firstParameter(revived) === exports.REVIVED_TEXT_MARK;
  if (isJest) enterFunction(level, jest, top);
  else if (isRevived) enterFunction(level, revived, top);
  // The only immediately called function that spans a good part of the file: tsx's CommonJS output, esbuild's iife format.
  const called = expressions.flatMap((expression) =>
    expression.type === "CallExpression" && (0, syntax_ts_1.isFunctionNode)(expression.callee) ? [expression] : [],
  );
  const [iife] = called;
  if (iife && called.length === 1 && iife.end - iife.start > textLength / 4) {
    enterFunction(level, iife.callee, top);
  }
  return level;
}
function enterFunction(level, wrapper, top) {
  if (!(0, syntax_ts_1.isFunctionNode)(wrapper)) return;
  const scope = top.children.find((child) => child.start === wrapper.start);
  if (scope) level.scopes.add(scope);
  if (wrapper.body.type === "BlockStatement") level.body = wrapper.body.body;
}
function isViteWrapper(expression) {
  if (!(0, syntax_ts_1.isFunctionNode)(expression) || !expression.async) return false;
  return expression.params.some((parameter) => parameter.type === "Identifier" && (0, import_forms_ts_1.isViteImportMeta)(parameter.name));
}
function firstParameter(node) {
  const first = node.params[0];
  return first?.type === "Identifier" ? first.name : undefined;
}
//# sourceMappingURL=parse-module.js.map
