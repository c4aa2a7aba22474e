/** Captures and revives in one process: the content of a definition, the layout of names and cycles, and refusals. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { captureDefinition, captureValue, type Definition, definitionOf, registerWellKnown } from "./capture.ts";
import { decodeValue } from "../wire/value/decode.ts";
import type { EncodeHooks } from "../wire/value/encode.ts";
import type { Graph } from "./graph.ts";
import { collectionsOf, definitionsWithCollections } from "./values/lowered-privates.ts";
import { type ReviveContext, reviveDefinition, reviveValue } from "./revive.ts";

const HOOKS: EncodeHooks = { reduce: () => undefined };
const definitionById = new Map<string, Definition>();
const CONTEXT: ReviveContext = {
  hooks: {
    revive: (kind) => {
      throw new Error(`unexpected form ${kind}`);
    },
  },
  definition: (id) => {
    const definition = definitionById.get(id);
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
  const definition = definitionOf(Point) as Definition;
  definitionById.set(definition.id, definition);
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

test("the definition of a class tells of forms of the hooks in it", () => {
  const handle = new (class Handle {})();
  class Holder {
    held = (): object => handle;
  }
  class Plain {
    held = (): number => addOffset(1);
  }
  captureValue([new Holder(), new Plain()], { reduce: (value) => (value === handle ? { kind: 7, payload: 1 } : undefined) });
  expect([definitionOf(Holder)?.hasForms, definitionOf(Plain)?.hasForms]).toEqual([true, false]);
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
  const hooks: EncodeHooks = {
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
  const { isPlainData } = await import("./values/plain-data.ts");
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

test("weak collections of a class's private fields go with the class, where it was made and where it came to", async () => {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const captured = (secret: number): { bytes: Uint8Array; buffers: Uint8Array[]; definition: Definition } => {
    // As compilers lower `#secret` for engines of ES2017.
    const secrets = new WeakMap<object, number>();
    class Holder {
      constructor() {
        secrets.set(this, secret);
      }
      read(): number | undefined {
        return secrets.get(this);
      }
    }
    const { bytes, buffers } = captureValue(new Holder(), HOOKS);
    return { bytes, buffers, definition: definitionOf(Holder) as Definition };
  };
  const collected = async (): Promise<number> => {
    for (let round = 0; round < 20 && definitionsWithCollections() > before; round++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return definitionsWithCollections();
  };
  const before = definitionsWithCollections();
  const sent = Array.from({ length: 20 }, (_, secret) => {
    const { definition, ...value } = captured(secret);
    return { ...value, id: definition.id, code: { bytes: definition.bytes, buffers: definition.buffers } };
  });
  expect(definitionsWithCollections()).toBe(before + 20);
  expect(await collected()).toBe(before);
  const receive = async ({ bytes, buffers, id, code }: (typeof sent)[number]): Promise<[secret: number, collections: number]> => {
    const context = { ...CONTEXT, definition: (): Promise<unknown> => reviveDefinition(code.bytes, code.buffers, CONTEXT) };
    const holder = (await reviveValue(bytes, buffers, context)) as { read(): number };
    return [holder.read(), [...collectionsOf(id)].length];
  };
  for (const [secret, value] of sent.entries()) expect(await receive(value)).toEqual([secret, 1]);
  expect(await collected()).toBe(before);
});

describe("what a look at the entry of a function tells", () => {
  let effects = 0;
  class Trainer {
    rate = 3;
    get effect(): number {
      effects += 1;
      return this.rate;
    }
    readers(): (() => unknown)[] {
      return [
        () => this.effect,
        (value?: unknown) => `${this.effect} ${String(value)}`,
        async () => this.effect,
        () => {
          for (const value of [this.effect]) return value;
        },
        () => ({ ...this, effect: this.effect }),
        (...values: unknown[]) => [this.effect, values],
      ];
    }
    withDefault(): (value?: number) => number {
      return (value = this.effect) => value;
    }
    withClass(): () => unknown {
      return () => {
        class Counted {
          static readonly count = ++effects;
        }
        return [Counted, this.rate];
      };
    }
  }

  test("`this` of an arrow function is found, and nothing of the function runs", () => {
    effects = 0;
    for (const reader of new Trainer().readers()) expect(() => captureDefinition(reader, HOOKS)).not.toThrow();
    expect(effects).toBe(0);
  });

  test("`this` of a function that would run before it can be stopped is refused with what to do", () => {
    effects = 0;
    const trainer = new Trainer();
    for (const reader of [trainer.withDefault(), trainer.withClass()]) {
      expect(() => captureDefinition(reader, HOOKS)).toThrow(
        /captures `this` of the enclosing function, which .*\n.*const { rate } = this/,
      );
    }
    expect(effects).toBe(0);
  });

  test("one variable of several closures is one, equal variables of several calls are several, and all have their values after", async () => {
    const counter = (): { add: () => number; next: () => Generator<number>; read: () => number; later: () => Promise<number> } => {
      let count = 0;
      return {
        add: () => ++count,
        *next() {
          yield ++count;
        },
        read: () => count,
        async later() {
          return ++count;
        },
      };
    };
    const [one, other] = [counter(), counter()];
    const use = async (): Promise<number[]> => {
      one.add();
      for (const _ of one.next()) one.add();
      await one.later();
      other.add();
      return [one.read(), other.read()];
    };
    const copy = await copyOf(use);
    expect(await copy()).toEqual([4, 1]);
    expect([one.read(), other.read()]).toEqual([0, 0]);
  });

  test("one variable of a class and a function is one", () => {
    let count = 0;
    class Adding {
      add(): number {
        return ++count;
      }
    }
    const read = (): number => count;
    const { bytes, buffers } = captureDefinition(() => [new Adding().add(), read()], HOOKS);
    // A copy made here would have this process's own class, and so its variable.
    const { contexts } = decodeValue(bytes, buffers, CONTEXT.hooks) as Graph;
    expect(contexts).toEqual([{ variables: [["count", expect.any(Number), true]], parent: null }]);
  });

  test("what cannot be told apart is refused with the variable's name", () => {
    const make = (): { one: object; other: object } => {
      let count = 0;
      return {
        one: class {
          add(): number {
            return ++count;
          }
        },
        other: class {
          read(): number {
            return count;
          }
        },
      };
    };
    const { one, other } = make();
    expect(() => captureDefinition(() => [one, other], HOOKS)).toThrow(
      /shares the variable `count`.*\n.*Keep the shared state in an object/,
    );
  });

  test("takes no time that grows with the heap as a snapshot's does", () => {
    const trainer = new Trainer();
    // Processor time of this thread: on a busy machine a wait for a processor is no cost of the capture.
    const timeOf = (): number => {
      const start = process.threadCpuUsage();
      captureDefinition(trainer.readers()[0] as () => unknown, HOOKS);
      const { user, system } = process.threadCpuUsage(start);
      return (user + system) / 1000;
    };
    timeOf();
    const bareMs = Math.min(timeOf(), timeOf(), timeOf());
    const rows = Array.from({ length: 400_000 }, (_, id) => ({ id, name: `row ${id}`, tags: [id] }));
    expect(Math.min(timeOf(), timeOf(), timeOf()) - bareMs).toBeLessThan(50);
    expect(rows).toHaveLength(400_000);
  });
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
