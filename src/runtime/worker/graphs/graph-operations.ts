/**
 * The operations of an actor in a compiled graph, made from the plan that it is sent: methods looked up, arguments bound to channel readers, results to
 * a writer.
 *
 * Decides when a record is given back: after the last operation of an execution that reads it; until then each of them decodes it anew, so
 * that two methods do not share a mutable argument. The result of one method that another of the same actor takes is passed on as it is.
 */
import type { ProcessId } from "../../base/ids.ts";
import { ValueReader, ValueWriter, type ValueChannelOptions } from "../../objects/channels/channel-values.ts";
import type { GraphMap } from "../../objects/channels/graph-memory.ts";
import type { ContextScope } from "../../os/engine/async-context.ts";
import { type CallPlace, TaskContext, taskContext } from "../tasks/task-context.ts";

/** Where an argument comes from. */
export type ArgumentPlan =
  | { kind: "constant"; value: unknown }
  /** `path` leads to a part of the value. */
  | { kind: "channel"; channel: number; path: (string | number)[] }
  /** The result of an earlier operation of the same actor, passed on as it is. */
  | { kind: "local"; operation: number };

export interface OperationPlan {
  method: string;
  /** `Class.method`, for errors. */
  name: string;
  args: ArgumentPlan[];
  /** The channel that takes the result; undefined when only this actor uses it. */
  output: number | undefined;
}

/** An actor's part of a compiled graph. */
export interface GraphPlan {
  map: GraphMap;
  self: number;
  processIds: ProcessId[];
  operations: OperationPlan[];
}

/** Where an argument comes from, in this process. */
type Argument =
  | { readonly kind: "constant"; readonly value: unknown }
  | { readonly kind: "channel"; readonly reader: ValueReader; readonly path: readonly (string | number)[] }
  | { readonly kind: "local"; readonly operation: number };

export interface Operation {
  /** `Class.method`. */
  readonly name: string;
  readonly method: (...args: unknown[]) => unknown;
  /** The method's context, with its name and actor. */
  readonly scope: ContextScope;
  readonly args: readonly Argument[];
  /** The readers of the graph's channels, each once. */
  readonly readers: readonly ValueReader[];
  /** Readers that no later operation of the same execution uses. */
  readonly lastOf: readonly ValueReader[];
  readonly writer: ValueWriter | undefined;
  /** A later operation of this actor takes its result. */
  readonly isUsedLocally: boolean;
}

/** @throws TypeError when the instance has no such method */
export function newOperations(
  instance: object,
  plan: GraphPlan,
  context: Omit<ValueChannelOptions, "map" | "channel" | "processIds"> & { place: CallPlace },
): Operation[] {
  const { map, processIds, self } = plan;
  const channelOptions = (channel: number): ValueChannelOptions => ({ ...context, map, channel, processIds });
  const readers = new Map<number, ValueReader>();
  const readerOf = (channel: number): ValueReader => {
    let reader = readers.get(channel);
    if (reader === undefined) {
      reader = new ValueReader(channelOptions(channel), self);
      readers.set(channel, reader);
    }
    return reader;
  };
  const channelsOf = plan.operations.map(
    ({ args }) => new Set(args.flatMap((argument) => (argument.kind === "channel" ? [argument.channel] : []))),
  );
  return plan.operations.map((operation, index) => {
    const { method: methodName, name, output } = operation;
    const method = (instance as Record<string, unknown>)[methodName];
    if (typeof method !== "function") throw new TypeError(`Cannot join a compiled graph: the actor has no method ${methodName}`);
    const channels = Array.from(channelsOf[index] as Set<number>);
    return {
      name,
      method: method as Operation["method"],
      scope: taskContext.scope(new TaskContext({ name, taskIdPrefix: "", callId: 0, place: context.place })),
      args: operation.args.map((argument) =>
        argument.kind === "channel" ? { kind: "channel", reader: readerOf(argument.channel), path: argument.path } : argument,
      ),
      readers: channels.map(readerOf),
      lastOf: channels.filter((channel) => !channelsOf.slice(index + 1).some((later) => later.has(channel))).map(readerOf),
      writer: output === undefined ? undefined : new ValueWriter(channelOptions(output)),
      isUsedLocally: plan.operations.some(({ args }) => args.some((argument) => argument.kind === "local" && argument.operation === index)),
    };
  });
}

/** @throws TypeError when the path leads through nothing */
export function partOf(value: unknown, path: readonly (string | number)[]): unknown {
  let part = value;
  for (const key of path) {
    if (part === null || part === undefined)
      throw new TypeError(`Cannot take a part of the graph's input: there is nothing at ${JSON.stringify(path)}`);
    part = (part as Record<string | number, unknown>)[key];
  }
  return part;
}
