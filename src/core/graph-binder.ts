/**
 * The port between the core and graphs: what `.bind()` hands to `dag/`, and what compiled graphs need of an actor and of this process.
 *
 * A binding is a call that is not made yet: its name for messages, its arguments as given, and the function that submits it. `dag/bind.ts`
 * registers the binder when the public module is loaded, because graphs stand above the core.
 */
import type { ProcessId } from "../runtime/base/ids.ts";
import type { ObjectTable } from "../runtime/objects/object-table.ts";
import type { ValueCodec } from "../runtime/objects/value-codec.ts";
import type { GraphPlan } from "../runtime/worker/graphs/graph-operations.ts";
import { requireRuntime } from "./current-runtime.ts";

/** An actor as compiled graphs need it. */
export interface GraphActor {
  readonly className: string;
  /** The same object for all handles of one actor. */
  readonly identity: object;
  /** The process in which the actor is alive; undefined while it is in none. */
  readonly processId: ProcessId | undefined;
  /** Resolves when the actor is alive. @throws ActorDiedError, or what its constructor threw */
  ready(): Promise<void>;
  /** Runs the actor's part of a graph, and nothing else, until the graph ends. @throws the cause of an early end, such as ActorDiedError */
  runGraph(plan: GraphPlan): Promise<void>;
}

/** The runtime of this process as compiled graphs need it. */
export interface GraphRuntime {
  readonly options: {
    readonly mode: "process" | "inProcess";
    readonly processId: ProcessId;
    /** The folder for files in shared memory. */
    readonly memoryDirectory: string;
    readonly onWarning: (text: string) => void;
  };
  /** Encodes values for channels. */
  readonly serializer: ValueCodec;
  /** Counts the references among it. */
  readonly table: ObjectTable;
  /** Keeps a driver alive until the promise settles. */
  holdWhile<T>(promise: Promise<T>): Promise<T>;
}

interface CallBinding {
  readonly name: string;
  readonly numReturns: number;
  readonly args: readonly unknown[];
  readonly submit: (...args: unknown[]) => unknown;
}

/** A call of a task in a graph. */
export interface TaskBinding extends CallBinding {
  readonly kind: "task";
}

/** A call of a method of an actor that exists. */
export interface MethodBinding extends CallBinding {
  readonly kind: "method";
  /** Python's actors run no compiled graphs. */
  readonly isOfPython: boolean;
  /** The actor, and the method's own name. */
  readonly actor: GraphActor;
  readonly method: string;
}

/** An actor that each execution of the graph creates. */
export interface ActorBinding {
  readonly kind: "actor";
  readonly name: string;
  readonly args: readonly unknown[];
  readonly methods: readonly string[];
  readonly numReturnsOf: (method: string) => number;
  readonly create: (...args: unknown[]) => object;
}

/** A call that is not made yet. */
export type Binding = TaskBinding | MethodBinding | ActorBinding;

/** The runtime of this process, started with defaults where there is none. @throws ShoalError while it is shutting down */
export function graphRuntime(): GraphRuntime {
  return requireRuntime();
}

let binder: ((binding: Binding) => object) | undefined;

/** Registers the function that makes nodes of bindings. */
export function setGraphBinder(bind: (binding: Binding) => object): void {
  binder = bind;
}

/** The node of a graph for a call that is not made yet. */
export function bindNode(binding: Binding): object {
  if (binder === undefined) throw new Error('Cannot bind: graphs are not loaded: import from "shoal"');
  return binder(binding);
}
