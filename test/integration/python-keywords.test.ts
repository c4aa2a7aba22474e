/**
 * Arguments by name between processes, and the questions that Python asks about its cluster.
 */
import { get, getRuntimeContext, InputNode, put, python, type PythonKeywords, remote, TaskError } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, useSession } from "./session.ts";

const file = new URL("python/keywords.py", import.meta.url);

interface Adder {
  add(a: number, keywords?: PythonKeywords): number;
}

describe("arguments by name", () => {
  useSession({ numCpus: 2 });
  const Adder = python.actor<Adder, [start: number, keywords?: PythonKeywords]>(file, "Adder", { numCpus: 0 });

  test("reach tasks, constructors and methods of Python from TypeScript", async () => {
    const described = python.task<(a: number, keywords?: PythonKeywords) => unknown>(file, "described");
    expect(await described.remote(1, python.keywords({ c: [4], d: new Map([[1, "one"]]) }))).toEqual([
      1,
      2,
      [4],
      { d: new Map([[1, "one"]]) },
    ]);
    const adder = Adder.remote(1, python.keywords({ step: 2 }));
    expect(await adder.add.remote(1, python.keywords({ factor: 3 }))).toBe(7);
  });

  test("reach those of Python from Python, where references among them are values", async () => {
    const task = python.task<(handle: object) => unknown>(file, "from_python");
    expect(await task.remote(Adder.remote(0))).toEqual([12, 10, 15, [1, 2, 5, { d: "more" }]]);
  });

  test("that the function does not have are its error", async () => {
    expect(await python.task<() => string>(file, "unexpected").remote()).toMatch(
      /TypeError: .*add\(\) got an unexpected keyword argument 'nothing'/,
    );
  });

  test("are refused for TypeScript's functions and methods, by name", async () => {
    class Plain {
      method(): number {
        return 1;
      }
    }
    const texts = await python.task<(handle: object, fn: object) => string[]>(file, "refused").remote(
      remote(Plain, { numCpus: 0 }).remote(),
      remote(function plain() {}),
    );
    expect(texts).toEqual([
      "Cannot call Plain.method with name by name: methods of TypeScript take their arguments by their places",
      "Cannot call plain with name by name: functions of TypeScript take their arguments by their places",
    ]);
    expect(() => python.keywords({ "not a name": 1 })).toThrow("Cannot name arguments of Python: a name is needed");
    expect(() => python.keywords({ ref: put(1) })).toThrow("ref is a reference");
    // TypeScript may hold and pass them on.
    const held = await remote((keywords: PythonKeywords) => keywords).remote(python.keywords({ c: 9 }));
    const described = python.task<(a: number, keywords: PythonKeywords) => unknown>(file, "described");
    expect(await described.remote(1, held)).toEqual([1, 2, 9, {}]);
  });

  test("a Float16Array has its numbers, also without NumPy", async () => {
    if (!("Float16Array" in globalThis)) return;
    const Half = (globalThis as unknown as { Float16Array: { from(values: number[]): object } }).Float16Array;
    const [type, values] = await python.task<(values: object) => [string, number[]]>(file, "half").remote(Half.from([1.5, -2, 0.25]));
    expect(["array", "ndarray"]).toContain(type);
    expect(values).toEqual([1.5, -2, 0.25]);
  });

  test("an actor of Python is refused in a compiled graph, by name", async () => {
    const adder = Adder.remote(0);
    const node = adder.add.bind(new InputNode<number>());
    await expect(node.compile()).rejects.toThrow("Cannot compile a graph: Adder.add is a method of Python");
    expect(await node.execute(3)).toBe(3);
  });

  test("Python asks for nodes, resources and its own place", async () => {
    const asker = python.actor<{ ask(): Record<string, unknown> }, []>(file, "Asker", { numCpus: 0 }).remote();
    const answer = await asker.ask.remote();
    expect(answer).toMatchObject({ node: true, task: "Asker.ask", cpus: 2, free: true, job: getRuntimeContext().jobId });
    expect(answer["actor"]).toMatch(/^[0-9a-f]+$/);
    expect(await failureOf(get(python.task(file, "nothing").remote()))).toBeInstanceOf(TaskError);
  });
});
