"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.blankConstruction = void 0;
exports.recordClass = recordClass;
exports.doorOf = doorOf;
exports.constructBlank = constructBlank;
/**
 * Private members of instances: how an object gets `#fields` without running a constructor.
 *
 * Decides between two ways. A class revived here was given a switch that makes its constructor install private members and do nothing
 * else, and a door through which they are set. A class that lives here by itself (the program's own, or one imported by reference) has
 * neither; its instances come from a twin: its text evaluated again with the door, over the same captured values, with the class itself
 * behind it in the prototype chain. `instanceof` and all instance members work; a static method of the class that reads private fields does not.
 * Called by `revive`.
 */
const code_edits_ts_1 = require("./code-edits.js");
const code_place_ts_1 = require("./code-place.js");
const evaluate_text_ts_1 = require("./evaluate-text.js");
const function_facts_ts_1 = require("./function-facts.js");
const inspector_session_ts_1 = require("./inspector-session.js");
const known_values_ts_1 = require("./known-values.js");
const twin_table_ts_1 = require("./twin-table.js");
/** While `on`, constructors of revived classes with private members do nothing but install them. */
exports.blankConstruction = { on: false };
const doors = new WeakMap();
const blankClasses = new WeakSet();
function recordClass(target, { door, constructsBlank }) {
  if (door) doors.set(target, door);
  if (constructsBlank) blankClasses.add(target);
}
/** The door of a class, or of the twin that stands in for it. */
function doorOf(target) {
  return doors.get(target) ?? doors.get(twinOf(target));
}
/** An instance with its private members installed and nothing else. `base` makes the object that a built-in ancestor would. */
function constructBlank(target, base) {
  const built = isOpenChain(target) ? target : twinOf(target);
  const object = construct(built, base);
  for (const key of Reflect.ownKeys(object)) Reflect.deleteProperty(object, key);
  Object.setPrototypeOf(object, built.prototype);
  return { object, setFields: (fields) => setPrivateFields(object, { target: built, fields }) };
}
function ancestorsOf(target) {
  const chain = [];
  for (let at = target; typeof at === "function" && at !== Function.prototype; at = Object.getPrototypeOf(at)) chain.push(at);
  return chain;
}
function hasInstancePrivates(target) {
  const facts = (0, function_facts_ts_1.factsOf)(target);
  return facts.isClass && facts.parsed?.class?.hasInstancePrivates === true;
}
/** Whether every class of the chain that has private members was revived here. */
function isOpenChain(target) {
  return ancestorsOf(target).every((at) => blankClasses.has(at) || !hasInstancePrivates(at));
}
function construct(target, base) {
  let topmost = target;
  for (const at of ancestorsOf(target)) if (blankClasses.has(at)) topmost = at;
  const parent = Object.getPrototypeOf(topmost);
  exports.blankConstruction.on = true;
  try {
    if (parent === Function.prototype) return Reflect.construct(target, []);
    // `super()` asks for the parent at that moment: here is one that runs nothing.
    Object.setPrototypeOf(topmost, function Blank() {
      return base();
    });
    return Reflect.construct(target, []);
  } finally {
    exports.blankConstruction.on = false;
    if (Object.getPrototypeOf(topmost) !== parent) Object.setPrototypeOf(topmost, parent);
  }
}
function setPrivateFields(object, { target, fields }) {
  const left = [...fields];
  for (const owner of ancestorsOf(target).reverse()) {
    const door = doors.get(owner);
    for (const name of door?.names ?? []) {
      const at = left.findIndex(([field]) => field === name);
      if (at >= 0) door?.setInstance(object, name, left.splice(at, 1)[0][1]);
    }
  }
}
const twins = new WeakMap();
function twinOf(original) {
  let twin = twins.get(original);
  if (!twin) {
    twin = makeTwin(original);
    twins.set(original, twin);
  }
  return twin;
}
/** Twins of a class and of each ancestor up to the topmost with private members, so that overriding works as in the originals. */
function makeTwin(original) {
  const chain = ancestorsOf(original);
  const topmost = chain.findLastIndex(hasInstancePrivates);
  let parent = chain[topmost + 1];
  for (const owner of chain.slice(0, topmost + 1).reverse()) {
    const twin = evaluateTwin(owner, parent);
    const prototype = twin.prototype;
    Object.defineProperty(prototype, "constructor", { value: owner, writable: true, configurable: true });
    Object.setPrototypeOf(prototype, owner === chain[topmost] ? membersAbove(owner, original) : parent.prototype);
    parent = twin;
  }
  (0, inspector_session_ts_1.releaseObjects)();
  const twin = parent;
  (0, twin_table_ts_1.recordTwin)(twin.prototype, original);
  return twin;
}
/**
 * What stands between the twins and the original's prototype: copies of all that the twins inherit, so that `super` in a twin finds those
 * before the original's overrides.
 */
function membersAbove(topmost, original) {
  const members = {};
  let inherited = Object.getPrototypeOf(topmost.prototype);
  for (; inherited; inherited = Object.getPrototypeOf(inherited)) {
    const { constructor: _, __proto__: __, ...own } = Object.getOwnPropertyDescriptors(inherited);
    for (const key of Reflect.ownKeys(own)) members[key] ??= own[key];
  }
  return Object.create(original.prototype, members);
}
function evaluateTwin(original, parent) {
  const facts = (0, function_facts_ts_1.factsOf)(original);
  const internals = (0, inspector_session_ts_1.internalsOf)(original);
  const place = (0, code_place_ts_1.placeOf)(facts, facts.place(internals));
  const { parsed } = facts;
  if (!place || !parsed?.class) throw new Error(`Cannot restore private fields: class ${original.name} has no text that can be evaluated`);
  const scopes = (0, inspector_session_ts_1.scopesOf)(internals);
  const names = {};
  for (const name of parsed.free.keys()) {
    const scope = scopes.find(({ variables }) => Object.hasOwn(variables, name));
    if (scope) names[name] = (0, known_values_ts_1.tryRead)(() => scope.variables[name]);
  }
  // The class's own name, blanked in the twin's text, means the original: its statics stay in one place.
  if (parsed.class.nameRange) names[facts.text.slice(...parsed.class.nameRange)] = original;
  const source = { file: place.file, format: place.format, isStrict: place.isStrict, variables: [] };
  const scope = new evaluate_text_ts_1.FileScope(source);
  const { text, segments } = (0, code_edits_ts_1.classExpression)(
    twinNode(original, { text: facts.text, parsed: parsed.class, positions: place.positions() }),
    0,
  );
  let door = null;
  let made = null;
  const reviverNames = {
    [code_edits_ts_1.NAMES.value]: () => parent,
    [code_edits_ts_1.NAMES.define]: (value) => {
      made = value;
    },
    [code_edits_ts_1.NAMES.blank]: exports.blankConstruction,
    [code_edits_ts_1.NAMES.privates]: (_ref, setInstance, setStatic, evaluate) => {
      door = { names: parsed.class?.privateFields ?? [], setInstance, setStatic, evaluate };
    },
  };
  const body = `${code_edits_ts_1.NAMES.define}(`;
  const shifted = segments.map((segment) => ({ ...segment, offset: segment.offset + body.length }));
  const whole = `${body}${text});`;
  scope
    .start(whole, { names: { ...reviverNames, ...scope.provided, ...names }, url: scope.urlFor(whole, "twin"), segments: shifted })
    .next();
  const twin = made;
  recordClass(twin, { door, constructsBlank: true });
  return twin;
}
function twinNode(original, { text, parsed, positions }) {
  const { nameRange } = parsed;
  const anonymous = nameRange ? text.slice(0, nameRange[0]).padEnd(nameRange[1]) + text.slice(nameRange[1]) : text;
  return {
    kind: "class",
    code: {
      name: original.name,
      text: anonymous,
      form: "expression",
      importMeta: (0, function_facts_ts_1.factsOf)(original).parsed?.importMeta ?? [],
      keyRange: null,
      accessor: null,
      positions,
      source: 0,
      locals: [],
      context: null,
    },
    identity: "",
    heritage: parsed.heritage ? 0 : null,
    heritageRange: parsed.heritage,
    staticParts: parsed.staticParts,
    fieldInitializers: parsed.fieldInitializers,
    privateFields: parsed.privateFields,
    privateStaticFields: [],
    hasPrivateNames: true,
    constructsBlank: true,
    constructorBodyStart: parsed.constructorBodyStart,
    bodyEnd: parsed.bodyEnd,
    namesUsedByDefinition: [],
    statics: [],
    prototypeProperties: [],
    privateStatics: [],
  };
}
//# sourceMappingURL=private-state.js.map
