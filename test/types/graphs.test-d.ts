/** Graphs: nodes carry their value and the graph's input. */
import {
  type ActorHandle,
  type CompiledRef,
  exactly,
  type GraphNode,
  InputNode,
  MultiOutputNode,
  type ObjectRef,
  put,
  remote,
} from "./api.ts";

const add = remote((a: number, b: number) => a + b);
const textOf = remote(async (value: number | string) => `${value}`);
const input = new InputNode<number>();

// --- Values and inputs ---------------------------------------------------------------------------------------------------

exactly<GraphNode<number, number>>()(add.bind(input, 1));
exactly<GraphNode<number, number>>()(add.bind(add.bind(input, 1), input));
exactly<GraphNode<string, number>>()(textOf.bind(add.bind(input, put(1))));
exactly<GraphNode<number, never>>()(add.bind(1, 2));
exactly<ObjectRef<number>>()(add.bind(input, 1).execute(3));
add.bind(1, 2).execute();
// @ts-expect-error: a graph without an InputNode takes no input
add.bind(1, 2).execute(3);
// @ts-expect-error: the input is missing
add.bind(input, 1).execute();
// @ts-expect-error: an input of another type
add.bind(input, 1).execute("3");
// @ts-expect-error: a node of another value
add.bind(textOf.bind(input), 1);
// @ts-expect-error: too few arguments
add.bind(input);

// --- Parts of the input --------------------------------------------------------------------------------------------------

const point = new InputNode<{ x: number; names: string[] }>();
exactly<GraphNode<number, { x: number; names: string[] }>>()(add.bind(point.at("x"), 1));
textOf.bind(point.at("names").at(0));
// @ts-expect-error: there is no such property
point.at("z");
// @ts-expect-error: a part of another type
add.bind(point.at("names"), 1);

// --- Nested nodes are references -----------------------------------------------------------------------------------------

const sumRefs = remote(async (refs: ObjectRef<number>[]) => refs.length);
const sumNamed = remote(async ({ first }: { first: ObjectRef<number> }) => first);
exactly<GraphNode<number, number>>()(sumRefs.bind([add.bind(input, 1), put(2)]));
exactly<GraphNode<number, number>>()(sumNamed.bind({ first: add.bind(input, 1) }));
// @ts-expect-error: inside an array a node is a reference and not a value
remote((values: number[]) => values.length).bind([add.bind(input, 1)]);

// --- Actors --------------------------------------------------------------------------------------------------------------

class Counter {
  count: number;
  constructor(start: number) {
    this.count = start;
  }
  add(by: number): number {
    this.count += by;
    return this.count;
  }
}
const counter = remote(Counter).remote(1);
exactly<GraphNode<number, number>>()(counter.add.bind(input));
exactly<GraphNode<number, number>>()(remote(Counter).bind(input).add.bind(1));
exactly<GraphNode<number, never>>()(remote(Counter).bind(1).add.bind(1));
remote((actor: ActorHandle<Counter>) => actor).bind(remote(Counter).bind(1));
// @ts-expect-error: fields are not methods
remote(Counter).bind(1).count;

// --- Several outputs -----------------------------------------------------------------------------------------------------

const outputs = new MultiOutputNode([add.bind(input, 1), textOf.bind(input)]);
exactly<[ObjectRef<number>, ObjectRef<string>]>()(outputs.execute(1));
// @ts-expect-error: the input is missing
outputs.execute();

// --- Compiled graphs -----------------------------------------------------------------------------------------------------

const compiled = await counter.add.bind(input).compile({ maxInflightExecutions: 10 });
exactly<CompiledRef<number>>()(compiled.execute(1));
exactly<number>()(await compiled.execute(1));
exactly<{ refs: CompiledRef<number> }>()(await compiled.executeAsync(1));
// @ts-expect-error: an input of another type
compiled.execute("1");
const compiledOutputs = await outputs.compile();
exactly<[CompiledRef<number>, CompiledRef<string>]>()(compiledOutputs.execute(1));
// @ts-expect-error: there is no such option
void counter.add.bind(input).compile({ bufferSize: 1 });
