/** Values that Python alone has: exact ones, classes of the user's, instances that JavaScript cannot open, on their way to TypeScript, to other processes of Python and back. */
import { inspect } from "node:util";
import { type ObjectRef, put, python, PythonObject, PythonValue, remote } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { collectGarbage, failureOf, storeUsedBytes, until, useSession } from "./session.ts";

const KEPT = new URL("python/kept.py", import.meta.url);
const UUID = "12345678-1234-5678-1234-567812345678";

/** A separate process for each: an earlier import of another file must not help it. */
function task<R>(name: string, other = ""): (...args: unknown[]) => ObjectRef<R> {
  const made = python.task<(...values: unknown[]) => R>(KEPT, name, other === "" ? {} : { runtimeEnv: { envVars: { OTHER: other } } });
  return (...args) => made.remote(...args) as ObjectRef<R>;
}

/** A separate function: V8 keeps the former references of a frame. */
async function useHeld(): Promise<void> {
  using ref = task<PythonObject>("held")();
  const held = await ref;
  await collectGarbage();
  expect(await task("use_held", "reader")(held)).toEqual([80_000, 2]);
  using again = put([held]);
  expect(await task("use_held", "reader")((await again)[0])).toEqual([80_000, 4]);
  expect(await storeUsedBytes()).toBeGreaterThan(0);
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`values that Python alone has${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 2 });
  const same = task<string[]>("same", "reader");

  test("exact values are text here, and the same again in Python", async () => {
    const exact = (await task<Record<string, unknown>>("give")("exact")) as { decimal: PythonValue[] } & Record<string, unknown>;
    expect(exact.decimal.map(String)).toEqual(["0.1", "1E+30", "-0.00", "NaN", "-Infinity"]);
    expect(exact["uuid"]).toEqual(new PythonValue("uuid", UUID));
    expect([exact["date"], exact["time"], exact["timedelta"]].flat().map(String)).toEqual([
      "2026-01-31",
      "23:59:59.500000",
      "01:00:00+00:00",
      "-86399.999999",
      "108000",
      "0",
    ]);
    expect(await same("exact", exact)).toEqual([]);
    expect(JSON.stringify(new PythonValue("decimal", "0.10"))).toBe('"0.10"');
    expect(await task<string[]>("through_a_task")("exact")).toEqual([[], []]);
  });

  test("a text that is no such value is refused where it is made", () => {
    for (const [type, text] of [
      ["decimal", "0,1"],
      ["decimal", ""],
      ["uuid", "12345678"],
      ["date", "2026-1-1"],
      ["time", "24"],
      ["timedelta", "1h"],
      ["complex", "1+2i"],
    ] as const)
      expect(() => new PythonValue(type, text)).toThrow(RangeError);
    expect(() => new PythonValue("money" as "decimal", "1")).toThrow("its type is one of decimal, uuid");
  });

  test("enums and dataclasses are plain values here, and keep their classes between processes of Python", async () => {
    const ref = task("give")("classes");
    expect(await ref).toEqual({
      enums: ["red", [1, 2], "red", 1, 3],
      keys: new Map<unknown, unknown>([
        ["red", 1],
        [2, 1],
      ]),
      config: { name: "b", rate: 0.25, color: [1, 2], tags: [1, { x: 2 }] },
      point: [1, { x: 2 }, [3]],
    });
    expect(await same("classes", ref)).toEqual([]);
    expect(await task<string[]>("through_a_task")("classes")).toEqual([[], []]);
  });

  test("a dataclass that refers to itself is an object with that circle, and itself in Python", async () => {
    const ref = task<{ name: string; children: { parent: unknown }[] }>("family")();
    const root = await ref;
    expect(root.children[0]?.parent).toBe(root);
    expect(await task("family_facts", "reader")(ref)).toEqual(["Node", true]);
  });

  test("instances are objects here that can be held and passed on, and instances in other processes of Python", async () => {
    const ref = task<{ model: unknown; library: unknown[] }>("give")("objects");
    const objects = await ref;
    expect(objects.model).toBeInstanceOf(PythonObject);
    expect(objects.model).toMatchObject({ className: "kept.Model" });
    expect(String(objects.model)).toBe("[PythonObject kept.Model]");
    expect(inspect(objects)).toMatch(/model: \[PythonObject kept.Model, \d+ bytes\]/);
    expect(objects.library.map(String)).toContain("[PythonObject collections.deque]");
    expect(await same("objects", ref)).toEqual([]);
    expect(await same("objects", objects)).toEqual([]);
    expect(await same("objects", await remote((value: object) => ({ ...value })).remote(objects))).toEqual([]);
    expect(await task("score", "reader")(objects.model, 2)).toEqual([6, 6, "kept"]);
    expect(await task("through_a_task")("objects")).toEqual([[], []]);
  });

  test("references and handles inside of instances are counted", async () => {
    await useHeld();
    await until(async () => {
      await collectGarbage();
      return (await storeUsedBytes()) === 0;
    }, "what the instance referred to");
  });

  test("what cannot be pickled is refused with the way to it and the reason", async () => {
    const refused = task("refused");
    for (const [name, reason] of [
      ["inside", "is made inside a function"],
      ["lock", "cannot pickle '_thread.lock' object"],
      ["main", "is of the module __main__"],
      ["lambda", "a lambda: other processes find code by its module"],
      ["function", "functions and classes of Python cannot leave their process"],
      ["generator", "send list(...) of it"],
    ] as const) {
      const failure = await failureOf(refused(name));
      expect(failure).toMatchObject({ code: "SERIALIZATION_FAILED", path: ".deep[1]" });
      expect(failure.message).toContain(reason);
    }
  });

  test("a class that the reader does not find is an error that says where it looked", async () => {
    const failure = await failureOf(task("same", "away")("objects", task("gone")()));
    expect(failure.message).toContain("Cannot read an instance of");
  });
});
