/**
 * Executes a graph by ordinary calls: every node once, after the nodes that it needs.
 *
 * Calls are submitted at once; the refs of one are arguments of the next, so nothing here waits. Handles of actors that the graph creates
 * are dropped once all calls are submitted: the actors answer those, and end.
 */
import { describeValue } from "../runtime/base/texts/describe.ts";
import { partAt, pathOf } from "./input-node.ts";
import { type ActorCallState, type NodeState, nodesOf, withValues } from "./node-state.ts";

/** The input of an execution, or its absence, which is not the same as `undefined`. */
type GivenInput = readonly unknown[];

/** Refuses an input that is missing, or too much. */
function checkInput(nodes: readonly NodeState[], given: GivenInput): void {
  const inputs = nodes.filter((node) => node.kind === "input").length;
  if (inputs > 1) throw new TypeError("Cannot execute a graph: it has more than one InputNode: use one, and parts of it with .at()");
  if (inputs > 0 && given.length === 0)
    throw new TypeError("Cannot execute a graph: it has an InputNode, so an input is needed: received none");
  if (inputs === 0 && given.length > 0)
    throw new TypeError(`Cannot execute a graph: it has no InputNode, so it takes no input: received ${describeValue(given[0])}`);
  if (given.length > 1)
    throw new TypeError(`Cannot execute a graph: it takes one input: received ${given.length}: pass an array or an object`);
}

/** @returns the ref of the root, or those of the outputs */
export function executeGraph(root: NodeState, given: GivenInput): unknown {
  const nodes = nodesOf(root);
  checkInput(nodes, given);
  const values = new Map<NodeState, unknown>();
  const created: Disposable[] = [];
  const valueOf = (state: NodeState): unknown => values.get(state);
  try {
    for (const node of nodes) {
      const value = evaluate(node, given[0], valueOf);
      values.set(node, value);
      if (node.kind === "actor") created.push(value as Disposable);
    }
  } finally {
    for (const actor of created) actor[Symbol.dispose]();
  }
  return values.get(root);
}

function evaluate(node: NodeState, input: unknown, valueOf: (state: NodeState) => unknown): unknown {
  switch (node.kind) {
    case "input":
      return input;
    case "attribute":
      return partAt(input, pathOf(node));
    case "call":
      return node.binding.submit(...withValues(node.binding.args, node, valueOf));
    case "actor":
      return node.binding.create(...withValues(node.binding.args, node, valueOf));
    case "actorCall":
      return callActor(node, valueOf);
    case "outputs":
      return node.dependencies.map(valueOf);
  }
}

function callActor(node: ActorCallState, valueOf: (state: NodeState) => unknown): unknown {
  const handle = valueOf(node.actor) as Record<string, { remote(...args: unknown[]): unknown }>;
  const method = handle[node.method] as { remote(...args: unknown[]): unknown };
  return method.remote(...withValues(node.args, node, valueOf));
}
