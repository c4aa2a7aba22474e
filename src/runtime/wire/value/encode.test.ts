import { describe, expect, it } from "vitest";
import { decodeValue } from "./decode.ts";
import { encodeValue, type EncodeHooks, UnsupportedValueError } from "./encode.ts";
import { DEPTH_MAX } from "./limits.ts";

const none: EncodeHooks = { reduce: () => undefined };

function copyOf(value: unknown, hooks: EncodeHooks = none): { bytes: Buffer; buffers: readonly Uint8Array[] } {
  const { bytes, start, end, buffers } = encodeValue(value, hooks);
  return { bytes: Buffer.from(bytes.subarray(start, end)), buffers };
}

function failureOf(value: unknown, hooks: EncodeHooks = none): UnsupportedValueError {
  try {
    encodeValue(value, hooks);
  } catch (error) {
    expect(error).toBeInstanceOf(UnsupportedValueError);
    return error as UnsupportedValueError;
  }
  return expect.fail("the value was encoded");
}

class Point {
  readonly x: number;
  constructor(x: number) {
    this.x = x;
  }
}

describe("what cannot be sent", () => {
  const socket = Object.assign(Object.create({ constructor: class Socket {} }) as object, { fd: 3 });
  const callback = (): number => 1;

  const PATHS: [value: unknown, path: string[], refused: unknown][] = [
    [callback, [], callback],
    [{ db: { pool: [socket] } }, [".db", ".pool", "[0]"], socket],
    [{ "a b": { "": callback } }, ['["a b"]', '[""]'], callback],
    [
      new Map<unknown, unknown>([
        ["k", 1],
        ["key", callback],
      ]),
      ['.get("key")'],
      callback,
    ],
    [new Map([[callback, 1]]), [".keys()[0]"], callback],
    [new Map([[{ id: 5 }, callback]]), [".get({ id: 5 })"], callback],
    [new Set([1, callback]), [".values()[1]"], callback],
    [new Error("m", { cause: callback }), [".cause"], callback],
    [Object.assign(new Error("m"), { callback }), [".callback"], callback],
    [new AggregateError([callback]), [".errors", "[0]"], callback],
    [[{ a: 1 }, { a: 2 }, { a: callback }], ["[2]", ".a"], callback],
    [Object.assign([], { 5000: callback }), ["[5000]"], callback],
    [Object.assign(Object.create(null) as object, { callback }), [".callback"], callback],
  ];
  for (const [value, path, refused] of PATHS) {
    it(`is named by its path: ${path.join("") || "the value itself"}`, () => {
      const failure = failureOf(value);
      expect(failure.path).toEqual(path);
      expect(failure.value).toBe(refused);
      expect(failure.message).toContain(path.length === 0 ? "Cannot send the value:" : `Cannot send the value at ${path.join("")}:`);
    });
  }

  const hidden = Object.defineProperty({}, "x", { value: 1, enumerable: false });
  const fakeDate = Object.create(Date.prototype) as Date;
  const detached = new ArrayBuffer(8);
  const viewOfDetached = new Uint8Array(detached);
  structuredClone(detached, { transfer: [detached] });
  const REASONS: Record<string, [value: unknown, reason: RegExp]> = {
    "a function": [callback, /a function is not plain data/],
    "a symbol": [Symbol("s"), /a symbol is not plain data/],
    "an instance of a class": [new Point(1), /an instance of a class/],
    "a subclass of a built-in": [new (class Bag extends Map {})(), /an instance of a class/],
    "a subclass of Error": [new (class MyError extends Error {})("m"), /an instance of a class/],
    "an accessor": [
      {
        get a() {
          return expect.fail("the getter ran");
        },
      },
      /accessors/,
    ],
    "a hidden property": [hidden, /hidden properties/],
    "a symbol key": [{ [Symbol("s")]: 1 }, /symbol keys/],
    arguments: [
      (function () {
        return arguments;
      })(),
      /hidden properties/,
    ],
    "a map with properties": [Object.assign(new Map(), { x: 1 }), /properties of its own/],
    "a date that is none": [fakeDate, /has the prototype of a built-in type, but is none/],
    "a map that is none": [Object.create(Map.prototype), /but is none/],
    "a typed array that is another": [Object.setPrototypeOf(new Uint8Array(8), Float64Array.prototype), /but is none/],
    "an error with an accessor": [Object.defineProperty(new Error("m"), "x", { get: () => 1 }), /accessors/],
    "shared memory": [new SharedArrayBuffer(8), /shared memory/],
    "a view of shared memory": [new Int32Array(new SharedArrayBuffer(8)), /shared memory/],
    "a transferred buffer": [detached, /transferred away/],
    "a view of a transferred buffer": [viewOfDetached, /transferred away/],
    "a promise": [Promise.resolve(1), /a promise belongs to its process/],
    "a weak map": [new WeakMap(), /weakly/],
  };
  for (const [name, [value, reason]] of Object.entries(REASONS)) {
    it(`is refused with a reason: ${name}`, () => {
      expect(failureOf([value]).reason).toMatch(reason);
      expect(failureOf([value]).path).toEqual(["[0]"]);
    });
  }

  it("is refused for its depth, with the beginning of the path", () => {
    let list: unknown = null;
    for (let index = 0; index < 100_000; index += 1) list = { next: list };
    const failure = failureOf(list);
    expect(failure.message).toMatch(
      /^Cannot send the value at (\.next){32} … \(500 steps in all\): it is nested more than 500 levels deep/,
    );
    expect(failure.path.length).toBe(32);
  });

  it("is refused where the caller has used up the stack", () => {
    const nested = nest(DEPTH_MAX);
    let outcome: unknown;
    const recurse = (): void => {
      try {
        recurse();
      } catch (overflow) {
        try {
          encodeValue(nested, none);
          outcome = "encoded";
        } catch (error) {
          // The innermost frames lack the room even to make the error; the next one out tries again.
          if (!(error instanceof UnsupportedValueError)) throw overflow;
          outcome = error;
        }
      }
    };
    recurse();
    expect(String(outcome)).toContain("it is nested too deeply for the stack that is left");
    expect(copyOf([1]).bytes.toString("hex")).toBe("9101");
  });

  it("leaves the encoder in order", () => {
    failureOf([{ a: 1 }, { a: 1 }, [[[callback]]], Buffer.alloc(5000)]);
    expect(copyOf([{ a: 1 }, 5]).bytes.toString("hex")).toBe("9281a1610105");
    expect(copyOf(1).buffers).toEqual([]);
  });
});

function nest(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

describe("depth", () => {
  it("is read as far as it is written, for every container", () => {
    const wrap: ((inner: unknown) => unknown)[] = [
      (inner) => [inner],
      (inner) => ({ inner }),
      (inner) => new Map([[1, inner]]),
      (inner) => new Set([inner]),
      (inner) => new Error("m", { cause: inner }),
      (inner) => Object.assign(new Error("m"), { inner }),
      (inner) => Object.assign(Object.create(null) as object, { inner }),
    ];
    for (const one of wrap) {
      let value: unknown = 1;
      for (let level = 0; level < DEPTH_MAX; level += 1) value = one(value);
      const { bytes, buffers } = copyOf(value);
      expect(decodeValue(bytes, buffers, { revive: () => undefined })).toBeDefined();
      expect(failureOf(one(value)).reason).toMatch(/nested more than/);
    }
  });
});

describe("custom forms", () => {
  const points: EncodeHooks = { reduce: (value) => (value instanceof Point ? { kind: 7, payload: { x: value.x } } : undefined) };
  const revive = (kind: number, payload: unknown): unknown => (kind === 7 ? new Point((payload as Point).x) : expect.fail("a kind"));

  it("are revived, and stay one object in several places", () => {
    const point = new Point(5);
    const { bytes, buffers } = copyOf({ a: point, b: [point, new Point(6)] }, points);
    const arrived = decodeValue(bytes, buffers, { revive }) as { a: Point; b: [Point, Point] };
    expect(arrived.a).toBeInstanceOf(Point);
    expect(arrived.a).toBe(arrived.b[0]);
    expect(arrived.b[1].x).toBe(6);
  });

  it("are asked for once per object", () => {
    const asked: unknown[] = [];
    const callback = (): void => {};
    copyOf([callback, callback, [callback]], {
      reduce: (value) => {
        asked.push(value);
        return { kind: 0, payload: null };
      },
    });
    expect(asked).toEqual([callback]);
  });

  it("carry symbols, functions and objects that are not plain", () => {
    const everything: EncodeHooks = { reduce: (value) => ({ kind: 1, payload: typeof value }) };
    const { bytes, buffers } = copyOf(
      [
        Symbol("s"),
        () => 1,
        {
          get a() {
            return 1;
          },
        },
        new SharedArrayBuffer(1),
        Promise.resolve(),
      ],
      everything,
    );
    expect(decodeValue(bytes, buffers, { revive: (_, payload) => payload })).toEqual(["symbol", "function", "object", "object", "object"]);
  });

  it("share objects with the value around them", () => {
    const shared = { s: 1 };
    const { bytes, buffers } = copyOf([shared, () => 1], { reduce: () => ({ kind: 2, payload: [shared] }) });
    const arrived = decodeValue(bytes, buffers, { revive: (_, payload) => payload }) as [object, [object]];
    expect(arrived[1][0]).toBe(arrived[0]);
  });

  it("may not lead back to themselves", () => {
    const loop = new Point(1);
    const failure = failureOf([loop], { reduce: (value) => ({ kind: 0, payload: { again: value } }) });
    expect(failure.reason).toMatch(/its custom form leads back to itself/);
    expect(failure.path).toEqual(["[0]", ".again"]);
  });

  it("that never end are refused", () => {
    expect(failureOf(() => 1, { reduce: () => ({ kind: 0, payload: () => 1 }) }).reason).toMatch(/nested more than/);
  });

  it("have a kind between 0 and 63", () => {
    for (const kind of [-1, 64, 1.5, Number.NaN]) {
      expect(() => encodeValue(() => 1, { reduce: () => ({ kind, payload: 1 }) })).toThrow(
        /the kind of a custom form is outside 0\.\.63: received/,
      );
    }
  });

  it("may encode values themselves while they are made", () => {
    const nested: EncodeHooks = {
      reduce: (value) => {
        if (!(value instanceof Point)) return undefined;
        const inner = encodeValue(value.x === 0 ? { end: true } : { point: new Point(value.x - 1), list: [1, 2, 3] }, nested);
        return { kind: 1, payload: Uint8Array.prototype.slice.call(inner.bytes, inner.start, inner.end) };
      },
    };
    const open = (bytes: Uint8Array): unknown => decodeValue(bytes, [], { revive: (_, payload) => open(payload as Uint8Array) });
    const { bytes } = copyOf(["before", new Point(2), "after"], nested);
    const end = { end: true };
    const list = [1, 2, 3];
    expect(open(bytes)).toEqual(["before", { point: { point: end, list }, list }, "after"]);
  });

  it("pass on what reduce throws, with the path when it is a value that cannot be sent", () => {
    const boom = new Error("boom");
    expect(() =>
      encodeValue([() => 1], {
        reduce: () => {
          throw boom;
        },
      }),
    ).toThrow(boom);
    const failure = failureOf({ outer: new Point(1) }, { reduce: () => ({ kind: 0, payload: encodeValue({ inner: () => 1 }, none) }) });
    expect(failure.path).toEqual([".outer", ".inner"]);
    expect(failure.message).toMatch(/^Cannot send the value at \.outer\.inner: a function/);
  });
});

describe("buffers", () => {
  it("from 4096 bytes on are passed on as views of the caller's memory", () => {
    const large = new Float64Array(512);
    const small = new Uint8Array(4095);
    const encoded = encodeValue([small, large, Buffer.alloc(5000)], none);
    expect(encoded.buffers.map((buffer) => buffer.byteLength)).toEqual([4096, 5000]);
    expect(encoded.buffers[0]?.buffer).toBe(large.buffer);
    expect(encoded.buffersSizeBytes).toBe(9096);
    expect(encodeValue(1, none)).toMatchObject({ buffers: [], buffersSizeBytes: 0 });
  });

  it("lie in place where the caller takes so many bytes along, and read the same", () => {
    const value = [new Float64Array(1000).fill(2), new Uint8Array(4096).fill(3), new Uint8Array(5000)];
    const encoded = encodeValue(value, { ...none, inBandMax: 13_000 });
    expect(encoded.buffers.map((buffer) => buffer.byteLength)).toEqual([5000]);
    const bytes = Buffer.from(encoded.bytes.subarray(encoded.start, encoded.end));
    expect(decodeValue(bytes, encoded.buffers, { revive: () => undefined })).toEqual(value);
  });

  it("are read where they lie when they are aligned, and copied when not", () => {
    const { bytes, buffers } = copyOf(new Float64Array(512).fill(3));
    for (const offset of [0, 64, 3]) {
      const memory = new Uint8Array(offset + 4096);
      memory.set(buffers[0] as Uint8Array, offset);
      const arrived = decodeValue(bytes, [memory.subarray(offset)], { revive: () => undefined }) as Float64Array;
      expect(arrived[511]).toBe(3);
      expect(arrived.buffer === memory.buffer).toBe(offset % 8 === 0);
    }
  });

  it("that are small do not keep the received bytes alive", () => {
    const { bytes } = copyOf([Buffer.from("abc"), new Uint8Array(3)]);
    const arrived = decodeValue(bytes, [], { revive: () => undefined }) as [Buffer, Uint8Array];
    expect(arrived.map((buffer) => buffer.buffer.byteLength)).toEqual([3, 3]);
  });
});

describe("the scratch memory", () => {
  it("is one for all calls, and grows for large values without being kept", () => {
    const large = copyOf(["x".repeat(10_000_000), "é".repeat(1_000_000)]);
    expect(large.bytes.length).toBe(12_000_011);
    expect(encodeValue("a", none).bytes.length).toBeLessThan(1_000_000);
    expect(encodeValue("b", none)).toBe(encodeValue("c", none));
  });
});
