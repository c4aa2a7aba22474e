/**
 * Binds the free names of a function or class to their meaning where the text was written.
 *
 * There are five kinds. An import is made again on the worker. A top-level variable is shared by all functions of a file, and a variable of
 * an enclosing call belongs to the function. Every module has some names of the module system, and a global is not sent. Called by
 * `capture-function` and `capture-class`.
 */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { placeOf } from "../scripts/code-place.ts";
import { type AnyFunction, factsOf } from "./function-facts.ts";
import type { NameUse } from "../parsing/free-variables.ts";
import type { FunctionJob, GraphBuilder, Step, VariableUse } from "./graph-builder.ts";
import type { Node, Ref } from "../graph.ts";
import { isObjectLike, tryRead } from "../values/known-values.ts";
import { readsViteEnvironment, viteEnvironment } from "../scripts/vite-modules.ts";
import { wellKnownMembers } from "../values/well-known.ts";
import { workingFolder } from "../scripts/working-folder.ts";

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

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
  const locals: VariableUse[] = [];
  for (const [name, { written, uses }] of job.parsed.free) {
    const scopeIndex = job.scopes.findIndex(({ variables }) => Object.hasOwn(variables, name));
    const use = { name, scopeIndex, isWritten: written };
    if (scopeIndex < 0 || job.place.isTopLevel(name)) {
      captureTopLevelName(graph, job, use);
      readLive(graph, job, { name, uses });
    } else {
      const value = captureVariableValue(graph, job, use);
      job.code.locals.push([name, value, written]);
      locals.push(use);
    }
  }
  if (locals.length > 0) graph.closures.push({ ...job, locals });
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
    const live = tryRead(() => job.scopes[scopeIndex]?.variables[name]);
    const step: Step = { parent: job.step, label: `imported \`${name}\`` };
    const value = referImported(graph, live, step) ?? graph.addAnonymous(withEnvironment(binding, live));
    // A function keeps its name in errors and its `this`; a module that assigns one later is rare.
    source.variables.set(name, { value, isWritten, ...(typeof live === "function" ? { isConstant: true } : {}) });
  } else if (scopeIndex >= 0) {
    if (isWritten) {
      graph.notes.add(`${job.target.name || "anonymous"} assigns the module variable \`${name}\`: the worker changes its own copy`);
    }
    const variable = { value: -1, isWritten };
    source.variables.set(name, variable);
    variable.value = captureVariableValue(graph, job, use);
  }
}

/** An import is read from its module at each use, as the module may assign its export at any time. */
function readLive(graph: GraphBuilder, job: FunctionJob, { name, uses }: { name: string; uses: readonly NameUse[] }): void {
  const { index, variables } = graph.sourceOf(job.place);
  const { value: ref, isConstant } = variables.get(name) ?? {};
  const node = ref === undefined ? undefined : graph.nodes[ref];
  const [member] = node?.kind === "import" && node.isLive && !isConstant ? node.path : [];
  if (node?.kind !== "import" || member === undefined) return;
  const module = `$shoal_from_${name}`;
  if (!variables.has(module)) {
    const { isLive: _, ...whole } = node;
    variables.set(module, { value: graph.addAnonymous({ ...whole, source: index, path: [] }), isWritten: false });
  }
  const read = module + (IDENTIFIER.test(member) ? `.${member}` : `[${JSON.stringify(member)}]`);
  job.code.liveReads ??= [];
  for (const { start, end, isShorthand } of uses) job.code.liveReads.push([start, end, isShorthand ? `${name}: ${read}` : read]);
}

/** A worker loads the module itself, by its path or URL. */
export function noteViteEnvironment(graph: GraphBuilder, specifier: string): void {
  const file = specifier.startsWith("file:") ? fileURLToPath(specifier) : specifier;
  if (!path.isAbsolute(file) || !readsViteEnvironment(file)) return;
  graph.notes.add(
    `WARNING: ${path.relative(workingFolder(), file)} reads import.meta.env, which Vite provides in this process alone: a worker that imports the ` +
      "module has none. Read process.env there, or pass the values as arguments",
  );
}

/** Vite's `import.meta` has an environment, which no worker has by itself. */
function withEnvironment(binding: Node, live: unknown): Node {
  if (binding.kind !== "importMeta") return binding;
  const env = viteEnvironment(live);
  return env === undefined ? binding : { ...binding, env };
}

/** Returns the node of an import whose value travels by id (a runtime export, a reference, a handle) or is `undefined`. */
function referImported(graph: GraphBuilder, live: unknown, step: Step): Ref | undefined {
  if (!isObjectLike(live)) return undefined;
  const byId = graph.referById(live, step);
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
