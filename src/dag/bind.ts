/**
 * Makes the nodes of `.bind()`: tasks, methods of actors, actors that an execution creates, and several outputs as one.
 *
 * Registers itself as the binder of remote functions, classes and methods when the public module is loaded. Refuses calls without a single
 * value to pass on (`numReturns` other than 1).
 */
import { describeValue } from "../runtime/base/texts/describe.ts";
import type { CompileOptions, GraphNode, InputsOf, MultiOutputGraph } from "../core/index.ts";
import { type ActorBinding, type Binding, setGraphBinder } from "../core/internal.ts";
import { compileGraph } from "./compile.ts";
import { executeGraph } from "./execute.ts";
import { mermaidOf } from "./mermaid.ts";
import { type ActorState, findNodes, nodeState, type NodeState, setNodeState } from "./node-state.ts";

/** The result of `bind` for a call; its type for users is `GraphNode`. */
class CallNode {
  execute(...input: unknown[]): unknown {
    return executeGraph(nodeState(this) as NodeState, input);
  }

  async compile(options?: CompileOptions): Promise<object> {
    return compileGraph(nodeState(this) as NodeState, options);
  }

  visualize(): string {
    return mermaidOf(nodeState(this) as NodeState);
  }
}

type ValuesOf<N extends readonly GraphNode<unknown, any>[]> = {
  -readonly [K in keyof N]: N[K] extends GraphNode<infer T, any> ? T : never;
};

/** Several results of one graph; see the class of this name. */
export interface MultiOutputNode<N extends readonly GraphNode<unknown, any>[]> extends MultiOutputGraph<ValuesOf<N>, InputsOf<N>> {}

/**
 * Several results of one graph. `execute` gives their refs in an array.
 *
 * @throws TypeError for anything but an array of nodes that `.bind()` gave for calls.
 * @example
 * const input = new InputNode<number>();
 * const graph = new MultiOutputNode([square.bind(input), half.bind(input)]);
 * const [squared, halved] = await get(graph.execute(4)); // 16, 2
 */
// The empty tuple in the bound makes the compiler infer a tuple.
export const MultiOutputNode: new <N extends readonly GraphNode<unknown, any>[] | []>(outputs: N) => MultiOutputNode<N> =
  class extends CallNode {
    constructor(outputs: readonly unknown[]) {
      super();
      if (!Array.isArray(outputs) || outputs.length === 0)
        throw new TypeError(`Cannot make a MultiOutputNode: an array of nodes is needed: received ${describeValue(outputs)}`);
      const dependencies = outputs.map((output, index) => {
        const state = nodeState(output);
        if (state?.kind === "call" || state?.kind === "actorCall") return state;
        throw new TypeError(
          `Cannot make a MultiOutputNode: output ${index} is not the node of a call, as .bind() gives: received ${describeValue(output)}`,
        );
      });
      setNodeState(this, { kind: "outputs", dependencies });
    }
  } as never;

function bind(binding: Binding): object {
  if (binding.kind === "actor") return bindActor(binding);
  const { name, numReturns, args } = binding;
  requireOneReturn(name, numReturns);
  const node = new CallNode();
  setNodeState(node, { kind: "call", binding, ...findNodes(args) });
  return node;
}

function bindActor(binding: ActorBinding): object {
  const node: Record<string, unknown> = {};
  const actor = setNodeState(node, { kind: "actor", binding, ...findNodes(binding.args) }) as ActorState;
  for (const method of binding.methods) {
    node[method] = { bind: (...args: unknown[]): object => bindActorCall(actor, method, args) };
  }
  return node;
}

function bindActorCall(actor: ActorState, method: string, args: readonly unknown[]): object {
  const { dependencies, hasNestedNodes } = findNodes(args);
  const name = `${actor.binding.name}.${method}`;
  requireOneReturn(name, actor.binding.numReturnsOf(method));
  const node = new CallNode();
  setNodeState(node, { kind: "actorCall", actor, method, name, args, hasNestedNodes, dependencies: [actor, ...dependencies] });
  return node;
}

function requireOneReturn(name: string, numReturns: number): void {
  if (numReturns === 1) return;
  throw new TypeError(
    `Cannot bind ${name}: a node has one value, so numReturns must be 1: received ${numReturns < 0 ? '"streaming"' : numReturns}: return an array and bind that`,
  );
}

setGraphBinder(bind);
