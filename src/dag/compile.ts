/**
 * Compiles a graph: checks it, chooses how its values travel, and starts the engine.
 *
 * Every call must be a method of an existing actor, with nodes as whole arguments: a reference inside an array would have no value on a
 * channel. An actor is part of one compiled graph at a time.
 */
import { asError } from "../runtime/base/texts/describe.ts";
import type { CompileOptions } from "../core/index.ts";
import { graphRuntime, isObjectRef, readOptions } from "../core/internal.ts";
import { channelsUnavailableReason } from "../runtime/objects/channels/graph-memory.ts";
import { CallEngine } from "./call-engine.ts";
import { ChannelEngine } from "./channel-engine.ts";
import { COMPILE } from "./compile-options.ts";
import { CompiledGraphHandle, type GraphSignature } from "./compiled-graph.ts";
import { GraphClosedError } from "./graph-errors.ts";
import { planGraph, type PlannedGraph } from "./graph-plan.ts";
import { type CallState, type NodeState, nodesOf } from "./node-state.ts";

export async function compileGraph(root: NodeState, options: CompileOptions | undefined): Promise<CompiledGraphHandle> {
  const resolved = readOptions(options, COMPILE);
  const nodes = nodesOf(root);
  checkCalls(nodes);
  const runtime = graphRuntime();
  const signature: GraphSignature = {
    outputCount: root.kind === "outputs" ? root.dependencies.length : 1,
    isMultiOutput: root.kind === "outputs",
    report: runtime.options.onWarning,
  };
  const planned = planGraph(root, { nodes, bufferSizeBytes: resolved.bufferSizeBytes, constants: await constantsOf(nodes) });
  for (const { actor } of planned.actors) await actor.ready();
  requireFreeActors(planned);
  const onActorLost = (error: Error): void => graph.close(actorLost(error));
  const isActorLost = (): boolean => planned.actors.some(({ actor }) => actor.processId === undefined);
  const slowerBecause = runtime.options.mode === "inProcess" ? "this is in-process mode" : channelsUnavailableReason();
  const channels = slowerBecause === undefined ? new ChannelEngine({ onActorLost, runtime, planned }) : undefined;
  const engine = channels ?? new CallEngine({ onActorLost, isActorLost, root, slowerBecause: slowerBecause as string });
  const graph = new CompiledGraphHandle(signature, resolved, engine);
  for (const { actor } of planned.actors) graphOf.set(actor.identity, graph);
  try {
    await channels?.start();
  } catch (error) {
    graph.close(actorLost(asError(error)));
    throw error;
  }
  return graph;
}

/** The compiled graph that each actor is part of, as far as this process knows. */
const graphOf = new WeakMap<object, CompiledGraphHandle>();

function requireFreeActors(planned: PlannedGraph): void {
  for (const { actor } of planned.actors) {
    const graph = graphOf.get(actor.identity);
    if (graph !== undefined && graph.closedBy === undefined)
      throw new TypeError(`Cannot compile a graph: actor ${actor.className} is part of another compiled graph: tear that down first`);
  }
}

/** Arguments that are references become their values, which are the same for all executions. */
async function constantsOf(nodes: readonly NodeState[]): Promise<Map<unknown, unknown>> {
  const refs = new Set(nodes.flatMap((node) => (node.kind === "call" ? node.binding.args.filter(isObjectRef) : [])));
  const constants = new Map<unknown, unknown>();
  for (const ref of refs) constants.set(ref, await ref);
  return constants;
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
  if (binding.isOfPython)
    throw new TypeError(
      `Cannot compile a graph: ${name} is a method of Python, whose processes read no channels: run the graph with execute(), or call the method by itself`,
    );
  if (hasNestedNodes)
    throw new TypeError(`Cannot compile a graph: an argument of ${name} has a node inside an array or object: bind the node itself`);
  if (dependencies.length === 0)
    throw new TypeError(`Cannot compile a graph: ${name} has no node among its arguments, so nothing would start it: bind the InputNode`);
}
