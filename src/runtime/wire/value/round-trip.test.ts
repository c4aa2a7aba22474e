import { deepStrictEqual, notDeepStrictEqual } from "node:assert";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeValue } from "./decode.ts";
import { encodeValue } from "./encode.ts";

const hooks = { reduce: (): undefined => undefined, revive: (): never => expect.fail("nothing here is a custom form") };

function roundTrip<Value>(value: Value): Value {
  const encoded = encodeValue(value, hooks);
  const bytes = Uint8Array.prototype.slice.call(encoded.bytes, encoded.start, encoded.end);
  return decodeValue(bytes, encoded.buffers, hooks) as Value;
}

function expectKept(value: unknown): void {
  deepStrictEqual(roundTrip(value), value);
}

function nullPrototype(properties: object): object {
  return Object.assign(Object.create(null) as object, properties);
}

/** Kinds of values for which `deepStrictEqual` finds every relevant difference. */
const KINDS: Record<string, unknown> = {
  undefined: undefined,
  null: null,
  booleans: [true, false],
  integers: [0, 1, 127, 128, 255, 256, 65535, 65536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER],
  "negative integers": [-1, -32, -33, -128, -129, -32768, -32769, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 32), Number.MIN_SAFE_INTEGER],
  "other numbers": [0.1, -0.5, Number.NaN, Infinity, -Infinity, 2 ** 53, -(2 ** 60), Number.MAX_VALUE, Number.MIN_VALUE],
  "minus zero": -0,
  bigints: [
    0n,
    1n,
    -1n,
    127n,
    -128n,
    2n ** 63n - 1n,
    2n ** 63n,
    -(2n ** 63n),
    -(2n ** 63n) - 1n,
    2n ** 64n,
    2n ** 200n,
    -(2n ** 200n),
    2n ** 71n,
    -(2n ** 71n),
  ],
  "short strings": ["", "a", "ab", "é", "日本", "🐟", "a".repeat(31), "a".repeat(32), "a".repeat(40), "a".repeat(41), "\0"],
  "long strings": [
    "x".repeat(255),
    "x".repeat(256),
    "x".repeat(65535),
    "x".repeat(65536),
    "é".repeat(20),
    "é".repeat(70_000),
    "🐟".repeat(40_000),
  ],
  "lone surrogates": ["\ud800", "a\udc00b", "\udc00\ud800".repeat(50), { "\ud800": 1 }],
  "nested arrays": [[], [[]], [1, [2, [3]]], Array.from({ length: 70_000 }, (_, index) => index)],
  holes: [
    [1, , 3],
    [, ,],
    [undefined, ,],
    Object.assign(new Array<number>(2000), { 3: 1 }),
    Object.assign(Array.from({ length: 2000 }), { 3: 1 }),
  ],
  "sparse array": Object.assign([], { 1_000_000_000: "x", 5: "y" }),
  "plain objects": [
    {},
    { a: 1 },
    { a: { b: { c: undefined } } },
    Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`k${index}`, index])),
  ],
  "rows of one shape": Array.from({ length: 300 }, (_, index) => ({ index, name: `row ${index}`, tags: { index } })),
  "rows of many shapes": Array.from({ length: 60 }, (_, index) => ({ [`a${index % 20}`]: 1, b: 2 })),
  "shapes inside their own definition": { next: { next: { next: { next: null } } } },
  "the key __proto__": JSON.parse('[{"__proto__":{"x":1},"a":1},{"__proto__":2,"a":1},{"__proto__":3,"a":1}]'),
  "keys of Object.prototype": { constructor: 1, toString: 2, hasOwnProperty: 3 },
  "null prototypes": [nullPrototype({}), nullPrototype({ a: nullPrototype({ b: 1 }) })],
  maps: [
    new Map(),
    new Map<unknown, unknown>([
      ["a", 1],
      [{ k: 1 }, [2]],
      [Number.NaN, new Map([[1, 2]])],
    ]),
  ],
  sets: [new Set(), new Set<unknown>([1, "a", {}, new Set([1])])],
  dates: [new Date(0), new Date(-1), new Date(8.64e15), new Date("2024-02-29T12:00:00.123Z")],
  "regular expressions": [/a/, /a\/\n[/]/dgimsuy, /\p{L}/v, new RegExp("")],
  "typed arrays": [
    new Int8Array([-1, 2]),
    new Uint8Array([1, 2]),
    new Uint8ClampedArray([1, 255]),
    new Int16Array([-1]),
    new Uint16Array([1]),
    new Int32Array([-1]),
    new Uint32Array([1]),
    new Float32Array([1.5, -0]),
    new Float64Array([Math.PI, Number.NaN]),
    new BigInt64Array([-1n]),
    new BigUint64Array([1n]),
    new Uint8Array(0),
  ],
  "other buffers": [Buffer.from("hello"), Buffer.alloc(0), new ArrayBuffer(3), new DataView(new ArrayBuffer(5), 1, 3)],
  "large buffers": [
    new Float64Array(1000).fill(2),
    Buffer.alloc(4096, 1),
    new DataView(new ArrayBuffer(5000)),
    new ArrayBuffer(5000),
    new Uint8Array(4096).fill(7),
  ],
  "boxed primitives": [new Number(5), new Number(-0), new String("text"), new Boolean(false), Object(5n)],
  "results of match": ["abc".match(/b(?<name>c)/), /x/d.exec("ax")],
};

describe("values arrive as they were", () => {
  for (const [name, value] of Object.entries(KINDS)) it(name, () => expectKept(value));

  it("the order of properties", () => {
    expect(Object.keys(roundTrip({ z: 1, a: 2, 10: 3, 9: 4, "": 5 }))).toEqual(["9", "10", "z", "a", ""]);
  });

  it("an invalid date", () => {
    const date = roundTrip(new Date(Number.NaN));
    expect(date).toBeInstanceOf(Date);
    expect(date.getTime()).toBeNaN();
  });

  it("the last index of a regular expression", () => {
    const regExp = /a/g;
    regExp.lastIndex = 3;
    expect(roundTrip(regExp).lastIndex).toBe(3);
  });

  it("the kinds of typed arrays of this version of Node", () => {
    const constructor = (globalThis as unknown as Record<string, (new (items: number[]) => object) | undefined>)["Float16Array"];
    if (constructor !== undefined) expectKept(new constructor([1.5, -2]));
  });

  it("the own bytes of a view, and nothing else of its memory", () => {
    const memory = new Uint8Array(100).map((_, index) => index);
    const view = roundTrip(memory.subarray(10, 14));
    expect([...view]).toEqual([10, 11, 12, 13]);
    expect(view.buffer.byteLength).toBe(4);
    expect(roundTrip(new Uint16Array(memory.buffer, 2, 3)).buffer.byteLength).toBe(6);
  });

  it("an object in several places, as one object", () => {
    const shared = { x: 1 };
    const [left, right, map] = roundTrip([shared, shared, new Map<unknown, unknown>([[shared, [shared]]])]) as [
      object,
      object,
      Map<unknown, unknown>,
    ];
    expect(left).toBe(right);
    expect([...map][0]).toEqual([left, [left]]);
    expect((map.get(left) as object[])[0]).toBe(left);
  });

  it("every kind of object in several places", () => {
    const objects: object[] = [
      [],
      {},
      nullPrototype({ a: 1 }),
      new Map(),
      new Set(),
      new Date(),
      /a/,
      new Error("e"),
      new AggregateError([]),
      new DOMException("m"),
      new Number(1),
      new Uint8Array(2),
      new Uint8Array(5000),
      new Float64Array(3),
      new ArrayBuffer(1),
      Buffer.from("b"),
      new DataView(new ArrayBuffer(1)),
      Object.assign([], { 5000: 1 }),
      "abc".match(/b/) as object,
    ];
    const [first, second] = roundTrip<[object[], object[]]>([objects, [...objects].reverse()]);
    expect(second.reverse().every((object, index) => object === first[index])).toBe(true);
  });

  it("more shared objects than fit in one byte, and in two", () => {
    for (const count of [300, 70_000]) {
      const objects = Array.from({ length: count }, (_, index) => [index]);
      const [first, second] = roundTrip<[object[], object[]]>([objects, [...objects]]);
      expect(second.every((object, index) => object === first[index])).toBe(true);
      expect(second[count - 1]).toEqual([count - 1]);
    }
  });

  it("cycles through every container", () => {
    const root: Record<string, unknown> = {};
    root["self"] = root;
    root["array"] = [root];
    root["map"] = new Map<unknown, unknown>([[root, root]]);
    root["set"] = new Set([root]);
    root["error"] = new Error("e", { cause: root });
    root["dictionary"] = nullPrototype({ root });
    root["sparse"] = Object.assign([], { 5000: root });
    root["aggregate"] = new AggregateError([root]);
    const arrived = roundTrip(root);
    expect(arrived["self"]).toBe(arrived);
    expect((arrived["array"] as unknown[])[0]).toBe(arrived);
    expect([...(arrived["map"] as Map<unknown, unknown>)][0]).toEqual([arrived, arrived]);
    expect((arrived["set"] as Set<unknown>).has(arrived)).toBe(true);
    expect((arrived["error"] as Error).cause).toBe(arrived);
    expect((arrived["dictionary"] as { root: unknown }).root).toBe(arrived);
    expect((arrived["sparse"] as unknown[])[5000]).toBe(arrived);
    expect((arrived["aggregate"] as AggregateError).errors[0]).toBe(arrived);
  });
});

describe("errors arrive as they were", () => {
  for (const errorClass of [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError]) {
    it(errorClass.name, () => {
      const error = new errorClass("it failed", { cause: { reason: [1] } });
      const arrived = roundTrip(error);
      deepStrictEqual(arrived, error);
      expect(arrived.stack).toBe(error.stack);
      expect(Object.getPrototypeOf(arrived)).toBe(errorClass.prototype);
      expect(Object.keys(arrived)).toEqual([]);
    });
  }

  it("AggregateError, with and without its errors", () => {
    const error = new AggregateError([new TypeError("a"), 5], "all failed");
    expect(roundTrip(error).errors).toEqual([new TypeError("a"), 5]);
    expect(Object.keys(roundTrip(error))).toEqual([]);
    delete (error as Partial<AggregateError>).errors;
    expect(Object.hasOwn(roundTrip(error), "errors")).toBe(false);
  });

  it("own fields, own names, and whether they are hidden", () => {
    const error = Object.assign(new Error("m"), { code: "E_CODE", details: { at: new Date(0) }, name: "CustomError" });
    Object.defineProperty(error, "secret", { value: 1, enumerable: false });
    const arrived = roundTrip(error);
    expect(Object.keys(arrived)).toEqual(["code", "details", "name"]);
    expect(arrived.details.at).toEqual(new Date(0));
    expect(String(arrived)).toBe("CustomError: m");
    expect(Object.getOwnPropertyDescriptor(arrived, "secret")).toMatchObject({ value: 1, enumerable: false });
  });

  it("errors without a message, a cause or a stack do not get one", () => {
    const error = new Error();
    delete error.stack;
    expect(Object.getOwnPropertyNames(roundTrip(error))).not.toContain("message");
    expect("cause" in roundTrip(error)).toBe(false);
    expect("cause" in roundTrip(new Error("m", { cause: undefined }))).toBe(true);
  });

  it("frozen errors and errors with huge messages", () => {
    expect(roundTrip(Object.freeze(new Error("m"))).message).toBe("m");
    expect(roundTrip(new Error("x".repeat(1_000_000))).message.length).toBe(1_000_000);
  });

  it("errors that Node made, with their code", async () => {
    let thrown: unknown;
    try {
      Buffer.from({} as never);
    } catch (error) {
      thrown = error;
    }
    const arrived = roundTrip(thrown) as TypeError & { code: string };
    expect(arrived).toBeInstanceOf(TypeError);
    expect(arrived.code).toBe("ERR_INVALID_ARG_TYPE");
    expect(arrived.stack).toBe((thrown as Error).stack);
    const missing = await import("node:fs/promises").then((fs) => fs.readFile("/no/such/file")).catch((error: unknown) => error);
    expect(roundTrip(missing)).toMatchObject({ code: "ENOENT", syscall: "open", path: "/no/such/file" });
  });

  it("DOMException", () => {
    const reason = AbortSignal.abort().reason as DOMException;
    const arrived = roundTrip(reason);
    expect(arrived).toBeInstanceOf(DOMException);
    expect([arrived.name, arrived.message, arrived.code, arrived.stack]).toEqual([reason.name, reason.message, reason.code, reason.stack]);
  });

  it("whatever a custom Error.prepareStackTrace returns", () => {
    const before = Error.prepareStackTrace;
    try {
      Error.prepareStackTrace = (_, sites) => sites;
      expect(roundTrip(new Error("m")).message).toBe("m");
    } finally {
      Error.prepareStackTrace = before;
    }
  });
});

describe("any value", () => {
  const keys = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("__proto__", "constructor", "length", "0", "\ud800"));
  const anything = fc.anything({
    key: keys,
    values: [
      fc.boolean(),
      fc.integer(),
      fc.double(),
      fc.maxSafeInteger(),
      fc.string({ unit: "binary" }),
      fc.bigInt(),
      fc.constantFrom(null, undefined, -0, "\udfff"),
    ],
    maxDepth: 4,
    withBoxedValues: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withObjectString: true,
    withSparseArray: true,
    withTypedArray: true,
  });

  it("arrives as it was", () => {
    fc.assert(fc.property(anything, expectKept), { numRuns: 3000 });
  });

  it("keeps which objects are the same, however they are connected", () => {
    const graph = fc.array(fc.tuple(fc.nat(3), fc.array(fc.nat(11), { maxLength: 5 })), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(graph, (description) => {
        const nodes = connect(description);
        deepStrictEqual(shapeOf(roundTrip(nodes[0])), shapeOf(nodes[0]));
      }),
      { numRuns: 2000 },
    );
  });

  it("is told apart by the comparison that these tests rely on", () => {
    notDeepStrictEqual([,], [undefined]);
    notDeepStrictEqual(-0, 0);
    notDeepStrictEqual(nullPrototype({}), {});
    notDeepStrictEqual(new Uint8Array(1), Buffer.alloc(1));
  });
});

/** Containers of four kinds with edges between them, also backwards. */
function connect(description: readonly (readonly [number, readonly number[]])[]): object[] {
  const nodes = description.map(([kind]) => [[], {}, new Map(), new Set()][kind] as object);
  for (const [from, [, targets]] of description.entries()) {
    const node = nodes[from];
    for (const [edge, to] of targets.entries()) {
      const target = nodes[to % nodes.length];
      if (Array.isArray(node)) node.push(target);
      else if (node instanceof Map) node.set(edge, target);
      else if (node instanceof Set) node.add(target);
      else (node as Record<string, unknown>)[`e${edge}`] = target;
    }
  }
  return nodes;
}

/** Kind and edges of every object that can be reached, each named by when it is first met. */
function shapeOf(root: unknown): unknown[] {
  const numbers = new Map<unknown, number>([[root, 0]]);
  const shapes: unknown[] = [];
  for (const node of numbers.keys()) {
    const children = Array.isArray(node)
      ? node
      : node instanceof Map || node instanceof Set
        ? [...node.values()]
        : Object.values(node as object);
    for (const child of children) if (!numbers.has(child)) numbers.set(child, numbers.size);
    shapes.push([Object.prototype.toString.call(node), children.map((child) => numbers.get(child))]);
  }
  return shapes;
}
