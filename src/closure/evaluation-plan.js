"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.planEvaluation = planEvaluation;
function planEvaluation(graph, options) {
  return new Planner(graph, options).plan();
}
const EMPTY = new Set();
class Planner {
  #graph;
  #isKnown;
  #units = [];
  #unitOfRef = new Map();
  #variableUnits = new Map();
  #needs = new Map();
  constructor(graph, { isKnown }) {
    this.#graph = graph;
    this.#isKnown = isKnown;
  }
  plan() {
    this.#makeCodeUnits();
    this.#makeVariableUnits();
    const order = [];
    for (const component of stronglyConnected(this.#units, (unit) => this.#needsOfUnit(unit))) {
      order.push(...this.#mergeCycle(component));
    }
    return { order, needsOf: (ref) => this.#needsOf(ref) };
  }
  /** Code that is evaluated in the text of its source; a function with a home class is evaluated inside that class instead. */
  #codeAt(ref) {
    const node = this.#graph.nodes[ref];
    if (node?.kind === "class" || (node?.kind === "function" && node.home === undefined)) return this.#isKnown(ref) ? null : node;
    return null;
  }
  #makeCodeUnits() {
    const unitOfContext = new Map();
    for (const ref of this.#graph.nodes.keys()) {
      const node = this.#codeAt(ref);
      if (!node) continue;
      const context = node.code.context === null ? null : this.#outermostContext(node.code.context);
      let unit = context === null ? undefined : unitOfContext.get(context);
      if (!unit) {
        unit = { kind: "code", source: node.code.source, members: [], declaration: null, context };
        this.#units.push(unit);
        if (context !== null) unitOfContext.set(context, unit);
      }
      unit.members.push(ref);
      this.#unitOfRef.set(ref, unit);
    }
  }
  #outermostContext(context) {
    let at = context;
    for (;;) {
      const parent = this.#graph.contexts[at]?.parent ?? null;
      if (parent === null) return at;
      at = parent;
    }
  }
  #makeVariableUnits() {
    for (const [source, { variables }] of this.#graph.sources.entries()) {
      for (const variable of variables) {
        const [name, value] = variable;
        const code = this.#unitOfRef.get(value);
        let unit;
        if (code && code.declaration === null && code.source === source && this.#canBeDeclared(value)) {
          code.declaration = variable;
          unit = code;
        } else {
          unit = { kind: "variable", source, variable };
          this.#units.push(unit);
        }
        this.#variableUnits.set(`${source}:${name}`, unit);
      }
    }
  }
  #canBeDeclared(ref) {
    const node = this.#codeAt(ref);
    return node !== null && node.code.locals.length === 0 && node.code.context === null;
  }
  #needsOfUnit(unit) {
    const needs = new Set();
    const add = (ref) => {
      for (const need of this.#needsOf(ref)) needs.add(need);
    };
    if (unit.kind === "variable") {
      add(unit.variable[1]);
      return needs;
    }
    for (const ref of unit.members) {
      const node = this.#graph.nodes[ref];
      for (const [, value] of node.code.locals) add(value);
      if (node.kind === "function") {
        if (node.self !== undefined) add(node.self);
        continue;
      }
      if (node.heritage !== null && node.heritage >= 0) add(node.heritage);
      for (const name of node.namesUsedByDefinition) {
        const variable = this.#variableUnits.get(`${unit.source}:${name}`);
        if (variable) needs.add(variable);
      }
    }
    if (unit.context !== null) {
      for (const [index, { variables }] of this.#graph.contexts.entries()) {
        if (this.#outermostContext(index) === unit.context) for (const [, value] of variables) add(value);
      }
    }
    return needs;
  }
  #needsOf(ref) {
    const unit = this.#unitOfRef.get(ref);
    if (unit) return new Set([unit]);
    const known = this.#needs.get(ref);
    if (known) return known;
    this.#needs.set(ref, EMPTY); // ends the walk where values lead back to themselves
    const needs = new Set();
    for (const inner of this.#refsNeededToMake(ref)) for (const need of this.#needsOf(inner)) needs.add(need);
    this.#needs.set(ref, needs);
    return needs;
  }
  /** The nodes without which this one cannot even be begun. Ordinary objects are begun empty and filled later. */
  #refsNeededToMake(ref) {
    const node = this.#graph.nodes[ref];
    switch (node?.kind) {
      case "prototype":
        return [node.of];
      case "bound":
        return [node.target, node.self, ...node.arguments];
      case "proxy":
        return [node.target, node.handler];
      case "object":
        return node.privateFields && node.prototype !== undefined ? [node.prototype] : [];
      case "reduced":
        return this.#everythingIn(node.payload);
      case "function":
        if (node.home === undefined) return [];
        return [node.home, ...(node.self === undefined ? [] : [node.self]), ...node.code.locals.map(([, value]) => value)];
      default:
        return [];
    }
  }
  /** A hook gets its payload complete, so all that is in it comes first. */
  #everythingIn(start) {
    const reached = new Set([start]);
    for (const ref of reached) {
      const node = this.#graph.nodes[ref];
      if (node?.kind !== "object") continue;
      if (node.prototype !== undefined && node.prototype >= 0) reached.add(node.prototype);
      for (const entry of node.entries ?? []) reached.add(entry);
      for (const [, , value, setter] of node.properties)
        for (const inner of [value, setter]) if (inner !== undefined && inner >= 0) reached.add(inner);
      for (const [, value] of node.privateFields ?? []) reached.add(value);
    }
    return [...reached];
  }
  /**
   * Functions that hold each other as constants stand in one block if their names agree. What cannot be merged keeps its order, and the
   * variables that come too early are assigned late.
   */
  #mergeCycle(component) {
    if (component.length === 1 || !this.#canMerge(component)) return component;
    const [first] = component;
    const merged = {
      kind: "code",
      source: first.source,
      members: component.flatMap(({ members }) => members),
      declaration: null,
      context: null,
    };
    for (const ref of merged.members) this.#unitOfRef.set(ref, merged);
    this.#needs.clear();
    return [merged];
  }
  #canMerge(component) {
    const [first] = component;
    const locals = new Map();
    const members = [];
    for (const unit of component) {
      if (unit.kind === "variable" || unit.declaration !== null || unit.context !== null || unit.source !== first?.source) return false;
      for (const ref of unit.members) {
        const node = this.#graph.nodes[ref];
        members.push(node);
        for (const [name, value, isWritten] of node.code.locals) {
          if (isWritten || (locals.has(name) && locals.get(name) !== value)) return false;
          locals.set(name, value);
        }
      }
    }
    // A name that is local to one member must not hide the top-level variable that another means by it.
    const topLevel = new Set(this.#graph.sources[first?.source ?? 0]?.variables.map(([name]) => name));
    return [...locals.keys()].every(
      (name) => !topLevel.has(name) || members.every(({ code }) => code.locals.some(([local]) => local === name)),
    );
  }
}
/** Tarjan's algorithm with an explicit stack: components come after those that they need. */
function stronglyConnected(units, needsOf) {
  const indexOf = new Map();
  const lowest = new Map();
  const open = [];
  const isOpen = new Set();
  const components = [];
  for (const start of units) {
    if (indexOf.has(start)) continue;
    const walk = [];
    const enter = (unit) => {
      lowest.set(unit, indexOf.size);
      indexOf.set(unit, indexOf.size);
      open.push(unit);
      isOpen.add(unit);
      walk.push({ unit, needs: needsOf(unit)[Symbol.iterator]() });
    };
    const lower = (unit, index) => {
      lowest.set(unit, Math.min(lowest.get(unit), index));
    };
    enter(start);
    for (let top = walk.at(-1); top; top = walk.at(-1)) {
      const { value: need, done } = top.needs.next();
      if (!done) {
        if (!indexOf.has(need)) enter(need);
        else if (isOpen.has(need)) lower(top.unit, indexOf.get(need));
        continue;
      }
      walk.pop();
      const parent = walk.at(-1);
      if (parent) lower(parent.unit, lowest.get(top.unit));
      if (lowest.get(top.unit) !== indexOf.get(top.unit)) continue;
      const component = [];
      for (let unit = open.pop(); ; unit = open.pop()) {
        isOpen.delete(unit);
        component.push(unit);
        if (unit === top.unit) break;
      }
      components.push(component);
    }
  }
  return components;
}
//# sourceMappingURL=evaluation-plan.js.map
