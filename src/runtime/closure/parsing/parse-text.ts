/**
 * Parses the text of one function or class (from `Function.prototype.toString`): its needs from the surrounding code, and the edits
 * required before it can be evaluated on a worker.
 *
 * Decides the form of the text: an expression, a method of an object, or a member of a class. For classes it also finds the parts that
 * never run again: heritage is already a value, and the results of static fields and static blocks are sent. Called by `function-facts`.
 * All ranges count from the start of the text.
 */
import { analyzeScopes, type NameUse, type OuterNeeds } from "./free-variables.ts";
import {
  type AnyNode,
  childrenOf,
  type ClassNode,
  type FunctionNode,
  isClassNode,
  isFunctionNode,
  literalKey,
  parseProgram,
} from "./syntax.ts";

export type Range = readonly [start: number, end: number];

/** How the text must be wrapped to be an expression. */
export type TextForm = "expression" | "method" | "member";

export interface ParsedText extends Readonly<OuterNeeds> {
  readonly form: TextForm;
  readonly isArrow: boolean;
  /** A `function` that is neither async nor a generator: it can be called with `new`. */
  readonly isConstructible: boolean;
  /** Key of a method or member, replaced before evaluation. */
  readonly keyRange: Range | null;
  readonly accessor: "get" | "set" | null;
  readonly class: ParsedClass | null;
  /**
   * How a call can be stopped before any of the function's code runs. `null` if parameters or a class may run code before the first
   * statement.
   */
  readonly entry: "call" | "next" | null;
}

/** A method, accessor or field of the text. The constructor and static blocks do not count. */
export interface ParsedClassMember {
  readonly kind: "method" | "get" | "set" | "field";
  readonly isStatic: boolean;
  readonly isPrivate: boolean;
  /** `null` for computed and private names. */
  readonly name: string | null;
  /** Without `static`, as `Function.prototype.toString` gives a method. */
  readonly range: Range;
  /** Range between the brackets of a name that only evaluating the class reveals. */
  readonly computedKey: { readonly range: Range; readonly expression: AnyNode } | null;
}

/** Parts of a class's text that never run again on a worker, and the places of the edits. */
export interface ClassLayout {
  readonly heritageRange: Range | null;
  /** Static fields (of private ones the initializers) and the bodies of static blocks. */
  readonly staticParts: readonly Range[];
  /** Initializers of instance fields that do more than make a value out of nothing. */
  readonly fieldInitializers: readonly Range[];
  readonly privateFields: readonly string[];
  readonly privateStaticFields: readonly string[];
  /** Any private name at all, methods included. */
  readonly hasPrivateNames: boolean;
  /** Just inside the opening brace of the constructor. */
  readonly constructorBodyStart: number | null;
  /** Just before the closing brace of the class. */
  readonly bodyEnd: number;
}

export interface ParsedClass {
  readonly layout: ClassLayout;
  /** The class's own name in the text. */
  readonly nameRange: Range | null;
  /** Private fields, methods or accessors of instances: only a constructor can put these on an object. */
  readonly hasInstancePrivates: boolean;
  readonly members: readonly ParsedClassMember[];
}

const WRAPPERS: readonly { form: TextForm; prefix: string; suffix: string }[] = [
  { form: "expression", prefix: "(", suffix: "\n)" },
  { form: "method", prefix: "({", suffix: "\n})" },
  { form: "member", prefix: "(class{", suffix: "\n})" },
];

/** Initializers that neither read a name nor call anything. */
const INERT_INITIALIZERS: ReadonlySet<string> = new Set(["Literal", "ArrowFunctionExpression", "FunctionExpression", "ClassExpression"]);

/** `null` when V8's text is not a function or class that this can take apart. */
export function parseText(text: string): ParsedText | null {
  for (const { form, prefix, suffix } of WRAPPERS) {
    let expression: AnyNode;
    try {
      const statement = parseProgram(prefix + text + suffix, "script").body[0];
      if (statement?.type !== "ExpressionStatement") continue;
      expression = statement.expression;
    } catch {
      continue;
    }
    if (form === "expression") {
      if (isFunctionNode(expression) || isClassNode(expression)) {
        return describe({ text, form, node: expression, member: null, offset: prefix.length });
      }
      continue;
    }
    const member = soleMember(expression);
    if (member) return describe({ text, form, node: member.value, member, offset: prefix.length });
  }
  return null;
}

type MemberNode = Extract<AnyNode, { type: "Property" | "MethodDefinition" }>;

function soleMember(expression: AnyNode): MemberNode | null {
  const member = expression.type === "ObjectExpression" ? expression.properties[0] : undefined;
  if (member?.type === "Property") return member;
  const classMember = expression.type === "ClassExpression" ? expression.body.body[0] : undefined;
  return classMember?.type === "MethodDefinition" ? classMember : null;
}

interface TextParts {
  readonly text: string;
  readonly form: TextForm;
  readonly node: AnyNode;
  readonly member: MemberNode | null;
  /** Where the text starts in the parsed wrapper. */
  readonly offset: number;
}

function describe(parts: TextParts): ParsedText {
  const { text, form, node, member, offset } = parts;
  const { needs } = analyzeScopes(node, { skipStaticParts: true });
  const isClass = isClassNode(node);
  return {
    ...needs,
    form,
    isArrow: node.type === "ArrowFunctionExpression",
    isConstructible: form === "expression" && node.type === "FunctionExpression" && !node.async && !node.generator,
    usesOuterThis: needs.usesOuterThis && !isClass,
    free: new Map(Array.from(needs.free, ([name, use]) => [name, { ...use, uses: use.uses.map((at) => moved(at, offset)) }])),
    importMeta: needs.importMeta.map(([start, end]) => [start - offset, end - offset] as const),
    keyRange: member ? keyRangeOf(text, member, offset) : null,
    accessor: member && (member.kind === "get" || member.kind === "set") ? member.kind : null,
    class: isClass ? describeClass(node, { text, offset }) : null,
    entry: isFunctionNode(node) ? entryOf(node) : null,
  };
}

function moved(use: NameUse, offset: number): NameUse {
  return { ...use, start: use.start - offset, end: use.end - offset };
}

function entryOf(node: FunctionNode): ParsedText["entry"] {
  const isPlain = node.params.every(
    (parameter) => parameter.type === "Identifier" || (parameter.type === "RestElement" && parameter.argument.type === "Identifier"),
  );
  // A class has no breakable position before its static initializers, so they would run before the next statement.
  if (!isPlain || evaluatesClass(node.body)) return null;
  return node.generator ? "next" : "call";
}

/** Whether the code itself contains a class, outside of inner functions. */
function evaluatesClass(node: AnyNode): boolean {
  const pending: AnyNode[] = [node];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (isClassNode(at)) return true;
    if (!isFunctionNode(at)) pending.push(...childrenOf(at));
  }
  return false;
}

function keyRangeOf(text: string, member: MemberNode, offset: number): Range {
  const start = member.key.start - offset;
  const end = text.indexOf("(", member.key.end - offset);
  return [member.computed ? text.lastIndexOf("[", start) : start, end];
}

interface ClassContext {
  readonly text: string;
  readonly offset: number;
}

function describeClass(node: ClassNode, { text, offset }: ClassContext): ParsedClass {
  const at = (position: number): number => position - offset;
  const rangeOf = ({ start, end }: AnyNode): Range => [at(start), at(end)];
  const staticParts: Range[] = [];
  const fieldInitializers: Range[] = [];
  const privateFields: string[] = [];
  const privateStaticFields: string[] = [];
  const members: ParsedClassMember[] = [];
  let hasPrivateNames = false;
  let hasInstancePrivates = false;
  let constructorBodyStart: number | null = null;
  for (const member of node.body.body) {
    if (member.type === "StaticBlock") {
      staticParts.push([at(member.body[0]?.start ?? member.end - 1), at(member.end) - 1]);
      continue;
    }
    const isPrivate = member.key.type === "PrivateIdentifier";
    hasPrivateNames ||= isPrivate;
    hasInstancePrivates ||= isPrivate && !member.static;
    if (member.type === "MethodDefinition" && member.kind === "constructor") {
      constructorBodyStart = at(member.value.body.start) + 1;
      continue;
    }
    members.push(describeMember(member, { text, offset }));
    if (member.type === "MethodDefinition") continue;
    if (member.key.type === "PrivateIdentifier") {
      (member.static ? privateStaticFields : privateFields).push(`#${member.key.name}`);
    }
    if (member.static && !isPrivate) {
      staticParts.push(rangeOf(member));
    } else if (member.value && member.static) {
      // The value's range excludes the parentheses around it.
      const end = at(member.end) - (text[at(member.end) - 1] === ";" ? 1 : 0);
      staticParts.push([text.lastIndexOf("=", at(member.value.start)), end]);
    } else if (member.value && !INERT_INITIALIZERS.has(member.value.type)) {
      fieldInitializers.push(rangeOf(member.value));
    }
  }
  const layout: ClassLayout = {
    heritageRange: node.superClass ? rangeOf(node.superClass) : null,
    staticParts,
    fieldInitializers,
    privateFields,
    privateStaticFields,
    hasPrivateNames,
    constructorBodyStart,
    bodyEnd: at(node.body.end) - 1,
  };
  return { layout, nameRange: node.id ? rangeOf(node.id) : null, hasInstancePrivates, members };
}

const STATIC_KEYWORD = /^static(?:\s|\/\*[\s\S]*?\*\/|\/\/.*)*/;

function describeMember(
  member: Exclude<ClassNode["body"]["body"][number], { type: "StaticBlock" }>,
  { text, offset }: ClassContext,
): ParsedClassMember {
  const isPrivate = member.key.type === "PrivateIdentifier";
  const name = isPrivate ? null : (literalKey(member.key, member.computed) ?? null);
  const [start, end] = [member.start - offset, member.end - offset];
  // V8 leaves the word out of a method that is called `static`, too.
  const startsStatic = member.static || (name === "static" && member.type === "MethodDefinition" && member.kind === "method");
  const keyword = startsStatic ? (STATIC_KEYWORD.exec(text.slice(start, end))?.[0].length ?? 0) : 0;
  const kind = member.type !== "MethodDefinition" ? "field" : member.kind === "get" || member.kind === "set" ? member.kind : "method";
  const isComputed = member.computed && name === null;
  return {
    kind,
    isStatic: member.static,
    isPrivate,
    name,
    range: [start + keyword, end],
    computedKey: isComputed ? { range: [member.key.start - offset, member.key.end - offset], expression: member.key } : null,
  };
}
