/**
 * Private members of instances: how an object gets `#fields` without running a constructor.
 *
 * There are two ways. A class revived here was given a switch that makes its constructor only install private members, and accessors that
 * set them. A class that this process had before (the program's own, or one imported by reference) has neither. Its instances come from a
 * twin: its text evaluated again with the accessors, over the same captured values, with the class itself behind it in the prototype chain.
 * `instanceof` and all instance members work; a static method of the class that reads private fields does not. Called by `revive`.
 */
import { classExpression, NAMES, surround } from "../parsing/code-edits.ts";
import { placeOf } from "../scripts/code-place.ts";
import { FileScope } from "../reviving/evaluate-text.ts";
import { type AnyFunction, ancestorsOf, type FunctionFacts, factsOf } from "../capturing/function-facts.ts";
import { SerializationError } from "../../base/errors.ts";
import { type ClassMembers, classMembers, isAsWritten, membersInText, membersOf } from "../parsing/class-members.ts";
import { type ClassNode, type Code, NO_REF } from "../graph.ts";
import { internalsOf, readVariable, releaseObjects, scopesOf } from "../scripts/hidden-parts.ts";
import type { ParsedClass } from "../parsing/parse-text.ts";
import { recordTwin } from "./twin-table.ts";

/** The way into a class that its evaluated text hands out. */
interface PrivateAccess extends PrivateDoor {
  readonly names: readonly string[];
}

/** Functions that a class's evaluated text hands to `NAMES.privates`. */
export interface PrivateDoor {
  readonly setInstance: (object: object, name: string, value: unknown) => void;
  readonly setStatic: (name: string, value: unknown) => void;
  /** Evaluates an expression where the class's private names mean something. */
  readonly evaluate: (text: string) => unknown;
}

/** While `on`, constructors of revived classes with private members do nothing but install them. */
export const blankConstruction = { on: false };

const accesses = new WeakMap<object, PrivateAccess>();
const blankClasses = new WeakSet<object>();

export function recordClass(target: object, door: PrivateDoor | undefined, { privateFields, constructsBlank }: ClassNode): void {
  if (door) accesses.set(target, { names: privateFields, ...door });
  if (constructsBlank) blankClasses.add(target);
}

/** The accessors of a class, or of the twin that stands in for it. */
export function privateAccessOf(target: AnyFunction): PrivateAccess | undefined {
  return accesses.get(target) ?? accesses.get(twinOf(target));
}

type PrivateField = readonly [name: string, value: unknown];

interface BlankObject {
  readonly object: object;
  /** Sets the private fields, base class first. */
  readonly setFields: (fields: readonly PrivateField[]) => void;
}

/** An instance with its private members installed and nothing else. `base` makes the object that a built-in ancestor would. */
export function constructBlank(target: AnyFunction, base: () => object): BlankObject {
  const built = isOpenChain(target) ? target : twinOf(target);
  const object = construct(built, base);
  for (const key of Reflect.ownKeys(object)) Reflect.deleteProperty(object, key);
  Object.setPrototypeOf(object, built.prototype as object);
  return { object, setFields: (fields) => setPrivateFields(object, { target: built, fields }) };
}

function hasInstancePrivates(target: AnyFunction): boolean {
  return factsOf(target).hasInstancePrivates;
}

/** Whether every class of the chain that has private members was revived here. */
function isOpenChain(target: AnyFunction): boolean {
  return ancestorsOf(target).every((at) => blankClasses.has(at) || !hasInstancePrivates(at));
}

function construct(target: AnyFunction, base: () => object): object {
  let topmost = target;
  for (const at of ancestorsOf(target)) if (blankClasses.has(at)) topmost = at;
  const parent = Object.getPrototypeOf(topmost) as object;
  blankConstruction.on = true;
  try {
    if (parent === Function.prototype) return Reflect.construct(target, []) as object;
    // `super()` looks up the parent when it is called, and finds one that runs nothing.
    Object.setPrototypeOf(topmost, function Blank(): object {
      return base();
    });
    return Reflect.construct(target, []) as object;
  } finally {
    blankConstruction.on = false;
    if (Object.getPrototypeOf(topmost) !== parent) Object.setPrototypeOf(topmost, parent);
  }
}

function setPrivateFields(object: object, { target, fields }: { target: AnyFunction; fields: readonly PrivateField[] }): void {
  const left = [...fields];
  for (const owner of ancestorsOf(target).reverse()) {
    const access = accesses.get(owner);
    for (const name of access?.names ?? []) {
      const at = left.findIndex(([field]) => field === name);
      if (at >= 0) access?.setInstance(object, name, (left.splice(at, 1)[0] as PrivateField)[1]);
    }
  }
}

const twins = new WeakMap<object, AnyFunction>();

function twinOf(original: AnyFunction): AnyFunction {
  let twin = twins.get(original);
  if (!twin) {
    twin = makeTwin(original);
    twins.set(original, twin);
  }
  return twin;
}

/** Twins of a class and of each ancestor up to the topmost with private members, so that overriding works as in the originals. */
function makeTwin(original: AnyFunction): AnyFunction {
  const chain = ancestorsOf(original);
  const topmost = chain.findLastIndex(hasInstancePrivates);
  let parent: unknown = chain[topmost + 1];
  for (const owner of chain.slice(0, topmost + 1).reverse()) {
    const twin = evaluateTwin(owner, parent);
    const prototype = twin.prototype as object;
    Object.defineProperty(prototype, "constructor", { value: owner, writable: true, configurable: true });
    Object.setPrototypeOf(
      prototype,
      owner === chain[topmost] ? membersAbove(owner, original) : ((parent as AnyFunction).prototype as object),
    );
    parent = twin;
  }
  releaseObjects();
  const twin = parent as AnyFunction;
  recordTwin(twin.prototype as object, original);
  return twin;
}

/**
 * Makes the prototype between the twins and the original's: copies of everything that the twins inherit. `super` in a twin finds the copies
 * before the original's overrides.
 */
function membersAbove(topmost: AnyFunction, original: AnyFunction): object {
  const members = Object.create(null) as PropertyDescriptorMap;
  let inherited = Object.getPrototypeOf(topmost.prototype) as object | null;
  for (; inherited; inherited = Object.getPrototypeOf(inherited) as object | null) {
    for (const key of Reflect.ownKeys(inherited)) {
      if (key === "constructor" || key === "__proto__") continue;
      members[key] ??= Object.getOwnPropertyDescriptor(inherited, key) as PropertyDescriptor;
    }
  }
  return Object.create(original.prototype as object, members) as object;
}

function evaluateTwin(original: AnyFunction, parent: unknown): AnyFunction {
  const facts = factsOf(original);
  const internals = internalsOf(original);
  const place = placeOf(facts, facts.place(internals));
  const { parsed } = facts;
  if (!place || !parsed?.class) throw new Error(`Cannot restore private fields: class ${original.name} has no text that can be evaluated`);
  const scopes = scopesOf(internals);
  const names: Record<string, unknown> = {};
  for (const name of parsed.free.keys()) {
    const variable = readVariable(scopes, name);
    if (variable) names[name] = variable.value;
  }
  // The class's own name, blanked in the twin's text, means the original: its statics stay in one place.
  if (parsed.class.nameRange) names[facts.text.slice(...parsed.class.nameRange)] = original;
  const scope = new FileScope(place.source);
  const { keys } = membersInText({ facts, parsed: parsed.class, scopes, place });
  const node = twinNode(facts, parsed.class, { positions: place.positions(), keys });
  let door: PrivateDoor | undefined;
  let made: AnyFunction | undefined;
  const reviverNames = {
    [NAMES.value]: (ref: number) => (ref === 0 ? parent : keys[ref - 1]),
    [NAMES.define]: (value: AnyFunction) => {
      made = value;
    },
    [NAMES.blank]: blankConstruction,
    [NAMES.privates]: (_ref: number, given: PrivateDoor) => {
      door = given;
    },
  };
  const text = surround(classExpression(node, 0), `${NAMES.define}(`, ");");
  scope.start(text, { names: { ...reviverNames, ...scope.provided, ...names }, url: scope.urlFor(text, "twin") }).next();
  const twin = made as unknown as AnyFunction;
  takeReplacedMethods(facts, twin, parsed.class);
  recordClass(twin, door, node);
  return twin;
}

/**
 * Applies decorators' replacements of the original's methods to the twin. A replaced method that reads private names cannot be taken over,
 * as it reads the original's names, which the twin's instances lack.
 */
function takeReplacedMethods({ target: original, text }: FunctionFacts, twin: AnyFunction, { members }: ParsedClass): void {
  const { prototype } = original;
  const known = membersOf(original);
  if (!known) return;
  for (const [index, { kind, isStatic, isPrivate, range }] of members.entries()) {
    const key = known.keys[index];
    if (kind === "field" || isStatic || isPrivate || key === undefined) continue;
    const descriptor = Object.getOwnPropertyDescriptor(prototype, key);
    if (isAsWritten(prototype as object, key, { members, known, isStatic })) continue;
    if (descriptor && PRIVATE_NAME.test(text.slice(...range))) {
      throw new SerializationError(
        `Cannot restore an instance of class ${original.name}: its member ${String(key)} was replaced, as by a decorator, and reads private names`,
        {
          reason: "not-serializable",
          hint: "Keep what the member reads in a field that is not private, or leave the decorator off.",
        },
      );
    }
    Object.defineProperty(twin.prototype, key, descriptor ?? { value: undefined, configurable: true });
  }
}

const PRIVATE_NAME = /#[\p{ID_Start}$_]/u;

function twinNode(
  { target, text, parsed: whole }: FunctionFacts,
  parsed: ParsedClass,
  { positions, keys }: Pick<Code, "positions"> & Pick<ClassMembers, "keys">,
): ClassNode {
  const { nameRange } = parsed;
  const anonymous = nameRange ? text.slice(0, nameRange[0]).padEnd(nameRange[1]) + text.slice(nameRange[1]) : text;
  return {
    kind: "class",
    code: {
      name: target.name,
      text: anonymous,
      form: "expression",
      importMeta: whole?.importMeta ?? [],
      keyRange: null,
      accessor: null,
      positions,
      source: 0,
      locals: [],
      context: null,
    },
    identity: "",
    heritage: parsed.layout.heritageRange ? 0 : null,
    ...parsed.layout,
    privateStaticFields: [],
    hasPrivateNames: true,
    constructsBlank: true,
    members: classMembers(parsed, (index) => (keys[index] === undefined ? NO_REF : index + 1)),
    statics: { properties: [], removed: [] },
    prototype: { properties: [], removed: [] },
    privateStatics: [],
  };
}
