/** Captured values: everything that a variable can hold and another process can have. */
import { run } from "./run.ts";
import { works } from "./cases.ts";

const offset = 41;
works("a captured number", () => run((value: number) => value + offset, 1), 42);

works("it runs in another process", async () => (await run(() => process.pid)) !== process.pid, true);

const nothing = undefined;
const notANumber = Number.NaN;
const negativeZero = -0;
const huge = 2n ** 70n;
works(
  "undefined, NaN, negative zero and bigint",
  () => run(() => [nothing, Number.isNaN(notANumber), Object.is(negativeZero, -0), huge === 2n ** 70n]),
  [undefined, true, true, true],
);

const settings = { depth: { list: [1, 2, { three: 3n }] }, date: new Date(5), pattern: /x+/gi };
const table = new Map<unknown, unknown>([
  ["set", new Set([1])],
  [settings, "by identity"],
]);
works(
  "objects, Map, Set, Date, RegExp, and identity between two captured variables",
  () =>
    run(() => [
      settings.depth.list[2],
      (table.get("set") as Set<number>).has(1),
      table.get(settings),
      settings.date.getTime(),
      settings.pattern.flags,
    ]),
  [{ three: 3n }, true, "by identity", 5, "gi"],
);

const floats = new Float32Array([1.5, 2.5]);
const bytes = Buffer.from("hey");
works("typed arrays and Buffers", () => run(() => [floats[1], floats instanceof Float32Array, bytes.toString(), Buffer.isBuffer(bytes)]), [
  2.5,
  true,
  "hey",
  true,
]);

const circle: { name: string; itself?: unknown; tell: () => string } = { name: "circle", tell: () => circle.name };
circle.itself = circle;
works("a cyclic object with a function that closes over it", () => run(() => [circle.itself === circle, circle.tell()]), [true, "circle"]);

const unique = Symbol("unique");
const symbols = {
  [unique]: 1,
  [Symbol.for("registered")]: 2,
  *[Symbol.iterator]() {
    yield offset;
  },
};
works(
  "unique, registered and well-known symbols as keys",
  () => run(() => [symbols[unique], symbols[Symbol.for("registered") as never], [...symbols]]),
  [1, 2, [41]],
);
works(
  "a unique symbol is the same on its way there and back",
  async () => {
    const back = await run(() => unique);
    return back === unique;
  },
  true,
);

const account = {
  stored: 1,
  get balance() {
    return this.stored + offset;
  },
  set balance(value) {
    this.stored = value;
  },
};
works(
  "accessors of an object",
  () =>
    run(() => {
      account.balance = 9;
      return account.balance;
    }),
  50,
);

const failure = Object.assign(new TypeError("bad", { cause: new Error("deeper") }), { code: "E_BAD" });
works(
  "an Error with its class, cause and own fields",
  () => run(() => [failure instanceof TypeError, failure.message, failure.code, (failure.cause as Error).message]),
  [true, "bad", "E_BAD", "deeper"],
);

const proxied: Record<string, unknown> = new Proxy({ plain: 1 } as Record<string, unknown>, {
  get: (target, key) => (key === "magic" ? offset : target[key as string]),
});
works("a Proxy with its handler", () => run(() => [proxied.plain, proxied.magic]), [1, 41]);

const secrets = new WeakMap<object, unknown>();
const owner = { id: 1 };
secrets.set(owner, { secret: 9 });
const members = new WeakSet<object>([owner]);
works("WeakMap and WeakSet keep the entries of captured keys", () => run(() => [secrets.get(owner), members.has(owner)]), [
  { secret: 9 },
  true,
]);

const shared = { mark: 1 };
const pair = { first: shared, second: shared };
works(
  "what two variables share stays shared",
  () =>
    run(() => {
      (shared as { added?: number }).added = 1;
      return [(pair.first as { added?: number }).added, pair.first === pair.second];
    }),
  [1, true],
);

const address = new URL("https://example.org/path?query=1");
works("a URL", () => run(() => [address.pathname, address.searchParams.get("query")]), ["/path", "1"]);

const bare: Record<string, number> = Object.create(null);
bare.value = 3;
works("an object without a prototype", () => run(() => [Object.getPrototypeOf(bare), bare.value]), [null, 3]);

const sparse = Object.assign([1, , 3] as (number | undefined)[], { label: "holes" });
works(
  "an array with holes and a name of its own",
  () => run(() => [1 in sparse, sparse.length, (sparse as { label?: string }).label, () => offset].slice(0, 3)),
  [false, 3, "holes"],
);

const frozen = Object.freeze({ fixed: true, act: () => offset });
works("a frozen object", () => run(() => [frozen.fixed, frozen.act()]), [true, 41]);

const inherited = Object.create({ base: 1, read: () => offset }, { own: { value: 2, enumerable: true } }) as {
  base: number;
  own: number;
  read: () => number;
};
works("an object made over another", () => run(() => [inherited.base, inherited.own, inherited.read()]), [1, 2, 41]);

interface Link {
  next: Link | null;
  value: () => number;
}
works(
  "a list of 10,000 links, each with a closure",
  () => {
    let chain: Link | null = null;
    for (let index = 0; index < 10_000; index++) chain = { next: chain, value: () => index };
    return run(() => {
      let sum = 0;
      for (let link = chain; link; link = link.next) sum += link.value();
      return sum;
    });
  },
  49_995_000,
);

const large = new Float64Array(10_000).fill(0.5);
works("a large buffer arrives whole", () => run(() => large.reduce((sum, value) => sum + value, 0)), 5000);

works("functions, instances and symbols inside arguments and results", async () => {
  const factor = 3;
  const back = await run(
    (list: ((value: number) => number)[]) => [list[0]?.(2), { later: () => offset }],
    [(value: number) => value * factor],
  );
  return [back[0], back[1].later()];
}, [6, 41]);
