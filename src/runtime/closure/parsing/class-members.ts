/**
 * Finds the methods, accessors and fields that a class's text defines: the key of each, and the functions of the methods.
 *
 * Never evaluates a computed name twice: a method's name is read off the class, and a field's is worked out from values that cannot have
 * changed. Owns the members of each class that was captured or revived here, by class and by function, so that a method replaced by a
 * decorator still counts as its class's. Called by `capture-class`, `capture-function`, `private-state` and `graph-reviver`.
 */
import { types } from "node:util";
import { type AnyFunction, factsOf } from "../capturing/function-facts.ts";
import type { FunctionJob } from "../capturing/graph-builder.ts";
import type { ClassMember, Ref } from "../graph.ts";
import { type CapturedScope, readVariable } from "../scripts/hidden-parts.ts";
import { isObjectLike, tryRead } from "../values/known-values.ts";
import type { ParsedClass, ParsedClassMember } from "./parse-text.ts";
import { revivedCodeOf } from "../reviving/revived-code.ts";
import { type AnyNode, literalKey } from "./syntax.ts";

type MemberKey = string | symbol;

/** By the index of the member in the text. */
export interface ClassMembers {
  readonly keys: (MemberKey | undefined)[];
  /** `undefined`: a field, a private method, or one that a decorator replaced and that was not met yet. */
  readonly functions: (AnyFunction | undefined)[];
}

const membersByClass = new WeakMap<object, ClassMembers>();
const ownerByFunction = new WeakMap<object, { readonly owner: AnyFunction; readonly index: number }>();

export function membersOf(owner: object): ClassMembers | undefined {
  return membersByClass.get(owner);
}

/** The class whose text contains a method, and the method's index there. */
export function ownerOf(method: object): { readonly owner: AnyFunction; readonly index: number } | undefined {
  return ownerByFunction.get(method);
}

export function recordMembers(owner: AnyFunction, members: ClassMembers): void {
  membersByClass.set(owner, members);
  for (const [index, method] of members.functions.entries()) if (method) recordMember(owner, index, method);
}

export function recordMember(owner: AnyFunction, index: number, method: AnyFunction): void {
  const { functions } = membersByClass.get(owner) ?? {};
  if (functions) functions[index] = method;
  ownerByFunction.set(method, { owner, index });
}

type MemberPart = "value" | "get" | "set";

const PART_OF_KIND: Readonly<Record<ParsedClassMember["kind"], MemberPart | null>> = {
  method: "value",
  get: "get",
  set: "set",
  field: null,
};

interface TextOfClass extends Pick<FunctionJob, "facts" | "scopes" | "place"> {
  readonly parsed: ParsedClass;
}

/** The members of a class as far as they are known: of one that was revived here they were recorded then. */
export function membersInText({ facts, parsed, scopes, place }: TextOfClass): ClassMembers {
  const { target } = facts;
  const recorded = membersByClass.get(target);
  if (recorded && revivedCodeOf(target)) return recorded;
  const found = readMembers(target, facts.text, parsed);
  const read = keysOfInstance(target, parsed);
  for (const [index, { kind, computedKey }] of parsed.members.entries()) {
    found.functions[index] ??= recorded?.functions[index];
    if (read.has(index)) found.keys[index] = read.get(index);
    else if (kind === "field" && computedKey) {
      found.keys[index] = keyOfExpression(computedKey.expression, { scopes, changesOf: (name) => place.changesOf(name) });
    } else found.keys[index] ??= recorded?.keys[index];
  }
  recordMembers(target, found);
  return found;
}

/**
 * Computed names of fields, by index, read off a new instance. Only for classes whose construction runs none of the user's code: no
 * constructor, no superclass, and only literals and functions as initial values.
 */
function keysOfInstance(
  target: AnyFunction,
  { members, layout: { heritageRange, constructorBodyStart, fieldInitializers } }: ParsedClass,
): Map<number, MemberKey> {
  const read = new Map<number, MemberKey>();
  const computed = [...members.entries()].filter(([, { kind, isStatic, computedKey }]) => kind === "field" && !isStatic && computedKey);
  if (computed.length === 0 || heritageRange || constructorBodyStart !== null || fieldInitializers.length > 0) return read;
  if (!isFunctionPrototype(Object.getPrototypeOf(target) as object)) return read;
  const spelled = new Set(members.flatMap(({ kind, isStatic, name }) => (kind === "field" && !isStatic && name !== null ? [name] : [])));
  const keys = Reflect.ownKeys(Reflect.construct(target, [], Object) as object).filter(
    (key) => typeof key === "symbol" || !spelled.has(key),
  );
  // Objects list strings before symbols, and indexes before both; several of one kind follow the order of the text.
  const isOneKind = keys.every((key) => typeof key === typeof keys[0] && (keys.length === 1 || Number.isNaN(Number(key.toString()))));
  if (keys.length !== computed.length || !isOneKind) return read;
  for (const [at, [index]] of computed.entries()) read.set(index, keys[at] as MemberKey);
  return read;
}

/** Compares by shape, since a test runner evaluates files in another realm. */
export function isFunctionPrototype(value: object): boolean {
  const above = Object.getPrototypeOf(value) as object | null;
  return above !== null && Object.getPrototypeOf(above) === null && typeof value === "function" && factsOf(value).isNative;
}

/** The form in which members travel; `nodeOf` gives the node of a computed name. Static fields are no members: their values are sent. */
export function classMembers(parsed: ParsedClass, nodeOf: (index: number) => Ref): (ClassMember | null)[] {
  return parsed.members.map(({ kind, isStatic, isPrivate, name, computedKey }, index) => {
    if (isPrivate || (kind === "field" && (isStatic || !computedKey))) return null;
    return { part: PART_OF_KIND[kind], isStatic, name: name ?? nodeOf(index), keyRange: computedKey?.range ?? null };
  });
}

/** Finds the methods from the class's text among its present members, under any key. */
function readMembers(target: AnyFunction, text: string, { members }: ParsedClass): ClassMembers {
  const found: ClassMembers = { keys: members.map(({ name }) => name ?? undefined), functions: members.map(() => undefined) };
  const byText = new Map<string, number[]>();
  for (const [index, member] of members.entries()) {
    if (member.kind === "field" || member.isPrivate) continue;
    const sameText = `${member.isStatic} ${text.slice(...member.range)}`;
    byText.set(sameText, [...(byText.get(sameText) ?? []), index]);
  }
  if (byText.size === 0) return found;
  for (const isStatic of [true, false]) {
    for (const [key, part, method] of functionsOf(isStatic ? target : (target.prototype as object))) {
      const candidates = byText
        .get(`${isStatic} ${factsOf(method).text}`)
        ?.filter((at) => PART_OF_KIND[(members[at] as ParsedClassMember).kind] === part);
      if (!candidates) continue;
      const own = candidates.find((at) => found.functions[at] === undefined || found.functions[at] === method);
      if (own === undefined) continue;
      found.functions[own] = method;
      const isNamed = nameOfKey(key, part) === method.name;
      if ((members[own] as ParsedClassMember).computedKey && (found.keys[own] === undefined || isNamed)) found.keys[own] = key;
    }
  }
  return found;
}

/** The methods and accessors that are on a class or prototype now. */
function* functionsOf(owner: object): Generator<[key: MemberKey, part: MemberPart, method: AnyFunction]> {
  for (const key of Reflect.ownKeys(owner)) {
    if (key === "constructor" || key === "prototype") continue;
    const descriptor = Object.getOwnPropertyDescriptor(owner, key);
    for (const part of ["value", "get", "set"] as const) {
      const method: unknown = descriptor?.[part];
      if (typeof method === "function") yield [key, part, method];
    }
  }
}

/** The `name` that the language gives a method. */
function nameOfKey(key: MemberKey, part: MemberPart): string {
  const name = typeof key === "string" ? key : key.description === undefined ? "" : `[${key.description}]`;
  return part === "value" ? name : `${part} ${name}`;
}

export interface MemberState {
  readonly members: readonly ParsedClassMember[];
  readonly known: ClassMembers;
  readonly isStatic: boolean;
}

/** Stands for a method that was replaced: no property holds it. */
const NOT_MET: AnyFunction = () => undefined;

/** Whether a property is exactly the one that the class's text defines. */
export function isAsWritten(owner: object, key: MemberKey, { members, known, isStatic }: MemberState): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(owner, key);
  if (!descriptor || descriptor.enumerable || !descriptor.configurable || descriptor.writable === false) return false;
  let made: Partial<Record<MemberPart, AnyFunction>> = {};
  for (const [index, member] of members.entries()) {
    const part = PART_OF_KIND[member.kind];
    if (!part || member.isStatic !== isStatic || known.keys[index] !== key) continue;
    // A method takes the place of an accessor of the same name, and the other way round.
    if (part === "value" || made.value) made = {};
    made[part] = known.functions[index] ?? NOT_MET;
  }
  if (made.value) return descriptor.value === made.value;
  return (made.get ?? made.set) !== undefined && descriptor.get === made.get && descriptor.set === made.set;
}

/** Keys that the text gives to a class or prototype and that it has no longer. */
export function removedKeys(owner: object, { members, known, isStatic }: MemberState): MemberKey[] {
  const keys = members.flatMap((member, index) => {
    const key = known.keys[index];
    return member.kind !== "field" && member.isStatic === isStatic && key !== undefined && !Object.hasOwn(owner, key) ? [key] : [];
  });
  return [...new Set(keys)];
}

interface KeyContext {
  readonly scopes: readonly CapturedScope[];
  /** How often the variable of this name is changed after its declaration. */
  readonly changesOf: (name: string) => number;
}

/** The key of a field from the expression between its brackets, or `undefined` where that might be another by now. */
function keyOfExpression(expression: AnyNode, context: KeyContext): MemberKey | undefined {
  const { value } = valueOf(expression, context) ?? {};
  if (typeof value === "symbol" || typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean" ? String(value) : undefined;
}

type Known = ReturnType<typeof readVariable>;

function valueOf(node: AnyNode, context: KeyContext): Known {
  switch (node.type) {
    case "Literal":
      return { value: node.value };
    case "Identifier":
      return context.changesOf(node.name) === 0 ? variableOf(node.name, context) : undefined;
    // A compiler's way to keep a name: `[_a = Dir.Up]`, `[(decorators = [...], "name")]`.
    case "SequenceExpression":
      return valueOf(node.expressions.at(-1) as AnyNode, context);
    case "AssignmentExpression":
      if (node.left.type !== "Identifier" || node.operator !== "=") return undefined;
      return (context.changesOf(node.left.name) === 1 ? variableOf(node.left.name, context) : undefined) ?? valueOf(node.right, context);
    case "MemberExpression":
      return memberOf(node, context);
    case "TemplateLiteral": {
      let text = node.quasis[0]?.value.cooked ?? "";
      for (const [index, part] of node.expressions.entries()) {
        const known = valueOf(part, context);
        if (!known || !isPrimitive(known.value)) return undefined;
        text += `${String(known.value)}${node.quasis[index + 1]?.value.cooked ?? ""}`;
      }
      return { value: text };
    }
    case "BinaryExpression": {
      const left = node.operator === "+" ? valueOf(node.left, context) : undefined;
      const right = left && valueOf(node.right, context);
      if (!left || !right || !isPrimitive(left.value) || !isPrimitive(right.value)) return undefined;
      return {
        value:
          typeof left.value === "number" && typeof right.value === "number"
            ? left.value + right.value
            : `${String(left.value)}${String(right.value)}`,
      };
    }
    // TypeScript's helper around decorated names.
    case "CallExpression":
      return node.callee.type === "Identifier" && node.callee.name === "__propKey" && node.arguments[0]
        ? valueOf(node.arguments[0], context)
        : undefined;
    default:
      return undefined;
  }
}

function isPrimitive(value: unknown): value is string | number | bigint | boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
}

function variableOf(name: string, { scopes }: KeyContext): Known {
  return readVariable(scopes, name) ?? (name === "Symbol" ? { value: Symbol } : undefined);
}

/** Reads a data property of a variable's value. A getter would run the user's code. */
function memberOf(node: Extract<AnyNode, { type: "MemberExpression" }>, context: KeyContext): Known {
  const holder = valueOf(node.object, context)?.value;
  if (!isObjectLike(holder)) return undefined;
  const key = node.computed ? keyOfExpression(node.property, context) : literalKey(node.property, false);
  const descriptor = key === undefined ? undefined : Object.getOwnPropertyDescriptor(holder, key);
  if (descriptor && "value" in descriptor) return { value: descriptor.value as unknown };
  // Getters of a module's exports are the loader's.
  const tag: unknown = Object.getOwnPropertyDescriptor(holder, Symbol.toStringTag)?.value;
  const isModule = types.isModuleNamespaceObject(holder) || Object.hasOwn(holder, "__esModule") || tag === "Module";
  return descriptor && isModule ? tryRead(() => ({ value: (holder as Record<MemberKey, unknown>)[key as MemberKey] })) : undefined;
}
