"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.parseProgram = parseProgram;
exports.isFunctionNode = isFunctionNode;
exports.isClassNode = isClassNode;
exports.childrenOf = childrenOf;
exports.namesOfPattern = namesOfPattern;
exports.literalKey = literalKey;
/**
 * How program text becomes a syntax tree: the parser's settings and the few questions asked of a node everywhere.
 *
 * Decides which syntax is accepted: whatever V8 already compiled, in fragments (a method alone, a private name outside its
 * class), so every check of the parser that looks beyond the fragment is off. Called by `free-variables`, `parse-text` and `parse-module`.
 */
const acorn_1 = require("acorn");
/** acorn looks for redeclarations with a search that is quadratic in the top-level names (1.0 s for 10,000); V8 has checked them. */
function withoutDeclarationChecks(base) {
  class Lenient extends base {
    declareName() {}
    checkLocalExport() {}
  }
  return Lenient;
}
const LenientParser = acorn_1.Parser.extend(withoutDeclarationChecks);
/** @throws SyntaxError when the text is not a script (or module) on its own. */
function parseProgram(text, sourceType) {
  return LenientParser.parse(text, {
    ecmaVersion: "latest",
    sourceType,
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    allowSuperOutsideMethod: true,
    allowImportExportEverywhere: true,
    allowHashBang: true,
    checkPrivateFields: false,
  });
}
function isFunctionNode(node) {
  return node?.type === "FunctionDeclaration" || node?.type === "FunctionExpression" || node?.type === "ArrowFunctionExpression";
}
function isClassNode(node) {
  return node?.type === "ClassDeclaration" || node?.type === "ClassExpression";
}
function isNode(value) {
  return typeof value === "object" && value !== null && typeof value.type === "string";
}
/** The direct children of a node, in the order of its fields. */
function childrenOf(node) {
  const children = [];
  for (const field of Object.values(node)) {
    if (Array.isArray(field)) children.push(...field.filter(isNode));
    else if (isNode(field)) children.push(field);
  }
  return children;
}
/** The names that a binding pattern declares. */
function namesOfPattern(pattern, names = []) {
  switch (pattern?.type) {
    case "Identifier":
      names.push(pattern.name);
      break;
    case "ObjectPattern":
      for (const property of pattern.properties) {
        namesOfPattern(property.type === "RestElement" ? property.argument : property.value, names);
      }
      break;
    case "ArrayPattern":
      for (const element of pattern.elements) namesOfPattern(element, names);
      break;
    case "AssignmentPattern":
      namesOfPattern(pattern.left, names);
      break;
    case "RestElement":
      namesOfPattern(pattern.argument, names);
      break;
  }
  return names;
}
/** The name of a member or property that the text spells out; `undefined` for a computed or private one. */
function literalKey(key, computed) {
  if (key.type === "Identifier" && !computed) return key.name;
  if (key.type === "Literal") return String(key.value);
  return undefined;
}
//# sourceMappingURL=syntax.js.map
