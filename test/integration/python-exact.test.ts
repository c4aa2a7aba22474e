/** Between processes of Python a value is what it was, directly, by a reference, and where TypeScript has held it; where a side cannot hold it, it is refused by name. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type ObjectRef, put, python, remote, SerializationError, TaskError } from "shoal";
import { describe, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { pythonUnitTests, scientificPython, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, useSession } from "./session.ts";

const found = scientificPython();
const problem = "problem" in found ? found.problem : undefined;
const EXACT = new URL("python/exact.py", import.meta.url);

/** @param other - set: another process than without it */
function task(name: string, other?: string): (...args: unknown[]) => ObjectRef<never> {
  const made = python.task<(...values: unknown[]) => never>(EXACT, name, {
    runtimeEnv: { ...("venv" in found ? { python: found.venv } : {}), ...(other === undefined ? {} : { envVars: { OTHER: other } }) },
  });
  return (...args) => made.remote(...args);
}

test.skipIf(WITHOUT_PYTHON !== undefined)(`values and random values of them are what pickle makes of them${unless(WITHOUT_PYTHON)}`, () => {
  const { status, stderr } = pythonUnitTests("test_exact.py");
  expect(stderr).toMatch(/OK\n$/);
  expect(status).toBe(0);
});

describe.skipIf(problem !== undefined)(`values between processes of Python${unless(problem)}`, () => {
  useSession({ numCpus: 2 });

  test("values of NumPy, pandas and pyarrow are what pickle makes of them", () => {
    const { status, stderr } = spawnSync(
      join((found as { venv: string }).venv, "bin", "python3"),
      [join(REPOSITORY, "python", "tests", "test_exact.py")],
      {
        encoding: "utf8",
        env: { ...process.env, PYTHONPATH: join(REPOSITORY, "python"), PYTHONDONTWRITEBYTECODE: "1" },
      },
    );
    expect(stderr).toMatch(/OK\n$/);
    expect(status).toBe(0);
  });

  test.each(["plain", "science", "tables"])("what one process sends by a reference is the same in another: %s", async (kind) => {
    expect(await task("differences", "reader")(kind, task("send")(kind))).toEqual([]);
  });

  test("what TypeScript passes on is the same, but for numbers, texts and what has a pickle of its own", async () => {
    const values = (await task("send")("plain")) as Record<string, unknown>;
    expect(values["tuple"]).toEqual([1, "a", null]);
    expect(values["set"]).toBeInstanceOf(Set);
    expect(values["naive"]).toBeInstanceOf(Date);
    expect(values["ordered"]).toEqual({ b: 1, a: [1] });
    // An instance whose pickle says more than its object is refused by name, as are keys that were members of an enum.
    for (const [name, said] of [
      ["enum keys", "an instance of dict"],
      ["number of a class", "an instance of exact.Raw"],
      ["dataclass with a state", "an instance of exact.Guarded"],
    ] as const) {
      const { [name]: refused } = values;
      delete values[name];
      const failure = await failureOf(task("differences", "reader")("plain", { [name]: refused }));
      expect(failure).toBeInstanceOf(SerializationError);
      expect(failure.message).toContain(`Cannot read ${said}`);
      expect(failure.message).toContain("it came through TypeScript");
      // Python code of another task may have it as plain data, and so may TypeScript.
      expect(typeof refused).toBe("object");
    }
    const changed = (await task("differences", "reader")("plain", values)) as string[];
    // Numbers and texts have no memory of their class. The refused values are not there.
    expect(changed.map((line) => line.split(":")[0])).toEqual([
      "other names",
      "floats",
      "enum",
      "enum keys",
      "enum set",
      "number of a class",
      "dataclass with a state",
    ]);
  });

  test("a file in memory keeps its position", async () => {
    const rests = [
      ["BytesIO", 1, "b'bc'"],
      ["StringIO", 1, "bc"],
    ];
    expect(await task("rests", "reader")(task("files")())).toEqual(rests);
    expect(await task("rests", "reader")(await task("files")())).toEqual(rests);
  });

  test("a dict keeps the order of its keys through TypeScript, unless a key was added", async () => {
    const given = { 10: "ten", 2: "two", a: "x" };
    const made = (await task("in_order")(["10", "a", "2"], given)) as Record<string, unknown>;
    expect(Object.keys(made)).toEqual(["2", "10", "a"]);
    expect(await task("keys_of", "reader")(made)).toEqual(["10", "a", "2"]);
    made["a"] = "changed";
    expect(await task("keys_of", "reader")(made)).toEqual(["10", "a", "2"]);
    made["b"] = 1;
    expect(await task("keys_of", "reader")(made)).toEqual(["2", "10", "a", "b"]);
  });

  test("an array that was a tuple is one again, with what it holds then", async () => {
    const values = (await task("send")("plain")) as Record<string, number[]>;
    values["tuple"]?.push(5);
    expect(await task("contains")([values["tuple"], [1, 2]])).toEqual([false, "list"]);
    expect(await task("name_of")(values["tuple"])).toBe("tuple");
    expect(await task("name_of")([...(values["tuple"] as number[])])).toBe("list");
    const date = (values as unknown as Record<string, Date>)["naive"] as Date;
    date.setTime(0);
    expect(await task("name_of")(put([date]))).toBe("list");
  });

  test("a circle through a tuple or an instance is whole in Python, and readable here", async () => {
    const ref = task("circles")();
    expect(await task("circles_are_whole", "reader")(ref)).toEqual([true, true]);
    const [node] = (await ref) as [{ items: unknown[] }];
    expect(node.items[0]).toBe(node);
  });

  test("an instance of a class that no other process finds is plain here, and refused by name there", async () => {
    const ref = task("local")();
    expect(await ref).toEqual({ a: 1 });
    const failure = await failureOf(task("name_of", "reader")(ref));
    expect(failure.message).toContain("local.<locals>.Inside");
  });

  test("members of two enums with one value are refused here by name, and two in Python", async () => {
    const ref = task("enumerations")();
    const failure = await failureOf(ref);
    expect(failure).toBeInstanceOf(SerializationError);
    expect(failure.message).toContain("some of its keys are one value in JavaScript");
    expect(await task("name_of", "reader")(ref)).toBe("dict");
  });

  test.each([
    [
      "1 and true",
      new Map<unknown, string>([
        [1, "a"],
        [true, "b"],
      ]),
    ],
    [
      "1 and 1n",
      new Map<unknown, string>([
        [1, "a"],
        [1n, "b"],
      ]),
    ],
    [
      "two equal dates",
      new Map<unknown, string>([
        [new Date(5), "a"],
        [new Date(5), "b"],
      ]),
    ],
    [
      "two equal bytes",
      new Map<unknown, string>([
        [new Uint8Array([1]), "a"],
        [new Uint8Array([1]), "b"],
      ]),
    ],
  ])("a Map whose keys are one key in Python is refused: %s", async (_name, map) => {
    const failure = await failureOf(task("name_of")(map));
    expect(failure.message).toContain("two of its keys are one in Python");
    expect(failure).not.toBeInstanceOf(TaskError);
  });

  test.each([
    ["key", [["KeyError", "LookupError"], "'k'", null, null, null]],
    ["file", [["FileNotFoundError", "OSError"], "[Errno 2] No such file or directory: '/no/such/file'", null, 2, null]],
    ["own", [["AppError", "LookupError"], "5: gone", 5, null, null]],
    ["lock", [["AppError", "LookupError"], "6: with a lock", 6, null, null]],
    ["cause", [["AppError", "LookupError"], "7: outer", 7, null, "ValueError"]],
  ])("what a task of Python raises is of its class in another: %s", async (kind, facts) => {
    const ref = task("raises")(kind);
    expect(await task("caught", "reader")([ref])).toEqual(facts);
    const { cause } = (await failureOf(ref)) as { cause?: Error };
    expect(cause).toBeInstanceOf(Error);
    // TypeScript raises it again.
    const again = remote((error: Error) => {
      throw error;
    });
    expect(await task("caught", "reader")([again.remote(cause as Error)])).toEqual(facts);
  });

  test("errors with classes of their own keep what they have there", async () => {
    for (const kind of ["unicode", "syntax"]) {
      const facts = (await task("caught", "reader")([task("raises")(kind)])) as string[][];
      expect(facts[0]?.[0]).toBe(kind === "unicode" ? "UnicodeDecodeError" : "SyntaxError");
    }
  });

  test("a group of exceptions has all of them, each of its own class", async () => {
    if (!(await task("has_groups")())) return;
    const ref = task("raises_group")();
    const names = ["ValueError", "TwoArguments", "ExceptionGroup"];
    expect(await task("caught_group", "reader")([ref])).toEqual([
      "ExceptionGroup",
      "several (3 sub-exceptions)",
      names,
      2,
      "(KeyError('k'),)",
    ]);
    const { errors } = (await failureOf(ref)).cause as AggregateError;
    expect(errors.map((error: Error) => error.name)).toEqual(names);
  });

  test("a time-out is Python's own, too", async () => {
    const never = remote(async () => new Promise(() => {}), { numCpus: 0 });
    using ref = never.remote();
    expect(await task("times_out")([ref])).toBe("GetTimeoutError");
  });

  test("an error of a class of TypeScript, or with a function on it, has its message, name and data in Python", async () => {
    class PaymentError extends Error {
      override name = "PaymentError";
      details = { amount: 5 };
      retry = (): number => 1;
    }
    const fails = remote(() => {
      throw new PaymentError("boom");
    });
    expect(await task("error_facts")([fails.remote()])).toEqual(["JavaScriptError", "PaymentError", "boom", { amount: 5 }, true]);
    const carries = remote(() => {
      throw Object.assign(new RangeError("boom"), { retry: () => 1, details: [1, 2] });
    });
    expect(await task("error_facts")([carries.remote()])).toEqual(["ValueError", "RangeError", "boom", [1, 2], true]);
  });
});
