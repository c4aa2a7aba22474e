/**
 * Classes by value: text, heritage, static state and what was added to the prototype since.
 *
 * Decides that nothing of a class runs again elsewhere: heritage is already a value, static initializers and blocks are blanked in the text
 * and their results sent. A class keeps one identity wherever it goes. Called by `capture-function`.
 */
import { captureProperties, propertyLabel } from "./capture-object.ts";
import { captureVariables, type FunctionJob } from "./capture-variables.ts";
import { IMPORT_META_NAME } from "./code-place.ts";
import { factsOf } from "./function-facts.ts";
import type { GraphBuilder, Step } from "./graph-builder.ts";
import { type ClassNode, NO_REF, type Ref } from "./graph.ts";
import { identityOf } from "./identity.ts";
import { internalsOf, liveValue } from "./inspector-session.ts";
import type { ParsedClass } from "./parse-text.ts";

export function captureClass(graph: GraphBuilder, job: FunctionJob, parsed: ParsedClass): Ref {
  const { target, code } = job;
  const node: ClassNode = {
    kind: "class",
    code,
    identity: identityOf(target),
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
  const prototype = target.prototype as object;
  if (graph.knownRef(prototype) === undefined) graph.add(prototype, { kind: "prototype", of: ref });
  graph.later(() => fillClass(graph, job, { node, parsed }));
  return ref;
}

/** Whether this class or one that it extends puts private members on its instances. */
function hasInstancePrivates(target: object): boolean {
  for (let at: unknown = target; typeof at === "function"; at = Object.getPrototypeOf(at)) {
    const facts = factsOf(at);
    if (facts.isClass && facts.parsed?.class?.hasInstancePrivates) return true;
  }
  return false;
}

function fillClass(graph: GraphBuilder, job: FunctionJob, { node, parsed }: { node: ClassNode; parsed: ParsedClass }): void {
  const { target, step } = job;
  if (parsed.heritage) {
    const parent: unknown = Object.getPrototypeOf(target);
    const extendsNull = parent === Function.prototype;
    node.heritage = extendsNull ? NO_REF : graph.refer(parent, { parent: step, label: "extends" });
  }
  captureVariables(graph, job);
  const isWritten = methodsInText(job, parsed);
  node.statics = captureProperties(graph, target, {
    step: { parent: step, label: "static", holder: target },
    skip: (key) => key === "length" || key === "name" || key === "prototype" || isWritten(target, { key, isStatic: true }),
  });
  const prototype = target.prototype as object;
  node.prototypeProperties = captureProperties(graph, prototype, {
    step: { parent: step, label: "prototype", holder: prototype },
    skip: (key) => key === "constructor" || isWritten(prototype, { key, isStatic: false }),
  });
  if (parsed.privateStaticFields.length === 0) return;
  for (const field of internalsOf(target).privateFields) {
    if (!field.value || !parsed.privateStaticFields.includes(field.name)) continue;
    const at: Step = { parent: step, label: `static ${propertyLabel(field.name)}` };
    node.privateStatics.push([field.name, graph.refer(liveValue(field.value), at)]);
  }
}

/** Tells methods and accessors that the class's text makes by itself from those that were put there later (by a decorator, say). */
function methodsInText(
  { facts }: FunctionJob,
  { methods }: ParsedClass,
): (owner: object, member: { key: string | symbol; isStatic: boolean }) => boolean {
  return (owner, { key, isStatic }) => {
    const descriptor = Object.getOwnPropertyDescriptor(owner, key);
    for (const candidate of [descriptor?.value, descriptor?.get, descriptor?.set] as unknown[]) {
      if (typeof candidate !== "function") continue;
      const text = spelled(factsOf(candidate).text);
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
function spelled(text: string): string {
  return text.replaceAll("import.meta", IMPORT_META_NAME);
}
