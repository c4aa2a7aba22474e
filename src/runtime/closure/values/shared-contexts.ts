/**
 * A variable of an enclosing call that shipped closures write, and that more than one of them sees, must stay one variable.
 *
 * Finds such variables and moves them from the closures to contexts that they share. The engine's scope lists are copies without identity,
 * so a write decides whether two closures see one variable. One closure is stopped at its first statement, the variable gets a mark, and
 * the scopes of the others are read. Then the variable gets its value back, all in one synchronous step. Called at the end of a capture.
 */
import type { CapturedClosure, GraphBuilder, VariableUse } from "../capturing/graph-builder.ts";
import type { Variable } from "../graph.ts";
import { type CapturedScope, type EnterFunction, GIVEN, giving, internalsOf, scopesOf, withEntry } from "../scripts/hidden-parts.ts";
import { tryRead } from "./known-values.ts";

export function shareContexts(graph: GraphBuilder): void {
  const groups = sharedVariables(graph.closures);
  if (groups.length === 0) return;
  const sharing = new Set(groups.flat().map(({ closure }) => closure));
  const closures = graph.closures.filter((closure) => sharing.has(closure));
  const same = new SameScopes();
  withEntry((enter) => {
    for (const group of groups) joinScopes(graph, { group, same, enter });
  });
  const indexByScope = makeContexts(graph, closures, same);
  for (const closure of closures) moveVariables(graph, closure, (scope) => indexByScope.get(same.of(scope)));
}

/** A variable of one closure. */
interface Use extends VariableUse {
  readonly closure: CapturedClosure;
}

/** Groups uses that may be of one variable: equal name, place and value, several closures of one file, at least one of which writes. */
function sharedVariables(closures: readonly CapturedClosure[]): Use[][] {
  const isShared = (group: readonly Use[]): boolean => group.length > 1 && group.some(({ isWritten }) => isWritten);
  const uses = closures.flatMap((closure) => closure.locals.map((local): Use => ({ ...local, closure })));
  return (
    [...Map.groupBy(uses, ({ closure }) => closure.place.identity).values()]
      .flatMap((ofFile) => [...Map.groupBy(ofFile, ({ name }) => name).values()])
      .filter(isShared)
      .flatMap((ofName) => [...Map.groupBy(ofName, placeOf).values()].filter(isShared))
      // A minified bundle has thousands of variables of one name, so pairs are not all tried.
      .flatMap((ofPlace) => [...Map.groupBy(ofPlace, valueOf).values()].filter(isShared))
  );
}

/** Key that is equal for all closures that see one scope: the engine's name and the number of scopes around it. */
function placeOf({ closure, scopeIndex }: Use): string {
  return `${closure.scopes.length - scopeIndex} ${closure.scopes[scopeIndex]?.description}`;
}

/** Finds out which of these variables of one name and value are one variable, and joins their scopes. */
function joinScopes(graph: GraphBuilder, { group, same, enter }: { group: readonly Use[]; same: SameScopes; enter: EnterFunction }): void {
  const left = new Set(group);
  for (const use of group) {
    // Scopes that an outer or inner variable has shown to be the same need no separate mark.
    for (const other of left) if (other !== use && left.has(use) && same.of(scopeOf(use)) === same.of(scopeOf(other))) left.delete(other);
    if (!left.has(use) || use.closure.parsed.entry === null) continue;
    left.delete(use);
    const others = [...left];
    if (others.length === 0) continue;
    for (const other of seeingOneVariable(use, { others, enter }) ?? refuse(graph, use, others)) {
      same.join(use, other);
      left.delete(other);
    }
  }
  const [first, ...others] = [...left].filter(({ closure }) => closure.parsed.entry === null);
  if (first !== undefined && others.length > 0) refuse(graph, first, others);
}

function refuse(graph: GraphBuilder, { closure, name }: Use, others: readonly Use[]): never {
  const names = new Set([closure, ...others.map((other) => other.closure)].map(({ target }) => target.name || "anonymous"));
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

/** @returns the other uses with the very variable of `use`; undefined if that could not be tried */
function seeingOneVariable(use: Use, { others, enter }: { others: readonly Use[]; enter: EnterFunction }): Use[] | undefined {
  const { closure, name } = use;
  const mark = {};
  const before = valueOf(use);
  const { entry } = closure.parsed;
  if (entry === null || before === UNINITIALIZED) return undefined;
  let found: Use[] | undefined;
  enter(closure.target, entry, (evaluate) => {
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

function scopeOf({ closure, scopeIndex }: Use): CapturedScope {
  return closure.scopes[scopeIndex] as CapturedScope;
}

/** Tracks which scopes of which closures are the same. */
class SameScopes {
  readonly #sameAs = new Map<CapturedScope, CapturedScope>();

  /** Returns one representative for all scopes known to be the same. */
  of(scope: CapturedScope): CapturedScope {
    let at = scope;
    for (let next = this.#sameAs.get(at); next; next = this.#sameAs.get(at)) at = next;
    return at;
  }

  /** Closures that share a scope share everything around it. */
  join(one: Use, other: Use): void {
    const others = other.closure.scopes.slice(other.scopeIndex);
    for (const [out, scope] of one.closure.scopes.slice(one.scopeIndex).entries()) {
      const [known, joined] = [this.of(scope), others[out] && this.of(others[out])];
      if (joined && joined !== known) this.#sameAs.set(joined, known);
    }
  }
}

/** Makes one shared context for each scope with a shared variable. Its parent is the nearest such scope around it. */
function makeContexts(graph: GraphBuilder, closures: readonly CapturedClosure[], same: SameScopes): Map<CapturedScope, number> {
  const used = new Set(closures.flatMap((closure) => closure.locals.map((local) => same.of(scopeOf({ ...local, closure })))));
  const indexByScope = new Map<CapturedScope, number>();
  for (const { scopes } of closures) {
    let parent: number | null = null;
    for (const scope of scopes.map((inner) => same.of(inner)).reverse()) {
      if (!used.has(scope)) continue;
      const index: number = indexByScope.get(scope) ?? graph.contexts.push({ variables: [], parent }) - 1;
      indexByScope.set(scope, index);
      parent = index;
    }
  }
  return indexByScope;
}

function moveVariables(
  graph: GraphBuilder,
  { locals, scopes, code }: CapturedClosure,
  contextOf: (scope: CapturedScope) => number | undefined,
): void {
  const chain = scopes.map(contextOf);
  code.context = chain.find((index) => index !== undefined) ?? null;
  for (const { name, scopeIndex, isWritten } of locals) {
    const at = code.locals.findIndex(([local]) => local === name);
    const [moved] = code.locals.splice(at, 1) as [Variable];
    const { variables } = graph.contexts[chain[scopeIndex] as number] as { variables: Variable[] };
    const known = variables.findIndex(([variable]) => variable === name);
    if (known < 0) variables.push(moved);
    else if (isWritten) variables[known] = [name, (variables[known] as Variable)[1], true];
  }
}
