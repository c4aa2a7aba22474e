/**
 * Where `.bind()` on remote functions, classes and methods leads: to the graphs of `dag/`, which lies above this layer and registers itself.
 *
 * The three kinds of bindings carry what a graph needs to make the call later: the name for messages, the arguments as given, and the
 * function that submits it. `dag/bind.ts` sets the binder when the public module is loaded.
 */
import type { ActorClient } from "./actors/actor-client.ts";

/** An actor as graphs need it. */
export interface GraphActor {
  readonly client: ActorClient;
}

export interface TaskBinding {
  readonly kind: "task";
  readonly name: string;
  readonly numReturns: number;
  readonly args: readonly unknown[];
  readonly submit: (...args: unknown[]) => unknown;
}

export interface MethodBinding {
  readonly kind: "method";
  readonly name: string;
  readonly numReturns: number;
  readonly args: readonly unknown[];
  readonly submit: (...args: unknown[]) => unknown;
  /** The actor, and the method's own name. */
  readonly actor: GraphActor;
  readonly method: string;
}

export interface ActorBinding {
  readonly kind: "actor";
  readonly name: string;
  readonly args: readonly unknown[];
  readonly methods: readonly string[];
  readonly numReturnsOf: (method: string) => number;
  readonly create: (...args: unknown[]) => object;
}

export type Binding = TaskBinding | MethodBinding | ActorBinding;

let binder: ((binding: Binding) => object) | undefined;

export function setGraphBinder(bind: (binding: Binding) => object): void {
  binder = bind;
}

/** The node of a graph for a call that is not made yet. */
export function bindNode(binding: Binding): object {
  if (binder === undefined) throw new Error('Cannot bind: graphs are not loaded: import from "shoal"');
  return binder(binding);
}
