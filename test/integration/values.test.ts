/**
 * Values of every kind go to a task and come back as they were.
 */
import { get, put, remote, SerializationError, TaskError } from "shoal";
import { registerSerializer } from "shoal/util";
import { describe, expect, test } from "vitest";
import { failureOf, useSession } from "./session.ts";

useSession({ numCpus: 1 });

const echo = remote((value: unknown): any => value);

class Point {
  readonly #secret: string;
  readonly x: number;
  readonly y: number;
  constructor(x: number, y: number, secret = "none") {
    this.x = x;
    this.y = y;
    this.#secret = secret;
  }
  get secret(): string {
    return this.#secret;
  }
  length(): number {
    return Math.hypot(this.x, this.y);
  }
}

class Marked extends Point {
  readonly label = "marked";
}

class Temperature {
  readonly celsius: number;
  constructor(celsius: number) {
    this.celsius = celsius;
  }
}

describe("data", () => {
  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["booleans", [true, false]],
    ["numbers at the edges", [0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, -(2 ** 31), 2 ** 32, 5e-324]],
    ["bigints", [0n, -1n, 2n ** 64n, -(2n ** 200n)]],
    ["strings", ["", "ascii", "ümläut", "🐟", "\u0000", "\ud800", "x".repeat(70_000)]],
    ["a Date", new Date(1_700_000_000_123)],
    ["an invalid Date", new Date(Number.NaN)],
    ["a RegExp", /a(b)?c/giu],
    [
      "a Map of odd keys",
      new Map<unknown, unknown>([
        [1, "one"],
        [{ k: 1 }, [2]],
        [null, undefined],
      ]),
    ],
    ["a Set", new Set([1, "two", [3]])],
    ["a sparse array", [1, , 3]],
    ["nested plain data", { a: [{ b: { c: [1, [2, [3]]] } }], "key with spaces": 1 }],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 })],
    ["boxed primitives", [Object(1), Object("s"), Object(true)]],
    [
      "typed arrays",
      [
        new Uint8Array([1, 2]),
        new Int16Array([-1]),
        new Float32Array([1.5]),
        new Float64Array([Math.PI]),
        new BigInt64Array([-5n]),
        new Uint8ClampedArray([255]),
      ],
    ],
    ["large typed arrays", [new Float64Array(20_000).fill(0.5), new Uint8Array(5000).fill(3)]],
    ["an ArrayBuffer", new Uint8Array([1, 2, 3]).buffer],
    ["a DataView", new DataView(new Uint8Array([9, 8, 7]).buffer, 1, 2)],
    ["a Buffer", Buffer.from("bytes")],
    ["keys that name builtins", { constructor: 1, toString: 2, hasOwnProperty: 3, length: 4 }],
  ])("%s", async (_name, value) => {
    expect(await echo.remote(value)).toStrictEqual(value);
    expect(await put([value])).toStrictEqual([value]);
  });

  test("an own key __proto__ stays a key", async () => {
    const back = await echo.remote(JSON.parse('{"__proto__": {"admin": true}, "a": 1}'));
    expect(Object.keys(back).toSorted()).toEqual(["__proto__", "a"]);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
  });

  test("-0 keeps its sign", async () => {
    expect(Object.is(await echo.remote(-0), -0)).toBe(true);
  });

  test("cycles and shared parts keep their shape", async () => {
    const shared = { n: 1 };
    const value: Record<string, unknown> = { left: shared, right: shared, list: [shared] };
    value["self"] = value;
    const back = await echo.remote(value);
    expect(back.self).toBe(back);
    expect(back.left).toBe(back.right);
    expect(back.list[0]).toBe(back.left);
  });

  test("a small view of a large buffer takes only what it shows along", async () => {
    const back = await echo.remote([new Uint8Array(10_000_000).subarray(5, 8)]);
    expect(back[0]).toHaveLength(3);
    expect(back[0].buffer.byteLength).toBeLessThan(1000);
  });

  test("a list 10,000 deep", async () => {
    let list: unknown;
    for (let depth = 0; depth < 10_000; depth += 1) list = { next: list };
    let depth = 0;
    for (let node = (await echo.remote(list)) as { next: unknown } | undefined; node !== undefined; node = node.next as typeof node)
      depth += 1;
    expect(depth).toBe(10_000);
  });
});

describe("class instances", () => {
  test("a sent instance has its class, methods and private state in the task", async () => {
    const describePoint = remote((point: Point) => [point instanceof Point, point.length(), point.secret] as const);
    expect(await describePoint.remote(new Point(3, 4, "sesame"))).toEqual([true, 5, "sesame"]);
  });

  test("a returned instance is an instance of the driver's class", async () => {
    const make = remote((x: number) => new Point(x, 0, "from afar"));
    const point = await make.remote(2);
    expect(point).toBeInstanceOf(Point);
    expect([point.x, point.secret, point.length()]).toEqual([2, "from afar", 2]);
  });

  test("an instance that goes there and back keeps class and state", async () => {
    const back = await echo.remote(new Marked(1, 2, "deep"));
    expect(back).toBeInstanceOf(Marked);
    expect(back).toBeInstanceOf(Point);
    expect([back.label, back.secret]).toEqual(["marked", "deep"]);
  });

  test("instances inside of collections", async () => {
    const back = await echo.remote(new Map([["p", [new Point(1, 1)]]]));
    expect(back.get("p")[0]).toBeInstanceOf(Point);
  });

  test("put keeps the class as well", async () => {
    expect(await put(new Point(6, 8))).toBeInstanceOf(Point);
  });

  test("an instance with a large buffer", async () => {
    class Image {
      readonly pixels: Uint8Array;
      constructor(size: number) {
        this.pixels = new Uint8Array(size).fill(8);
      }
    }
    const brighten = remote((image: Image) => {
      image.pixels[0] = 255;
      return image;
    });
    const image = await brighten.remote(new Image(300_000));
    expect(image).toBeInstanceOf(Image);
    expect([image.pixels.length, image.pixels[0], image.pixels[1]]).toEqual([300_000, 255, 8]);
  });
});

describe("functions", () => {
  test("as an argument, with what they capture", async () => {
    const factor = 3;
    const map = remote((values: number[], each: (value: number) => number) => values.map(each));
    expect(await map.remote([1, 2], (value) => value * factor)).toEqual([3, 6]);
  });

  test("as a result", async () => {
    const adder = remote((base: number) => (value: number) => base + value);
    expect((await adder.remote(40))(2)).toBe(42);
  });

  test("a class as an argument", async () => {
    const measure = remote((shape: typeof Point) => new shape(3, 4).length());
    expect(await measure.remote(Point)).toBe(5);
  });

  test("a remote function as an argument", async () => {
    const double = remote((value: number) => value * 2);
    const apply = remote(async (box: { run: typeof double }, value: number) => (await box.run.remote(value)) + 1);
    expect(await apply.remote({ run: double }, 4)).toBe(9);
  });
});

describe("errors", () => {
  test("as values: class, message, properties and causes", async () => {
    const cause = Object.assign(new TypeError("inner"), { detail: { n: 1 } });
    const back = await echo.remote([new RangeError("outer", { cause })]);
    expect(back[0]).toBeInstanceOf(RangeError);
    expect([back[0].message, back[0].cause.message, back[0].cause.detail]).toEqual(["outer", "inner", { n: 1 }]);
    expect(back[0].cause).toBeInstanceOf(TypeError);
  });

  test("an AggregateError keeps its errors", async () => {
    const back = await echo.remote([new AggregateError([new Error("a"), "b"], "both")]);
    expect(back[0]).toBeInstanceOf(AggregateError);
    expect([back[0].message, back[0].errors[0].message, back[0].errors[1]]).toEqual(["both", "a", "b"]);
  });

  test("thrown: the cause is the user's own class with its chain", async () => {
    class QuotaError extends Error {
      readonly limit: number;
      constructor(limit: number, options?: ErrorOptions) {
        super(`above ${limit}`, options);
        this.limit = limit;
      }
    }
    const fail = remote(() => {
      throw new QuotaError(5, { cause: new RangeError("root") });
    });
    const failure = await failureOf(fail.remote());
    expect(failure).toBeInstanceOf(TaskError);
    const cause = failure.cause as QuotaError;
    expect(cause).toBeInstanceOf(QuotaError);
    expect([cause.limit, cause.message, (cause.cause as Error).message]).toEqual([5, "above 5", "root"]);
  });

  test.each<[string, unknown]>([
    ["a string", "just text"],
    ["undefined", undefined],
    ["an object", { code: 7 }],
    ["a frozen error", Object.freeze(new Error("frozen"))],
  ])("a task that throws %s", async (_name, thrown) => {
    const fail = remote((value: unknown) => {
      throw value;
    });
    const failure = await failureOf(fail.remote(thrown));
    expect(failure).toBeInstanceOf(TaskError);
    if (thrown instanceof Error) expect((failure.cause as Error).message).toBe(thrown.message);
    else expect(failure.cause).toStrictEqual(thrown);
  });

  test("an error that cannot be sent arrives as a description of it", async () => {
    const fail = remote(() => {
      throw Object.assign(new RangeError("with baggage"), { baggage: new WeakRef({}) });
    });
    const failure = await failureOf(fail.remote());
    expect(failure).toBeInstanceOf(TaskError);
    expect(failure.message).toContain("with baggage");
  });
});

describe("refs and handles inside values", () => {
  test("refs stay refs, wherever they are, and can be waited for", async () => {
    const total = remote(async (box: { list: PromiseLike<number>[]; map: Map<string, PromiseLike<number>> }) => {
      const values = await Promise.all([...box.list, ...box.map.values()]);
      return values.reduce((left, right) => left + right, 0);
    });
    const one = remote(() => 1);
    expect(await total.remote({ list: [put(10), one.remote()], map: new Map([["m", put(100)]]) })).toBe(111);
  });

  test("a ref that comes back is the same object", async () => {
    const ref = put("same");
    const [back] = await echo.remote([ref]);
    expect(back.id).toBe(ref.id);
    expect(await back).toBe("same");
  });

  test("an actor's handle works where it arrives", async () => {
    class Counter {
      #count = 0;
      add(by: number): number {
        this.#count += by;
        return this.#count;
      }
    }
    using counter = remote(Counter).remote();
    const bump = remote(async (box: { counter: typeof counter }, by: number) => box.counter.add.remote(by));
    expect(await bump.remote({ counter }, 5)).toBe(5);
    expect(await counter.add.remote(1)).toBe(6);
    const [again] = await echo.remote([counter]);
    expect(await again.add.remote(4)).toBe(10);
  });
});

describe("what cannot be sent", () => {
  test("says where in the value it is", () => {
    const value = { pool: { conn: new WeakRef({}) } };
    let failure: unknown;
    try {
      echo.remote(value);
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(SerializationError);
    expect((failure as Error).message).toContain(".pool");
    expect((failure as Error).message).toContain(".conn");
  });

  test("as a result fails the task with the same words", async () => {
    const leak = remote(() => ({ inner: { weak: new WeakRef({}) } }));
    const failure = await failureOf(leak.remote());
    expect(failure.message).toContain(".inner");
  });
});

describe("registered serializers", () => {
  test("take precedence, in arguments and in put", async () => {
    registerSerializer(Temperature, {
      serialize: (value) => value.celsius * 10,
      deserialize: (tenths: number) => new Temperature(tenths / 10 + 1000),
    });
    const read = remote((value: Temperature) => value.celsius);
    expect(await read.remote(new Temperature(2))).toBe(1002);
    expect(await get(put(new Temperature(3)))).toMatchObject({ celsius: 1003 });
  });
});
