/**
 * States of a graph's nodes: one behind each node that users hold, found by the node object.
 *
 * A node is made after everything that it depends on, so the order in which nodes were made is an order in which they can run, and cycles cannot
 * be built. Owns the table from node objects to states, the walk over a graph, and the search for nodes among arguments.
 */
import { type ActorBinding, isPlainObject, type MethodBinding, type TaskBinding } from "../core/internal.ts";

interface CommonState {
  readonly order: number;
  readonly dependencies: readonly NodeState[];
}

/** The graph's input. */
export interface InputState extends CommonState {
  readonly kind: "input";
}

/** A property or an element of the input, or of another such part. */
export interface AttributeState extends CommonState {
  readonly kind: "attribute";
  readonly of: InputState | AttributeState;
  readonly key: string | number;
}

/** A call of a task, or of a method of an actor that exists. */
export interface CallState extends CommonState {
  readonly kind: "call";
  readonly binding: TaskBinding | MethodBinding;
  readonly hasNestedNodes: boolean;
}

/** An actor that an execution creates. */
export interface ActorState extends CommonState {
  readonly kind: "actor";
  readonly binding: ActorBinding;
  readonly hasNestedNodes: boolean;
}

/** A call of a method of such an actor. */
export interface ActorCallState extends CommonState {
  readonly kind: "actorCall";
  readonly actor: ActorState;
  readonly method: string;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly hasNestedNodes: boolean;
}

interface OutputsState extends CommonState {
  readonly kind: "outputs";
}

export type NodeState = InputState | AttributeState | CallState | ActorState | ActorCallState | OutputsState;

type WithoutCommon<S> = S extends NodeState ? Omit<S, "order"> : never;

const states = new WeakMap<object, NodeState>();
let made = 0;

export function nodeState(value: unknown): NodeState | undefined {
  return typeof value === "object" && value !== null ? states.get(value) : undefined;
}

/** Gives a node object its state. */
export function setNodeState(node: object, state: WithoutCommon<NodeState>): NodeState {
  made += 1;
  const full = { ...state, order: made } as NodeState;
  states.set(node, full);
  return full;
}

/** All nodes that a node needs, and itself, in an order in which they can run. */
export function nodesOf(root: NodeState): NodeState[] {
  const found = new Set<NodeState>([root]);
  // A set grows while it is walked: no recursion, as a chain may be long.
  for (const state of found) for (const dependency of state.dependencies) found.add(dependency);
  return Array.from(found).sort((left, right) => left.order - right.order);
}

/** The nodes among arguments and inside their arrays and plain objects. */
export function findNodes(args: readonly unknown[]): { dependencies: NodeState[]; hasNestedNodes: boolean } {
  const dependencies = new Set<NodeState>();
  let hasNestedNodes = false;
  const containers = new Set<object>();
  const look = (value: unknown): boolean => {
    const state = nodeState(value);
    if (state !== undefined) dependencies.add(state);
    else if (Array.isArray(value) || isPlainObject(value)) containers.add(value);
    return state !== undefined;
  };
  for (const argument of args) look(argument);
  for (const container of containers) for (const item of Object.values(container)) if (look(item)) hasNestedNodes = true;
  return { dependencies: Array.from(dependencies), hasNestedNodes };
}

/** Replaces each node in the arguments by `valueOf`; arguments without nodes are not copied. */
export function withValues(
  args: readonly unknown[],
  { hasNestedNodes }: { readonly hasNestedNodes: boolean },
  valueOf: (state: NodeState) => unknown,
): unknown[] {
  const copies = new Map<object, unknown>();
  const replace = (value: unknown): unknown => {
    const state = nodeState(value);
    if (state !== undefined) return valueOf(state);
    if (!hasNestedNodes || !(Array.isArray(value) || isPlainObject(value))) return value;
    const known = copies.get(value);
    if (known !== undefined) return known;
    // Registered before its items are looked at: data may lead back to itself.
    copies.set(value, value);
    const entries = Object.entries(value).map(([key, item]) => [key, replace(item)] as const);
    if (entries.every(([key, item]) => item === (value as Record<string, unknown>)[key])) return value;
    const copy = Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
    copies.set(value, copy);
    return copy;
  };
  return args.map(replace);
}
