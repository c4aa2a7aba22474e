/**
 * The plan of a compiled graph: the operations of each process in order, and the channels between processes. Pure: nodes in, plain data
 * out.
 *
 * The input, and each result that another process needs, get one channel, with one writer and every process that needs it as a reader; a
 * process reads each record once. Values that an actor makes for itself stay with the actor. Its operations run in the order in which the
 * nodes were bound, which is the same order everywhere, so no two processes can wait for each other.
 */
import type { GraphActor, MethodBinding } from "../core/internal.ts";
import type { GraphMap } from "../runtime/objects/channels/graph-memory.ts";
import type { ArgumentPlan, OperationPlan } from "../runtime/worker/graphs/graph-operations.ts";
import { pathOf } from "./input-node.ts";
import { type CallState, type InputState, type NodeState, nodeState } from "./node-state.ts";

interface PlannedActor {
  readonly actor: GraphActor;
  readonly operations: OperationPlan[];
}

export interface PlannedGraph {
  /** In the order of the endpoints after the first, which is the process that compiles. */
  readonly actors: readonly PlannedActor[];
  readonly channels: GraphMap["channels"];
  readonly inputChannel: number;
  /** Channels with results for the compiling process, and which outputs of the graph each of them is. */
  readonly outputs: readonly { channel: number; indices: readonly number[] }[];
}

/** The process that compiles: it writes the input and reads the outputs. */
export const CALLER = 0;
const CAPACITY_BYTES_MIN = 256;

/** The only calls that `compile` lets through. */
interface MethodCall extends CallState {
  readonly binding: MethodBinding;
}

interface Producer {
  readonly writer: number;
  readonly readers: Set<number>;
}

interface PlanOptions {
  /** All nodes of the graph in order: the input, its parts, and calls of methods. */
  readonly nodes: readonly NodeState[];
  readonly bufferSizeBytes: number;
  /** Replacements of arguments. */
  readonly constants: ReadonlyMap<unknown, unknown>;
}

export function planGraph(root: NodeState, options: PlanOptions): PlannedGraph {
  const { nodes, bufferSizeBytes, constants } = options;
  const actors: PlannedActor[] = [];
  const endpoints = new Map<object, number>();
  const endpointOf = ({ binding: { actor } }: MethodCall): number => {
    let endpoint = endpoints.get(actor.identity);
    if (endpoint === undefined) {
      endpoint = actors.push({ actor, operations: [] });
      endpoints.set(actor.identity, endpoint);
    }
    return endpoint;
  };
  const calls = nodes.filter((node): node is MethodCall => node.kind === "call" && node.binding.kind === "method");
  const producers = new Map<NodeState, Producer>();
  const producerOf = (node: InputState | MethodCall): Producer => {
    let producer = producers.get(node);
    if (producer === undefined) {
      producer = { writer: node.kind === "input" ? CALLER : endpointOf(node), readers: new Set() };
      producers.set(node, producer);
    }
    return producer;
  };
  for (const call of calls) {
    const endpoint = endpointOf(call);
    for (const dependency of call.dependencies) {
      const producer = producerOf(sourceOf(dependency));
      if (producer.writer !== endpoint) producer.readers.add(endpoint);
    }
  }
  const outputs = root.kind === "outputs" ? root.dependencies : [root];
  for (const output of outputs) producerOf(output as MethodCall).readers.add(CALLER);

  const { channels, channelOf } = planChannels(producers, bufferSizeBytes);
  const operationOf = new Map<NodeState, number>();
  for (const call of calls) {
    const endpoint = endpointOf(call);
    const { operations } = actors[endpoint - 1] as PlannedActor;
    operationOf.set(call, operations.length);
    const plan = (argument: unknown): ArgumentPlan => {
      const node = nodeState(argument);
      if (node === undefined) return { kind: "constant", value: constants.has(argument) ? constants.get(argument) : argument };
      const source = sourceOf(node);
      if (producerOf(source).writer === endpoint) return { kind: "local", operation: operationOf.get(source) as number };
      const path = node.kind === "attribute" ? pathOf(node) : [];
      return { kind: "channel", channel: channelOf.get(source) as number, path };
    };
    const { binding } = call;
    operations.push({
      method: binding.method,
      name: binding.name,
      args: binding.args.map(plan),
      output: channelOf.get(call),
    });
  }
  const indicesOf = new Map<number, number[]>();
  for (const [index, output] of outputs.entries()) {
    const channel = channelOf.get(output) as number;
    indicesOf.set(channel, [...(indicesOf.get(channel) ?? []), index]);
  }
  return {
    actors,
    channels,
    inputChannel: channelOf.get(nodes.find((node) => node.kind === "input") as NodeState) as number,
    outputs: Array.from(indicesOf, ([channel, indices]) => ({ channel, indices })),
  };
}

/** Gives each node that others read a channel, with room for a value of `bufferSizeBytes` wherever the one before it ends; see `bodyBytesMax`. */
function planChannels(
  producers: ReadonlyMap<NodeState, Producer>,
  bufferSizeBytes: number,
): { channels: GraphMap["channels"]; channelOf: ReadonlyMap<NodeState, number> } {
  let capacityBytes = CAPACITY_BYTES_MIN;
  while (capacityBytes < 2 * bufferSizeBytes) capacityBytes *= 2;
  const channels: GraphMap["channels"][number][] = [];
  const channelOf = new Map<NodeState, number>();
  for (const [node, { writer, readers }] of producers) {
    if (readers.size === 0) continue;
    channelOf.set(node, channels.length);
    channels.push({ writer, readers: Array.from(readers), capacityBytes });
  }
  return { channels, channelOf };
}

/** The input for its parts, the node itself otherwise. */
function sourceOf(node: NodeState): InputState | MethodCall {
  return node.kind === "attribute" ? sourceOf(node.of) : (node as InputState | MethodCall);
}
