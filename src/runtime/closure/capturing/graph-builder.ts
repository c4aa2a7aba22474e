/**
 * Builds the graph of one capture: remembers nodes by value, queues values to visit, and reports failures.
 *
 * Owns the nodes, sources and notes of one capture. The walk uses a queue, never recursion, so depth has no limit. Each visited value
 * carries the trail that led to it, which errors show. `capture-value` decides which node a value becomes.
 */
import { Fifo } from "../../base/collections/fifo.ts";
import type { EncodeHooks } from "../../wire/value/encode.ts";
import { SerializationError } from "../../base/errors.ts";
import type { CodePlace } from "../scripts/code-place.ts";
import type { AnyFunction, FunctionFacts, ScriptPlace } from "./function-facts.ts";
import { type Code, type Graph, GRAPH_VERSION, type ImportNode, type Node, type Ref, type SharedContext, type Variable } from "../graph.ts";
import type { CapturedScope } from "../scripts/hidden-parts.ts";
import { isObjectLike } from "../values/known-values.ts";
import type { ParsedText } from "../parsing/parse-text.ts";
import { wellKnownId } from "../values/well-known.ts";
import { workingFolder } from "../scripts/working-folder.ts";

/** How a value was reached. */
export interface Step {
  readonly parent: Step | null;
  readonly label: string | (() => string);
  /** The object whose property it is. */
  readonly holder?: object;
  /** The captured variable whose value it is. */
  readonly variable?: string;
}

interface Failure {
  /** Completes the sentence that begins with the path, such as "(Socket) cannot be sent". */
  readonly what: string;
  /** Suggests an alternative to the user. */
  readonly hint?: string;
  /** Begins a sentence that ends with where the user can create it instead: "A Socket is tied to this process". */
  readonly tied?: string;
}

/** A part of a value that cannot be sent. */
export interface Unsendable {
  /** The way to it, from the whole value inwards, such as `["function train", "variable db", ".socket"]`. */
  readonly path: readonly string[];
  /** Completes the sentence that begins with the path, such as "(Socket) cannot be sent". */
  readonly problem: string;
  readonly hint: string | undefined;
}

/** Content of a failure, for callers that can name the value better. */
interface Unsent extends Unsendable {
  readonly mode: CaptureMode;
}

const unsentOf = new WeakMap<object, Unsent>();

function unsentError(unsent: Unsent): SerializationError {
  const { mode, path, problem, hint } = unsent;
  const sentence = `${path.join(" → ")} ${problem}`;
  const lines = [`${path[0]} cannot be sent to ${mode === "definition" ? "a worker" : "another process"}:`, `    ${sentence}`];
  if (hint !== undefined) lines.push(`    ${hint}`);
  const error = new SerializationError(lines.join("\n"), { reason: "not-serializable", hint, path: sentence });
  unsentOf.set(error, unsent);
  return error;
}

/**
 * Adds a name for the whole value, such as "the result of train", to an error of `captureValue`; returns other errors unchanged. The name
 * is a function, so that it costs nothing without an error.
 *
 * @param inside steps from the whole value to the captured part
 */
export function nameUnsent(error: unknown, name: () => string, inside: readonly string[] = []): unknown {
  const unsent = unsentOf.get(error as object);
  return unsent === undefined ? error : unsentError({ ...unsent, path: [name(), ...inside, ...unsent.path.slice(1)] });
}

const WHERE = "inside the function, in the constructor of an actor, or in a module that the function imports";

/** Returns the remedy. It names the outermost variable, which is the one that the user can see. */
function remedyFor(step: Step, { hint, tied }: Failure): string | undefined {
  let variable: string | undefined;
  for (let at: Step | null = step; at; at = at.parent) variable = at.variable ?? variable;
  if (tied !== undefined) {
    const create = `create ${variable === undefined ? "it" : `\`${variable}\``} ${WHERE}`;
    return `${tied}: ${create}${variable === undefined ? ", and send plain data" : ""}.`;
  }
  if (variable === undefined || step.variable !== undefined) return hint;
  return hint === undefined ? `Create \`${variable}\` ${WHERE}.` : `${hint} Or create \`${variable}\` ${WHERE}.`;
}

/** `definition`: classes are inlined. `value`: classes are referred to by their own definitions. */
type CaptureMode = "definition" | "value";

/** All facts about a function or class that goes by value. */
export interface FunctionJob {
  readonly target: AnyFunction;
  readonly facts: FunctionFacts;
  readonly parsed: ParsedText;
  readonly place: CodePlace;
  readonly scopes: readonly CapturedScope[];
  readonly step: Step;
  readonly code: Code;
}

/** A free name of a function. */
export interface VariableUse {
  readonly name: string;
  /** -1: no scope of the closure has it. */
  readonly scopeIndex: number;
  readonly isWritten: boolean;
}

/** A captured function and the variables of enclosing calls that it uses, for `shared-contexts`. */
export interface CapturedClosure extends FunctionJob {
  readonly locals: readonly VariableUse[];
}

/** A captured class with its place in a script of this process. */
interface PlacedClass {
  readonly target: AnyFunction;
  readonly at: ScriptPlace;
}

interface SourceBuilder {
  readonly index: number;
  readonly place: CodePlace;
  /** `isConstant`: an import that is not read again at each use. */
  readonly variables: Map<string, { value: Ref; isWritten: boolean; readonly isConstant?: boolean }>;
}

interface GraphBuilderOptions {
  readonly mode: CaptureMode;
  readonly hooks: EncodeHooks;
  /** Makes the node of an object, function or symbol that has none yet. */
  readonly capture: (graph: GraphBuilder, value: object | symbol, step: Step) => Ref;
  /** Makes (or finds) the definition of a class met in a value, and returns its id. */
  readonly defineClass: (target: object, step: Step) => string;
  /** Gets each failure, and the walk continues without the value, to find them all. Without it the first one is thrown. */
  readonly onFailure?: (failure: Unsendable) => void;
}

/** Thrown by `fail` if failures are collected: ends the capture of one value, but not the walk. */
const NOT_CAPTURED = Symbol("not captured");

export class GraphBuilder {
  readonly options: GraphBuilderOptions;
  readonly nodes: Node[] = [];
  readonly contexts: SharedContext[] = [];
  readonly notes = new Set<string>();
  readonly definitions = new Set<string>();
  /** Classes that travel as those definitions. */
  readonly definedClasses = new Set<object>();
  readonly closures: CapturedClosure[] = [];
  readonly classes: PlacedClass[] = [];
  /** Module namespaces that an import of some captured file names. */
  readonly namespaces = new Map<object, ImportNode>();
  readonly weakCollections: { collection: WeakMap<object, unknown> | WeakSet<object>; entries: Ref[]; seen: Set<object> }[] = [];
  /** Captured variables that hold objects, to name the largest one in a warning. */
  readonly variables: { readonly step: Step; readonly value: object }[] = [];
  readonly #refByValue = new Map<unknown, Ref>();
  readonly #sources = new Map<object, SourceBuilder>();
  readonly #pending = new Fifo<() => void>();

  constructor(options: GraphBuilderOptions) {
    this.options = options;
  }

  /** Returns the node of a value, and makes it if the value is new. The inside is visited later. */
  refer(value: unknown, step: Step): Ref {
    if (Object.is(value, -0)) return this.nodes.push({ kind: "data", value }) - 1; // a Map takes -0 for 0
    const known = this.#refByValue.get(value);
    if (known !== undefined) return known;
    if (isObjectLike(value) || typeof value === "symbol") {
      const ref = this.#attempt(() => this.options.capture(this, value, step));
      // Not remembered: every path to a value that cannot be sent is a separate failure.
      return ref ?? this.addAnonymous({ kind: "data", value: undefined });
    }
    return this.add(value, { kind: "data", value });
  }

  /** Returns the node of a value that travels by id: a runtime export, or a value that the hooks know. `undefined` for other values. */
  referById(value: object, step: Step): Ref | undefined {
    const known = this.#refByValue.get(value);
    const kind = known === undefined ? undefined : this.nodes[known]?.kind;
    if (known !== undefined) return kind === "wellKnown" || kind === "reduced" ? known : undefined;
    const id = wellKnownId(value);
    if (id !== undefined) return this.add(value, { kind: "wellKnown", id });
    const reduced = this.options.hooks.reduce(value);
    if (!reduced) return undefined;
    const node = { kind: "reduced" as const, reducer: reduced.kind, payload: -1 };
    this.later(() => {
      node.payload = this.refer(reduced.payload, { parent: step, label: "serialized form" });
    });
    return this.add(value, node);
  }

  add(value: unknown, node: Node): Ref {
    const ref = this.nodes.push(node) - 1;
    this.#refByValue.set(value, ref);
    return ref;
  }

  /** Adds a node that stands for no value, such as an import binding. */
  addAnonymous(node: Node): Ref {
    return this.nodes.push(node) - 1;
  }

  knownRef(value: unknown): Ref | undefined {
    return this.#refByValue.get(value);
  }

  capturedValues(): Iterable<unknown> {
    return this.#refByValue.keys();
  }

  /** Does `visit` after all earlier visits. */
  later(visit: () => void): void {
    this.#pending.push(visit);
  }

  visitPending(): void {
    for (let visit = this.#pending.shift(); visit; visit = this.#pending.shift()) this.#attempt(visit);
  }

  sourceOf(place: CodePlace): SourceBuilder {
    let source = this.#sources.get(place.identity);
    if (!source) {
      source = { index: this.#sources.size, place, variables: new Map() };
      this.#sources.set(place.identity, source);
    }
    return source;
  }

  finish(root: Ref): Graph {
    const sources = [...this.#sources.values()].map(({ place: { source }, variables }) => ({
      file: source.file,
      format: source.format,
      isStrict: source.isStrict,
      variables: [...variables].map(([name, { value, isWritten }]): Variable => [name, value, isWritten]),
    }));
    return { version: GRAPH_VERSION, base: workingFolder(), root, nodes: this.nodes, sources, contexts: this.contexts };
  }

  /** @returns undefined after a failure, which was reported */
  #attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (error !== NOT_CAPTURED) throw error;
      return undefined;
    }
  }

  fail(step: Step, failure: Failure): never {
    const { mode, onFailure } = this.options;
    const unsendable = { path: trailOf(step), problem: failure.what, hint: remedyFor(step, failure) };
    if (onFailure === undefined) throw unsentError({ mode, ...unsendable });
    onFailure(unsendable);
    throw NOT_CAPTURED;
  }
}

/** The labels from the root to a step. */
export function trailOf(step: Step): string[] {
  const labels: string[] = [];
  for (let at: Step | null = step; at; at = at.parent) labels.push(typeof at.label === "string" ? at.label : at.label());
  return labels.reverse();
}
