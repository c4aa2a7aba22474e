/**
 * The synchronous part of reviving one graph: evaluates its texts, makes its objects, fills them.
 *
 * Owns the values of the nodes during revival and decides how each kind of node becomes a value. `evaluation-plan` orders the code and
 * `assemble` writes its text. Called by `revive`.
 */
import type { DecodeHooks } from "../../wire/value/decode.ts";
import { assemble } from "./assemble.ts";
import { type ClassMembers, membersOf, recordMembers } from "../parsing/class-members.ts";
import { functionExpression, NAMES, placeholderKey } from "../parsing/code-edits.ts";
import type { FileScope, TextGenerator } from "./evaluate-text.ts";
import { EvaluationPlan } from "./evaluation-plan.ts";
import type { AnyFunction } from "../capturing/function-facts.ts";
import {
  ACCESSOR,
  type ClassNode,
  type ClassSide,
  CONFIGURABLE,
  ENUMERABLE,
  type FunctionNode,
  type Graph,
  type MemberName,
  NO_REF,
  type Node,
  type ObjectNode,
  type Property,
  type Ref,
  WRITABLE,
} from "../graph.ts";
import { adoptIdentity, knownIdentity } from "../values/identity.ts";
import { builtinAt, globalAt } from "../values/known-values.ts";
import { loadedUrl } from "../scripts/loaded-file.ts";
import { recordCollections, type WeakCollection } from "../values/lowered-privates.ts";
import { blankConstruction, constructBlank, privateAccessOf, type PrivateDoor, recordClass } from "../values/private-state.ts";
import { commonJsExport, describeRoot, importInside, requireBinding } from "./revive-imports.ts";
import { recordRevivedCode, recordRevivedSource, type RevivedSource } from "./revived-code.ts";
import { wellKnownValue } from "../values/well-known.ts";

interface GraphReviverOptions {
  readonly scopes: readonly FileScope[];
  /** Values of the nodes that had to be waited for. */
  readonly imported: ReadonlyMap<Ref, unknown>;
  readonly hooks: DecodeHooks;
  readonly definition: string | null;
  readonly onClass: ((target: object) => void) | undefined;
}

export class GraphReviver {
  readonly #graph: Graph;
  readonly #options: GraphReviverOptions;
  readonly #values: Map<Ref, unknown>;
  readonly #revivedSources: RevivedSource[];
  /** Work that needs every value to be there, at least begun. */
  readonly #pending: (() => void)[] = [];
  readonly #late: (() => void)[] = [];
  /** Values to close against further properties once their own are set. */
  readonly #closed: object[] = [];
  readonly #privateDoors = new Map<Ref, PrivateDoor>();

  constructor(graph: Graph, options: GraphReviverOptions) {
    this.#graph = graph;
    this.#options = options;
    this.#values = new Map(options.imported);
    this.#revivedSources = graph.sources.map(({ variables, ...place }) => {
      const bindings = variables.flatMap(([name, ref]) => {
        const node = graph.nodes[ref];
        return node && "source" in node ? [[name, node] as const] : [];
      });
      return { ...place, bindings: new Map(bindings) };
    });
  }

  revive(): unknown {
    this.#adoptKnownClasses();
    this.#evaluateTexts();
    const value = this.#valueOf(this.#graph.root);
    this.#addWeakEntries();
    for (const assign of this.#late) assign();
    this.#fill(this.#pending);
    for (const object of this.#closed) Object.preventExtensions(object);
    return value;
  }

  /**
   * Adds entries for new objects to weak collections whose classes this process already had, such as lowered private fields of an instance.
   */
  #addWeakEntries(): void {
    for (const [ref, node] of this.#graph.nodes.entries()) {
      if ((node.kind === "weakMap" || node.kind === "weakSet") && knownIdentity(node.identity)) this.#valueOf(ref);
    }
  }

  #fill(pending: (() => void)[]): void {
    for (let index = 0; index < pending.length; index++) (pending[index] as () => void)();
    pending.length = 0;
  }

  #adoptKnownClasses(): void {
    for (const [ref, node] of this.#graph.nodes.entries()) {
      if (node.kind !== "class" && node.kind !== "function") continue;
      const known = node.identity === undefined ? undefined : knownIdentity(node.identity);
      if (known) this.#values.set(ref, known);
    }
  }

  #evaluateTexts(): void {
    const { texts, turns } = assemble(this.#graph, new EvaluationPlan(this.#graph, (ref) => this.#values.has(ref)));
    const running = new Map<number, TextGenerator>();
    for (const [source, text] of texts) {
      const scope = this.#scope(source);
      const revived = this.#revivedSources[source] as RevivedSource;
      const url = scope.urlFor(text, JSON.stringify([...revived.bindings]));
      recordRevivedSource(url, revived);
      running.set(source, scope.start(text, { names: this.#namesFor(source), url }));
    }
    for (const source of turns) running.get(source)?.next();
  }

  /**
   * Names in scope of a revived text: the way to this reviver, then the module's names that no captured variable hides. `value` comes
   * first, since it marks a text as revived.
   */
  #namesFor(source: number): Record<string, unknown> {
    const provided = { ...this.#scope(source).provided };
    for (const [name] of this.#graph.sources[source]?.variables ?? []) delete provided[name];
    return {
      [NAMES.value]: (ref: Ref) => this.#valueOf(ref),
      [NAMES.define]: (ref: Ref, target: AnyFunction) => this.#define(ref, target),
      [NAMES.late]: (assign: () => void) => this.#late.push(assign),
      [NAMES.accessor]: (holder: object, kind: "get" | "set") => Object.getOwnPropertyDescriptor(holder, "_")?.[kind],
      [NAMES.blank]: blankConstruction,
      [NAMES.privates]: (ref: Ref, door: PrivateDoor) => this.#privateDoors.set(ref, door),
      ...provided,
    };
  }

  /** Gives an evaluated function or class to its node as the value. */
  #define(ref: Ref, target: AnyFunction): AnyFunction {
    const node = this.#graph.nodes[ref] as FunctionNode | ClassNode;
    this.#values.set(ref, target);
    const { code } = node;
    const ownName = Object.getOwnPropertyDescriptor(target, "name");
    if (ownName && "value" in ownName && typeof ownName.value === "string" && ownName.value !== code.name)
      Object.defineProperty(target, "name", { value: code.name, configurable: true });
    const self = node.kind === "function" && node.self !== undefined ? { self: { value: this.#values.get(node.self) } } : {};
    const home = node.kind === "function" && node.home !== undefined ? { home: this.#values.get(node.home) as AnyFunction } : {};
    recordRevivedCode(target, {
      code,
      source: this.#revivedSources[code.source] as RevivedSource,
      localNames: this.#localNames(node),
      definition: this.#options.definition,
      ...self,
      ...home,
    });
    if (node.identity !== undefined) {
      adoptIdentity(node.identity, target);
      this.#options.onClass?.(target);
    }
    if (node.kind === "class") this.#finishClass(ref, target, node);
    else this.#pending.push(() => this.#finishFunction(target, node));
    return target;
  }

  #localNames({ code }: FunctionNode | ClassNode): Set<string> {
    const names = new Set(code.locals.map(([name]) => name));
    for (let at = code.context; at !== null; at = this.#graph.contexts[at]?.parent ?? null) {
      for (const [name] of this.#graph.contexts[at]?.variables ?? []) names.add(name);
    }
    return names;
  }

  #finishFunction(target: AnyFunction, node: FunctionNode): void {
    if (node.properties) this.#defineProperties(target, node.properties);
    const prototype = target.prototype as object | undefined;
    if (node.prototypeProperties && prototype) this.#defineProperties(prototype, node.prototypeProperties);
    if (node.prototypeParent !== undefined && prototype) Object.setPrototypeOf(prototype, this.#valueOf(node.prototypeParent) as object);
  }

  #finishClass(ref: Ref, target: AnyFunction, node: ClassNode): void {
    const door = this.#privateDoors.get(ref);
    recordClass(target, door, node);
    recordMembers(target, this.#takeMembers(target, node));
    this.#pending.push(() => {
      this.#finishSide(target, node.statics);
      this.#finishSide(target.prototype as object, node.prototype);
      for (const [name, value] of node.privateStatics) door?.setStatic(name, this.#valueOf(value));
    });
  }

  /** Takes the members as the text made them, before later changes are applied. */
  #takeMembers(target: AnyFunction, { members }: ClassNode): ClassMembers {
    const taken: ClassMembers = { keys: members.map(() => undefined), functions: members.map(() => undefined) };
    for (const [index, member] of members.entries()) {
      if (!member) continue;
      const isGone = member.name === NO_REF;
      const key = isGone ? placeholderKey(index) : this.#key(member.name);
      if (!isGone) taken.keys[index] = key;
      if (member.part === null) continue;
      const owner = member.isStatic ? target : (target.prototype as object);
      const made: unknown = Object.getOwnPropertyDescriptor(owner, key)?.[member.part];
      if (isGone) Reflect.deleteProperty(owner, key);
      if (typeof made !== "function") continue;
      const earlier = taken.functions.indexOf(made);
      if (earlier >= 0) taken.functions[earlier] = undefined; // of two members of one name the last one counts
      taken.functions[index] = made;
    }
    return taken;
  }

  #key(name: MemberName): string | symbol {
    return typeof name === "string" ? name : (this.#valueOf(name) as string | symbol);
  }

  #finishSide(owner: object, { properties, removed, parent, isClosed }: ClassSide): void {
    for (const name of removed) Reflect.deleteProperty(owner, this.#key(name));
    if (parent !== undefined) Object.setPrototypeOf(owner, parent === NO_REF ? null : (this.#valueOf(parent) as object));
    this.#defineProperties(owner, properties);
    if (isClosed) this.#closed.push(owner);
  }

  #memberOf({ of, index, name }: Extract<Node, { kind: "member" }>): AnyFunction {
    const owner = this.#valueOf(of) as AnyFunction;
    const method = membersOf(owner)?.functions[index];
    if (!method) throw new Error(`Cannot revive method ${name}: class ${owner.name} of this process does not have it`);
    if (method.name !== name) Object.defineProperty(method, "name", { value: name, configurable: true });
    return method;
  }

  #valueOf(ref: Ref): unknown {
    if (this.#values.has(ref)) return this.#values.get(ref);
    const value = this.#make(ref, this.#graph.nodes[ref] as Node);
    if (!this.#values.has(ref)) this.#values.set(ref, value);
    return this.#values.get(ref);
  }

  #make(ref: Ref, node: Node): unknown {
    switch (node.kind) {
      case "data":
        return node.value;
      case "object":
        return this.#makeObject(ref, node);
      case "function":
        return this.#makeHomeFunction(ref, node);
      case "prototype":
        return (this.#valueOf(node.of) as AnyFunction).prototype;
      case "member":
        return this.#memberOf(node);
      case "require":
        return requireBinding(node, this.#scope(node.source), describeRoot(this.#graph));
      case "importMeta":
        return { ...(this.#scope(node.source).provided.import_meta as object), ...(node.env ? { env: node.env } : {}) };
      case "dynamicImport":
        return dynamicImportOf(this.#scope(node.source), node.root);
      case "requireFunction":
        return this.#scope(node.source).require;
      case "commonJs":
        return commonJsExport(node.file, node.name);
      case "builtin":
        return node.isNamespace ? namespaceOf(builtinAt(node.path)) : builtinAt(node.path);
      case "global":
        return globalAt(node.path);
      case "registeredSymbol":
        return Symbol.for(node.key);
      case "wellKnownSymbol":
        return (Symbol as unknown as Record<string, unknown>)[node.name];
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
        return new Proxy(this.#valueOf(node.target) as object, this.#valueOf(node.handler) as ProxyHandler<object>);
      case "url":
        return new URL(node.href);
      case "weakMap":
      case "weakSet":
        return this.#makeWeakCollection(node);
      case "class":
      case "import":
      case "module":
      case "definition":
        throw new Error(`Cannot revive a value: node ${ref} (${node.kind}) was needed before it was there`);
    }
  }

  #scope(source: number): FileScope {
    return this.#options.scopes[source] as FileScope;
  }

  /** Fills everything inside a hook's payload before the hook gets it. */
  #complete(payload: Ref): unknown {
    const before = this.#pending.length;
    const value = this.#valueOf(payload);
    for (let begun = this.#pending.splice(before); begun.length > 0; begun = this.#pending.splice(before)) this.#fill(begun);
    return value;
  }

  #identified<Value extends WeakKey>(identity: string, make: () => Value): Value {
    const known = knownIdentity(identity);
    if (known) return known as Value;
    const value = make();
    adoptIdentity(identity, value);
    return value;
  }

  #makeBound(node: Extract<Node, { kind: "bound" }>): unknown {
    const target = this.#valueOf(node.target) as (...parameters: unknown[]) => unknown;
    const parameters = node.arguments.map((argument) => this.#valueOf(argument));
    return target.bind(this.#valueOf(node.self), ...parameters);
  }

  #makeWeakCollection({ kind, identity, entries }: Extract<Node, { kind: "weakMap" | "weakSet" }>): WeakCollection {
    const collection = this.#identified<WeakCollection>(identity, () => (kind === "weakMap" ? new WeakMap() : new WeakSet()));
    if (this.#options.definition !== null) recordCollections(this.#options.definition, [collection]);
    this.#pending.push(() => {
      if (kind === "weakMap")
        for (const [key, value] of this.#pairs(entries)) (collection as WeakMap<object, unknown>).set(key as object, value);
      else for (const entry of entries) (collection as WeakSet<object>).add(this.#valueOf(entry) as object);
    });
    return collection;
  }

  /** Keys and values, which alternate. */
  *#pairs(entries: readonly Ref[]): Generator<[key: unknown, value: unknown]> {
    for (let index = 0; index < entries.length; index += 2) {
      yield [this.#valueOf(entries[index] as Ref), this.#valueOf(entries[index + 1] as Ref)];
    }
  }

  /** A function that uses private names is evaluated inside its class; its other captures are handed in later. */
  #makeHomeFunction(ref: Ref, node: FunctionNode): unknown {
    const { code } = node;
    const home = this.#valueOf(node.home as Ref) as AnyFunction;
    const access = privateAccessOf(home);
    if (!access) throw new Error(`Cannot revive function ${code.name}: class ${home.name} gives no access to its private names`);
    const variables = new Map(
      [...(this.#graph.sources[code.source]?.variables ?? []), ...code.locals].map(([name, value]) => [name, value]),
    );
    const names = this.#namesFor(code.source);
    const assigns = [...variables.keys()].map((name, index) => `${name} = $shoal_values[${index}];`).join(" ");
    const declared = variables.size > 0 ? `let ${[...variables.keys()].join(", ")}; ` : "";
    const make = access.evaluate(
      `(function (${Object.keys(names).join(", ")}) { ${declared}return [${functionExpression(node).text}, ($shoal_values) => { ${assigns} }]; })`,
    ) as (...values: unknown[]) => [target: AnyFunction, assign: (values: unknown[]) => void];
    const [target, assign] = make(...Object.values(names));
    // Captures may need this very function, so they are assigned afterwards.
    this.#pending.push(() => assign([...variables.values()].map((value) => this.#valueOf(value))));
    return this.#define(ref, target);
  }

  #makeObject(ref: Ref, node: ObjectNode): object {
    let object: object;
    const constructor = node.privateFields ? this.#classOf(node) : null;
    if (constructor) {
      const blank = constructBlank(constructor, () => emptyObject(node));
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

  #classOf({ prototype }: ObjectNode): AnyFunction | null {
    const owner = prototype === undefined || prototype < 0 ? undefined : (this.#valueOf(prototype) as { constructor?: unknown });
    return typeof owner?.constructor === "function" ? owner.constructor : null;
  }

  #fillObject(object: object, node: ObjectNode, hasPrototype: boolean): void {
    if (node.prototype !== undefined && !hasPrototype) {
      Object.setPrototypeOf(object, node.prototype === NO_REF ? null : (this.#valueOf(node.prototype) as object));
    }
    const entries = node.entries ?? [];
    if (node.base === "Map") for (const pair of this.#pairs(entries)) Map.prototype.set.call(object, ...pair);
    if (node.base === "Set") for (const entry of entries) Set.prototype.add.call(object, this.#valueOf(entry));
    this.#defineProperties(object, node.properties);
    if (node.isClosed) this.#closed.push(object);
  }

  #defineProperties(target: object, properties: readonly Property[]): void {
    for (const [key, flags, valueOrGetter, setter = NO_REF] of properties) {
      const descriptor: PropertyDescriptor = { enumerable: (flags & ENUMERABLE) !== 0, configurable: (flags & CONFIGURABLE) !== 0 };
      if (flags & ACCESSOR) {
        if (valueOrGetter !== NO_REF) descriptor.get = this.#valueOf(valueOrGetter) as () => unknown;
        if (setter !== NO_REF) descriptor.set = this.#valueOf(setter) as (value: unknown) => void;
      } else {
        descriptor.value = this.#valueOf(valueOrGetter);
        descriptor.writable = (flags & WRITABLE) !== 0;
      }
      Object.defineProperty(target, this.#key(key), descriptor);
    }
  }
}

function wellKnownById(id: string): object {
  const value = wellKnownValue(id);
  if (value === undefined) throw new Error(`Cannot revive a value: this process has no runtime export ${id}`);
  return value;
}

/** Returns the base as an empty object. */
function emptyObject({ base, data, length }: ObjectNode): object {
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
      Reflect.deleteProperty(error, "stack"); // the original stack is among the properties
      return error;
    }
    case "Date":
      return new Date(data as number);
    case "RegExp": {
      const [source, flags, lastIndex] = data as [string, string, number];
      const expression = new RegExp(source, flags);
      expression.lastIndex = lastIndex;
      return expression;
    }
    case "data":
      return data as object;
  }
}

function namespaceOf(exports: unknown): object {
  return { ...(exports as object), default: exports };
}

/** Vite rewrites `import()` to its own function, which takes paths from Vite's root. */
function dynamicImportOf(scope: FileScope, root: string): (specifier: string) => Promise<object> {
  return (specifier) => {
    const plain = specifier.startsWith("/@fs/") ? specifier.slice("/@fs".length) : specifier;
    const load = (target: string): Promise<object> =>
      importInside(() => scope.importFrom(target), { what: JSON.stringify(target), file: scope.file, user: "a function" });
    if (!plain.startsWith("/")) return load(plain);
    const file = plain.startsWith(`${root}/`) || plain !== specifier ? plain : `${root}${plain}`;
    return load(loadedUrl(file));
  };
}
