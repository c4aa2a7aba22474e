/** Lazy graphs by ordinary calls: tasks, actors, the input and its parts, several outputs, misuse. */
import { get, InputNode, MultiOutputNode, type ObjectRef, put, remote, TaskError } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, Log, until, useFolder, useSession, driverRuntime } from "./session.ts";
import { appendFileSync } from "node:fs";

const folder = useFolder();

class Counter {
  #count: number;
  constructor(start = 0) {
    this.#count = start;
  }
  add(by: number): number {
    this.#count += by;
    return this.#count;
  }
  fail(): never {
    throw new RangeError("too much");
  }
  pid(): number {
    return process.pid;
  }
}

const add = remote((a: number, b: number) => a + b);
const square = remote((x: number) => x * x);

for (const mode of ["process", "inProcess"] as const) {
  describe(mode, () => {
    useSession({ numCpus: 2, mode });

    test("a graph runs with each input, and its nodes again and again", async () => {
      const input = new InputNode<number>();
      const graph = add.bind(square.bind(input), 1);
      expect(await graph.execute(3)).toBe(10);
      expect(await get([1, 2, 4].map((x) => graph.execute(x)))).toEqual([2, 5, 17]);
      expect(await add.bind(square.bind(2), put(3)).execute()).toBe(7);
    });

    test("parts of the input are taken by property and index", async () => {
      const input = new InputNode<{ x: number; pair: [number, number] }>();
      const graph = add.bind(add.bind(input.at("x"), input.at("pair").at(1)), 100);
      expect(await graph.execute({ x: 1, pair: [0, 10] })).toBe(111);
      expect(() => graph.execute({ x: 1 } as never)).toThrow(/nothing at \["pair",1\]/);
    });

    test("a node that several use runs once an execution", async () => {
      const log = new Log(folder);
      const noted = remote((file: string, x: number) => {
        appendFileSync(file, "ran\n");
        return x;
      });
      const shared = noted.bind(log.file, new InputNode<number>());
      expect(await add.bind(shared, shared).execute(4)).toBe(8);
      expect(log.lines).toEqual(["ran"]);
    });

    test("methods of an actor are nodes, and their calls keep their order", async () => {
      using counter = remote(Counter).remote(10);
      const input = new InputNode<number>();
      const first = counter.add.bind(input);
      const graph = new MultiOutputNode([first, counter.add.bind(first)]);
      expect(await get(graph.execute(5))).toEqual([15, 30]);
      expect(await counter.add.remote(0)).toBe(30);
    });

    test("an actor of the graph is made for each execution and ends after it", async () => {
      const actor = remote(Counter).bind(new InputNode<number>());
      const first = actor.add.bind(1);
      const graph = new MultiOutputNode([first, actor.add.bind(first), actor.pid.bind()]);
      const [one, two, pid] = await get(graph.execute(5));
      expect([one, two]).toEqual([6, 12]);
      expect((await get(graph.execute(7)))[0]).toBe(8);
      if (mode === "process") await until(() => !isAlivePid(pid), "the actor of the execution to end");
    });

    test("a node inside an array or object arrives as a reference", async () => {
      const sum = remote(async ({ refs }: { refs: ObjectRef<number>[] }) => (await Promise.all(refs)).reduce((a, b) => a + b));
      const input = new InputNode<number>();
      expect(await sum.bind({ refs: [square.bind(input), square.bind(3)] }).execute(2)).toBe(13);
    });

    test("a failure passes through the nodes that depend on it", async () => {
      using counter = remote(Counter).remote();
      const graph = square.bind(counter.fail.bind());
      const failure = await failureOf(graph.execute());
      expect(failure).toBeInstanceOf(TaskError);
      expect(failure.cause).toBeInstanceOf(RangeError);
    });

    test("misuse is refused before anything is sent", async () => {
      const input = new InputNode<number>();
      const graph = square.bind(input);
      const untyped = graph as unknown as { execute(...input: unknown[]): unknown };
      expect(() => untyped.execute()).toThrow(/an input is needed: received none/);
      expect(() => untyped.execute(1, 2)).toThrow(/takes one input: received 2/);
      expect(() => (square.bind(1) as unknown as typeof untyped).execute(1)).toThrow(/takes no input: received 1/);
      expect(() => (add.bind(input, new InputNode<number>()) as unknown as typeof untyped).execute(1)).toThrow(/more than one InputNode/);
      expect(() => new MultiOutputNode([input as never])).toThrow(/output 0 is not the node of a call/);
      expect(() => new MultiOutputNode([])).toThrow(/an array of nodes is needed/);
      expect(() => input.at(0.5 as never)).toThrow(/property's name or an index/);
      const stream = remote(function* () {
        yield 1;
      });
      expect(() => (stream as unknown as typeof square).bind(1)).toThrow(/numReturns must be 1: received "streaming"/);
      class Pairs {
        pair(): [number, number] {
          return [1, 2];
        }
      }
      const pairs = remote(Pairs, { methods: { pair: { numReturns: 2 } } }).bind() as unknown as { pair: typeof square };
      expect(() => pairs.pair.bind(1)).toThrow(/numReturns must be 1: received 2/);
      const pair = remote(() => [1, 2] as [number, number], { numReturns: 2 });
      expect(() => (pair as unknown as typeof square).bind(1)).toThrow(/numReturns must be 1: received 2/);
      expect(() =>
        remote((x: unknown) => x)
          .bind(Promise.resolve())
          .execute(),
      ).toThrow(/promise/i);
      expect(driverRuntime().pendingTaskCount).toBe(0);
    });
  });
}

test("a graph is shown as a Mermaid flowchart", () => {
  const input = new InputNode<{ x: number }>();
  const graph = new MultiOutputNode([add.bind(square.bind(input.at("x")), 1)]);
  expect(graph.visualize()).toMatchInlineSnapshot(`
    "flowchart TD
      n0(["input"])
      n1(["at #quot;x#quot;"])
      n2["anonymous"]
      n3["anonymous"]
      n4(["outputs"])
      n0 --> n1
      n1 --> n2
      n2 --> n3
      n3 --> n4
    "
  `);
});

function isAlivePid(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
