/**
 * The input of a graph as a node, and parts of the input: the arguments of `execute` take their places.
 *
 * A part is named by property or index (`input.at("x")`, `input.at(0)`), typed by the input's type. A graph has one input; which value that is
 * becomes known at each execution.
 */
import { describeValue } from "../runtime/base/texts/describe.ts";
import type { GraphValue } from "../core/index.ts";
import { type AttributeState, type InputState, nodeState, setNodeState } from "./node-state.ts";

type Key<T> = T extends readonly unknown[] ? number : string & keyof T;

/** A part of the input; made by `at`. */
export interface InputAttributeNode<out T, out I = never> extends GraphValue<T, I> {
  /** A property or an element of this part. */
  at<const K extends Key<T>>(key: K): InputAttributeNode<T[K & keyof T], I>;
}

/** The input of a graph; see the class of this name. */
export interface InputNode<out I = any> extends GraphValue<I, I> {
  /**
   * Selects a property or an element of the input.
   *
   * @throws TypeError for a key that is neither text nor a whole number.
   */
  at<const K extends Key<I>>(key: K): InputAttributeNode<I[K & keyof I], I>;
}

class InputPart {
  at(key: string | number): InputPart {
    if (typeof key !== "string" && !Number.isInteger(key))
      throw new TypeError(`Cannot bind a part of the input: a property's name or an index is needed: received ${describeValue(key)}`);
    const of = nodeState(this) as InputState | AttributeState;
    const part = new InputPart();
    setNodeState(part, { kind: "attribute", of, key, dependencies: [of] });
    return part;
  }
}

/**
 * Stands for the value that `execute` is given.
 *
 * @example
 * const input = new InputNode<{ x: number; y: number }>();
 * const graph = add.bind(input.at("x"), input.at("y"));
 * await graph.execute({ x: 1, y: 2 }); // 3
 */
export const InputNode: new <I = any>() => InputNode<I> = class extends InputPart {
  constructor() {
    super();
    setNodeState(this, { kind: "input", dependencies: [] });
  }
} as never;

/** Returns the keys that lead from the input to a part. */
export function pathOf(state: InputState | AttributeState): (string | number)[] {
  return state.kind === "input" ? [] : [...pathOf(state.of), state.key];
}

/** @throws TypeError when the path leads through nothing */
export function partAt(input: unknown, path: readonly (string | number)[]): unknown {
  let value = input;
  for (const [depth, key] of path.entries()) {
    if (value === null || value === undefined) {
      throw new TypeError(
        `Cannot execute a graph: its input has nothing at ${JSON.stringify(path.slice(0, depth + 1))}: received ${describeValue(input)}`,
      );
    }
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}
