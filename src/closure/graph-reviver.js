"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.GraphReviver = void 0;
const assemble_ts_1 = require("./assemble.js");
const code_edits_ts_1 = require("./code-edits.js");
const evaluation_plan_ts_1 = require("./evaluation-plan.js");
const graph_ts_1 = require("./graph.js");
const identity_ts_1 = require("./identity.js");
const known_values_ts_1 = require("./known-values.js");
const private_state_ts_1 = require("./private-state.js");
const revive_imports_ts_1 = require("./revive-imports.js");
const revived_code_ts_1 = require("./revived-code.js");
const well_known_ts_1 = require("./well-known.js");
class GraphReviver {
  #graph;
  #options;
  #values;
  #revivedSources;
  /** Work that needs every value to be there, at least begun. */
  #pending = [];
  #late = [];
  #doors = new Map();
  constructor(graph, options) {
    this.#graph = graph;
    this.#options = options;
    this.#values = new Map(options.imported);
    this.#revivedSources = graph.sources.map(({ file, format, isStrict, variables }) => ({
      file,
      format,
      isStrict,
      bindings: new Map(variables.flatMap(([name, ref]) => (isBinding(graph.nodes[ref]) ? [[name, graph.nodes[ref]]] : []))),
    }));
  }
  revive() {
    this.#adoptKnownClasses();
    this.#evaluateTexts();
    const value = this.#valueOf(this.#graph.root);
    for (const assign of this.#late) assign();
    this.#fill(this.#pending);
    return value;
  }
  #fill(pending) {
    for (let index = 0; index < pending.length; index++) pending[index]();
    pending.length = 0;
  }
  #adoptKnownClasses() {
    for (const [ref, node] of this.#graph.nodes.entries()) {
      if (node.kind !== "class" && node.kind !== "function") continue;
      const known = node.identity === undefined ? undefined : (0, identity_ts_1.knownIdentity)(node.identity);
      if (known) this.#values.set(ref, known);
    }
  }
  #evaluateTexts() {
    const plan = (0, evaluation_plan_ts_1.planEvaluation)(this.#graph, { isKnown: (ref) => this.#values.has(ref) });
    const { texts, turns } = (0, assemble_ts_1.assemble)(this.#graph, plan);
    const running = new Map();
    for (const { source, text, segments } of texts) {
      const scope = this.#options.scopes[source];
      const revived = this.#revivedSources[source];
      const url = scope.urlFor(text, JSON.stringify([...revived.bindings]));
      (0, revived_code_ts_1.recordRevivedSource)(url, revived);
      running.set(source, scope.start(text, { names: { ...this.#reviverNames(), ...this.#providedNames(source) }, url, segments }));
    }
    for (const source of turns) running.get(source)?.next();
  }
  /** What a module has in scope, less the names that captured variables take. */
  #providedNames(source) {
    const names = { ...this.#options.scopes[source].provided };
    for (const [name] of this.#graph.sources[source]?.variables ?? []) delete names[name];
    return names;
  }
  /** `value` comes first: a revived text is known by it. */
  #reviverNames() {
    return {
      [code_edits_ts_1.NAMES.value]: (ref) => this.#valueOf(ref),
      [code_edits_ts_1.NAMES.define]: (ref, target) => this.#define(ref, target),
      [code_edits_ts_1.NAMES.late]: (assign) => this.#late.push(assign),
      [code_edits_ts_1.NAMES.accessor]: (holder, kind) => Object.getOwnPropertyDescriptor(holder, "_")?.[kind],
      [code_edits_ts_1.NAMES.blank]: private_state_ts_1.blankConstruction,
      [code_edits_ts_1.NAMES.privates]: (ref, setInstance, setStatic, evaluate) => {
        const { privateFields } = this.#graph.nodes[ref];
        this.#doors.set(ref, { names: privateFields, setInstance, setStatic, evaluate });
      },
    };
  }
  /** A function or class has been evaluated: it becomes the value of its node. */
  #define(ref, target) {
    const node = this.#graph.nodes[ref];
    this.#values.set(ref, target);
    const { code } = node;
    if (typeof target.name === "string" && target.name !== code.name)
      Object.defineProperty(target, "name", { value: code.name, configurable: true });
    const self = node.kind === "function" && node.self !== undefined ? { self: { value: this.#values.get(node.self) } } : {};
    const home = node.kind === "function" && node.home !== undefined ? { home: this.#values.get(node.home) } : {};
    (0, revived_code_ts_1.recordRevivedCode)(target, {
      code,
      source: this.#revivedSources[code.source],
      localNames: this.#localNames(node),
      definition: this.#options.definition,
      ...self,
      ...home,
    });
    if (node.identity !== undefined) (0, identity_ts_1.adoptIdentity)(node.identity, target);
    if (node.kind === "class") this.#finishClass(ref, target, node);
    else this.#pending.push(() => this.#finishFunction(target, node));
    return target;
  }
  #localNames({ code }) {
    const names = new Set(code.locals.map(([name]) => name));
    for (let at = code.context; at !== null; at = this.#graph.contexts[at]?.parent ?? null) {
      for (const [name] of this.#graph.contexts[at]?.variables ?? []) names.add(name);
    }
    return names;
  }
  #finishFunction(target, node) {
    if (node.properties) this.#defineProperties(target, node.properties);
    const prototype = target.prototype;
    if (node.prototypeProperties && prototype) this.#defineProperties(prototype, node.prototypeProperties);
    if (node.prototypeParent !== undefined && prototype) Object.setPrototypeOf(prototype, this.#valueOf(node.prototypeParent));
  }
  #finishClass(ref, target, node) {
    const door = this.#doors.get(ref) ?? null;
    (0, private_state_ts_1.recordClass)(target, { door, constructsBlank: node.constructsBlank });
    this.#pending.push(() => {
      this.#defineProperties(target, node.statics);
      this.#defineProperties(target.prototype, node.prototypeProperties);
      for (const [name, value] of node.privateStatics) door?.setStatic(name, this.#valueOf(value));
    });
  }
  #valueOf(ref) {
    if (this.#values.has(ref)) return this.#values.get(ref);
    const value = this.#make(ref, this.#graph.nodes[ref]);
    if (!this.#values.has(ref)) this.#values.set(ref, value);
    return this.#values.get(ref);
  }
  #make(ref, node) {
    switch (node.kind) {
      case "data":
        return node.value;
      case "object":
        return this.#makeObject(ref, node);
      case "function":
        return this.#makeHomeFunction(ref, node);
      case "prototype":
        return this.#valueOf(node.of).prototype;
      case "require":
        return (0, revive_imports_ts_1.requireBinding)(node, this.#scope(node.source));
      case "importMeta":
        return this.#scope(node.source).provided.import_meta;
      case "dynamicImport":
        return dynamicImportOf(this.#scope(node.source), node.root);
      case "requireFunction":
        return this.#scope(node.source).require;
      case "commonJs":
        return (0, revive_imports_ts_1.commonJsExport)(node.file, node.name);
      case "builtin":
        return node.isNamespace ? namespaceOf((0, known_values_ts_1.builtinAt)(node.path)) : (0, known_values_ts_1.builtinAt)(node.path);
      case "global":
        return (0, known_values_ts_1.globalAt)(node.path);
      case "registeredSymbol":
        return Symbol.for(node.key);
      case "wellKnownSymbol":
        return Symbol[node.name];
      case "uniqueSymbol":
        return this.#identified(node.identity, () => Symbol(node.description ?? undefined));
      case "wellKnown":
        return wellKnownById(node.id);
      case "wellKnownModule":
        return Object.fromEntries(node.members.map(([name, id]) => [name, wellKnownById(id)]));
      case "reduced":
        return this.#options.hooks.revive(node.reducer, this.#complete(node.payload));
      case "bound":
        return this.#makeBound(node);
      case "proxy":
        return new Proxy(this.#valueOf(node.target), this.#valueOf(node.handler));
      case "url":
        return new URL(node.href);
      case "weakMap":
        return this.#makeWeakMap(node.identity, node.entries);
      case "weakSet":
        return this.#makeWeakSet(node.identity, node.entries);
      case "class":
      case "import":
      case "module":
      case "definition":
        throw new Error(`Cannot revive a value: node ${ref} (${node.kind}) was needed before it was there`);
    }
  }
  #scope(source) {
    return this.#options.scopes[source];
  }
  /** A hook's payload has everything in it: what it begins is filled before it is handed over. */
  #complete(payload) {
    const before = this.#pending.length;
    const value = this.#valueOf(payload);
    for (let begun = this.#pending.splice(before); begun.length > 0; begun = this.#pending.splice(before)) this.#fill(begun);
    return value;
  }
  #identified(identity, make) {
    const known = (0, identity_ts_1.knownIdentity)(identity);
    if (known) return known;
    const value = make();
    (0, identity_ts_1.adoptIdentity)(identity, value);
    return value;
  }
  #makeBound(node) {
    const target = this.#valueOf(node.target);
    const parameters = node.arguments.map((argument) => this.#valueOf(argument));
    return target.bind(this.#valueOf(node.self), ...parameters);
  }
  #makeWeakMap(identity, entries) {
    const map = this.#identified(identity, () => new WeakMap());
    this.#pending.push(() => {
      for (let index = 0; index < entries.length; index += 2) {
        map.set(this.#valueOf(entries[index]), this.#valueOf(entries[index + 1]));
      }
    });
    return map;
  }
  #makeWeakSet(identity, entries) {
    const set = this.#identified(identity, () => new WeakSet());
    this.#pending.push(() => {
      for (const entry of entries) set.add(this.#valueOf(entry));
    });
    return set;
  }
  /** A function that uses private names is evaluated inside its class; what else it captures is handed in. */
  #makeHomeFunction(ref, node) {
    const { code } = node;
    const home = this.#valueOf(node.home);
    const door = (0, private_state_ts_1.doorOf)(home);
    if (!door) throw new Error(`Cannot revive function ${code.name}: class ${home.name} gives no access to its private names`);
    const variables = new Map(
      [...(this.#graph.sources[code.source]?.variables ?? []), ...code.locals].map(([name, value]) => [name, value]),
    );
    let expression = (0, code_edits_ts_1.functionExpression)(code);
    if (node.self !== undefined) expression = (0, assemble_ts_1.withSelf)(expression, node.self);
    const names = { ...this.#reviverNames(), ...this.#providedNames(code.source) };
    const parameters = [...Object.keys(names), ...variables.keys()];
    const make = door.evaluate(`(function (${parameters.join(", ")}) { return ${expression.text}; })`);
    const target = make(...Object.values(names), ...[...variables.values()].map((value) => this.#valueOf(value)));
    return this.#define(ref, target);
  }
  #makeObject(ref, node) {
    let object;
    const constructor = node.privateFields ? this.#classOf(node) : null;
    if (constructor) {
      const blank = (0, private_state_ts_1.constructBlank)(constructor, () => emptyObject(node));
      object = blank.object;
      this.#values.set(ref, object);
      this.#pending.push(() => blank.setFields((node.privateFields ?? []).map(([name, value]) => [name, this.#valueOf(value)])));
    } else {
      object = emptyObject(node);
      this.#values.set(ref, object);
    }
    this.#pending.push(() => this.#fillObject(object, node, constructor !== null));
    return object;
  }
  #classOf({ prototype }) {
    const owner = prototype === undefined || prototype < 0 ? undefined : this.#valueOf(prototype);
    return typeof owner?.constructor === "function" ? owner.constructor : null;
  }
  #fillObject(object, node, hasPrototype) {
    if (node.prototype !== undefined && !hasPrototype) {
      Object.setPrototypeOf(object, node.prototype === graph_ts_1.NO_REF ? null : this.#valueOf(node.prototype));
    }
    const entries = node.entries ?? [];
    if (node.base === "Map") {
      for (let index = 0; index < entries.length; index += 2) {
        Map.prototype.set.call(object, this.#valueOf(entries[index]), this.#valueOf(entries[index + 1]));
      }
    }
    if (node.base === "Set") for (const entry of entries) Set.prototype.add.call(object, this.#valueOf(entry));
    this.#defineProperties(object, node.properties);
  }
  #defineProperties(target, properties) {
    for (const [key, flags, valueOrGetter, setter = graph_ts_1.NO_REF] of properties) {
      const name = typeof key === "number" ? this.#valueOf(key) : key;
      const attributes = { enumerable: (flags & graph_ts_1.ENUMERABLE) !== 0, configurable: (flags & graph_ts_1.CONFIGURABLE) !== 0 };
      const descriptor = attributes;
      if (flags & graph_ts_1.ACCESSOR) {
        if (valueOrGetter !== graph_ts_1.NO_REF) descriptor.get = this.#valueOf(valueOrGetter);
        if (setter !== graph_ts_1.NO_REF) descriptor.set = this.#valueOf(setter);
      } else {
        descriptor.value = this.#valueOf(valueOrGetter);
        descriptor.writable = (flags & graph_ts_1.WRITABLE) !== 0;
      }
      Object.defineProperty(target, name, descriptor);
    }
  }
}
exports.GraphReviver = GraphReviver;
function wellKnownById(id) {
  const value = (0, well_known_ts_1.wellKnownValue)(id);
  if (value === undefined) throw new Error(`Cannot revive a value: this process has no runtime export ${id}`);
  return value;
}
function isBinding(node) {
  return (
    node?.kind === "import" ||
    node?.kind === "require" ||
    node?.kind === "importMeta" ||
    node?.kind === "dynamicImport" ||
    node?.kind === "requireFunction"
  );
}
/** What the base is when it holds nothing. */
function emptyObject({ base, data, length }) {
  switch (base) {
    case "Object":
      return {};
    case "Array":
      return new Array(length ?? 0);
    case "Map":
      return new Map();
    case "Set":
      return new Set();
    case "Error": {
      const error = new Error();
      Reflect.deleteProperty(error, "stack"); // the original's is one of its properties
      return error;
    }
    case "Date":
      return new Date(data);
    case "RegExp": {
      const [source, flags, lastIndex] = data;
      const expression = new RegExp(source, flags);
      expression.lastIndex = lastIndex;
      return expression;
    }
    case "data":
      return data;
  }
}
function namespaceOf(exports) {
  return { ...exports, default: exports };
}
/** Vite rewrites `import()` to a function of its own that takes paths from its root. */
function dynamicImportOf(scope, root) {
  return (specifier) => {
    const plain = specifier.startsWith("/@fs/") ? specifier.slice("/@fs".length) : specifier;
    if (!plain.startsWith("/")) return scope.importFrom(plain);
    const file = plain.startsWith(`${root}/`) || plain !== specifier ? plain : `${root}${plain}`;
    return scope.importFrom(`file://${encodeURI(file)}`);
  };
}
//# sourceMappingURL=graph-reviver.js.map
