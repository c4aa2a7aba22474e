"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.isViteImportMeta = isViteImportMeta;
exports.isViteDynamicImport = isViteDynamicImport;
exports.importFormOf = importFormOf;
exports.interopAppliedTo = interopAppliedTo;
const VITE_IMPORT = /^__(?:vi|vite_ssr)_import__$|^__vi_ssr_import__$/;
const VITE_IMPORT_META = /^__(?:vi|vite_ssr)_import_meta__$/;
const VITE_DYNAMIC_IMPORT = /^__(?:vi|vite_ssr)_(?:dynamic_import|import_dynamic)__$/;
function isViteImportMeta(name) {
  return VITE_IMPORT_META.test(name);
}
function isViteDynamicImport(name) {
  return VITE_DYNAMIC_IMPORT.test(name);
}
/** The import that an initializer is, or `null`. */
function importFormOf(expression) {
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
function interopAppliedTo(name, expression) {
  if (expression.type !== "CallExpression") return null;
  const interop = interopOf(calleeName(expression));
  const [argument, mode] = expression.arguments;
  if (!interop || argument?.type !== "Identifier" || argument.name !== name) return null;
  return { interop, isNodeMode: mode !== undefined };
}
function awaitedImport(argument) {
  if (argument.type === "ImportExpression") {
    const specifier = stringLiteral(argument.source);
    return specifier === null ? null : { via: "import", specifier, path: [] };
  }
  if (argument.type !== "CallExpression" || !VITE_IMPORT.test(calleeName(argument))) return null;
  const specifier = stringLiteral(argument.arguments[0]);
  return specifier === null ? null : { via: "vite", specifier, path: [] };
}
function memberOfImport(expression) {
  const form = importFormOf(expression.object);
  if (!form) return null;
  if (!expression.computed && expression.property.type === "Identifier") {
    return { ...form, path: [...form.path, expression.property.name] };
  }
  const member = stringLiteral(expression.property);
  return member === null ? null : { ...form, path: [...form.path, member] };
}
function calledImport(expression) {
  const [argument, mode] = expression.arguments;
  const name = calleeName(expression);
  if (name === "require" && expression.callee.type === "Identifier") {
    const specifier = stringLiteral(argument);
    return specifier === null ? null : { via: "require", specifier, path: [] };
  }
  if (name === "createRequire") return { via: "create-require", specifier: "", path: [] };
  const interop = interopOf(name);
  const form = interop ? importFormOf(argument) : null;
  if (!interop || !form || form.interop) return null;
  return { ...form, interop, isNodeMode: mode !== undefined };
}
function interopOf(name) {
  if (/^__toESM|^__toModule/.test(name)) return "toEsm";
  if (/^__importStar$|interop_?[rR]equire_?[wW]ildcard/.test(name)) return "star";
  if (/^__importDefault$|interop_?[rR]equire_?[dD]efault/.test(name)) return "default";
  return null;
}
function calleeName(call) {
  const callee = call.callee;
  if (callee.type === "Identifier") return callee.name;
  if (callee.type === "SequenceExpression") return lastName(callee.expressions.at(-1));
  return lastName(callee);
}
function lastName(node) {
  if (node?.type === "Identifier") return node.name;
  if (node?.type === "MemberExpression" && node.property.type === "Identifier") return node.property.name;
  return "";
}
function stringLiteral(node) {
  return node?.type === "Literal" && typeof node.value === "string" ? node.value : null;
}
//# sourceMappingURL=import-forms.js.map
