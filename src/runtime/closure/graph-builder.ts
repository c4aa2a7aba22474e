/**
 * The growing graph of one capture: which values already have a node, what remains to be visited, and how a failure is told.
 *
 * Owns the nodes, sources and notes of one capture. The walk is a queue, never recursion, so depth has no limit; each visited value
 * carries the trail that led to it, which is what an error shows. `capture-value` decides what node a value becomes.
 */
import { Fifo } from "../base/fifo.ts";
import type { EncodeHooks } from "../wire/value/encode.ts";
import { SerializationError } from "../base/errors.ts";
import type { CodePlace } from "./code-place.ts";
import type { AnyFunction, FunctionFacts, ScriptPlace } from "./function-facts.ts";
import { type Code, type Graph, GRAPH_VERSION, type ImportNode, type Node, type Ref, type SharedContext, type Variable } from "./graph.ts";
import type { CapturedScope } from "./inspector-session.ts";
import { isObjectLike } from "./known-values.ts";
import type { ParsedText } from "./parse-text.ts";
import { wellKnownId } from "./well-known.ts";

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
  /** What the user can do instead. */
  readonly hint?: string;
  /** Begins a sentence that ends with where the user can create it instead: "A Socket is tied to this process". */
  readonly tied?: string;
}

/** One part of a value that cannot be sent. */
export interface Unsendable {
  /** The way to it, from the whole value inwards, such as `["function train", "variable db", ".socket"]`. */
  readonly path: readonly string[];
  /** Completes the sentence that begins with the path, such as "(Socket) cannot be sent". */
  readonly problem: string;
  readonly hint: string | undefined;
}

/** What a failure says, for those who know better what the value was. */
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
 * The error of `captureValue` with a name for the whole value, such as "the result of train"; any other error as it is. So that names cost nothing where all goes well.
 *
 * @param inside steps between the whole value and the part of it that was captured
 */
export function nameUnsent(error: unknown, name: () => string, inside: readonly string[] = []): unknown {
  const unsent = unsentOf.get(error as object);
  return unsent === undefined ? error : unsentError({ ...unsent, path: [name(), ...inside, ...unsent.path.slice(1)] });
}

const WHERE = "inside the function, in the constructor of an actor, or in a module that the function imports";

/** What the user can do: the outermost variable is the one that is known to him. */
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

/** A captured class that stands in a script of this process. */
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
  /** Hears of each failure, and the walk goes on without the value: to find all of them. Without it the first one is thrown. */
  readonly onFailure?: (failure: Unsendable) => void;
}

/** Thrown by `fail` where failures are heard: ends the capture of one value, and not the walk. */
const NOT_CAPTURED = Symbol("not captured");

export class GraphBuilder {
  readonly options: GraphBuilderOptions;
  readonly nodes: Node[] = [];
  readonly contexts: SharedContext[] = [];
  readonly notes = new Set<string>();
  readonly definitions = new Set<string>();
  /** The classes that go by those definitions. */
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

  /** The node of a value, made now if it is new; what is inside it is visited later. */
  refer(value: unknown, step: Step): Ref {
    if (Object.is(value, -0)) return this.nodes.push({ kind: "data", value }) - 1; // a Map takes -0 for 0
    const known = this.#refByValue.get(value);
    if (known !== undefined) return known;
    if (isObjectLike(value) || typeof value === "symbol") {
      const ref = this.#attempt(() => this.options.capture(this, value, step));
      // Not remembered: each way to a value that cannot be sent is a failure of its own.
      return ref ?? this.addAnonymous({ kind: "data", value: undefined });
    }
    return this.add(value, { kind: "data", value });
  }

  /** The node of a value that goes by an id: a runtime export, or what the hooks know. `undefined` when it is neither. */
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

  /** A node for something that is no value of its own, such as an import binding. */
  addAnonymous(node: Node): Ref {
    return this.nodes.push(node) - 1;
  }

  knownRef(value: unknown): Ref | undefined {
    return this.#refByValue.get(value);
  }

  capturedValues(): Iterable<unknown> {
    return this.#refByValue.keys();
  }

  /** Does `visit` after everything that was asked for before. */
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
    return { version: GRAPH_VERSION, base: process.cwd(), root, nodes: this.nodes, sources, contexts: this.contexts };
  }

  /** @returns undefined when it failed, which has been heard */
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
