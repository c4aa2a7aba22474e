/**
 * Finds the names that a piece of syntax uses but does not declare, and its other needs of the surrounding code: `this`, `super`, private
 * names.
 *
 * Decides scoping by the language's own rules: `var` belongs to the function, the rest to the block; parameters and the
 * function's or class's own name have scopes of their own. Called by `parse-text` for one function or class and by `parse-module` for a whole
 * script; owns the scope tree that they keep. Names inside a direct `eval` string stay unknown: that is only reported.
 */
import {
  type AnyNode,
  type ClassNode,
  childrenOf,
  declaredNames,
  type FunctionNode,
  isClassNode,
  isFunctionNode,
  namesOfPattern,
} from "./syntax.ts";

type ScopeKind = "top" | "function" | "arrow" | "functionName" | "class" | "member" | "block";

export class Scope {
  readonly parent: Scope | null;
  readonly kind: ScopeKind;
  readonly start: number;
  readonly end: number;
  readonly names = new Set<string>();
  readonly children: Scope[] = [];
  /** Names of this scope that are assigned after their declaration, by anything inside it. */
  readonly written = new Set<string>();
  /** Counts assignments to a name of this scope, or to a member of the value in it. `Name || (Name = {})` counts as the first value. */
  readonly changes = new Map<string, number>();
  /** Private names that a class scope declares. */
  readonly privateNames = new Set<string>();
  isConstructor = false;

  constructor(parent: Scope | null, kind: ScopeKind, node: { start: number; end: number }) {
    this.parent = parent;
    this.kind = kind;
    this.start = node.start;
    this.end = node.end;
    parent?.children.push(this);
  }

  /** The scope that declares `name`, looking outward from here. */
  declaring(name: string): Scope | undefined {
    for (let scope: Scope | null = this; scope; scope = scope.parent) if (scope.names.has(name)) return scope;
    return undefined;
  }

  /** The nearest scope of one of these kinds, this one included. */
  nearest(...kinds: ScopeKind[]): Scope | undefined {
    for (let scope: Scope | null = this; scope; scope = scope.parent) if (kinds.includes(scope.kind)) return scope;
    return undefined;
  }
}

/** Position of a name in the text. */
export interface NameUse {
  readonly start: number;
  readonly end: number;
  /** `{ name }`: the text is the key as well. */
  readonly isShorthand: boolean;
}

/** Needs of a piece of syntax from the surrounding code. */
export interface OuterNeeds {
  /** Undeclared names; `written` when one is assigned somewhere inside. */
  readonly free: Map<string, { written: boolean; readonly uses: NameUse[] }>;
  /** Uses `this`, `super` or `new.target` of the surrounding code. */
  usesOuterThis: boolean;
  usesOuterSuper: boolean;
  usesOuterNewTarget: boolean;
  /** A private name that no class inside declares. */
  outerPrivateName: string | null;
  hasDirectEval: boolean;
  /** Ranges of `import.meta`. */
  importMeta: (readonly [start: number, end: number])[];
}

interface ScopeAnalysis {
  readonly top: Scope;
  readonly needs: OuterNeeds;
}

interface AnalysisOptions {
  /**
   * Leave out the parts of the outermost class that never run again on the worker: heritage, computed names, static fields and static
   * blocks.
   */
  readonly skipStaticParts?: boolean;
}

export function analyzeScopes(root: AnyNode, options: AnalysisOptions = {}): ScopeAnalysis {
  return new Analyzer(root, options).run();
}

/** Declares the `var`s inside `node` at any depth, but not those of inner functions and classes. */
function declareVars(node: AnyNode, scope: Scope): void {
  if (isFunctionNode(node) || isClassNode(node)) return;
  if (isVar(node)) declare(node, scope);
  for (const child of childrenOf(node)) declareVars(child, scope);
}

function isVar(node: AnyNode): boolean {
  return node.type === "VariableDeclaration" && node.kind === "var";
}

function declare(declaration: AnyNode, scope: Scope): void {
  for (const name of declaredNames(declaration)) scope.names.add(name);
}

/** Declares the block-scoped names of a list of statements: `let`, `const`, functions, classes and imports. */
function declareLexical(statements: readonly AnyNode[], scope: Scope): void {
  for (const statement of statements) {
    const isExport = statement.type === "ExportNamedDeclaration" || statement.type === "ExportDefaultDeclaration";
    const declaration: AnyNode | null | undefined = isExport ? statement.declaration : statement;
    if (declaration && !isVar(declaration)) declare(declaration, scope);
  }
}

class Analyzer {
  readonly #root: AnyNode;
  readonly #options: AnalysisOptions;
  readonly #top: Scope;
  readonly #needs: OuterNeeds = {
    free: new Map(),
    usesOuterThis: false,
    usesOuterSuper: false,
    usesOuterNewTarget: false,
    outerPrivateName: null,
    hasDirectEval: false,
    importMeta: [],
  };
  readonly #references: { readonly name: string; readonly scope: Scope; readonly isWrite: boolean; readonly use: NameUse }[] = [];
  readonly #shorthands = new Set<AnyNode>();
  readonly #changes: { readonly name: string; readonly scope: Scope }[] = [];
  /** Targets of assignments that only happen where the variable holds nothing yet: how compilers write enums and namespaces. */
  readonly #firstAssignments = new Set<AnyNode>();

  constructor(root: AnyNode, options: AnalysisOptions) {
    this.#root = root;
    this.#options = options;
    this.#top = new Scope(null, "top", root);
  }

  run(): ScopeAnalysis {
    const { free } = this.#needs;
    if (this.#root.type === "Program") this.#visitBody(this.#root.body, this.#top);
    else this.#visit(this.#root, this.#top);
    for (const { name, scope, isWrite, use } of this.#references) {
      const declaring = scope.declaring(name);
      if (declaring) {
        if (isWrite) declaring.written.add(name);
      } else {
        const known = free.get(name) ?? { written: false, uses: [] };
        known.written ||= isWrite;
        known.uses.push(use);
        free.set(name, known);
      }
    }
    for (const { name, scope } of this.#changes) {
      const declaring = scope.declaring(name);
      declaring?.changes.set(name, (declaring.changes.get(name) ?? 0) + 1);
    }
    return { top: this.#top, needs: this.#needs };
  }

  #refer(node: Extract<AnyNode, { type: "Identifier" }>, scope: Scope, isWrite: boolean): void {
    if (node.name === "arguments" && scope.nearest("function")) return;
    if (isWrite && !this.#firstAssignments.has(node)) this.#changes.push({ name: node.name, scope });
    const { start, end } = node;
    this.#references.push({ name: node.name, scope, isWrite, use: { start, end, isShorthand: this.#shorthands.has(node) } });
  }

  /** `{ name }`, and `{ name = 1 }` of a pattern. */
  #noteShorthand(value: AnyNode): void {
    this.#shorthands.add(value.type === "AssignmentPattern" ? value.left : value);
  }

  #visitAll(nodes: readonly AnyNode[], scope: Scope): void {
    for (const node of nodes) this.#visit(node, scope);
  }

  /** The body of a block. */
  #visitBlock(statements: readonly AnyNode[], scope: Scope): void {
    declareLexical(statements, scope);
    this.#visitAll(statements, scope);
  }

  /** The body of a script, a function or a static block, to which the `var`s inside belong. */
  #visitBody(statements: readonly AnyNode[], scope: Scope): void {
    for (const statement of statements) declareVars(statement, scope);
    this.#visitBlock(statements, scope);
  }

  /** Default values and computed keys of a pattern, and its targets too where it assigns instead of declaring. */
  #visitPattern(pattern: AnyNode | null, scope: Scope, assigns: boolean): void {
    switch (pattern?.type) {
      case undefined:
        return;
      case "Identifier":
        if (assigns) this.#refer(pattern, scope, true);
        return;
      case "ObjectPattern":
        for (const property of pattern.properties) {
          if (property.type === "RestElement") {
            this.#visitPattern(property.argument, scope, assigns);
          } else {
            if (property.computed) this.#visit(property.key, scope);
            if (property.shorthand) this.#noteShorthand(property.value);
            this.#visitPattern(property.value, scope, assigns);
          }
        }
        return;
      case "ArrayPattern":
        for (const element of pattern.elements) this.#visitPattern(element, scope, assigns);
        return;
      case "AssignmentPattern":
        this.#visitPattern(pattern.left, scope, assigns);
        this.#visit(pattern.right, scope);
        return;
      case "RestElement":
        this.#visitPattern(pattern.argument, scope, assigns);
        return;
      default:
        if (assigns) this.#noteMemberChange(pattern as AnyNode, scope);
        this.#visit(pattern as AnyNode, scope);
    }
  }

  #noteMemberChange(target: AnyNode, scope: Scope): void {
    let at = target;
    while (at.type === "MemberExpression") at = at.object;
    if (at !== target && at.type === "Identifier") this.#changes.push({ name: at.name, scope });
  }

  #noteFirstAssignments({ left, right }: { left: AnyNode; right: AnyNode }): void {
    if (left.type !== "Identifier") return;
    for (let at = right; at.type === "AssignmentExpression"; at = at.right) {
      if (at.left.type === "Identifier" && at.left.name === left.name) this.#firstAssignments.add(at.left);
    }
  }

  #visitFunction(node: FunctionNode, outer: Scope, isConstructor: boolean): void {
    let parent = outer;
    if (node.type === "FunctionExpression" && node.id) {
      parent = new Scope(outer, "functionName", node);
      parent.names.add(node.id.name);
    }
    const scope = new Scope(parent, node.type === "ArrowFunctionExpression" ? "arrow" : "function", node);
    scope.isConstructor = isConstructor;
    for (const parameter of node.params) for (const name of namesOfPattern(parameter)) scope.names.add(name);
    for (const parameter of node.params) this.#visitPattern(parameter, scope, false);
    if (node.body.type === "BlockStatement") this.#visitBody(node.body.body, scope);
    else this.#visit(node.body, scope);
  }

  #visitClass(node: ClassNode, outer: Scope): void {
    const scope = new Scope(outer, "class", node);
    if (node.id) scope.names.add(node.id.name);
    const skipStatic = this.#options.skipStaticParts === true && node === this.#root;
    for (const member of node.body.body) {
      if (member.type !== "StaticBlock" && member.key.type === "PrivateIdentifier") {
        scope.privateNames.add(member.key.name);
      }
    }
    if (node.superClass && !skipStatic) this.#visit(node.superClass, scope);
    for (const member of node.body.body) {
      if (member.type === "StaticBlock") {
        if (!skipStatic) this.#visitBody(member.body, new Scope(scope, "member", member));
        continue;
      }
      if (member.computed && !skipStatic) this.#visit(member.key, scope);
      if (member.type === "MethodDefinition") {
        this.#visitFunction(member.value, scope, member.kind === "constructor");
      } else if (member.value && !(member.static && skipStatic)) {
        this.#visit(member.value, new Scope(scope, "member", member));
      }
    }
  }

  #visitLoop(node: Extract<AnyNode, { type: "ForStatement" | "ForInStatement" | "ForOfStatement" }>, outer: Scope): void {
    const scope = new Scope(outer, "block", node);
    const head = node.type === "ForStatement" ? node.init : node.left;
    if (head?.type === "VariableDeclaration") declareLexical([head], scope);
    if (head) {
      if (node.type !== "ForStatement" && head.type !== "VariableDeclaration") this.#visitPattern(head, scope, true);
      else this.#visit(head, scope);
    }
    const rest = node.type === "ForStatement" ? [node.test, node.update, node.body] : [node.right, node.body];
    for (const part of rest) if (part) this.#visit(part, scope);
  }

  // oxlint-disable-next-line max-lines-per-function -- one flat table of kinds of node, a few lines each
  #visit(node: AnyNode, scope: Scope): void {
    const needs = this.#needs;
    switch (node.type) {
      case "Identifier":
        this.#refer(node, scope, false);
        return;
      case "ThisExpression":
        if (!scope.nearest("function", "member")) needs.usesOuterThis = true;
        return;
      case "Super":
        if (!scope.nearest("class")) needs.usesOuterSuper = true;
        return;
      case "PrivateIdentifier":
        for (let outer: Scope | null = scope; outer; outer = outer.parent) {
          if (outer.privateNames.has(node.name)) return;
        }
        needs.outerPrivateName = `#${node.name}`;
        return;
      case "MetaProperty":
        if (node.meta.name === "import") needs.importMeta.push([node.start, node.end]);
        else if (!scope.nearest("function", "member")) needs.usesOuterNewTarget = true;
        return;
      case "MemberExpression":
        this.#visit(node.object, scope);
        if (node.computed || node.property.type === "PrivateIdentifier") this.#visit(node.property, scope);
        return;
      case "Property":
        if (node.computed) this.#visit(node.key, scope);
        if (node.shorthand) this.#noteShorthand(node.value);
        this.#visit(node.value, scope);
        return;
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        this.#visitFunction(node, scope, false);
        return;
      case "ClassDeclaration":
      case "ClassExpression":
        this.#visitClass(node, scope);
        return;
      case "LabeledStatement":
        this.#visit(node.body, scope);
        return;
      case "BreakStatement":
      case "ContinueStatement":
      case "ImportDeclaration":
      case "ExportAllDeclaration":
        return;
      case "BlockStatement":
        this.#visitBlock(node.body, new Scope(scope, "block", node));
        return;
      case "SwitchStatement": {
        this.#visit(node.discriminant, scope);
        const block = new Scope(scope, "block", node);
        for (const branch of node.cases) declareLexical(branch.consequent, block);
        for (const branch of node.cases) {
          if (branch.test) this.#visit(branch.test, block);
          this.#visitAll(branch.consequent, block);
        }
        return;
      }
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement":
        this.#visitLoop(node, scope);
        return;
      case "CatchClause": {
        const block = new Scope(scope, "block", node);
        for (const name of namesOfPattern(node.param)) block.names.add(name);
        if (node.param) this.#visitPattern(node.param, block, false);
        this.#visit(node.body, block);
        return;
      }
      case "VariableDeclaration":
        for (const declaration of node.declarations) {
          this.#visitPattern(declaration.id, scope, false);
          if (declaration.init) this.#visit(declaration.init, scope);
        }
        return;
      case "AssignmentExpression":
        this.#visitPattern(node.left, scope, true);
        this.#visit(node.right, scope);
        return;
      case "UpdateExpression":
        this.#visitPattern(node.argument, scope, true);
        return;
      case "UnaryExpression":
        if (node.operator === "delete") this.#noteMemberChange(node.argument, scope);
        break;
      case "LogicalExpression":
        this.#noteFirstAssignments(node);
        break;
      case "ExportNamedDeclaration":
      case "ExportDefaultDeclaration":
        if (node.declaration) this.#visit(node.declaration, scope);
        return;
      case "CallExpression":
        if (node.callee.type === "Identifier" && node.callee.name === "eval") needs.hasDirectEval = true;
        break;
    }
    this.#visitAll(childrenOf(node), scope);
  }
}
