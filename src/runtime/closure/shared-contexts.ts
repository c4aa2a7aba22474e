/**
 * A variable of an enclosing call that shipped closures write, and that more than one of them sees, must stay one variable.
 *
 * Decides when that is so and moves such variables from the closures to contexts that they share. The engine's scope lists are copies
 * without identity. Whether two closures see one variable is found by a write: one of them is stopped at its first statement, the variable gets a mark
 * there, and the scopes of the others are read; then it gets its value back, all in one synchronous step. Called at the end of a capture.
 */
import type { CapturedClosure, GraphBuilder } from "./graph-builder.ts";
import type { Variable } from "./graph.ts";
import { type EnterFunction, GIVEN, giving, internalsOf, scopesOf, withEntry } from "./inspector-session.ts";
import { tryRead } from "./known-values.ts";

export function shareContexts(graph: GraphBuilder): void {
  const shared = closuresThatMayShare(graph.closures);
  if (shared.length === 0) return;
  const chains = chainsOf(graph, shared);
  const indexById = makeContexts(graph, shared, chains);
  shared.forEach((closure, position) => {
    moveVariables(graph, closure, { chain: chains[position] as number[], indexById });
  });
}

function closuresThatMayShare(closures: readonly CapturedClosure[]): CapturedClosure[] {
  const uses = new Map<object, Map<string, { count: number; isWritten: boolean }>>();
  const usesOf = (closure: CapturedClosure): Map<string, { count: number; isWritten: boolean }> => {
    const known = uses.get(closure.place.identity) ?? new Map();
    uses.set(closure.place.identity, known);
    return known;
  };
  for (const closure of closures) {
    const byName = usesOf(closure);
    for (const { name, isWritten } of closure.locals) {
      const use = byName.get(name) ?? { count: 0, isWritten: false };
      use.count += 1;
      use.isWritten ||= isWritten;
      byName.set(name, use);
    }
  }
  return closures.filter((closure) =>
    closure.locals.some(({ name }) => {
      const use = usesOf(closure).get(name);
      return use !== undefined && use.isWritten && use.count > 1;
    }),
  );
}

/** A variable of one closure, by the closure's position in the list. */
interface Use {
  readonly position: number;
  readonly closure: CapturedClosure;
  readonly scopeIndex: number;
  readonly name: string;
}

/** For each closure the ids of its scopes, innermost first; scopes that closures share have one id. */
function chainsOf(graph: GraphBuilder, closures: readonly CapturedClosure[]): number[][] {
  const scopes = closures.map(({ target }) => scopesOf(internalsOf(target)).length);
  const ids = new ScopeIds(scopes);
  const uses = writtenVariables(closures).filter((group) => group.length > 1);
  if (uses.length > 0) {
    withEntry((enter) => {
      for (const group of uses) joinScopes(graph, { group, ids, enter });
    });
  }
  return scopes.map((count, position) => Array.from({ length: count }, (_, scopeIndex) => ids.of(position, scopeIndex)));
}

/** The uses of each variable name that some closure of the same file writes. */
function writtenVariables(closures: readonly CapturedClosure[]): Use[][] {
  const groups = new Map<object, Map<string, { uses: Use[]; isWritten: boolean }>>();
  closures.forEach((closure, position) => {
    const byName = groups.get(closure.place.identity) ?? new Map<string, { uses: Use[]; isWritten: boolean }>();
    groups.set(closure.place.identity, byName);
    for (const { name, scopeIndex, isWritten } of closure.locals) {
      const group = byName.get(name) ?? { uses: [], isWritten: false };
      byName.set(name, group);
      group.uses.push({ position, closure, scopeIndex, name });
      group.isWritten ||= isWritten;
    }
  });
  return [...groups.values()].flatMap((byName) => [...byName.values()].filter(({ isWritten }) => isWritten).map(({ uses }) => uses));
}

/** Finds out which of these variables of one name are one variable, and joins their scopes. */
function joinScopes(graph: GraphBuilder, { group, ids, enter }: { group: readonly Use[]; ids: ScopeIds; enter: EnterFunction }): void {
  const left = new Set(group);
  for (const use of group) {
    // Scopes that an outer or inner variable has shown to be the same need no mark of their own.
    for (const other of left) if (other !== use && left.has(use) && ids.isSame(use, other)) left.delete(other);
    if (!left.has(use) || use.closure.entry === null) continue;
    left.delete(use);
    const others = [...left].filter((other) => Object.is(valueOf(other), valueOf(use)));
    if (others.length === 0) continue;
    for (const other of seeingOneVariable(use, { others, enter }) ?? refuse(graph, use, others)) {
      ids.join(use, other);
      left.delete(other);
    }
  }
  const [first, ...others] = [...left].filter(({ closure }) => closure.entry === null);
  if (first !== undefined && others.some((other) => Object.is(valueOf(other), valueOf(first)))) refuse(graph, first, others);
}

function refuse(graph: GraphBuilder, { closure, name }: Use, others: readonly Use[]): never {
  const labels = [closure, ...others.map((other) => other.closure)].map(({ label }) => label).join(", ");
  const names = new Set(labels.split(", "));
  return graph.fail(closure.step, {
    what: `shares the variable \`${name}\`, which is written, between ${[...names].join(", ")}, and whether it is one variable or several cannot be told here`,
    hint: "Keep the shared state in an object (`const state = { count: 0 }`), or in an actor.",
  });
}

const UNINITIALIZED = Symbol("uninitialized");

function valueOf({ closure, scopeIndex, name }: Use): unknown {
  const scope = scopesOf(internalsOf(closure.target))[scopeIndex];
  try {
    return scope?.variables[name];
  } catch {
    return UNINITIALIZED;
  }
}

/** @returns those of the others whose variable is the very variable of `use`; undefined when that could not be tried */
function seeingOneVariable(use: Use, { others, enter }: { others: readonly Use[]; enter: EnterFunction }): Use[] | undefined {
  const { closure, name } = use;
  const mark = {};
  const before = valueOf(use);
  if (closure.entry === null || before === UNINITIALIZED) return undefined;
  let found: Use[] | undefined;
  enter(closure.target, closure.entry, (evaluate) => {
    const write = (value: unknown): unknown => tryRead(() => giving(value, () => evaluate(`(${name} = ${GIVEN}, true)`)));
    if (write(mark) !== true) return;
    try {
      if (valueOf(use) === mark) found = others.filter((other) => valueOf(other) === mark);
    } finally {
      write(before);
    }
  });
  return found;
}

/** Which scopes of which closures are the same. */
class ScopeIds {
  readonly #counts: readonly number[];
  readonly #starts: number[] = [];
  readonly #parents: number[] = [];

  constructor(counts: readonly number[]) {
    this.#counts = counts;
    for (const count of counts) {
      this.#starts.push(this.#parents.length);
      for (let index = 0; index < count; index++) this.#parents.push(this.#parents.length);
    }
  }

  of(position: number, scopeIndex: number): number {
    let at = (this.#starts[position] as number) + scopeIndex;
    while (this.#parents[at] !== at) at = this.#parents[at] as number;
    return at;
  }

  isSame(one: Use, other: Use): boolean {
    return this.of(one.position, one.scopeIndex) === this.of(other.position, other.scopeIndex);
  }

  /** What is around one scope is the same for all that see it. */
  join(one: Use, other: Use): void {
    const around = Math.min(
      (this.#counts[one.position] as number) - one.scopeIndex,
      (this.#counts[other.position] as number) - other.scopeIndex,
    );
    for (let out = 0; out < around; out++) {
      this.#parents[this.of(other.position, other.scopeIndex + out)] = this.of(one.position, one.scopeIndex + out);
    }
  }
}

/** One shared context for each that a variable lives in, its parent the nearest of them around it. */
function makeContexts(
  graph: GraphBuilder,
  closures: readonly CapturedClosure[],
  chains: readonly (readonly number[])[],
): Map<number, number> {
  const used = new Set<number>();
  closures.forEach(({ locals }, position) => {
    for (const { scopeIndex } of locals) {
      const id = chains[position]?.[scopeIndex];
      if (id !== undefined) used.add(id);
    }
  });
  const indexById = new Map<number, number>();
  for (const chain of chains) {
    let parent: number | null = null;
    for (const id of [...chain].reverse()) {
      if (!used.has(id)) continue;
      const known = indexById.get(id);
      const index: number = known ?? graph.contexts.push({ variables: [], parent }) - 1;
      indexById.set(id, index);
      parent = index;
    }
  }
  return indexById;
}

function moveVariables(
  graph: GraphBuilder,
  { locals, code }: CapturedClosure,
  { chain, indexById }: { chain: readonly number[]; indexById: ReadonlyMap<number, number> },
): void {
  const innermost = chain.find((id) => indexById.has(id));
  code.context = innermost === undefined ? null : (indexById.get(innermost) as number);
  for (const { name, scopeIndex, isWritten } of locals) {
    const index = indexById.get(chain[scopeIndex] ?? -1);
    const at = code.locals.findIndex(([local]) => local === name);
    if (index === undefined || at < 0) continue;
    const [moved] = code.locals.splice(at, 1) as [Variable];
    const { variables } = graph.contexts[index] as { variables: Variable[] };
    const known = variables.findIndex(([variable]) => variable === name);
    if (known < 0) variables.push(moved);
    else if (isWritten) variables[known] = [name, (variables[known] as Variable)[1], true];
  }
}
