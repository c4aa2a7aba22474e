/** Capture and revival in one process: what a definition is, how names and cycles are laid out, what is refused. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { type CaptureHooks, captureDefinition, captureValue, definitionOf, registerWellKnown } from "./capture.ts";
import { type ReviveContext, reviveDefinition, reviveValue } from "./revive.ts";

const HOOKS: CaptureHooks = { reduce: () => undefined };
const CONTEXT: ReviveContext = {
  hooks: {
    revive: (kind) => {
      throw new Error(`unexpected form ${kind}`);
    },
  },
  definition: (id) => {
    const definition = definitionOf(id);
    if (!definition) throw new Error(`unknown definition ${id}`);
    return reviveDefinition(definition.bytes, definition.buffers, CONTEXT);
  },
};

type AnyFunction = (...parameters: never[]) => unknown;

async function copyOf<Target extends AnyFunction>(target: Target): Promise<Target> {
  const { bytes, buffers } = captureDefinition(target, HOOKS);
  return (await reviveDefinition(bytes, buffers, CONTEXT)) as Target;
}

const offset = 41;
const addOffset = (value: number): number => value + offset;

test("a definition is named by its content", () => {
  const first = captureDefinition(addOffset, HOOKS);
  expect(captureDefinition(addOffset, HOOKS).id).toBe(first.id);
  expect(first.id).toMatch(/^[0-9a-f]{32}$/);
  expect(first.name).toBe("addOffset");
  expect(captureDefinition((value: number) => value, HOOKS).id).not.toBe(first.id);
});

test("a small closure is a small definition", () => {
  expect(captureDefinition((value: number) => value + offset, HOOKS).sizeBytes).toBeLessThan(600);
});

test("a copy is another function with the same behaviour and name", async () => {
  const copy = await copyOf(addOffset);
  expect(copy).not.toBe(addOffset);
  expect([copy(1), copy.name, copy.length]).toEqual([42, "addOffset", 1]);
});

test("local functions that call each other through a third", async () => {
  const make = (): ((value: number) => string) => {
    const first = (value: number): string => (value <= 0 ? "done" : second(value - 1));
    const second = (value: number): string => third(value - 1);
    const third = (value: number): string => first(value - 1);
    return first;
  };
  expect((await copyOf(make()))(9)).toBe("done");
});

test("two functions of different calls that hold each other", async () => {
  const boxOf = (name: string, other: () => string): { name: string; call: () => string } => ({ name, call: () => name + other() });
  const links: { left?: () => string; right?: () => string } = {};
  const left = boxOf("left", () => links.right?.() ?? "");
  const right = boxOf("right", () => "end");
  links.right = right.call;
  links.left = left.call;
  expect((await copyOf(() => links.left?.()))()).toBe("leftrightend");
});

test("a local name does not hide the module's name of another function", async () => {
  const make = (): (() => [number, number]) => {
    // oxlint-disable-next-line no-shadow -- it is what is tested
    const withLocal = (offset: number) => () => offset;
    const local = withLocal(1);
    const plain = (): number => offset;
    return () => [local(), plain()];
  };
  expect((await copyOf(make()))()).toEqual([1, 41]);
});

test("local classes and functions that refer to each other", async () => {
  const make = (): (() => number) => {
    class Shape {
      sides(): number {
        return countOf(this);
      }
    }
    class Square extends Shape {
      readonly count = 4;
    }
    const countOf = (shape: Shape): number => (shape instanceof Square ? shape.count : 0);
    return () => new Square().sides();
  };
  expect((await copyOf(make()))()).toBe(4);
});

test("this process's own class comes back, whatever brought it", async () => {
  class Point {
    x = 1;
  }
  const { bytes, buffers, definitions } = captureValue([new Point(), Point], HOOKS);
  expect(definitions).toHaveLength(1);
  const [instance, type] = (await reviveValue(bytes, buffers, CONTEXT)) as [Point, typeof Point];
  expect(type).toBe(Point);
  expect(instance).toBeInstanceOf(Point);
  expect(captureValue(new Point(), HOOKS).definitions).toEqual(definitions);
});

test("the text of a class is not in the values that use it", () => {
  class Large {
    method(): string {
      return "a text that is easy to find in the bytes";
    }
  }
  const { bytes } = captureValue([new Large(), new Large()], HOOKS);
  expect(Buffer.from(bytes).includes("easy to find")).toBe(false);
});

test("hooks come before everything but data, and get their payload complete", async () => {
  class Handle {
    readonly name: string;
    constructor(name: string) {
      this.name = name;
    }
  }
  const handle = new Handle("held");
  const asked: unknown[] = [];
  const hooks: CaptureHooks = {
    reduce(value) {
      asked.push(value);
      return value instanceof Handle ? { kind: 7, payload: { name: value.name, run: addOffset } } : undefined;
    },
  };
  const { bytes, buffers } = captureDefinition(() => [handle, { plain: true }], hooks);
  const revived = await reviveDefinition(bytes, buffers, {
    ...CONTEXT,
    hooks: { revive: (kind, payload) => ({ kind, payload }) },
  });
  const [copy] = (revived as () => [{ kind: number; payload: { name: string; run: typeof addOffset } }])();
  expect([copy.kind, copy.payload.name, copy.payload.run(1)]).toEqual([7, "held", 42]);
  expect(asked).not.toContainEqual({ plain: true });
});

test("runtime exports go by name", async () => {
  const runtimeExport = (): string => "of this process";
  registerWellKnown("test:export", runtimeExport);
  const copy = await copyOf(() => runtimeExport);
  expect(copy()).toBe(runtimeExport);
});

test("a definition does not follow later writes to its buffers", async () => {
  const data = new Uint8Array(10_000).fill(1);
  const { bytes, buffers } = captureDefinition(() => data[9_999], HOOKS);
  data.fill(2);
  expect(((await reviveDefinition(bytes, buffers, CONTEXT)) as () => number)()).toBe(1);
});

test("what a refusal says", () => {
  const pool = [{ pending: Promise.resolve() }];
  const capture = (): unknown => captureDefinition(() => pool, HOOKS);
  expect(capture).toThrow(
    /^function anonymous \(.*capture\.test\.ts:\d+\) cannot be sent to a worker:\n {4}function anonymous .* → captured `pool` → \[0\] → \.pending \(Promise\) cannot be sent\n {4}Await it first/,
  );
  expect(() => captureValue({ deep: [new WeakRef({})] }, HOOKS, "argument 1 of train")).toThrow(
    "argument 1 of train → .deep → [0] (WeakRef) cannot be sent",
  );
});

test("more than 1 MB captured is noted with the variable's name", () => {
  const measurements = new Float64Array(200_000);
  const { notes } = captureDefinition(() => measurements.length, HOOKS);
  expect(notes).toEqual([expect.stringMatching(/^WARNING: function anonymous .* is 1\.6 MB .*captured `measurements` \(1\.6 MB\)/)]);
});

test("more than 100 MB captured is refused with the variable's name", () => {
  const everything = new Uint8Array(101_000_000);
  expect(() => captureDefinition(() => everything.length, HOOKS)).toThrow(/101\.0 MB .*captured `everything` \(101\.0 MB\).*put\(\)/);
});

test("bytes of another version are refused", async () => {
  const { encodeValue } = await import("../wire/value/encode.ts");
  const { bytes, start, end } = encodeValue({ version: 99, nodes: [], sources: [], contexts: [] }, HOOKS);
  await expect(reviveValue(bytes.subarray(start, end), [], CONTEXT)).rejects.toThrow(/another version of Shoal/);
});

test("a function of the runtime itself is refused unless a module exports it", async () => {
  const { isPlainData } = await import("./plain-data.ts");
  expect(captureDefinition(isPlainData, HOOKS).sizeBytes).toBeLessThan(600); // by reference
});

test("captured objects are not kept", async () => {
  const collected: number[] = [];
  const registry = new FinalizationRegistry<number>((index) => collected.push(index));
  for (let index = 0; index < 200; index++) {
    const held = { index };
    registry.register(held, index);
    captureDefinition(() => held.index, HOOKS);
  }
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 10 && collected.length < 150; round++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(collected.length).toBeGreaterThan(150);
});

test("garbage does not make the heap too large for a look into it", () => {
  const makeCounter = (): { increment: () => number; read: () => number } => {
    let count = 0;
    return { increment: () => ++count, read: () => count };
  };
  const counter = makeCounter();
  let dropped: number[] | undefined = new Array<number>(25_000_000).fill(0.5);
  expect(dropped).toHaveLength(25_000_000);
  dropped = undefined;
  expect(process.memoryUsage().heapUsed).toBeGreaterThan(150_000_000);
  expect(() => captureDefinition(() => [counter.increment(), counter.read()], HOOKS)).not.toThrow();
});

test("without the inspector the error says how to get it", () => {
  const program = `
    import { captureDefinition } from ${JSON.stringify(new URL("./capture.ts", import.meta.url).href)};
    try { captureDefinition(() => 1, { reduce: () => undefined }); } catch (error) { console.log(error.message); }`;
  const output = execFileSync(process.execPath, ["--permission", "--allow-fs-read=*", "--input-type=module", "--eval", program], {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  expect(output).toMatch(/inspector .*--allow-inspector/);
});
