/**
 * Compiles a graph: checks that it can be, decides how its values travel, and starts what carries them.
 *
 * Every call of it must be a method of an actor that exists, with nodes as whole arguments: a reference inside an array would have no value on a
 * channel. An actor is part of one compiled graph at a time.
 */
import { resolveCompileOptions } from "./compile-options.ts";
import type { CompileOptions } from "../core/graph-types.ts";
import { CallEngine } from "./call-engine.ts";
import { CompiledGraphHandle, type GraphSignature } from "./compiled-graph.ts";
import { GraphClosedError } from "./graph-errors.ts";
import { type CallState, type NodeState, nodesOf } from "./node-state.ts";

export async function compileGraph(root: NodeState, options: CompileOptions | undefined): Promise<CompiledGraphHandle> {
  const resolved = resolveCompileOptions(options);
  const nodes = nodesOf(root);
  checkCalls(nodes);
  const signature: GraphSignature = {
    takesInput: nodes.some((node) => node.kind === "input"),
    outputCount: root.kind === "outputs" ? root.dependencies.length : 1,
    isMultiOutput: root.kind === "outputs",
  };
  const engine = new CallEngine({
    root,
    takesInput: signature.takesInput,
    slowerBecause: "its actors are called one by one",
    onActorLost: (error) => graph.close(actorLost(error)),
    closedBy: () => graph.closedBy,
  });
  const graph: CompiledGraphHandle = new CompiledGraphHandle(signature, resolved, engine);
  return graph;
}

function actorLost(error: Error): GraphClosedError {
  return new GraphClosedError(`A compiled graph ended with one of its actors: ${error.message}`, {
    reason: "one of its actors died",
    hint: "Create the actor again, and compile the graph again.",
    cause: error,
  });
}

/** @throws TypeError for a graph that cannot be compiled */
function checkCalls(nodes: readonly NodeState[]): void {
  if (nodes.filter((node) => node.kind === "input").length > 1)
    throw new TypeError("Cannot compile a graph: it has more than one InputNode: use one, and parts of it with .at()");
  for (const node of nodes) {
    if (node.kind === "actor" || node.kind === "actorCall") {
      const name = node.kind === "actor" ? node.binding.name : node.name;
      throw new TypeError(
        `Cannot compile a graph: ${name} is of an actor that each execution would create: bind methods of a handle instead`,
      );
    }
    if (node.kind === "call") checkCall(node);
  }
}

function checkCall({ binding, dependencies, hasNestedNodes }: CallState): void {
  const { name } = binding;
  if (binding.kind === "task")
    throw new TypeError(`Cannot compile a graph: ${name} is a task: only methods of actors can be compiled; execute() runs tasks too`);
  if (hasNestedNodes)
    throw new TypeError(`Cannot compile a graph: an argument of ${name} has a node inside an array or object: bind the node itself`);
  if (dependencies.length === 0)
    throw new TypeError(`Cannot compile a graph: ${name} has no node among its arguments, so nothing would start it: bind the InputNode`);
}
