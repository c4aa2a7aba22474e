/** Functions of every kind, and what they close over. */
import fs from "node:fs";
import path from "node:path";
import { remote, run } from "./run.ts";
import { works } from "./cases.ts";

const offset = 41;

function addOffset(value: number): number {
  return value + offset;
}
const twice = (value: number): number => addOffset(value) * 2;
works("a function that calls others", () => run((value: number) => twice(value), 1), 84);

function isEven(value: number): boolean {
  return value === 0 || isOdd(value - 1);
}
function isOdd(value: number): boolean {
  return value !== 0 && isEven(value - 1);
}
works("mutual recursion at the top level", () => run((value: number) => [isEven(value), isOdd(value)], 10), [true, false]);

works("mutual recursion inside a call", () => {
  const even = (value: number): boolean => value === 0 || odd(value - 1);
  const odd = (value: number): boolean => value !== 0 && even(value - 1);
  return run((value: number) => [even(value), odd(value)], 7);
}, [false, true]);

const factorial = (value: number): number => (value < 2 ? 1 : value * factorial(value - 1));
works("an arrow function that calls itself", () => run(factorial, 6), 720);
works(
  "an arrow function inside a call that calls itself",
  () => {
    const sum = (value: number): number => (value === 0 ? 0 : value + sum(value - 1));
    return run(sum, 10);
  },
  55,
);
works(
  "a named function expression that calls itself",
  () =>
    run(function product(value: number): number {
      return value < 2 ? 1 : value * product(value - 1);
    }, 5),
  120,
);

works("names of functions", () => run(() => [addOffset.name, twice.name]), ["addOffset", "twice"]);

const counted = Object.assign((value: number): number => value + counted.step, { step: 5 });
works("a function with properties of its own", () => run(() => counted(1)), 6);

function makeNested(parameter: number): (value: number) => number {
  const local = new Map([[1, 2]]);
  {
    const inner = 3;
    return (value) => parameter + value + local.size + inner + offset;
  }
}
works("variables of a parameter, a call, a block and the file", () => run(makeNested(5), 1), 51);

const tens = [1, 2, 3].map((value) => () => value * 10);
works("variables of each iteration stay apart", () => run(() => tens.map((read) => read())), [10, 20, 30]);

function makeCounter(): { increment: () => number; read: () => number } {
  let count = 0;
  return { increment: () => ++count, read: () => count };
}
const [first, second] = [makeCounter(), makeCounter()];
works(
  "closures that share a variable which one of them writes",
  () =>
    run(() => {
      first.increment();
      first.increment();
      second.increment();
      return [first.read(), second.read()];
    }),
  [2, 1],
);

let moduleCount = 10;
const incrementModule = (): number => ++moduleCount;
const readModule = (): number => moduleCount;
works("functions that share a written variable of the file; the driver's stays", async () => {
  const there = await run(() => {
    incrementModule();
    incrementModule();
    return readModule();
  });
  return [there, moduleCount];
}, [12, 10]);

let changing = "before";
const readChanging = remote(() => changing);
works("a variable has the value of the first call for ever", async () => {
  changing = "at the first call";
  const early = await readChanging.remote();
  changing = "later";
  return [early, await readChanging.remote()];
}, ["at the first call", "at the first call"]);

works(
  "an async function",
  () =>
    run(async (value: number) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return value + offset;
    }, 1),
  42,
);
/** Returns all items of a generator, as results are sent whole. */
async function itemsOf(items: Iterable<number> | AsyncIterable<number>): Promise<number[]> {
  const list: number[] = [];
  for await (const item of items) list.push(item);
  return list;
}
function* offsets(count: number): Generator<number> {
  for (let index = 0; index < count; index++) yield index + offset;
}
async function* helpedOffsets(count: number): AsyncGenerator<number> {
  for (let index = 0; index < count; index++) yield addOffset(index);
}
works("generators", () => run(async () => [await itemsOf(offsets(2)), await itemsOf(helpedOffsets(2))]), [
  [41, 42],
  [41, 42],
]);

works(
  "default values, destructuring and rest parameters",
  () =>
    run(
      (base = offset, { scale = twice(0), ...others }: { scale?: number; extra?: number } = {}, ...rest: number[]) => [
        base,
        scale,
        others,
        rest,
      ],
      undefined,
      { extra: 1 },
      5,
    ),
  [41, 82, { extra: 1 }, [5]],
);

const {
  one,
  list: [, two],
} = { one: 11, list: [1, 22] };
works("destructured variables", () => run(() => [one, two]), [11, 22]);

works(
  "a shorthand method of an object",
  () => {
    const holder = {
      method(value: number) {
        return value + offset;
      },
    };
    return run(holder.method, 1);
  },
  42,
);
works("an async generator method with a computed name", () => {
  const key = "computed";
  const holder = {
    async *[key](value: number) {
      yield value + offset;
    },
  };
  const method = holder[key];
  return run(async () => itemsOf(method(1)));
}, [42]);
works(
  "a getter taken off its object",
  () => {
    const holder = {
      get value() {
        return offset;
      },
    };
    return run(Object.getOwnPropertyDescriptor(holder, "value")?.get as () => number);
  },
  41,
);

interface Legacy {
  count: number;
  read(): number;
}
const LegacyClass = function (this: Legacy, count: number) {
  this.count = count;
} as unknown as { new (count: number): Legacy; prototype: Legacy };
LegacyClass.prototype.read = function () {
  return this.count + offset;
};
const legacy = new LegacyClass(1);
works(
  "a constructor function with its prototype, and an instance of it",
  () => run(() => [legacy.read(), legacy instanceof LegacyClass, new LegacyClass(2).read()]),
  [42, true, 43],
);
works(
  "an instance of a constructor function comes back as one",
  async () => (await run((value: Legacy) => value, legacy)) instanceof LegacyClass,
  true,
);

const bound = function (this: { base: number }, left: number, right: number): number {
  return this.base + left + right + offset;
}.bind({ base: 100 }, 10);
works("a bound function", () => run(bound, 1), 152);

const { max } = Math;
const { slice } = Array.prototype;
const exists = fs.existsSync;
const join = path.join;
works("built-in functions in variables", () => run(() => [max(1, 2), slice.call([1, 2], 1), exists("/"), join("a", "b")]), [
  2,
  [2],
  true,
  "a/b",
]);

const inner = remote((value: number) => addOffset(value));
const outer = remote(async (value: number) => 1 + ((await inner.remote(value)) as number));
works("a remote function that calls another", () => outer.remote(1), 43);

const fibonacci: { remote(value: number): PromiseLike<unknown> } = remote(
  async (value: number): Promise<number> =>
    value < 2 ? value : ((await fibonacci.remote(value - 1)) as number) + ((await fibonacci.remote(value - 2)) as number),
);
works("a remote function that calls itself", () => fibonacci.remote(5), 5);

works(
  "a function as argument",
  () => {
    const factor = 3;
    return run(
      (apply: (value: number) => number) => apply(2),
      (value: number) => value * factor + offset,
    );
  },
  47,
);

works(
  "switch, loops, labels and catch in the text",
  () =>
    run((kind: string) => {
      const seen: (string | number)[] = [];
      outer: for (const [index, letter] of [...kind].entries()) {
        switch (letter) {
          case "a": {
            const offset = "hidden";
            seen.push(offset);
            break;
          }
          case "b":
            continue outer;
          default:
            try {
              throw new Error(letter);
            } catch ({ message }: any) {
              seen.push(message);
            }
        }
        for (const key in { index }) seen.push(`${key}${offset}`);
      }
      return seen;
    }, "abc"),
  ["hidden", "index41", "c", "index41"],
);

class Trainer {
  rate = 2;

  start(value: number): Promise<unknown> {
    return run((factor: number) => this.rate * factor + this.bonus(), value);
  }

  bonus(): number {
    return 1;
  }
}
works("an arrow function over the `this` of a method", () => new Trainer().start(20), 41);
works(
  "an arrow function over the `this` of a plain call",
  () =>
    function (this: { base: number }): Promise<unknown> {
      return run((value: number) => this.base + value, 1);
    }.call({ base: 41 }),
  42,
);

/** The last part of the first frame in this file. */
function lineIn(stack: string | undefined): number {
  return Number(/functions\.ts:(\d+):\d+/.exec(stack ?? "")?.[1]);
}
works(
  "an error's stack names this file and line",
  async () => {
    const above = lineIn(new Error("here").stack);
    const error: Error = await run(function thrower() {
      const reason = "on the worker";
      throw new Error(reason);
    }).catch((reason: Error) => reason);
    const found = lineIn(error.stack) - above;
    return found === 3 ? "three lines below" : `${found} below: ${error.stack}`;
  },
  "three lines below",
);
