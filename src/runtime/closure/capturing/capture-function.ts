/**
 * Functions: by name where Node or a module has them, else their text with the variables that it uses.
 *
 * Decides between reference and value, and whether `this`, `super` and private names of the surrounding code can be had on the worker. Free
 * names are bound by `capture-variables`. Called by `capture-value`; classes go on to `capture-class`.
 */
import { captureClass } from "./capture-class.ts";
import { ownerOf, recordMember } from "../parsing/class-members.ts";
import { captureProperties, referPrototype } from "./capture-object.ts";
import { isByValueFile, isRuntimeFile } from "../modules/by-value-files.ts";
import { captureVariables, describeFunction, noteViteEnvironment } from "./capture-variables.ts";
import { importNode, placeOf } from "../scripts/code-place.ts";
import { type AnyFunction, type FunctionFacts, factsOf, type ScriptPlace } from "./function-facts.ts";
import type { FunctionJob, GraphBuilder, Step } from "./graph-builder.ts";
import type { Code, FunctionNode, ImportNode, Ref } from "../graph.ts";
import { identityOf } from "../values/identity.ts";
import { internalsOf, liveItems, liveValue, readVariable, scopesOf, withEntry } from "../scripts/hidden-parts.ts";
import { builtinPathOf, commonJsMember, globalPathOf, sameGlobalOfThisRealm } from "../values/known-values.ts";
import type { ParsedText } from "../parsing/parse-text.ts";
import { revivedCodeOf } from "../reviving/revived-code.ts";

const NODES_OWN = "What Node.js does not export by a name is tied to this process";

export function captureFunction(graph: GraphBuilder, target: AnyFunction, step: Step): Ref {
  const facts = factsOf(target);
  if (facts.isNative) return captureNative(graph, target, step);
  const internals = internalsOf(target);
  const isRevived = revivedCodeOf(target) !== undefined;
  const at = isRevived ? null : facts.place(internals);
  const place = placeOf(facts, at);
  if (!place || at?.script.isInternal) {
    const builtin = builtinPathOf(target);
    if (builtin) return graph.add(target, { kind: "builtin", path: builtin, isNamespace: false });
    return graph.fail(step, { what: `is internal to Node.js (${target.name || "anonymous"}) and cannot be sent`, tied: NODES_OWN });
  }
  const reference = at ? captureReference(graph, { target, facts, at, step }) : undefined;
  if (reference !== undefined) return reference;
  const { parsed } = facts;
  if (!parsed) return graph.fail(step, { what: `has a text that cannot be taken apart: ${facts.text.slice(0, 60)}` });
  if (at && at.offset < 0) return graph.fail(step, { what: "was not found in the text of its script" });
  const member = captureMember(graph, { target, facts, at });
  if (member !== undefined) return member;
  const isConstructor = facts.isClass || hasOwnPrototypeMembers(target, parsed);
  if (isConstructor && graph.options.mode === "value") {
    if (at) graph.classes.push({ target, at });
    return captureByDefinition(graph, target, step);
  }
  const code = codeOf(graph, { target, facts, parsed, place });
  const job: FunctionJob = { target, facts, parsed, place, scopes: scopesOf(internals), step, code };
  noteNamespaces(graph, job);
  if (parsed.class && at) graph.classes.push({ target, at });
  return parsed.class ? captureClass(graph, job, parsed.class) : capturePlainFunction(graph, job, isConstructor);
}

function captureNative(graph: GraphBuilder, target: AnyFunction, step: Step): Ref {
  const builtin = builtinPathOf(target);
  if (builtin) return graph.add(target, { kind: "builtin", path: builtin, isNamespace: false });
  const { internal } = internalsOf(target);
  if (internal.has("[[TargetFunction]]")) {
    const node = { kind: "bound" as const, target: -1, self: -1, arguments: [] as Ref[] };
    graph.later(() => {
      node.target = graph.refer(liveValue(internal.get("[[TargetFunction]]")), { parent: step, label: "bound target" });
      node.self = graph.refer(liveValue(internal.get("[[BoundThis]]")), { parent: step, label: "bound this" });
      node.arguments = liveItems(internal.get("[[BoundArgs]]")).map((argument, index) =>
        graph.refer(argument, { parent: step, label: `bound argument ${index}` }),
      );
    });
    return graph.add(target, node);
  }
  // The same built-in of another realm: a vm context, a test runner's sandbox.
  const twin = sameGlobalOfThisRealm(target.name);
  if (typeof twin === "function" && globalPathOf(twin) === target.name) {
    return graph.add(target, { kind: "global", path: target.name });
  }
  return graph.fail(step, { what: `is a native function (${target.name || "anonymous"}) and cannot be sent`, tied: NODES_OWN });
}

interface Referred {
  readonly target: AnyFunction;
  readonly facts: FunctionFacts;
  readonly at: ScriptPlace;
  readonly step: Step;
}

/** Refers to an export of a file that a worker can import: neither the program's own file nor a test. */
function captureReference(graph: GraphBuilder, { target, facts, at, step }: Referred): Ref | undefined {
  const { script, offset } = at;
  const { file } = script;
  if (!file || isByValueFile(file)) return undefined;
  if (script.isModule || script.table.isVite) {
    const name = offset < 0 ? undefined : script.table.exportAt({ offset, length: facts.text.length });
    if (name !== undefined) {
      const query = script.table.isVite ? "" : script.url.slice(script.url.split("?", 1)[0]?.length);
      if (script.table.isVite) noteViteEnvironment(graph, file);
      return graph.add(target, { kind: "module", file, query, name });
    }
  } else {
    const name = commonJsMember(target, file);
    if (name !== undefined) return graph.add(target, { kind: "commonJs", file, name });
  }
  if (!isRuntimeFile(file)) return undefined;
  return graph.fail(step, {
    what: `is internal to Shoal (${target.name || "anonymous"}) and cannot be sent`,
    hint: "Send what the public API returns instead.",
  });
}

/** A method of a class that is captured, too: the class brings it, with its `super` and its private names. */
function captureMember(
  graph: GraphBuilder,
  { target, facts, at }: Omit<Referred, "at" | "step"> & { at: ScriptPlace | null },
): Ref | undefined {
  if (facts.parsed?.form === "expression") return undefined;
  const owned = ownerOf(target) ?? (at ? replacedMethod(graph, { target, facts, at }) : undefined);
  const of = owned && graph.knownRef(owned.owner);
  const kind = of === undefined ? undefined : graph.nodes[of]?.kind;
  if (of === undefined || (kind !== "class" && kind !== "definition")) return undefined;
  return graph.add(target, { kind: "member", of, index: owned?.index as number, name: nameOf(target) });
}

/** A method that a decorator (or a plain assignment) replaced on its class: its text is part of the class's text. */
function replacedMethod(graph: GraphBuilder, { target, facts, at }: Omit<Referred, "step">): ReturnType<typeof ownerOf> {
  const owner = classAt(graph, at, facts.text.length);
  const outer = owner && factsOf(owner);
  const start = at.offset - (outer?.place()?.offset ?? 0);
  const index = outer?.parsed?.class?.members.findIndex(({ range, kind }) => kind !== "field" && range[0] === start) ?? -1;
  if (!owner || index < 0) return undefined;
  recordMember(owner, index, target);
  return { owner, index };
}

/** Returns the one captured class whose text contains a place. Text that was evaluated more than once does not determine the class. */
function classAt(graph: GraphBuilder, { script, offset }: ScriptPlace, length: number): AnyFunction | undefined {
  const around = graph.classes.filter(({ target, at }) => {
    if (at.script !== script || at.offset >= offset) return false;
    return offset + length < at.offset + factsOf(target).text.length;
  });
  const innermost = around.toSorted((left, right) => right.at.offset - left.at.offset);
  return innermost[0] && innermost[0].at.offset !== innermost[1]?.at.offset ? innermost[0].target : undefined;
}

function captureByDefinition(graph: GraphBuilder, target: AnyFunction, step: Step): Ref {
  const definition = revivedCodeOf(target)?.definition ?? graph.options.defineClass(target, step);
  graph.definitions.add(definition);
  graph.definedClasses.add(target);
  return graph.add(target, { kind: "definition", definition, identity: identityOf(target) });
}

/** A `function` that is used as a constructor: its prototype has members or a parent. */
function hasOwnPrototypeMembers(target: AnyFunction, parsed: ParsedText): boolean {
  if (!parsed.isConstructible) return false;
  const prototype = target.prototype as object | undefined;
  if (typeof prototype !== "object" || prototype === null) return false;
  return Reflect.ownKeys(prototype).length > 1 || Object.getPrototypeOf(prototype) !== Object.prototype;
}

function codeOf(graph: GraphBuilder, { target, facts, parsed, place }: Pick<FunctionJob, "target" | "facts" | "parsed" | "place">): Code {
  return {
    name: nameOf(target),
    text: facts.text,
    form: parsed.form,
    importMeta: parsed.importMeta,
    keyRange: parsed.keyRange,
    accessor: parsed.accessor,
    positions: place.positions(),
    source: graph.sourceOf(place).index,
    locals: [],
    context: null,
  };
}

/** A class may have a static getter of that name, which is not called. */
function nameOf(target: AnyFunction): string {
  const name: unknown = Object.getOwnPropertyDescriptor(target, "name")?.value;
  return typeof name === "string" ? name : "";
}

/** Module namespaces hide their specifier; a file that imports them by name reveals it. */
function noteNamespaces(graph: GraphBuilder, { place, scopes, code }: FunctionJob): void {
  for (const [name, form] of place.namespaceImports()) {
    const namespace = readVariable(scopes, name)?.value;
    if (typeof namespace !== "object" || namespace === null || graph.namespaces.has(namespace)) continue;
    graph.namespaces.set(namespace, importNode(form, code.source) as ImportNode);
  }
}

function capturePlainFunction(graph: GraphBuilder, job: FunctionJob, isConstructor: boolean): Ref {
  const { target, code } = job;
  const node: FunctionNode = { kind: "function", code };
  if (isConstructor) node.identity = identityOf(target);
  const ref = graph.add(target, node);
  graph.later(() => {
    captureLexicalContext(graph, job, node);
    captureVariables(graph, job);
    fillFunctionObject(graph, job, { node, ref, isConstructor });
  });
  return ref;
}

const OWN_FUNCTION_KEYS: ReadonlySet<string | symbol> = new Set(["length", "name", "prototype", "arguments", "caller"]);

function fillFunctionObject(
  graph: GraphBuilder,
  { target, step, parsed }: FunctionJob,
  { node, ref, isConstructor }: { node: FunctionNode; ref: Ref; isConstructor: boolean },
): void {
  const properties = captureProperties(graph, target, { step, skip: (key) => OWN_FUNCTION_KEYS.has(key) });
  if (properties.length > 0) node.properties = properties;
  const prototype = target.prototype as object | undefined;
  if (!prototype || parsed.isArrow || parsed.form !== "expression") return;
  if (graph.knownRef(prototype) === undefined) graph.add(prototype, { kind: "prototype", of: ref });
  if (!isConstructor) return;
  const at: Step = { parent: step, label: ".prototype", holder: prototype };
  node.prototypeProperties = captureProperties(graph, prototype, { step: at, skip: (key) => key === "constructor" });
  const parent = Object.getPrototypeOf(prototype) as object | null;
  if (parent && parent !== Object.prototype) node.prototypeParent = referPrototype(graph, parent, at);
}

/** Captures `this`, `super`, `new.target` and private names of the surrounding code. */
function captureLexicalContext(graph: GraphBuilder, job: FunctionJob, node: FunctionNode): void {
  const { target, facts, parsed, place, step } = job;
  const revived = revivedCodeOf(target);
  let self: { readonly value: unknown } | null = null;
  if (parsed.usesOuterThis && (revived?.self || place.enclosingFunctions().length > 0)) {
    self = revived?.self ?? lexicalThis(graph, job);
    node.self = graph.refer(self.value, { parent: step, label: "captured `this`" });
  }
  if (parsed.usesOuterSuper) {
    graph.fail(step, { what: "uses `super` of its home object and cannot be sent alone", hint: "Send the object or class instead." });
  }
  const forbidden = parsed.usesOuterNewTarget ? "new.target" : parsed.free.has("arguments") ? "arguments" : null;
  if (forbidden) {
    graph.fail(step, { what: `captures \`${forbidden}\` of the enclosing function`, hint: "Copy it into a const first." });
  }
  if (parsed.outerPrivateName) {
    const at = revived ? null : facts.place();
    const home =
      revived?.home ??
      classAround(job, step.holder) ??
      classAround(job, self?.value) ??
      (at ? classAt(graph, at, facts.text.length) : undefined);
    if (!home) {
      return graph.fail(step, {
        what: `uses the private name ${parsed.outerPrivateName} of a class outside its text`,
        hint: "Send the class or an instance instead.",
      });
    }
    node.home = graph.refer(home, { parent: step, label: `class ${home.name}` });
  }
  if (parsed.hasDirectEval) {
    graph.notes.add(`${describeFunction(target)} uses eval: names used inside the evaluated text are not captured`);
  }
}

/**
 * Returns the `this` of an arrow function: the instance whose field or constructor made the arrow, else the `this` at the arrow's first
 * statement.
 */
function lexicalThis(graph: GraphBuilder, job: FunctionJob): { readonly value: unknown } {
  const { target, place, step, parsed } = job;
  const around = place.enclosingFunctions().at(-1);
  if (step.holder && classAround(job, step.holder) && (around?.kind === "member" || around?.isConstructor)) {
    return { value: step.holder };
  }
  let found: { readonly value: unknown } | null = null;
  const { entry } = parsed;
  if (entry !== null) {
    withEntry((enter) => {
      enter(target, entry, (evaluate) => {
        found = { value: evaluate("this") };
      });
    });
  }
  if (found !== null) return found;
  const reason =
    entry === null
      ? "which cannot be read, as it has parameters with defaults or patterns, or makes a class"
      : "which cannot be read while a debugger is attached";
  return graph.fail(step, {
    what: `captures \`this\` of the enclosing function, ${reason}`,
    hint: "Copy what it needs into constants outside (`const { rate } = this`), or pass it as arguments.",
  });
}

/** Returns the class of an instance if the class's text contains the function's text. */
function classAround({ facts }: FunctionJob, instance: unknown): AnyFunction | undefined {
  if (typeof instance !== "object" || instance === null) return undefined;
  const inner = facts.place();
  let constructor: unknown = (Object.getPrototypeOf(instance) as { constructor?: unknown } | null)?.constructor;
  for (; typeof constructor === "function"; constructor = Object.getPrototypeOf(constructor)) {
    const outerFacts = factsOf(constructor);
    if (!outerFacts.isClass) continue;
    const outer = outerFacts.place();
    if (!inner || outer?.script !== inner.script || outer.offset > inner.offset) continue;
    if (inner.offset + facts.text.length <= outer.offset + outerFacts.text.length) return constructor;
  }
  return undefined;
}
