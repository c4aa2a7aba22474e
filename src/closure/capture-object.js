"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.propertyLabel = propertyLabel;
exports.captureProperties = captureProperties;
exports.referPrototype = referPrototype;
exports.captureObject = captureObject;
exports.captureWeakEntries = captureWeakEntries;
/**
 * Objects that are not plain data: class instances, errors, subclasses of built-ins, objects with accessors, symbols or functions inside.
 *
 * Decides what cannot leave the process at all (sockets, promises, generators, anything made by a class of Node's own that holds a
 * resource) and records the rest as own properties, a prototype, and private fields. Constructors never run. Called by `capture-value`.
 */
const node_util_1 = require("node:util");
const function_facts_ts_1 = require("./function-facts.js");
const graph_ts_1 = require("./graph.js");
const identity_ts_1 = require("./identity.js");
const inspector_session_ts_1 = require("./inspector-session.js");
const known_values_ts_1 = require("./known-values.js");
const twin_table_ts_1 = require("./twin-table.js");
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const INDEX = /^(?:0|[1-9]\d*)$/;
function propertyLabel(key) {
  if (typeof key === "symbol") return `[${String(key)}]`;
  if (INDEX.test(key)) return `[${key}]`;
  return IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
/** The own properties of an object, with their attributes. */
function captureProperties(graph, target, { step, skip }) {
  const properties = [];
  for (const key of Reflect.ownKeys(target)) {
    if (skip?.(key)) continue;
    const descriptor = Object.getOwnPropertyDescriptor(target, key);
    if (!descriptor) continue;
    const at = { parent: step, label: propertyLabel(key), holder: target };
    const name = typeof key === "symbol" ? graph.refer(key, at) : key;
    const flags = (descriptor.enumerable ? graph_ts_1.ENUMERABLE : 0) | (descriptor.configurable ? graph_ts_1.CONFIGURABLE : 0);
    if ("value" in descriptor) {
      properties.push([name, flags | (descriptor.writable ? graph_ts_1.WRITABLE : 0), graph.refer(descriptor.value, at)]);
    } else if (key === "stack" && node_util_1.types.isNativeError(target)) {
      // An accessor of the engine's own, computed from frames that exist here only.
      properties.push([name, graph_ts_1.CONFIGURABLE | graph_ts_1.WRITABLE, graph.refer(target.stack, at)]);
    } else {
      const getter = descriptor.get ? graph.refer(descriptor.get, at) : graph_ts_1.NO_REF;
      const setter = descriptor.set ? graph.refer(descriptor.set, at) : graph_ts_1.NO_REF;
      properties.push([name, flags | graph_ts_1.ACCESSOR, getter, setter]);
    }
  }
  return properties;
}
/** The node of a prototype object: of its class where it has one. */
function referPrototype(graph, prototype, step) {
  const known = graph.knownRef(prototype);
  if (known !== undefined) return known;
  const original = (0, twin_table_ts_1.originalOfTwin)(prototype);
  const constructor = original ?? Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  const isOwner = typeof constructor === "function" && (original !== undefined || constructor.prototype === prototype);
  if (!isOwner) return graph.refer(prototype, step);
  const node = { kind: "prototype", of: -1 };
  const ref = graph.add(prototype, node);
  node.of = graph.refer(constructor, step);
  return ref;
}
function captureObject(graph, value, step) {
  const className = (0, known_values_ts_1.tryRead)(() => Object.getPrototypeOf(value)?.constructor?.name) || "Object";
  refuseProcessBound(graph, value, { step, className });
  if (node_util_1.types.isWeakMap(value) || node_util_1.types.isWeakSet(value)) return captureWeakCollection(graph, value);
  const base = baseOf(value);
  if (base === "Object") {
    const url = refuseNodeClasses(graph, value, { step, className });
    if (url !== null) return graph.add(value, { kind: "url", href: url });
  }
  const node = { kind: "object", base, properties: [] };
  graph.later(() => fillObject(graph, { value, node, step, className }));
  return graph.add(value, node);
}
const CREATE_INSIDE = "Create it inside the function, or pass plain data.";
function refuseProcessBound(graph, value, { step, className }) {
  if (node_util_1.types.isPromise(value)) {
    graph.fail(step, { what: "(Promise) cannot be sent", hint: "Await it first, or pass an ObjectRef." });
  }
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (node_util_1.types.isSharedArrayBuffer(buffer)) {
    graph.fail(step, {
      what: "(SharedArrayBuffer) cannot be sent",
      hint: "Its memory belongs to this process: copy it into an ordinary buffer.",
    });
  }
  if (node_util_1.types.isGeneratorObject(value) || node_util_1.types.isExternal(value) || value instanceof WeakRef) {
    graph.fail(step, { what: `(${className}) cannot be sent`, hint: CREATE_INSIDE });
  }
  if (node_util_1.types.isMapIterator(value) || node_util_1.types.isSetIterator(value)) {
    graph.fail(step, { what: "(iterator) cannot be sent", hint: "Spread it into an array first." });
  }
}
/** Classes of Node's own whose instances are nothing but data and listeners. */
const DATA_CLASSES = new Set(["Object", "EventEmitter", "EventTarget", "Iterator"]);
/** Refuses instances of Node's and the engine's own classes. Returns the text of a URL, which is the exception. */
function refuseNodeClasses(graph, value, { step, className }) {
  let prototype = Object.getPrototypeOf(value);
  for (; prototype && prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    const constructor = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor !== "function" || constructor.prototype !== prototype) continue;
    const facts = (0, function_facts_ts_1.factsOf)(constructor);
    const isInternal = facts.isNative || facts.place()?.script.isInternal === true;
    if (!isInternal || DATA_CLASSES.has(constructor.name)) continue;
    if (constructor.name === "URL" && value instanceof URL) return value.href;
    const derived = constructor.name === className ? className : `${className} extends ${constructor.name}`;
    graph.fail(step, {
      what: `(${derived}) cannot be sent`,
      hint: `A ${constructor.name} is tied to this process: create it inside the function (or lazily in a module that the function imports).`,
    });
  }
  return null;
}
function captureWeakCollection(graph, collection) {
  const entries = [];
  graph.weakCollections.push({ collection, entries, seen: new Set() });
  const kind = node_util_1.types.isWeakMap(collection) ? "weakMap" : "weakSet";
  return graph.add(collection, { kind, identity: (0, identity_ts_1.identityOf)(collection), entries });
}
/** Weak collections have no list of their keys: they get the entries of the values that were captured anyway. */
function captureWeakEntries(graph, captured) {
  let found = false;
  for (const value of [...captured]) {
    if (typeof value !== "object" && typeof value !== "function") continue;
    for (const { collection, entries, seen } of graph.weakCollections) {
      const key = value;
      if (value === null || seen.has(key) || !collection.has(key)) continue;
      seen.add(key);
      found = true;
      const step = { parent: null, label: "weak collection" };
      entries.push(graph.refer(key, step));
      if (collection instanceof WeakMap) entries.push(graph.refer(collection.get(key), { parent: step, label: "value" }));
    }
  }
  return found;
}
function baseOf(value) {
  if (Array.isArray(value)) return "Array";
  if (node_util_1.types.isMap(value)) return "Map";
  if (node_util_1.types.isSet(value)) return "Set";
  if (node_util_1.types.isNativeError(value)) return "Error";
  if (node_util_1.types.isDate(value)) return "Date";
  if (node_util_1.types.isRegExp(value)) return "RegExp";
  if (ArrayBuffer.isView(value) || node_util_1.types.isArrayBuffer(value) || node_util_1.types.isBoxedPrimitive(value)) return "data";
  return "Object";
}
function fillObject(graph, { value, node, step, className }) {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) node.prototype = graph_ts_1.NO_REF;
  else if (!isOwnPrototype(prototype, node.base)) {
    node.prototype = referPrototype(graph, prototype, { parent: step, label: `class ${className}` });
  }
  if (node_util_1.types.isMap(value)) {
    node.entries = [];
    for (const [key, member] of Map.prototype.entries.call(value)) {
      node.entries.push(graph.refer(key, { parent: step, label: "key" }));
      node.entries.push(graph.refer(member, { parent: step, label: () => `.get(${describeKey(key)})`, holder: value }));
    }
  }
  if (node_util_1.types.isSet(value)) {
    node.entries = [...Set.prototype.values.call(value)].map((member) => graph.refer(member, { parent: step, label: "element" }));
  }
  if (node_util_1.types.isDate(value)) node.data = value.getTime();
  if (node_util_1.types.isRegExp(value)) node.data = [value.source, value.flags, value.lastIndex];
  if (Array.isArray(value)) node.length = value.length;
  if (node.base === "data") node.data = withoutSubclass(value);
  node.properties = captureProperties(graph, value, { step, skip: (key) => isOfBase(key, node.base, value) });
  if (hasPrivateState(value)) {
    node.privateFields = (0, inspector_session_ts_1.internalsOf)(value)
      .privateFields.filter((field) => field.value !== undefined)
      .map(({ name, value: remote }) => [
        name,
        graph.refer((0, inspector_session_ts_1.liveValue)(remote), { parent: step, label: `.${name}`, holder: value }),
      ]);
  }
}
function isOwnPrototype(prototype, base) {
  return base !== "data" && (0, known_values_ts_1.globalPathOf)(prototype) === `${base}.prototype`;
}
/** Properties that come with the base itself. */
function isOfBase(key, base, value) {
  if (base === "Array") return key === "length";
  if (base === "RegExp") return key === "lastIndex";
  if (base !== "data" || typeof key === "symbol") return false;
  return INDEX.test(key) || (key === "length" && node_util_1.types.isStringObject(value));
}
/** The bytes of a view, or the primitive of a box, as the codec carries it; the subclass is restored by the prototype. */
function withoutSubclass(value) {
  if (node_util_1.types.isBoxedPrimitive(value)) return Object(value.valueOf());
  return structuredClone(value);
}
/** Whether some class of the object's chain puts private members on its instances. */
function hasPrivateState(value) {
  for (let prototype = Object.getPrototypeOf(value); prototype; prototype = Object.getPrototypeOf(prototype)) {
    const constructor = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (
      typeof constructor === "function" &&
      (0, function_facts_ts_1.factsOf)(constructor).isClass &&
      (0, function_facts_ts_1.factsOf)(constructor).parsed?.class?.hasInstancePrivates
    ) {
      return true;
    }
  }
  return false;
}
function describeKey(key) {
  if (typeof key === "string") return JSON.stringify(key.slice(0, 20));
  return typeof key === "object" && key !== null ? "{…}" : String(key);
}
//# sourceMappingURL=capture-object.js.map
