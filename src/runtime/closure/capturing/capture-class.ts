/**
 * Captures classes by value: text, heritage, static state, and additions to the prototype.
 *
 * Keeps parts of a class from running again on the worker. Heritage is already a value, computed names become their results, and static
 * initializers and blocks are blanked while their results travel. Changes by decorators travel as the difference from the text. A class
 * keeps one identity everywhere. Called by `capture-function`.
 */
import { captureProperties, propertyLabel, referPrototype } from "./capture-object.ts";
import { captureVariables } from "./capture-variables.ts";
import {
  type ClassMembers,
  classMembers,
  isAsWritten,
  isFunctionPrototype,
  type MemberState,
  membersInText,
  removedKeys,
} from "../parsing/class-members.ts";
import { type AnyFunction, ancestorsOf, factsOf } from "./function-facts.ts";
import type { FunctionJob, GraphBuilder, Step } from "./graph-builder.ts";
import { type ClassNode, type ClassSide, NO_REF, type Ref } from "../graph.ts";
import { identityOf } from "../values/identity.ts";
import { internalsOf, liveValue } from "../scripts/hidden-parts.ts";
import type { ParsedClass, ParsedClassMember } from "../parsing/parse-text.ts";

export function captureClass(graph: GraphBuilder, job: FunctionJob, parsed: ParsedClass): Ref {
  const { target, code } = job;
  const members = membersInText({ ...job, parsed });
  const node: ClassNode = {
    kind: "class",
    code,
    identity: identityOf(target),
    heritage: null,
    ...parsed.layout,
    constructsBlank: ancestorsOf(target).some((at) => factsOf(at).hasInstancePrivates),
    members: classMembers(parsed, (index) => keyNode(graph, job, { index, parsed, members })),
    statics: { properties: [], removed: [] },
    prototype: { properties: [], removed: [] },
    privateStatics: [],
  };
  const ref = graph.add(target, node);
  const prototype = target.prototype as object;
  if (graph.knownRef(prototype) === undefined) graph.add(prototype, { kind: "prototype", of: ref });
  graph.later(() => fillClass(graph, job, { node, parsed, members }));
  return ref;
}

interface Filling {
  readonly node: ClassNode;
  readonly parsed: ParsedClass;
  readonly members: ClassMembers;
}

function keyNode(
  graph: GraphBuilder,
  { step, place, facts }: FunctionJob,
  { index, parsed, members }: Omit<Filling, "node"> & { index: number },
): Ref {
  const key = members.keys[index];
  const { kind, range, computedKey } = parsed.members[index] as ParsedClassMember;
  if (key !== undefined) return graph.refer(key, step);
  if (kind !== "field") return NO_REF;
  const text = computedKey ? facts.text.slice(...computedKey.range) : "";
  return graph.fail(step, {
    what: `has the field [${text}] (${place.describe(range[0])}), whose computed name cannot be read off the class`,
    hint:
      "Write the name out, take it from a const that a function of the same file uses, too, " +
      "or move the class to a module of its own that exports it, so that it is imported by reference.",
  });
}

function fillClass(graph: GraphBuilder, job: FunctionJob, { node, parsed, members }: Filling): void {
  const { target, step } = job;
  const { heritageRange, privateStaticFields } = parsed.layout;
  const parent = Object.getPrototypeOf(target) as object;
  const isBase = isFunctionPrototype(parent);
  if (heritageRange) node.heritage = isBase ? NO_REF : graph.refer(parent, { parent: step, label: "extends" });
  else if (!isBase) node.statics.parent = graph.refer(parent, { parent: step, label: "extends" });
  captureVariables(graph, job);
  const prototype = target.prototype as object;
  const above = Object.getPrototypeOf(prototype) as object | null;
  const inherited = !heritageRange ? undefined : isBase ? null : (parent as AnyFunction).prototype;
  if (above === null ? inherited !== null : inherited === undefined ? !isObjectPrototype(above) : above !== inherited) {
    node.prototype.parent = above === null ? NO_REF : referPrototype(graph, above, { parent: step, label: "prototype" });
  }
  const side = { graph, members: parsed.members, known: members, step };
  fillSide(node.statics, target, { ...side, isStatic: true });
  fillSide(node.prototype, prototype, { ...side, isStatic: false });
  if (privateStaticFields.length === 0) return;
  for (const field of internalsOf(target).privateFields) {
    if (!field.value || !privateStaticFields.includes(field.name)) continue;
    const at: Step = { parent: step, label: `static ${propertyLabel(field.name)}` };
    node.privateStatics.push([field.name, graph.refer(liveValue(field.value), at)]);
  }
}

interface SideJob extends MemberState {
  readonly graph: GraphBuilder;
  readonly step: Step;
}

/**
 * Records how a class or prototype differs from its text: members that decorators or later statements added, replaced, removed or closed.
 */
function fillSide(side: ClassSide, owner: object, { graph, step, ...state }: SideJob): void {
  side.properties = captureProperties(graph, owner, {
    step: { parent: step, label: state.isStatic ? "static" : "prototype", holder: owner },
    skip: (key) => isOfEveryClass(owner, key, state.isStatic) || isAsWritten(owner, key, state),
  });
  side.removed = removedKeys(owner, state).map((key) => (typeof key === "string" ? key : graph.refer(key, step)));
  if (!Object.isExtensible(owner)) side.isClosed = true;
}

/** Whether the language gives this property to every class, and the class does not define its own under that name. */
function isOfEveryClass(owner: object, key: string | symbol, isStatic: boolean): boolean {
  if (key === "prototype") return isStatic;
  if (key !== (isStatic ? "length" : "constructor") && !(isStatic && key === "name")) return false;
  const { value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(owner, key) as PropertyDescriptor;
  if (!isStatic) return !enumerable && configurable === true && (value as { prototype?: unknown } | null)?.prototype === owner;
  return typeof value === (key === "name" ? "string" : "number") && !writable && !enumerable && configurable === true;
}

function isObjectPrototype(value: object): boolean {
  return value === Object.prototype || (Object.getPrototypeOf(value) === null && Object.hasOwn(value, "__lookupGetter__"));
}
