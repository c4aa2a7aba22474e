/**
 * The public types of graphs: what `.bind()` takes and gives, nodes, `InputNode`'s flow into `execute`, compiled graphs. No code.
 *
 * A node carries two types: its value, and the input of the graph that it is part of. The second is gathered from the arguments of each
 * `bind`, so `execute` knows what it needs. `types.ts` puts `bind` on remote functions, methods and classes; `dag/` implements the rest.
 */
import type { AnyFunction, AnyRef, IsAny, ObjectRef } from "./ref-types.ts";

/** Carries the type of a node's value; it exists for the compiler alone. */
export declare const nodeValue: unique symbol;
/** Carries the type of the graph's input; it exists for the compiler alone. */
export declare const nodeInput: unique symbol;

/** Stands in a graph for a value of type `T`; `I` is the input of the graph, `never` where it needs none. */
export interface GraphValue<out T, out I = never> {
  readonly [nodeValue]: T;
  readonly [nodeInput]: I;
}

/** Arguments of `execute`: the input, or none for a graph without an `InputNode`. */
export type GraphInput<I> = [I] extends [never] ? [] : [input: I];

/**
 * One call in a graph: made by `.bind()`, run by `execute` together with everything that it depends on.
 *
 * @example
 * const input = new InputNode<number>();
 * const graph = add.bind(square.bind(input), 1);
 * await graph.execute(3); // 10
 */
export interface GraphNode<out T, out I = never> extends GraphValue<T, I> {
  /**
   * Submits the calls of the graph, each once however many nodes use it, and returns the reference to this node's result at once.
   *
   * @throws TypeError when an input is missing, or given to a graph that has none.
   */
  execute(...input: GraphInput<I>): ObjectRef<T>;
  /**
   * Prepares the graph for many executions: its actors run nothing else until `teardown`, and pass values on through shared memory.
   * Every call in it must be a method of an existing actor.
   *
   * @throws TypeError for a graph that cannot be compiled; ActorDiedError when one of its actors is dead.
   */
  compile(options?: CompileOptions): Promise<CompiledGraph<CompiledRef<T>, I>>;
  /** The graph as the text of a Mermaid flowchart. */
  visualize(): string;
}

/** Several results of one graph; see `MultiOutputNode`. */
export interface MultiOutputGraph<out T extends readonly unknown[], out I = never> {
  readonly [nodeInput]: I;
  /** As for one node; the references are in the order of the outputs. */
  execute(...input: GraphInput<I>): { -readonly [K in keyof T]: ObjectRef<T[K]> };
  /** As for one node; each execution gives one reference an output. */
  compile(options?: CompileOptions): Promise<CompiledGraph<{ -readonly [K in keyof T]: CompiledRef<T[K]> }, I>>;
  /** The graph as the text of a Mermaid flowchart. */
  visualize(): string;
}

/** A method of an actor that each execution of the graph creates. */
export interface BoundMethod<A extends readonly unknown[], R, I> {
  /** Adds a call of the method to the graph. */
  bind<const B extends BindArgs<A>>(...args: B): GraphNode<BoundValue<R>, I | InputsOf<B>>;
}

// ---------------------------------------------------------------------------------------------------------------------
// Arguments of bind

/**
 * Values that may be bound to a parameter of type `T`: the value, a reference to it, or a node. Inside arrays and objects a node may replace an expected reference:
 * the call gets the node's reference.
 */
export type BindArg<T> =
  IsAny<T> extends true ? any : [Extract<T, AnyRef>] extends [never] ? T | ObjectRef<T> | GraphValue<T, any> | Nested<T> : never;

/** Values that may be bound to a parameter list; names, optional and rest parameters are kept. */
export type BindArgs<A extends readonly unknown[]> = { [K in keyof A]: BindArg<A[K]> };

type Nested<T> = IsAny<T> extends true ? any : T extends readonly unknown[] ? { [K in keyof T]: NestedItem<T[K]> } : NestedObject<T>;
type NestedObject<T> = T extends AnyFunction ? T : T extends Readonly<Record<string, unknown>> ? { [K in keyof T]: NestedItem<T[K]> } : T;
type NestedItem<T> =
  IsAny<T> extends true ? any : T extends ObjectRef<infer V> ? T | GraphValue<V, any> : T extends readonly unknown[] ? Nested<T> : T;

/** The input that the nodes among arguments need: of the nodes themselves, and of those in arrays and objects. */
export type InputsOf<B extends readonly unknown[]> = InputOf<B[number]>;

type InputOf<X> =
  IsAny<X> extends true
    ? never
    : X extends GraphValue<unknown, infer I>
      ? I
      : X extends readonly (infer E)[]
        ? InputOfItem<E>
        : X extends AnyFunction | ArrayBufferView
          ? never
          : X extends object
            ? InputOfItem<X[keyof X]>
            : never;
type InputOfItem<X> =
  IsAny<X> extends true
    ? never
    : X extends GraphValue<unknown, infer I>
      ? I
      : X extends readonly (infer E)[]
        ? E extends GraphValue<unknown, infer I>
          ? I
          : never
        : never;

/** The value of a bound call. */
export type BoundValue<R> = IsAny<R> extends true ? any : Awaited<R>;

// ---------------------------------------------------------------------------------------------------------------------
// Compiled graphs

/** The options of `compile`. */
export interface CompileOptions {
  /** Shared memory for values on their way, for each channel, in bytes; larger values travel in files of their own. Default: 1 MB. */
  bufferSizeBytes?: number | undefined;
  /** Executions that are under way at a time, at most. Default: 1,000. */
  maxInflightExecutions?: number | undefined;
  /** How long `executeAsync` waits while that many are under way, in milliseconds. Default: 10,000. */
  submitTimeoutMs?: number | undefined;
}

/** The result of one execution of a compiled graph. It can be awaited once. */
export interface CompiledRef<out T> extends PromiseLike<T> {
  readonly [nodeValue]: T;
}

/**
 * A graph that is prepared for many executions. `await using` or `teardown` gives its actors back to ordinary calls.
 *
 * @example
 * await using graph = await worker.step.bind(new InputNode<number>()).compile();
 * const refs = [1, 2, 3].map((x) => graph.execute(x));
 * console.log(await Promise.all(refs));
 */
export interface CompiledGraph<out R, out I = never> extends AsyncDisposable {
  /**
   * Begins an execution and returns at once: one reference, or one for each output.
   *
   * @throws TypeError for a wrong number of inputs; GraphCapacityExceededError when `maxInflightExecutions` are under way;
   * GraphClosedError after teardown, or when an actor of the graph has died.
   */
  execute(...input: GraphInput<I>): R;
  /**
   * Begins an execution as soon as fewer than `maxInflightExecutions` are under way. The references come in an array, as a promise would
   * await them otherwise.
   *
   * @throws GraphCapacityExceededError after `submitTimeoutMs`.
   */
  executeAsync(...input: GraphInput<I>): Promise<{ refs: R }>;
  /** Ends the graph: executions under way fail with GraphClosedError; resolves when the actors take ordinary calls again. */
  teardown(): Promise<void>;
  /** How values travel: through shared memory, or as ordinary calls where there is none (`slowerBecause` says why). */
  readonly transport: "channels" | "calls";
  /** Why the graph runs as ordinary calls, as the end of a sentence. */
  readonly slowerBecause: string | undefined;
}
