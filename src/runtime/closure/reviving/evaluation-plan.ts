/**
 * Orders the creation of revived functions, classes and variables.
 *
 * Decides which node must exist before another: a superclass before its subclass, a captured function before the block that holds it as a
 * constant. Also decides which functions share a block, and which variables of a cycle are assigned late. Reads the graph alone; `assemble`
 * turns the plan into text. Invariant: a unit's needs come before the unit, except inside a cycle.
 */
import type { ClassNode, FunctionNode, Graph, Ref, Variable } from "../graph.ts";

export type CodeNode = FunctionNode | ClassNode;

/** A variable of the top level. */
interface VariableUnit {
  readonly kind: "variable";
  readonly source: number;
  readonly variable: Variable;
}

/** Functions and classes that share a block, with the captured variables of that block. */
export interface CodeUnit {
  readonly kind: "code";
  readonly source: number;
  readonly members: Ref[];
  /** Set when the unit is one function without captured locals that a top-level variable holds: it is declared under that name. */
  declaration: Variable | null;
  /** The outermost shared context, when the members share variables. */
  readonly context: number | null;
}

export type Unit = VariableUnit | CodeUnit;

const EMPTY: ReadonlySet<Unit> = new Set();

export class EvaluationPlan {
  readonly order: readonly Unit[];
  readonly #graph: Graph;
  readonly #isKnown: (ref: Ref) => boolean;
  readonly #units: Unit[] = [];
  readonly #unitOfRef = new Map<Ref, CodeUnit>();
  readonly #needs = new Map<Ref, ReadonlySet<Unit>>();

  /** @param isKnown - whether this process has the node's value already (a class that another definition brought) */
  constructor(graph: Graph, isKnown: (ref: Ref) => boolean) {
    this.#graph = graph;
    this.#isKnown = isKnown;
    this.#makeCodeUnits();
    this.#makeVariableUnits();
    const components = stronglyConnected(this.#units, (unit) => this.#needsOfUnit(unit));
    this.order = components.flatMap((component) => this.#mergeCycle(component));
  }

  /**
   * Returns the node if its code is evaluated in its source's text. A function with a home class is evaluated inside that class instead.
   */
  #codeAt(ref: Ref): CodeNode | null {
    const node = this.#graph.nodes[ref];
    if (node?.kind === "class" || (node?.kind === "function" && node.home === undefined)) return this.#isKnown(ref) ? null : node;
    return null;
  }

  #makeCodeUnits(): void {
    const unitOfContext = new Map<number, CodeUnit>();
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

  #outermostContext(context: number): number {
    const parent = this.#graph.contexts[context]?.parent ?? null;
    return parent === null ? context : this.#outermostContext(parent);
  }

  #makeVariableUnits(): void {
    for (const [source, { variables }] of this.#graph.sources.entries()) {
      for (const variable of variables) {
        const [, value] = variable;
        const code = this.#unitOfRef.get(value);
        if (code && code.declaration === null && code.source === source && this.#canBeDeclared(value)) {
          code.declaration = variable;
        } else {
          this.#units.push({ kind: "variable", source, variable });
        }
      }
    }
  }

  #canBeDeclared(ref: Ref): boolean {
    const node = this.#codeAt(ref);
    return node !== null && node.code.locals.length === 0 && node.code.context === null;
  }

  #needsOfUnit(unit: Unit): ReadonlySet<Unit> {
    const needs = new Set<Unit>();
    const add = (ref: Ref): void => {
      for (const need of this.needsOf(ref)) needs.add(need);
    };
    if (unit.kind === "variable") {
      add(unit.variable[1]);
      return needs;
    }
    for (const ref of unit.members) {
      const node = this.#graph.nodes[ref] as CodeNode;
      for (const [, value] of node.code.locals) add(value);
      if (node.kind === "function") {
        if (node.self !== undefined) add(node.self);
        continue;
      }
      if (node.heritage !== null && node.heritage >= 0) add(node.heritage);
    }
    if (unit.context !== null) {
      for (const [index, { variables }] of this.#graph.contexts.entries()) {
        if (this.#outermostContext(index) === unit.context) for (const [, value] of variables) add(value);
      }
    }
    return needs;
  }

  /** Units that must exist before a node can be made. */
  needsOf(ref: Ref): ReadonlySet<Unit> {
    const unit = this.#unitOfRef.get(ref);
    if (unit) return new Set([unit]);
    const known = this.#needs.get(ref);
    if (known) return known;
    this.#needs.set(ref, EMPTY); // ends the walk where values lead back to themselves
    const needs = new Set<Unit>();
    for (const inner of this.#refsNeededToMake(ref)) for (const need of this.needsOf(inner)) needs.add(need);
    this.#needs.set(ref, needs);
    return needs;
  }

  /** The nodes without which this one cannot even be begun. Ordinary objects are begun empty and filled later. */
  #refsNeededToMake(ref: Ref): readonly Ref[] {
    const node = this.#graph.nodes[ref];
    switch (node?.kind) {
      case "prototype":
      case "member":
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
        return node.self === undefined ? [node.home] : [node.home, node.self];
      default:
        return [];
    }
  }

  /** A hook gets its payload complete, so everything inside comes first. */
  #everythingIn(start: Ref): Ref[] {
    const reached = new Set<Ref>([start]);
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
   * Functions that hold each other as constants share a block if their names agree. The rest keeps its order, and variables that come too
   * early are assigned late.
   */
  #mergeCycle(component: readonly Unit[]): readonly Unit[] {
    if (component.length === 1 || !this.#canMerge(component)) return component;
    const [first] = component as readonly CodeUnit[];
    const merged: CodeUnit = {
      kind: "code",
      source: (first as CodeUnit).source,
      members: (component as readonly CodeUnit[]).flatMap(({ members }) => members),
      declaration: null,
      context: null,
    };
    for (const ref of merged.members) this.#unitOfRef.set(ref, merged);
    this.#needs.clear();
    return [merged];
  }

  #canMerge(component: readonly Unit[]): boolean {
    const [first] = component;
    const locals = new Map<string, Ref>();
    const members: CodeNode[] = [];
    for (const unit of component) {
      if (unit.kind === "variable" || unit.declaration !== null || unit.context !== null || unit.source !== first?.source) return false;
      for (const ref of unit.members) {
        const node = this.#graph.nodes[ref] as CodeNode;
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
function stronglyConnected(units: readonly Unit[], needsOf: (unit: Unit) => ReadonlySet<Unit>): Unit[][] {
  const indexOf = new Map<Unit, number>();
  const lowest = new Map<Unit, number>();
  const open: Unit[] = [];
  const isOpen = new Set<Unit>();
  const components: Unit[][] = [];
  for (const start of units) {
    if (indexOf.has(start)) continue;
    const walk: { unit: Unit; needs: Iterator<Unit> }[] = [];
    const enter = (unit: Unit): void => {
      lowest.set(unit, indexOf.size);
      indexOf.set(unit, indexOf.size);
      open.push(unit);
      isOpen.add(unit);
      walk.push({ unit, needs: needsOf(unit)[Symbol.iterator]() });
    };
    const lower = (unit: Unit, index: number): void => {
      lowest.set(unit, Math.min(lowest.get(unit) as number, index));
    };
    enter(start);
    for (let top = walk.at(-1); top; top = walk.at(-1)) {
      const { value: need, done } = top.needs.next();
      if (!done) {
        if (!indexOf.has(need)) enter(need);
        else if (isOpen.has(need)) lower(top.unit, indexOf.get(need) as number);
        continue;
      }
      walk.pop();
      const parent = walk.at(-1);
      if (parent) lower(parent.unit, lowest.get(top.unit) as number);
      if (lowest.get(top.unit) !== indexOf.get(top.unit)) continue;
      const component: Unit[] = [];
      for (let unit = open.pop() as Unit; ; unit = open.pop() as Unit) {
        isOpen.delete(unit);
        component.push(unit);
        if (unit === top.unit) break;
      }
      components.push(component);
    }
  }
  return components;
}
