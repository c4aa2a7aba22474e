"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.captureClass = captureClass;
/**
 * Classes by value: text, heritage, static state and what was added to the prototype since.
 *
 * Decides that nothing of a class runs again elsewhere: heritage is already a value, static initializers and blocks are blanked in the text
 * and their results sent. A class keeps one identity wherever it goes. Called by `capture-function`.
 */
const capture_object_ts_1 = require("./capture-object.js");
const capture_variables_ts_1 = require("./capture-variables.js");
const code_place_ts_1 = require("./code-place.js");
const function_facts_ts_1 = require("./function-facts.js");
const graph_ts_1 = require("./graph.js");
const identity_ts_1 = require("./identity.js");
const inspector_session_ts_1 = require("./inspector-session.js");
function captureClass(graph, job, parsed) {
  const { target, code } = job;
  const node = {
    kind: "class",
    code,
    identity: (0, identity_ts_1.identityOf)(target),
    heritage: null,
    heritageRange: parsed.heritage,
    staticParts: parsed.staticParts,
    fieldInitializers: parsed.fieldInitializers,
    privateFields: parsed.privateFields,
    privateStaticFields: parsed.privateStaticFields,
    hasPrivateNames: parsed.hasPrivateNames,
    constructsBlank: hasInstancePrivates(target),
    constructorBodyStart: parsed.constructorBodyStart,
    bodyEnd: parsed.bodyEnd,
    namesUsedByDefinition: [...parsed.namesUsedByDefinition],
    statics: [],
    prototypeProperties: [],
    privateStatics: [],
  };
  const ref = graph.add(target, node);
  const prototype = target.prototype;
  if (graph.knownRef(prototype) === undefined) graph.add(prototype, { kind: "prototype", of: ref });
  graph.later(() => fillClass(graph, job, { node, parsed }));
  return ref;
}
/** Whether this class or one that it extends puts private members on its instances. */
function hasInstancePrivates(target) {
  for (let at = target; typeof at === "function"; at = Object.getPrototypeOf(at)) {
    const facts = (0, function_facts_ts_1.factsOf)(at);
    if (facts.isClass && facts.parsed?.class?.hasInstancePrivates) return true;
  }
  return false;
}
function fillClass(graph, job, { node, parsed }) {
  const { target, step } = job;
  if (parsed.heritage) {
    const parent = Object.getPrototypeOf(target);
    const extendsNull = parent === Function.prototype;
    node.heritage = extendsNull ? graph_ts_1.NO_REF : graph.refer(parent, { parent: step, label: "extends" });
  }
  (0, capture_variables_ts_1.captureVariables)(graph, job);
  const isWritten = methodsInText(job, parsed);
  node.statics = (0, capture_object_ts_1.captureProperties)(graph, target, {
    step: { parent: step, label: "static", holder: target },
    skip: (key) => key === "length" || key === "name" || key === "prototype" || isWritten(target, { key, isStatic: true }),
  });
  const prototype = target.prototype;
  node.prototypeProperties = (0, capture_object_ts_1.captureProperties)(graph, prototype, {
    step: { parent: step, label: "prototype", holder: prototype },
    skip: (key) => key === "constructor" || isWritten(prototype, { key, isStatic: false }),
  });
  if (parsed.privateStaticFields.length === 0) return;
  for (const field of (0, inspector_session_ts_1.internalsOf)(target).privateFields) {
    if (!field.value || !parsed.privateStaticFields.includes(field.name)) continue;
    const at = { parent: step, label: `static ${(0, capture_object_ts_1.propertyLabel)(field.name)}` };
    node.privateStatics.push([field.name, graph.refer((0, inspector_session_ts_1.liveValue)(field.value), at)]);
  }
}
/** Tells methods and accessors that the class's text makes by itself from those that were put there later (by a decorator, say). */
function methodsInText({ facts }, { methods }) {
  return (owner, { key, isStatic }) => {
    const descriptor = Object.getOwnPropertyDescriptor(owner, key);
    for (const candidate of [descriptor?.value, descriptor?.get, descriptor?.set]) {
      if (typeof candidate !== "function") continue;
      const text = spelled((0, function_facts_ts_1.factsOf)(candidate).text);
      const found = methods.some(
        (method) =>
          method.isStatic === isStatic &&
          (method.name === null || method.name === key) &&
          spelled(facts.text.slice(...method.range)).endsWith(text),
      );
      if (found) return true;
    }
    return false;
  };
}
/** Revived text has a variable in the place of `import.meta`. */
function spelled(text) {
  return text.replaceAll("import.meta", code_place_ts_1.IMPORT_META_NAME);
}
//# sourceMappingURL=capture-class.js.map
