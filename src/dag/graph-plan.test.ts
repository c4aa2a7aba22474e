/** Tests plans of compiled graphs: the channels, their readers, and the order of each actor's operations. */
import { expect, test } from "vitest";
import { planGraph } from "./graph-plan.ts";
import { InputNode } from "./input-node.ts";
import { findNodes, nodeState, type NodeState, nodesOf, setNodeState } from "./node-state.ts";

const actors = new Map<string, object>();

/** Makes a call of an actor that exists in name only. Each call has a separate handle. */
function call(actorId: string, method: string, args: readonly unknown[]): object {
  const identity = actors.get(actorId) ?? {};
  actors.set(actorId, identity);
  const actor = { className: actorId, identity };
  const binding = { kind: "method", name: `${actorId}.${method}`, numReturns: 1, args, submit: () => {}, actor, method };
  const node = {};
  setNodeState(node, { kind: "call", binding: binding as never, ...findNodes(args) });
  return node;
}

function plan(root: object, constants = new Map<unknown, unknown>()): ReturnType<typeof planGraph> {
  const state = nodeState(root) as NodeState;
  return planGraph(state, { nodes: nodesOf(state), bufferSizeBytes: 1000, constants });
}

test("each value that another process needs has one channel, with a reader for each of them", () => {
  const input = new InputNode<number>();
  const a = call("a", "first", [input]);
  const b = call("b", "second", [a, input]);
  const planned = plan(call("c", "third", [a, b]));
  expect(planned.channels.map(({ writer, readers }) => ({ writer, readers }))).toEqual([
    { writer: 0, readers: [1, 2] },
    { writer: 1, readers: [2, 3] },
    { writer: 2, readers: [3] },
    { writer: 3, readers: [0] },
  ]);
  expect(planned.inputChannel).toBe(0);
  expect(planned.outputs).toEqual([{ channel: 3, indices: [0] }]);
  expect(planned.channels.every(({ capacityBytes }) => capacityBytes === 2048)).toBe(true);
});

test("a value stays with an actor that alone needs it, and goes out for others", () => {
  const input = new InputNode<{ x: number[] }>();
  const first = call("a", "first", [input.at("x").at(0)]);
  const second = call("a", "second", [first, "constant"]);
  const planned = plan(call("a", "third", [second, first]));
  expect(planned.channels).toHaveLength(2);
  expect(planned.actors).toHaveLength(1);
  expect(planned.actors[0]?.operations).toEqual([
    { method: "first", name: "a.first", args: [{ kind: "channel", channel: 0, path: ["x", 0] }], output: undefined },
    {
      method: "second",
      name: "a.second",
      args: [
        { kind: "local", operation: 0 },
        { kind: "constant", value: "constant" },
      ],
      output: undefined,
    },
    {
      method: "third",
      name: "a.third",
      args: [
        { kind: "local", operation: 1 },
        { kind: "local", operation: 0 },
      ],
      output: 1,
    },
  ]);
});

test("an output that is asked for twice has one channel; references stand for their values", () => {
  const ref = {};
  const node = call("a", "method", [new InputNode(), ref]);
  const outputs = {};
  const state = nodeState(node) as NodeState;
  setNodeState(outputs, { kind: "outputs", dependencies: [state, state] });
  const planned = plan(outputs, new Map([[ref, 7]]));
  expect(planned.outputs).toEqual([{ channel: 1, indices: [0, 1] }]);
  expect(planned.actors[0]?.operations[0]?.args[1]).toEqual({ kind: "constant", value: 7 });
});
