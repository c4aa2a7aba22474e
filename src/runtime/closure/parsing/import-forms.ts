/**
 * How a compiled module spells its imports: the forms that loaders and compilers leave in the text that V8 runs.
 *
 * Decides which initializers are an import: `await import("x")`, `require("x")`, the interop wrappers of TypeScript, esbuild, tsx,
 * Rolldown, SWC and Babel around it, members of these, and Vite's `await __vite_ssr_import__("x")`. Called by `parse-module`.
 */
import { type AnyNode, literalKey } from "./syntax.ts";

/** Interop that a wrapper applies to a CommonJS module. */
export type Interop = "toEsm" | "star" | "default";

export interface ImportForm {
  /** `create-require` is the function that `createRequire(import.meta.url)` returns. */
  readonly via: "import" | "vite" | "require" | "create-require";
  readonly specifier: string;
  readonly attributes?: Readonly<Record<string, string>>;
  /** Members taken from the module: empty for its namespace. */
  readonly path: readonly string[];
  /** By an `import` statement: the name stands for the present value of the module's export. */
  readonly isLive?: true;
  readonly interop?: Interop;
  /** esbuild's second argument of `__toESM`: the importer is a real ES module, so `default` is the whole of `module.exports`. */
  readonly isNodeMode?: boolean;
}

const VITE_IMPORT = /^__(?:vi|vite_ssr)_import__$|^__vi_ssr_import__$/;
const VITE_IMPORT_META = /^__(?:vi|vite_ssr)_import_meta__$/;
const VITE_DYNAMIC_IMPORT = /^__(?:vi|vite_ssr)_(?:dynamic_import|import_dynamic)__$/;

export function isViteImportMeta(name: string): boolean {
  return VITE_IMPORT_META.test(name);
}

export function isViteDynamicImport(name: string): boolean {
  return VITE_DYNAMIC_IMPORT.test(name);
}

/** The import that an initializer is, or `null`. */
export function importFormOf(expression: AnyNode | null | undefined): ImportForm | null {
  switch (expression?.type) {
    case "AwaitExpression":
      return awaitedImport(expression.argument);
    case "MemberExpression":
      return memberOfImport(expression);
    case "CallExpression":
      return calledImport(expression);
    default:
      return null;
  }
}

/** Rolldown's second step: `name = __toESM(name)` applied to a variable that already holds a module. */
export function interopAppliedTo(name: string, expression: AnyNode): Pick<ImportForm, "interop" | "isNodeMode"> | null {
  if (expression.type !== "CallExpression") return null;
  const interop = interopOf(calleeName(expression));
  const [argument, mode] = expression.arguments;
  if (!interop || argument?.type !== "Identifier" || argument.name !== name) return null;
  return { interop, isNodeMode: mode !== undefined };
}

function awaitedImport(argument: AnyNode): ImportForm | null {
  if (argument.type === "ImportExpression") return wholeModule("import", argument.source);
  return argument.type === "CallExpression" && VITE_IMPORT.test(calleeName(argument)) ? wholeModule("vite", argument.arguments[0]) : null;
}

/** Returns the import of a literal specifier; `null` for a computed one. */
function wholeModule(via: ImportForm["via"], specifier: AnyNode | undefined): ImportForm | null {
  if (specifier?.type !== "Literal" || typeof specifier.value !== "string") return null;
  return { via, specifier: specifier.value, path: [] };
}

function memberOfImport(expression: Extract<AnyNode, { type: "MemberExpression" }>): ImportForm | null {
  const form = importFormOf(expression.object);
  const member = literalKey(expression.property, expression.computed);
  return form && member !== undefined ? { ...form, path: [...form.path, member] } : null;
}

function calledImport(expression: Extract<AnyNode, { type: "CallExpression" }>): ImportForm | null {
  const [argument, mode] = expression.arguments;
  const name = calleeName(expression);
  if (name === "require" && expression.callee.type === "Identifier") return wholeModule("require", argument);
  if (name === "createRequire") return { via: "create-require", specifier: "", path: [] };
  const interop = interopOf(name);
  const form = interop && importFormOf(argument);
  if (!form || form.interop) return null;
  return { ...form, interop, isNodeMode: mode !== undefined };
}

function interopOf(name: string): Interop | null {
  if (/^__toESM|^__toModule/.test(name)) return "toEsm";
  if (/^__importStar$|interop_?[rR]equire_?[wW]ildcard/.test(name)) return "star";
  if (/^__importDefault$|interop_?[rR]equire_?[dD]efault/.test(name)) return "default";
  return null;
}

function calleeName(call: Extract<AnyNode, { type: "CallExpression" }>): string {
  const callee = call.callee as AnyNode;
  if (callee.type === "Identifier") return callee.name;
  if (callee.type === "SequenceExpression") return lastName(callee.expressions.at(-1));
  return lastName(callee);
}

function lastName(node: AnyNode | undefined): string {
  if (node?.type === "Identifier") return node.name;
  if (node?.type === "MemberExpression" && node.property.type === "Identifier") return node.property.name;
  return "";
}
