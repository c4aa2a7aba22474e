/**
 * The free names of a function or class: what each stands for where the text was written.
 *
 * Decides between an import (made again at the same place elsewhere), a variable of the top level (one for all functions of a file), a
 * variable of an enclosing call (the function's own), what every module has, and a global (nothing to send). Called by `capture-function`
 * and `capture-class`.
 */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type CodePlace, placeOf } from "./code-place.ts";
import { type AnyFunction, type FunctionFacts, factsOf } from "./function-facts.ts";
import type { GraphBuilder, Step } from "./graph-builder.ts";
import type { Code, Node, Ref } from "./graph.ts";
import type { CapturedScope } from "./inspector-session.ts";
import { tryRead } from "./known-values.ts";
import type { ParsedText } from "./parse-text.ts";
import { readsViteEnvironment, viteEnvironment } from "./vite-modules.ts";
import { wellKnownMembers } from "./well-known.ts";

/** All that is known of a function or class that goes by value. */
export interface FunctionJob {
  readonly target: AnyFunction;
  readonly facts: FunctionFacts;
  readonly parsed: ParsedText;
  readonly place: CodePlace;
  readonly scopes: readonly CapturedScope[];
  readonly step: Step;
  readonly code: Code;
}

/** `function train (main.ts:12)`, for the start of error paths. */
export function describeFunction(target: AnyFunction): string {
  return `${factsOf(target).isClass ? "class" : "function"} ${target.name || "anonymous"}${describePlace(target)}`;
}

/** ` (main.ts:12)`; empty for a function without a text. */
export function describePlace(target: AnyFunction): string {
  const facts = factsOf(target);
  const place = tryRead(() => placeOf(facts, facts.isNative ? null : facts.place()));
  return place ? ` (${place.describe()})` : "";
}

/** Binds every free name of the text. */
export function captureVariables(graph: GraphBuilder, job: FunctionJob): void {
  const locals: { name: string; scopeIndex: number; isWritten: boolean }[] = [];
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
  const { target, place, code, step, parsed } = job;
  graph.closures.push({ target, label: target.name || "anonymous", place, entry: parsed.entry, code, locals, step });
}

interface VariableUse {
  readonly name: string;
  /** -1: no scope of the closure has it. */
  readonly scopeIndex: number;
  readonly isWritten: boolean;
}

function captureTopLevelName(graph: GraphBuilder, job: FunctionJob, use: VariableUse): void {
  const { name, scopeIndex, isWritten } = use;
  const source = graph.sourceOf(job.place);
  const known = source.variables.get(name);
  if (known) {
    known.isWritten ||= isWritten;
    return;
  }
  const binding = job.place.bindingOf(name, source.index, scopeIndex >= 0);
  if (binding === "provided") return;
  if (binding?.kind === "import") noteViteEnvironment(graph, binding.specifier);
  if (binding) {
    source.variables.set(name, {
      value: referImported(graph, job, use) ?? graph.addAnonymous(withEnvironment(binding, job, use)),
      isWritten,
    });
  } else if (scopeIndex >= 0) {
    if (isWritten) {
      graph.notes.add(`${job.target.name || "anonymous"} assigns the module variable \`${name}\`: the worker changes its own copy`);
    }
    const variable = { value: -1, isWritten };
    source.variables.set(name, variable);
    variable.value = captureVariableValue(graph, job, use);
  }
}

/** A worker loads the module itself, by its path or URL. */
export function noteViteEnvironment(graph: GraphBuilder, specifier: string): void {
  const file = specifier.startsWith("file:") ? fileURLToPath(specifier) : specifier;
  if (!path.isAbsolute(file) || !readsViteEnvironment(file)) return;
  graph.notes.add(
    `WARNING: ${path.relative(process.cwd(), file)} reads import.meta.env, which Vite provides in this process alone: a worker that imports the ` +
      "module has none. Read process.env there, or pass the values as arguments",
  );
}

/** Vite's `import.meta` has an environment, which no worker has by itself. */
function withEnvironment(binding: Node, job: FunctionJob, { name, scopeIndex }: VariableUse): Node {
  if (binding.kind !== "importMeta") return binding;
  const env = viteEnvironment(tryRead(() => job.scopes[scopeIndex]?.variables[name]));
  return env === undefined ? binding : { ...binding, env };
}

/** An import that holds something that goes by an id of its own (a runtime export, a reference, a handle), or `undefined`. */
function referImported(graph: GraphBuilder, job: FunctionJob, { name, scopeIndex }: VariableUse): Ref | undefined {
  const live = tryRead(() => job.scopes[scopeIndex]?.variables[name]);
  if ((typeof live !== "object" || live === null) && typeof live !== "function") return undefined;
  const byId = graph.referById(live, { parent: job.step, label: `imported \`${name}\`` });
  if (byId !== undefined || typeof live === "function") return byId;
  const members = wellKnownMembers(live);
  return members && graph.addAnonymous({ kind: "wellKnownModule", members });
}

function captureVariableValue(graph: GraphBuilder, job: FunctionJob, { name, scopeIndex }: VariableUse): Ref {
  const step: Step = { parent: job.step, label: `captured \`${name}\``, variable: name };
  let value: unknown;
  try {
    value = job.scopes[scopeIndex]?.variables[name];
  } catch {
    graph.notes.add(`\`${name}\` is not initialized yet: it will be undefined on the worker`);
  }
  if (typeof value === "object" && value !== null) graph.variables.push({ step, value });
  return graph.refer(value, step);
}
