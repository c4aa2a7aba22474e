/**
 * Objects that are not plain data: class instances, errors, subclasses of built-ins, objects with accessors, symbols or functions inside.
 *
 * Refuses values that cannot leave the process (sockets, promises, generators, instances of Node's own classes that hold a resource), and
 * records the rest as own properties, a prototype, and private fields. Constructors never run. Called by `capture-value`.
 */
import { types } from "node:util";
import { factsOf } from "./function-facts.ts";
import type { GraphBuilder, Step } from "./graph-builder.ts";
import {
  ACCESSOR,
  CONFIGURABLE,
  ENUMERABLE,
  NO_REF,
  type ObjectBase,
  type ObjectNode,
  type Property,
  type Ref,
  WRITABLE,
} from "../graph.ts";
import { identityOf } from "../values/identity.ts";
import { internalsOf, liveValue } from "../scripts/hidden-parts.ts";
import { globalPathOf, isObjectLike, tryRead } from "../values/known-values.ts";
import { originalOfTwin } from "../values/twin-table.ts";

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const INDEX = /^(?:0|[1-9]\d*)$/;

export function propertyLabel(key: string | symbol): string {
  if (typeof key === "symbol") return `[${String(key)}]`;
  if (INDEX.test(key)) return `[${key}]`;
  return IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** The own properties of an object, with their attributes. */
export function captureProperties(
  graph: GraphBuilder,
  target: object,
  { step, skip }: { step: Step; skip?: (key: string | symbol) => boolean },
): Property[] {
  const properties: Property[] = [];
  for (const key of Reflect.ownKeys(target)) {
    if (skip?.(key)) continue;
    const descriptor = Object.getOwnPropertyDescriptor(target, key);
    if (!descriptor) continue;
    const at: Step = { parent: step, label: propertyLabel(key), holder: target };
    const name = typeof key === "symbol" ? graph.refer(key, at) : key;
    const flags = (descriptor.enumerable ? ENUMERABLE : 0) | (descriptor.configurable ? CONFIGURABLE : 0);
    if ("value" in descriptor) {
      properties.push([name, flags | (descriptor.writable ? WRITABLE : 0), graph.refer(descriptor.value, at)]);
    } else if (key === "stack" && types.isNativeError(target)) {
      // The engine's accessor computes it from frames that exist only here.
      properties.push([name, CONFIGURABLE | WRITABLE, graph.refer(target.stack, at)]);
    } else {
      const getter = descriptor.get ? graph.refer(descriptor.get, at) : NO_REF;
      const setter = descriptor.set ? graph.refer(descriptor.set, at) : NO_REF;
      properties.push([name, flags | ACCESSOR, getter, setter]);
    }
  }
  return properties;
}

/** Returns the node of a prototype object, through the class if the prototype has one. */
export function referPrototype(graph: GraphBuilder, prototype: object, step: Step): Ref {
  const known = graph.knownRef(prototype);
  if (known !== undefined) return known;
  const original = originalOfTwin(prototype);
  const constructor: unknown = original ?? Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  const isOwner = typeof constructor === "function" && (original !== undefined || constructor.prototype === prototype);
  if (!isOwner) return graph.refer(prototype, step);
  const node = { kind: "prototype" as const, of: -1 };
  const ref = graph.add(prototype, node);
  node.of = graph.refer(constructor, step);
  return ref;
}

export function captureObject(graph: GraphBuilder, value: object, step: Step): Ref {
  const className =
    tryRead(() => (Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null)?.constructor?.name) || "Object";
  refuseProcessBound(graph, value, { step, className });
  if (types.isWeakMap(value) || types.isWeakSet(value)) return captureWeakCollection(graph, value);
  const base = baseOf(value);
  if (base === "Object") {
    const url = refuseNodeClasses(graph, value, { step, className });
    if (url !== null) return graph.add(value, { kind: "url", href: url });
  }
  const node: ObjectNode = { kind: "object", base, properties: [] };
  graph.later(() => fillObject(graph, { value, node, step, className }));
  return graph.add(value, node);
}

interface Named {
  readonly step: Step;
  readonly className: string;
}

function tiedTo(className: string): string {
  return `${/^[AEIOU]/.test(className) ? "An" : "A"} ${className} is tied to this process`;
}

function refuseProcessBound(graph: GraphBuilder, value: object, { step, className }: Named): void {
  if (types.isPromise(value)) {
    graph.fail(step, { what: "(Promise) cannot be sent", hint: "Await it first, or pass an ObjectRef." });
  }
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (types.isSharedArrayBuffer(buffer)) {
    graph.fail(step, {
      what: "(SharedArrayBuffer) cannot be sent",
      hint: "Its memory belongs to this process: copy it into an ordinary buffer.",
    });
  }
  if (types.isArrayBuffer(buffer) && buffer.detached) {
    graph.fail(step, {
      what: `(${className}) cannot be sent: its buffer was transferred away`,
      hint: "Send it before the transfer, or a copy.",
    });
  }
  if (types.isSymbolObject(value))
    graph.fail(step, { what: "(Symbol object) cannot be sent", hint: "Send the symbol itself: `value.valueOf()`." });
  if (types.isGeneratorObject(value) || types.isExternal(value) || value instanceof WeakRef) {
    graph.fail(step, { what: `(${className}) cannot be sent`, tied: tiedTo(className) });
  }
  if (types.isMapIterator(value) || types.isSetIterator(value)) {
    graph.fail(step, { what: "(iterator) cannot be sent", hint: "Spread it into an array first." });
  }
}

/** Node's own classes whose instances are nothing but data and listeners. */
const DATA_CLASSES: ReadonlySet<string> = new Set(["Object", "EventEmitter", "EventTarget", "Iterator"]);

/** Refuses instances of Node's and the engine's own classes. Returns the text of a URL, which is the exception. */
function refuseNodeClasses(graph: GraphBuilder, value: object, { step, className }: Named): string | null {
  let prototype = Object.getPrototypeOf(value) as object | null;
  for (; prototype && prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype) as object | null) {
    const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor !== "function" || constructor.prototype !== prototype) continue;
    const facts = factsOf(constructor);
    const isInternal = facts.isNative || facts.place()?.script.isInternal === true;
    if (!isInternal || DATA_CLASSES.has(constructor.name)) continue;
    if (constructor.name === "URL" && value instanceof URL) return value.href;
    const derived = constructor.name === className ? className : `${className} extends ${constructor.name}`;
    graph.fail(step, {
      what: `(${derived}) cannot be sent`,
      tied: tiedTo(constructor.name),
    });
  }
  return null;
}

function captureWeakCollection(graph: GraphBuilder, collection: WeakMap<object, unknown> | WeakSet<object>): Ref {
  const entries: Ref[] = [];
  graph.weakCollections.push({ collection, entries, seen: new Set() });
  const kind = types.isWeakMap(collection) ? "weakMap" : "weakSet";
  return graph.add(collection, { kind, identity: identityOf(collection), entries });
}

/** Weak collections have no list of their keys: they get the entries of the values that were captured anyway. */
export function captureWeakEntries(graph: GraphBuilder): boolean {
  let found = false;
  // The walk also visits values that `refer` adds on the way.
  for (const value of graph.capturedValues()) {
    if (!isObjectLike(value)) continue;
    for (const { collection, entries, seen } of graph.weakCollections) {
      if (seen.has(value) || !collection.has(value)) continue;
      seen.add(value);
      found = true;
      const step: Step = { parent: null, label: "weak collection" };
      entries.push(graph.refer(value, step));
      if (collection instanceof WeakMap) entries.push(graph.refer(collection.get(value), { parent: step, label: "value" }));
    }
  }
  return found;
}

function baseOf(value: object): ObjectBase {
  if (Array.isArray(value)) return "Array";
  if (types.isMap(value)) return "Map";
  if (types.isSet(value)) return "Set";
  if (types.isNativeError(value)) return "Error";
  if (types.isDate(value)) return "Date";
  if (types.isRegExp(value)) return "RegExp";
  if (ArrayBuffer.isView(value) || types.isArrayBuffer(value) || types.isBoxedPrimitive(value)) return "data";
  return "Object";
}

interface ObjectJob extends Named {
  readonly value: object;
  readonly node: ObjectNode;
}

function fillObject(graph: GraphBuilder, { value, node, step, className }: ObjectJob): void {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null) node.prototype = NO_REF;
  else if (!isOwnPrototype(prototype, node.base)) {
    node.prototype = referPrototype(graph, prototype, { parent: step, label: `class ${className}` });
  }
  if (types.isMap(value)) {
    node.entries = [];
    for (const [key, member] of Map.prototype.entries.call(value) as Iterable<[unknown, unknown]>) {
      node.entries.push(graph.refer(key, { parent: step, label: "key" }));
      node.entries.push(graph.refer(member, { parent: step, label: () => `.get(${describeKey(key)})`, holder: value }));
    }
  }
  if (types.isSet(value)) {
    node.entries = [...(Set.prototype.values.call(value) as Iterable<unknown>)].map((member) =>
      graph.refer(member, { parent: step, label: "element" }),
    );
  }
  if (types.isDate(value)) node.data = value.getTime();
  if (types.isRegExp(value)) node.data = [value.source, value.flags, value.lastIndex];
  if (Array.isArray(value)) node.length = value.length;
  if (node.base === "data") node.data = withoutSubclass(value);
  node.properties = captureProperties(graph, value, { step, skip: (key) => isOfBase(key, node.base, value) });
  if (node.base !== "data" && !Object.isExtensible(value)) node.isClosed = true;
  if (hasPrivateState(value)) {
    node.privateFields = internalsOf(value)
      .privateFields.filter((field) => field.value !== undefined)
      .map(({ name, value: remote }) => [name, graph.refer(liveValue(remote), { parent: step, label: `.${name}`, holder: value })]);
  }
}

function isOwnPrototype(prototype: object, base: ObjectBase): boolean {
  return base !== "data" && globalPathOf(prototype) === `${base}.prototype`;
}

/** Properties that every instance of the base has. */
function isOfBase(key: string | symbol, base: ObjectBase, value: object): boolean {
  if (base === "Array") return key === "length";
  if (base === "RegExp") return key === "lastIndex";
  if (base !== "data" || typeof key === "symbol") return false;
  return INDEX.test(key) || (key === "length" && types.isStringObject(value));
}

/** The bytes of a view, or the primitive of a box, as the codec carries it; the subclass is restored by the prototype. */
function withoutSubclass(value: object): unknown {
  if (types.isBoxedPrimitive(value)) return Object((value as { valueOf(): unknown }).valueOf());
  return structuredClone(value);
}

/** Whether some class of the object's chain puts private members on its instances. */
function hasPrivateState(value: object): boolean {
  for (let prototype: object | null = Object.getPrototypeOf(value); prototype; prototype = Object.getPrototypeOf(prototype)) {
    const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor === "function" && factsOf(constructor).hasInstancePrivates) return true;
  }
  return false;
}

function describeKey(key: unknown): string {
  if (typeof key === "string") return JSON.stringify(key.slice(0, 20));
  return typeof key === "object" && key !== null ? "{…}" : String(key);
}
