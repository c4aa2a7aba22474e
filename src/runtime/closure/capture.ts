/**
 * Captures functions, classes and values with everything they refer to as bytes that another process can revive.
 *
 * Entry to the capturing half of this folder, called by the core. A definition is a function or class with its captures, named by a hash of
 * the bytes; a value refers to the definitions of the classes in it. This file also decides the limits on size, and owns the definitions of
 * classes that were met in values.
 */
import { SerializationError } from "../base/errors.ts";
import { type EncodeHooks, encodeValue, UnsupportedValueError } from "../wire/value/encode.ts";
import { mainFile } from "./modules/by-value-files.ts";
import { captureWeakEntries } from "./capturing/capture-object.ts";
import { captureValueNode } from "./capturing/capture-value.ts";
import { describeFunction } from "./capturing/capture-variables.ts";
import { toDriverGraph } from "./modules/foreign-code.ts";
import { type AnyFunction, factsOf } from "./capturing/function-facts.ts";
import { GraphBuilder, type Step, trailOf, type Unsendable } from "./capturing/graph-builder.ts";
import type { Graph, Ref } from "./graph.ts";
import { definitionId } from "./values/identity.ts";
import { releaseObjects } from "./scripts/hidden-parts.ts";
import { isObjectLike } from "./values/known-values.ts";
import { collectionsOf, recordCollections, type WeakCollection } from "./values/lowered-privates.ts";
import { readScriptsAhead } from "./scripts/script-table.ts";
import { shareContexts } from "./values/shared-contexts.ts";
import { nameByVariable } from "./capturing/variable-name.ts";
import { wellKnownId } from "./values/well-known.ts";

export { markByValueFile } from "./modules/by-value-files.ts";
export { describeFunction, describePlace } from "./capturing/capture-variables.ts";
export { registerWellKnown } from "./values/well-known.ts";
export { nameUnsent, type Unsendable } from "./capturing/graph-builder.ts";
export { withPathsOfDriver } from "./modules/foreign-code.ts";

/** A value with functions, class instances or other things that plain data cannot hold. */
interface CapturedValue {
  readonly bytes: Uint8Array;
  readonly buffers: Uint8Array[];
  /** Definitions that the reader needs, each at most once. */
  readonly definitions: string[];
  /** Classes that those definitions hold. */
  readonly classes: readonly object[];
  /** Notes for the user, such as a surprisingly large capture. */
  readonly notes: string[];
}

/** A function or class that can be sent once and referred to by its id. */
export interface Definition {
  /** Hash of the bytes: equal definitions have equal ids. */
  readonly id: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly buffers: Uint8Array[];
  readonly dependencies: string[];
  /** Weak collections that the code uses. */
  readonly collections: readonly WeakCollection[];
  readonly notes: string[];
  readonly sizeBytes: number;
  /** Whether the definition holds a class. Values with instances of the class refer to this definition. */
  readonly hasClasses: boolean;
  /** Whether the definition holds a reference or another value that a hook encodes. Its reader needs the values announced beside it. */
  readonly hasForms: boolean;
}

/** A captured megabyte is copied to every worker: most often an accident. */
const WARNING_BYTES = 1_000_000;
/** Bounds a definition, so that the table can hold many. Ray has the same limit. */
const SIZE_BYTES_MAX = 100_000_000;
/** The estimate of a size looks at as many objects and charges as much for each. */
const VISITED_MAX = 200_000;
const VALUE_OVERHEAD_BYTES = 8;

/**
 * Captures a function or class with its variables' present values. Later changes are not seen.
 *
 * @throws SerializationError with the path to the value that cannot be sent
 */
export function captureDefinition(target: AnyFunction, hooks: EncodeHooks): Definition {
  if (typeof target !== "function")
    throw new TypeError(`Cannot capture a definition: it must be a function or class: received ${typeof target}`);
  const captured = captureGraph(target, { mode: "definition", hooks, step: { parent: null, label: () => describeFunction(target) } });
  const { bytes, sizeBytes, graph } = captured;
  // A definition is the state of now: its buffers must not follow the user's later writes.
  const buffers = captured.buffers.map((buffer) => Uint8Array.prototype.slice.call(buffer));
  return {
    id: definitionId(bytes, buffers),
    name: (typeof target.name === "string" ? target.name : "") || nameByVariable(target),
    bytes,
    buffers,
    dependencies: [...graph.definitions],
    collections: graph.weakCollections.map(({ collection }) => collection),
    notes: [...graph.notes],
    sizeBytes,
    hasClasses: graph.nodes.some((node) => (node.kind === "class" || node.kind === "function") && node.identity !== undefined),
    hasForms: graph.nodes.some((node) => node.kind === "reduced"),
  };
}

/**
 * Captures any value with the classes and functions in it, so that the bytes are self-contained.
 *
 * @returns the capture, still with the definitions of classes that came from another process
 * @throws SerializationError with the path to the value that cannot be sent
 */
export function captureWhole(
  value: unknown,
  hooks: EncodeHooks,
  label = "value",
): Pick<CapturedValue, "bytes" | "buffers" | "definitions"> {
  const { bytes, buffers, graph } = captureGraph(value, { mode: "definition", hooks, step: { parent: null, label } });
  return { bytes, buffers, definitions: [...graph.definitions] };
}

/**
 * Captures any value. Its classes are separate definitions, so that their text is sent once.
 *
 * @param label - name of the value in errors, such as "argument 1 of train"
 * @throws SerializationError with the path to the value that cannot be sent
 */
export function captureValue(value: unknown, hooks: EncodeHooks, label = "value"): CapturedValue {
  const { bytes, buffers, graph } = captureGraph(value, { mode: "value", hooks, step: { parent: null, label } });
  return { bytes, buffers, definitions: [...graph.definitions], classes: [...graph.definedClasses], notes: [...graph.notes] };
}

/** A definition lives as long as its class. The sender of a value with the class in it keeps both. */
const definitionByClass = new WeakMap<object, Definition>();

/** Returns the definition that `captureValue` made for a class here; `undefined` for classes from another process. */
export function definitionOf(target: object): Definition | undefined {
  return definitionByClass.get(target);
}

/**
 * The place in the user's source that made a function or class, as `main.ts:12`, and a key that is equal for functions made at one place.
 */
export function placeOfDefinition(target: AnyFunction): { readonly key: string; describe(): string } | undefined {
  // The package's own exports are in no file of the user's, and looking for their place would start the inspector in processes that capture
  // nothing else.
  if (wellKnownId(target) !== undefined) return undefined;
  const place = factsOf(target).place();
  if (place === null) return undefined;
  const { script, offset } = place;
  return { key: `${script.id}:${offset}`, describe: () => script.describePosition(Math.max(offset, 0)) };
}

/** Opens the inspector and reads the program's scripts in idle time, which saves the first capture 40-80 ms. */
export function prepareCapture(): void {
  readScriptsAhead(mainFile());
}

/** Everything in a value that keeps it from being sent, not just the first thing that is met; empty when it can be sent. */
export function findUnsendable(value: unknown, hooks: EncodeHooks, label: string | (() => string)): Unsendable[] {
  const found: Unsendable[] = [];
  const graph = new GraphBuilder({
    // Classes are inlined, so that the path goes through them.
    mode: "definition",
    hooks,
    capture: captureValueNode,
    defineClass: () => "",
    onFailure: (unsendable) => found.push(unsendable),
  });
  walk(graph, value, { step: { parent: null, label }, finish: () => {} });
  return found;
}

interface CaptureOptions {
  readonly mode: "definition" | "value";
  readonly hooks: EncodeHooks;
  /** The whole value. */
  readonly step: Step;
}

interface EncodedGraph {
  readonly bytes: Uint8Array;
  readonly buffers: Uint8Array[];
  readonly sizeBytes: number;
}

function captureGraph(value: unknown, { mode, hooks, step }: CaptureOptions): EncodedGraph & { graph: GraphBuilder } {
  const graph = new GraphBuilder({
    mode,
    hooks,
    capture: captureValueNode,
    defineClass: (target, at) => defineClass(target as AnyFunction, hooks, at),
  });
  const finish = (root: Ref): EncodedGraph => {
    shareContexts(graph);
    const encoded = encodeGraph(toDriverGraph(graph.finish(root)), step);
    checkSize(graph, encoded.sizeBytes, step);
    return encoded;
  };
  return { ...walk(graph, value, { step, finish }), graph };
}

let nesting = 0;

/** Takes a value apart until nothing is left to visit, then finishes while the inspector still holds the objects. */
function walk<Result>(graph: GraphBuilder, value: unknown, { step, finish }: { step: Step; finish: (root: Ref) => Result }): Result {
  nesting += 1;
  try {
    const root = graph.refer(value, step);
    do {
      graph.visitPending();
      referCollections(graph);
    } while (captureWeakEntries(graph));
    return finish(root);
  } finally {
    nesting -= 1;
    // A capture inside another shares the inspector's objects with it.
    if (nesting === 0) releaseObjects();
  }
}

/** Adds the weak collections of classes that travel as definitions, if the collections have entries for captured objects. */
function referCollections(graph: GraphBuilder): void {
  for (const definition of graph.definitions) {
    for (const collection of collectionsOf(definition)) {
      if (graph.knownRef(collection) !== undefined) continue;
      for (const value of graph.capturedValues()) {
        if (isObjectLike(value) && collection.has(value)) {
          graph.refer(collection, { parent: null, label: "weak collection" });
          break;
        }
      }
    }
  }
}

function defineClass(target: AnyFunction, hooks: EncodeHooks, step: Step): string {
  let definition = definitionByClass.get(target);
  if (!definition) {
    try {
      definition = captureDefinition(target, hooks);
    } catch (error) {
      if (!(error instanceof SerializationError)) throw error;
      const path = `${trailOf(step).join(" → ")} → ${error.path ?? error.message}`;
      throw new SerializationError(error.message, { reason: error.reason, hint: error.hint, path, cause: error });
    }
    definitionByClass.set(target, definition);
    recordCollections(definition.id, definition.collections);
  }
  return definition.id;
}

const NO_HOOKS: EncodeHooks = { reduce: () => undefined };

function encodeGraph(graph: Graph, step: Step): EncodedGraph {
  try {
    const { bytes, start, end, buffers, buffersSizeBytes } = encodeValue(graph, NO_HOOKS);
    return { bytes: Uint8Array.prototype.slice.call(bytes, start, end), buffers: [...buffers], sizeBytes: end - start + buffersSizeBytes };
  } catch (error) {
    if (!(error instanceof UnsupportedValueError)) throw error;
    throw new SerializationError(`${trailOf(step)[0]} cannot be sent to a worker: ${error.message}`, {
      reason: "not-serializable",
      cause: error,
    });
  }
}

function checkSize(graph: GraphBuilder, sizeBytes: number, step: Step): void {
  if (sizeBytes <= WARNING_BYTES) return;
  const advice = "put() large data once and pass the reference";
  const largest = graph.variables
    .map((variable) => ({ ...variable, sizeBytes: estimateSizeBytes(variable.value) }))
    .sort((left, right) => right.sizeBytes - left.sizeBytes)[0];
  const share = largest && largest.sizeBytes * 2 > sizeBytes ? "most of it" : "the largest part";
  const most = largest ? `, ${share} ${trailOf(largest.step).join(" → ")} (${megabytes(largest.sizeBytes)} MB)` : "";
  const label = trailOf(step)[0];
  if (sizeBytes > SIZE_BYTES_MAX) {
    throw new SerializationError(
      `${label} cannot be sent to a worker: it is ${megabytes(sizeBytes)} MB with what it captures${most}; the limit is ${megabytes(SIZE_BYTES_MAX)} MB; ${advice}`,
      { reason: "too-large", hint: advice, details: { sizeBytes } },
    );
  }
  graph.notes.add(`WARNING: ${label} is ${megabytes(sizeBytes)} MB with what it captures${most}; ${advice}`);
}

function megabytes(sizeBytes: number): string {
  return (sizeBytes / 1e6).toFixed(1);
}

/** Roughly how many bytes a value takes when it is sent, to name the largest of several: text and buffers, and a little for everything. */
function estimateSizeBytes(value: unknown): number {
  const seen = new Set<object>();
  const pending: unknown[] = [value];
  let sizeBytes = 0;
  while (pending.length > 0 && seen.size < VISITED_MAX) {
    const item = pending.pop();
    sizeBytes += VALUE_OVERHEAD_BYTES;
    if (typeof item === "string") sizeBytes += item.length;
    if (typeof item !== "object" || item === null || seen.has(item)) continue;
    seen.add(item);
    if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) sizeBytes += item.byteLength;
    else if (item instanceof Map) for (const entry of item) pending.push(...entry);
    else if (item instanceof Set) for (const member of item) pending.push(member);
    else for (const key of Object.keys(item)) pending.push(Object.getOwnPropertyDescriptor(item, key)?.value);
  }
  return sizeBytes;
}
