/**
 * Captures functions, classes and values with everything they refer to as bytes that another process can revive.
 *
 * The entry of this folder's capturing half, called by the core. Decides what a definition is (a function or class with its captures,
 * named by the hash of its bytes) and what a value is (it refers to the definitions of the classes in it), the limits on size, and owns the
 * definitions of classes that values brought up.
 */
import { createHash } from "node:crypto";
import { SerializationError } from "../base/errors.ts";
import { type EncodeHooks, encodeValue, UnsupportedValueError } from "../wire/value/encode.ts";
import { mainFile } from "./by-value-files.ts";
import { captureWeakEntries } from "./capture-object.ts";
import { captureValueNode } from "./capture-value.ts";
import { describeFunction } from "./capture-variables.ts";
import { graphToThere } from "./foreign-code.ts";
import type { AnyFunction } from "./function-facts.ts";
import { GraphBuilder, type Step, trailOf } from "./graph-builder.ts";
import type { Graph } from "./graph.ts";
import { releaseObjects } from "./inspector-session.ts";
import { readScriptsAhead } from "./script-table.ts";
import { shareContexts } from "./shared-contexts.ts";
import { estimateSizeBytes } from "./size-estimate.ts";
import { nameByVariable } from "./variable-name.ts";

export { markByValueFile } from "./by-value-files.ts";
export { registerWellKnown } from "./well-known.ts";
export { withPathsOfDriver } from "./foreign-code.ts";

/** Asked for every object and function that is not plain data, before the graph takes it apart: references, handles, registered serializers. */
export interface CaptureHooks extends EncodeHooks {}

/** A value with functions, class instances or other things that plain data cannot hold. */
export interface CapturedValue {
  readonly bytes: Uint8Array;
  readonly buffers: Uint8Array[];
  /** Definitions that the reader needs, each at most once. */
  readonly definitions: string[];
  /** What the user should know, such as a surprisingly large capture. */
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
  readonly notes: string[];
  readonly sizeBytes: number;
}

/** A captured megabyte is copied to every worker: most often an accident. */
const WARNING_BYTES = 1_000_000;
/** What a definition table could not hold many of; Ray's limit as well. */
const SIZE_BYTES_MAX = 100_000_000;

/**
 * Captures a function or class as it is now: later changes of its variables are not seen.
 *
 * @throws SerializationError naming the path to what cannot be sent
 */
export function captureDefinition(target: AnyFunction, hooks: CaptureHooks): Definition {
  if (typeof target !== "function")
    throw new TypeError(`Cannot capture a definition: it must be a function or class: received ${typeof target}`);
  const { encoded, graph } = captureGraph(target, { mode: "definition", hooks, label: () => describeFunction(target) });
  const { bytes } = encoded;
  // A definition is the state of now: its buffers must not follow the user's later writes.
  const buffers = encoded.buffers.map((buffer) => Uint8Array.prototype.slice.call(buffer));
  const hash = createHash("sha256").update(bytes);
  for (const buffer of buffers) hash.update(buffer);
  return {
    id: hash.digest("hex").slice(0, 32),
    name: (typeof target.name === "string" ? target.name : "") || nameByVariable(target),
    bytes,
    buffers,
    dependencies: [...graph.definitions],
    notes: [...graph.notes],
    sizeBytes: encoded.sizeBytes,
  };
}

/**
 * Captures any value. Classes in it are referred to by definitions of their own, so that their text is sent once.
 *
 * @param label - what errors call the value, such as "argument 1 of train"
 * @throws SerializationError naming the path to what cannot be sent
 */
export function captureValue(value: unknown, hooks: CaptureHooks, label = "value"): CapturedValue {
  const { encoded, graph } = captureGraph(value, { mode: "value", hooks, label });
  const { bytes, buffers } = encoded;
  return { bytes, buffers, definitions: [...graph.definitions], notes: [...graph.notes] };
}

/** Kept for as long as the process lives: a value in flight may need its class at any time, and a class is some kilobytes. */
const classDefinitions = new Map<string, Definition>();
const definitionByClass = new WeakMap<object, Definition>();

/** A definition that `captureValue` made for a class here; `undefined` for those that came from elsewhere. */
export function definitionOf(id: string): Definition | undefined {
  return classDefinitions.get(id);
}

/** Opens the inspector and reads the program's scripts while nobody waits: the first capture would take 40-80 ms more. */
export function prepareCapture(): void {
  readScriptsAhead(mainFile());
}

/** One part of a value that cannot be sent. */
export interface Unsendable {
  /** The way to it, from the whole value inwards, such as `["function train", "variable db", ".socket"]`. */
  readonly path: readonly string[];
  /** Completes the sentence that begins with the path, such as "(Socket) cannot be sent". */
  readonly problem: string;
  readonly hint: string | undefined;
}

/** Everything in a value that keeps it from being sent, not just the first thing that is met; empty when it can be sent. */
export function findUnsendable(value: unknown, hooks: CaptureHooks, label: string | (() => string)): Unsendable[] {
  const found: Unsendable[] = [];
  const graph = new GraphBuilder({
    // Classes are looked into where they are met, so that the path goes through them.
    mode: "definition",
    hooks,
    capture: captureValueNode,
    defineClass: () => "",
    onFailure: ({ trail, what, hint }) => found.push({ path: trail, problem: what, hint }),
  });
  nesting += 1;
  try {
    graph.refer(value, { parent: null, label });
    do graph.visitPending();
    while (captureWeakEntries(graph, graph.capturedValues()));
  } finally {
    nesting -= 1;
    if (nesting === 0) releaseObjects();
  }
  return found;
}

interface CaptureOptions {
  readonly mode: "definition" | "value";
  readonly hooks: CaptureHooks;
  readonly label: string | (() => string);
}

interface EncodedGraph {
  readonly bytes: Uint8Array;
  readonly buffers: Uint8Array[];
  readonly sizeBytes: number;
}

let nesting = 0;

function captureGraph(value: unknown, { mode, hooks, label }: CaptureOptions): { encoded: EncodedGraph; graph: GraphBuilder } {
  const graph = new GraphBuilder({
    mode,
    hooks,
    capture: captureValueNode,
    defineClass: (target, step) => defineClass(target as AnyFunction, hooks, step),
  });
  nesting += 1;
  try {
    const root = graph.refer(value, { parent: null, label });
    do graph.visitPending();
    while (captureWeakEntries(graph, graph.capturedValues()));
    shareContexts(graph);
    const encoded = encodeGraph(graphToThere(graph.finish(root)), { parent: null, label });
    checkSize(graph, encoded.sizeBytes, { parent: null, label });
    return { encoded, graph };
  } finally {
    nesting -= 1;
    // A capture inside another shares the inspector's objects with it.
    if (nesting === 0) releaseObjects();
  }
}

function defineClass(target: AnyFunction, hooks: CaptureHooks, step: Step): string {
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
    classDefinitions.set(definition.id, definition);
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
