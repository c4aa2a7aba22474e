/** Functions that a worker received are sent on: tasks inside tasks. */
import path from "node:path";
import { run } from "./run.ts";
import { works } from "./cases.ts";
import { addSeven, Exported } from "./lib/dependency.ts";

const offset = 41;
const addOffset = (value: number): number => value + offset;

class Counter {
  static made = 0;
  #count = 0;
  readonly start: number;

  constructor(start: number) {
    this.start = start;
    Counter.made++;
  }

  add(amount: number): this {
    this.#count += amount;
    return this;
  }

  get total(): number {
    return this.start + this.#count;
  }
}

works(
  "a task that sends a closure over its own variables",
  () =>
    run(async (value: number) => {
      const local = value * 2;
      return run((added: number) => local + added, 1);
    }, 10),
  21,
);
works(
  "a task that sends a closure over what it captured and imported",
  () =>
    run(async (value: number) => {
      const local = value * 2;
      return run((added: number) => [addOffset(local) + added, addSeven(local), path.join("a", "b")], 1);
    }, 10),
  [62, 27, "a/b"],
);
works(
  "two levels deep",
  () =>
    run(async (value: number) => {
      const one = value + 1;
      return run(async (added: number) => {
        const two = one + added;
        return run((last: number) => [offset, one, two, last, addOffset(two), addSeven(last), new Exported("deep").tag], 5);
      }, 2);
    }, 1),
  [41, 2, 4, 5, 45, 12, "deep"],
);
works("a task that sends on a function that it captured", () => run(async () => run(addOffset, 1)), 42);
works(
  "a task that sends on its argument",
  () => {
    const factor = 3;
    return run(
      async (apply: (value: number) => number) => run((inner: (value: number) => number) => inner(5), apply),
      (value: number) => value * factor + offset,
    );
  },
  56,
);
works("a class that was received is sent on, and its instance comes home", async () => {
  const counter = new Counter(100).add(1);
  const back = await run(
    async (given: Counter) => run((inner: Counter) => [inner instanceof Counter, inner.add(2), new Counter(1).total], given),
    counter,
  );
  return [back[0], back[1] instanceof Counter, back[1].total, back[2]];
}, [true, true, 103, 1]);
works(
  "a class that a task makes, used in a task of its own",
  () =>
    run(async () => {
      const base = 10;
      class Local {
        #step = 2;
        next(): number {
          return base + this.#step + offset;
        }
      }
      const made = await run((value: Local) => [value.next(), value], new Local());
      return [made[0], made[1] instanceof Local, made[1].next()];
    }),
  [53, true, 53],
);
works(
  "recursion through tasks",
  () => {
    const tree = async (depth: number): Promise<number> => {
      if (depth === 0) return 1;
      const [left, right] = await Promise.all([run(tree, depth - 1), run(tree, depth - 1)]);
      return (left as number) + (right as number);
    };
    return run(tree, 3);
  },
  8,
);
works("an error in a nested task names this file", async () => {
  const error: Error = await run(async () => {
    const local = 1;
    return run(function innerThrower() {
      throw new Error(`nested ${local}`);
    });
  }).catch((reason: Error) => reason);
  return [error.message.includes("nested 1"), /innerThrower \(.*nesting\.ts:\d+/.test(error.stack ?? "") || error.stack];
}, [true, true]);
works("a dynamic import two levels deep", () => run(async () => run(async () => (await import("./lib/dependency.ts")).addSeven(1))), 8);
