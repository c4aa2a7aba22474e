"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.shareContexts = shareContexts;
function shareContexts(graph) {
  const shared = closuresThatMayShare(graph.closures);
  if (shared.length === 0) return;
  const heap = graph.heap;
  if (!heap) {
    const names = shared.map(({ label }) => label).join(", ");
    const first = shared[0];
    graph.fail(first.step, {
      what: `shares a variable that is written between ${names}, and the heap is too large to see which`,
      hint: "Keep the shared state in an object.",
    });
  }
  const chains = shared.map(({ target }) => heap.contextsOf(target));
  const indexById = makeContexts(graph, shared, chains);
  shared.forEach((closure, position) => {
    moveVariables(graph, closure, { chain: chains[position], indexById });
  });
}
function closuresThatMayShare(closures) {
  const uses = new Map();
  const usesOf = (closure) => {
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
/** One shared context for each that a variable lives in, its parent the nearest of them around it. */
function makeContexts(graph, closures, chains) {
  const used = new Set();
  closures.forEach(({ locals }, position) => {
    for (const { scopeIndex } of locals) {
      const id = chains[position]?.[scopeIndex];
      if (id !== undefined) used.add(id);
    }
  });
  const indexById = new Map();
  for (const chain of chains) {
    let parent = null;
    for (const id of [...chain].reverse()) {
      if (!used.has(id)) continue;
      const known = indexById.get(id);
      const index = known ?? graph.contexts.push({ variables: [], parent }) - 1;
      indexById.set(id, index);
      parent = index;
    }
  }
  return indexById;
}
function moveVariables(graph, { locals, code }, { chain, indexById }) {
  const innermost = chain.find((id) => indexById.has(id));
  code.context = innermost === undefined ? null : indexById.get(innermost);
  for (const { name, scopeIndex, isWritten } of locals) {
    const index = indexById.get(chain[scopeIndex] ?? -1);
    const at = code.locals.findIndex(([local]) => local === name);
    if (index === undefined || at < 0) continue;
    const [moved] = code.locals.splice(at, 1);
    const { variables } = graph.contexts[index];
    const known = variables.findIndex(([variable]) => variable === name);
    if (known < 0) variables.push(moved);
    else if (isWritten) variables[known] = [name, variables[known][1], true];
  }
}
//# sourceMappingURL=shared-contexts.js.map
