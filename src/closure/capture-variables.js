"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.describeFunction = describeFunction;
exports.captureVariables = captureVariables;
/**
 * The free names of a function or class: what each stands for where the text was written.
 *
 * Decides between an import (made again at the same place elsewhere), a variable of the top level (one for all functions of a file), a
 * variable of an enclosing call (the function's own), what every module has, and a global (nothing to send). Called by `capture-function`
 * and `capture-class`.
 */
const code_place_ts_1 = require("./code-place.js");
const function_facts_ts_1 = require("./function-facts.js");
const known_values_ts_1 = require("./known-values.js");
const well_known_ts_1 = require("./well-known.js");
/** `function train (main.ts:12)`, for the start of error paths. */
function describeFunction(target) {
  const facts = (0, function_facts_ts_1.factsOf)(target);
  const place = (0, known_values_ts_1.tryRead)(() => (0, code_place_ts_1.placeOf)(facts, facts.isNative ? null : facts.place()));
  const where = place ? ` (${place.describe()})` : "";
  return `${facts.isClass ? "class" : "function"} ${target.name || "anonymous"}${where}`;
}
/** Binds every free name of the text. */
function captureVariables(graph, job) {
  const locals = [];
  for (const [name, { written }] of job.parsed.free) {
    const scopeIndex = job.scopes.findIndex(({ variables }) => Object.hasOwn(variables, name));
    const use = { name, scopeIndex, isWritten: written };
    if (scopeIndex < 0 || job.place.isTopLevel(name)) captureTopLevelName(graph, job, use);
    else {
      const value = captureVariableValue(graph, job, use);
      job.code.locals.push([name, value, written]);
      locals.push(use);
    }
  }
  if (locals.length === 0) return;
  const { target, place, code, step } = job;
  graph.closures.push({ target, label: target.name || "anonymous", place, code, locals, step });
}
function captureTopLevelName(graph, job, use) {
  const { name, scopeIndex, isWritten } = use;
  const source = graph.sourceOf(job.place);
  const known = source.variables.get(name);
  if (known) {
    known.isWritten ||= isWritten;
    return;
  }
  const binding = job.place.bindingOf(name, source.index, scopeIndex >= 0);
  if (binding === "provided") return;
  if (binding) {
    source.variables.set(name, { value: referImported(graph, job, use) ?? graph.addAnonymous(binding), isWritten });
  } else if (scopeIndex >= 0) {
    if (isWritten) {
      graph.notes.add(`${job.target.name || "anonymous"} assigns the module variable \`${name}\`: the worker changes its own copy`);
    }
    const variable = { value: -1, isWritten };
    source.variables.set(name, variable);
    variable.value = captureVariableValue(graph, job, use);
  }
}
/** An import that holds something that goes by an id of its own (a runtime export, a reference, a handle), or `undefined`. */
function referImported(graph, job, { name, scopeIndex }) {
  const live = (0, known_values_ts_1.tryRead)(() => job.scopes[scopeIndex]?.variables[name]);
  if ((typeof live !== "object" || live === null) && typeof live !== "function") return undefined;
  const byId = graph.referById(live, { parent: job.step, label: `imported \`${name}\`` });
  if (byId !== undefined || typeof live === "function") return byId;
  const members = (0, well_known_ts_1.wellKnownMembers)(live);
  return members && graph.addAnonymous({ kind: "wellKnownModule", members });
}
function captureVariableValue(graph, job, { name, scopeIndex }) {
  const step = { parent: job.step, label: `captured \`${name}\`` };
  let value;
  try {
    value = job.scopes[scopeIndex]?.variables[name];
  } catch {
    graph.notes.add(`\`${name}\` is not initialized yet: it will be undefined on the worker`);
  }
  if (typeof value === "object" && value !== null) graph.variables.push({ step, value });
  return graph.refer(value, step);
}
//# sourceMappingURL=capture-variables.js.map
