"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.captureFunction = captureFunction;
/**
 * Functions: by name where Node or a module has them, else their text with the variables that it uses.
 *
 * Decides by reference or by value, and whether what a text needs of its surroundings (`this`, `super`, private names) can be had
 * elsewhere; its free names are bound by `capture-variables`. Called by `capture-value`; classes go on to `capture-class`.
 */
const capture_class_ts_1 = require("./capture-class.js");
const capture_object_ts_1 = require("./capture-object.js");
const by_value_files_ts_1 = require("./by-value-files.js");
const capture_variables_ts_1 = require("./capture-variables.js");
const code_place_ts_1 = require("./code-place.js");
const function_facts_ts_1 = require("./function-facts.js");
const identity_ts_1 = require("./identity.js");
const inspector_session_ts_1 = require("./inspector-session.js");
const known_values_ts_1 = require("./known-values.js");
const revived_code_ts_1 = require("./revived-code.js");
function captureFunction(graph, target, step) {
  const facts = (0, function_facts_ts_1.factsOf)(target);
  if (facts.isNative) return captureNative(graph, target, step);
  const internals = (0, inspector_session_ts_1.internalsOf)(target);
  const isRevived = (0, revived_code_ts_1.revivedCodeOf)(target) !== undefined;
  const at = isRevived ? null : facts.place(internals);
  const place = (0, code_place_ts_1.placeOf)(facts, at);
  if (!place || at?.script.isInternal) {
    const builtin = (0, known_values_ts_1.builtinPathOf)(target);
    if (builtin) return graph.add(target, { kind: "builtin", path: builtin, isNamespace: false });
    return graph.fail(step, { what: `is internal to Node.js (${target.name || "anonymous"}) and cannot be sent` });
  }
  const reference = at && captureReference(graph, { target, facts, at, step });
  if (reference !== null && reference !== undefined) return reference;
  const { parsed } = facts;
  if (!parsed) return graph.fail(step, { what: `has a text that cannot be taken apart: ${facts.text.slice(0, 60)}` });
  if (at && at.offset < 0) return graph.fail(step, { what: "was not found in the text of its script" });
  const isConstructor = facts.isClass || hasOwnPrototypeMembers(target, parsed);
  if (isConstructor && graph.mode === "value") return captureByDefinition(graph, target, step);
  const code = codeOf(graph, { target, facts, parsed, place });
  const job = { target, facts, parsed, place, scopes: (0, inspector_session_ts_1.scopesOf)(internals), step, code };
  noteNamespaces(graph, job);
  return parsed.class ? (0, capture_class_ts_1.captureClass)(graph, job, parsed.class) : capturePlainFunction(graph, job, isConstructor);
}
function captureNative(graph, target, step) {
  const builtin = (0, known_values_ts_1.builtinPathOf)(target);
  if (builtin) return graph.add(target, { kind: "builtin", path: builtin, isNamespace: false });
  const { internal } = (0, inspector_session_ts_1.internalsOf)(target);
  if (internal.has("[[TargetFunction]]")) {
    const node = { kind: "bound", target: -1, self: -1, arguments: [] };
    graph.later(() => {
      node.target = graph.refer((0, inspector_session_ts_1.liveValue)(internal.get("[[TargetFunction]]")), {
        parent: step,
        label: "bound target",
      });
      node.self = graph.refer((0, inspector_session_ts_1.liveValue)(internal.get("[[BoundThis]]")), { parent: step, label: "bound this" });
      node.arguments = (0, inspector_session_ts_1.liveItems)(internal.get("[[BoundArgs]]")).map((argument, index) =>
        graph.refer(argument, { parent: step, label: `bound argument ${index}` }),
      );
    });
    return graph.add(target, node);
  }
  if (internal.has("[[Target]]")) {
    const node = { kind: "proxy", target: -1, handler: -1 };
    graph.later(() => {
      node.target = graph.refer((0, inspector_session_ts_1.liveValue)(internal.get("[[Target]]")), { parent: step, label: "proxy target" });
      node.handler = graph.refer((0, inspector_session_ts_1.liveValue)(internal.get("[[Handler]]")), {
        parent: step,
        label: "proxy handler",
      });
    });
    return graph.add(target, node);
  }
  // The same built-in of another realm: a vm context, a test runner's sandbox.
  const twin = (0, known_values_ts_1.sameGlobalOfThisRealm)(target.name);
  if (typeof twin === "function" && (0, known_values_ts_1.globalPathOf)(twin) === target.name) {
    return graph.add(target, { kind: "global", path: target.name });
  }
  return graph.fail(step, { what: `is a native function (${target.name || "anonymous"}) and cannot be sent` });
}
/** An export of a file that a worker can import: not the program's own file, nor a test. */
function captureReference(graph, { target, facts, at, step }) {
  const { script, offset } = at;
  const { file } = script;
  if (!file || (0, by_value_files_ts_1.isByValueFile)(file)) return null;
  if (script.isModule || script.table.isVite) {
    const name = offset < 0 ? undefined : script.table.exportAt({ offset, length: facts.text.length });
    if (name !== undefined) {
      const query = script.table.isVite ? "" : script.url.slice(script.url.split("?", 1)[0]?.length);
      return graph.add(target, { kind: "module", file, query, name });
    }
  } else {
    const name = (0, known_values_ts_1.commonJsMember)(target, file);
    if (name !== undefined) return graph.add(target, { kind: "commonJs", file, name });
  }
  if (!(0, by_value_files_ts_1.isRuntimeFile)(file)) return null;
  return graph.fail(step, {
    what: `is internal to Shoal (${target.name || "anonymous"}) and cannot be sent`,
    hint: "Send what the public API returns instead.",
  });
}
function captureByDefinition(graph, target, step) {
  const definition = (0, revived_code_ts_1.revivedCodeOf)(target)?.definition ?? graph.defineClass(target, step);
  graph.definitions.add(definition);
  return graph.add(target, { kind: "definition", definition, identity: (0, identity_ts_1.identityOf)(target) });
}
/** A `function` that is used as a constructor: its prototype has members or a parent. */
function hasOwnPrototypeMembers(target, parsed) {
  if (parsed.class || parsed.isArrow || !parsed.isPlainFunction || parsed.form !== "expression") return false;
  const prototype = target.prototype;
  if (typeof prototype !== "object" || prototype === null) return false;
  return Reflect.ownKeys(prototype).length > 1 || Object.getPrototypeOf(prototype) !== Object.prototype;
}
function codeOf(graph, { target, facts, parsed, place }) {
  return {
    name: typeof target.name === "string" ? target.name : "",
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
/** Module namespaces hide their specifier; a file that imports them by name tells it. */
function noteNamespaces(graph, { place, scopes, code }) {
  for (const [name, form] of place.namespaceImports()) {
    const scope = scopes.find(({ variables }) => Object.hasOwn(variables, name));
    const namespace = scope && (0, known_values_ts_1.tryRead)(() => scope.variables[name]);
    if (typeof namespace !== "object" || namespace === null || graph.namespaces.has(namespace)) continue;
    graph.namespaces.set(namespace, (0, code_place_ts_1.importNode)(form, code.source));
  }
}
function capturePlainFunction(graph, job, isConstructor) {
  const { target, code } = job;
  const node = { kind: "function", code };
  if (isConstructor) node.identity = (0, identity_ts_1.identityOf)(target);
  const ref = graph.add(target, node);
  graph.later(() => {
    captureSurroundings(graph, job, node);
    (0, capture_variables_ts_1.captureVariables)(graph, job);
    fillFunctionObject(graph, job, { node, ref, isConstructor });
  });
  return ref;
}
const OWN_FUNCTION_KEYS = new Set(["length", "name", "prototype", "arguments", "caller"]);
function fillFunctionObject(graph, { target, step, parsed }, { node, ref, isConstructor }) {
  const properties = (0, capture_object_ts_1.captureProperties)(graph, target, { step, skip: (key) => OWN_FUNCTION_KEYS.has(key) });
  if (properties.length > 0) node.properties = properties;
  const prototype = target.prototype;
  if (!prototype || parsed.isArrow || parsed.form !== "expression") return;
  if (graph.knownRef(prototype) === undefined) graph.add(prototype, { kind: "prototype", of: ref });
  if (!isConstructor) return;
  const at = { parent: step, label: ".prototype", holder: prototype };
  node.prototypeProperties = (0, capture_object_ts_1.captureProperties)(graph, prototype, {
    step: at,
    skip: (key) => key === "constructor",
  });
  const parent = Object.getPrototypeOf(prototype);
  if (parent && parent !== Object.prototype) node.prototypeParent = (0, capture_object_ts_1.referPrototype)(graph, parent, at);
}
/** `this`, `super`, `new.target` and private names of what stands around the text. */
function captureSurroundings(graph, job, node) {
  const { target, parsed, place, step } = job;
  const revived = (0, revived_code_ts_1.revivedCodeOf)(target);
  let self = null;
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
    const home = revived?.home ?? classAround(job, step.holder) ?? classAround(job, self?.value);
    if (!home) {
      return graph.fail(step, {
        what: `uses the private name ${parsed.outerPrivateName} of a class outside its text`,
        hint: "Send the class or an instance instead.",
      });
    }
    node.home = graph.refer(home, { parent: step, label: `class ${home.name}` });
  }
  if (parsed.hasDirectEval) {
    graph.notes.add(
      `${(0, capture_variables_ts_1.describeFunction)(target)} uses eval: names used inside the evaluated text are not captured`,
    );
  }
}
/** The `this` of an arrow function: the instance whose field or constructor made it, else what a heap snapshot shows. */
function lexicalThis(graph, job) {
  const { target, place, step } = job;
  const around = place.enclosingFunctions().at(-1);
  if (step.holder && classAround(job, step.holder) && (around?.kind === "member" || around?.isConstructor)) {
    return { value: step.holder };
  }
  const found = graph.heap?.thisOf(target);
  if (!found) {
    return graph.fail(step, {
      what: "captures `this` of the enclosing function",
      hint: "Write `const self = this` outside and use `self`.",
    });
  }
  graph.notes.add(
    `${(0, capture_variables_ts_1.describeFunction)(target)} captures \`this\`: read from a heap snapshot (slow); \`const self = this\` avoids it`,
  );
  return found;
}
/** The class of an instance, if the function's text stands inside the class's text. */
function classAround({ facts }, instance) {
  if (typeof instance !== "object" || instance === null) return undefined;
  const inner = facts.place();
  let constructor = Object.getPrototypeOf(instance)?.constructor;
  for (; typeof constructor === "function"; constructor = Object.getPrototypeOf(constructor)) {
    const outerFacts = (0, function_facts_ts_1.factsOf)(constructor);
    if (!outerFacts.isClass) continue;
    const outer = outerFacts.place();
    if (!inner || outer?.script !== inner.script || outer.offset > inner.offset) continue;
    if (inner.offset + facts.text.length <= outer.offset + outerFacts.text.length) return constructor;
  }
  return undefined;
}
//# sourceMappingURL=capture-function.js.map
