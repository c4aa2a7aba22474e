/**
 * Parses program text into a syntax tree, and has the common queries of nodes.
 *
 * Decides which syntax is accepted: whatever V8 already compiled, in fragments (a method alone, a private name outside its
 * class), so every check of the parser that looks beyond the fragment is off. Called by `free-variables`, `parse-text` and `parse-module`.
 */
import type { AnyNode, Parser, Program } from "acorn";
import { parserPackage } from "./parsing-packages.ts";

export type { AnyNode, Program } from "acorn";

interface ParserInternals {
  declareName(): void;
  checkLocalExport(): void;
  get allowNewDotTarget(): boolean;
}

/** acorn looks for redeclarations with a search that is quadratic in the top-level names (1.0 s for 10,000); V8 has checked them. */
function withoutDeclarationChecks(base: typeof Parser): typeof Parser {
  class Lenient extends (base as unknown as new (...parameters: unknown[]) => ParserInternals) {
    override declareName(): void {}
    override checkLocalExport(): void {}
    /** An arrow function may use the `new.target` of the surrounding code. */
    override get allowNewDotTarget(): boolean {
      return true;
    }
  }
  return Lenient as unknown as typeof Parser;
}

let lenientParser: typeof Parser | undefined;

/** @throws SyntaxError when the text is not a complete script (or module). */
export function parseProgram(text: string, sourceType: "script" | "module"): Program {
  lenientParser ??= parserPackage().Parser.extend(withoutDeclarationChecks);
  return lenientParser.parse(text, {
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

export type FunctionNode = Extract<AnyNode, { type: "FunctionDeclaration" | "FunctionExpression" | "ArrowFunctionExpression" }>;
export type ClassNode = Extract<AnyNode, { type: "ClassDeclaration" | "ClassExpression" }>;

export function isFunctionNode(node: AnyNode | null | undefined): node is FunctionNode {
  return node?.type === "FunctionDeclaration" || node?.type === "FunctionExpression" || node?.type === "ArrowFunctionExpression";
}

export function isClassNode(node: AnyNode | null | undefined): node is ClassNode {
  return node?.type === "ClassDeclaration" || node?.type === "ClassExpression";
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

/** Returns the direct children of a node, in field order. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = [];
  for (const field of Object.values(node)) {
    if (Array.isArray(field)) children.push(...field.filter(isNode));
    else if (isNode(field)) children.push(field);
  }
  return children;
}

/** The names that a binding pattern declares. */
export function namesOfPattern(pattern: AnyNode | null | undefined, names: string[] = []): string[] {
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

/** Returns the names that a declaration or an import declares; other nodes have none. */
export function declaredNames(node: AnyNode): string[] {
  switch (node.type) {
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }) => namesOfPattern(id));
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return node.id ? [node.id.name] : [];
    case "ImportDeclaration":
      return node.specifiers.map(({ local }) => local.name);
    default:
      return [];
  }
}

/** The name of a member or property that the text spells out; `undefined` for a computed or private one. */
export function literalKey(key: AnyNode, computed: boolean): string | undefined {
  if (key.type === "Identifier" && !computed) return key.name;
  if (key.type === "Literal") return String(key.value);
  return undefined;
}
