/** Compares lazy requests and responses with Node's own: random steps give the same members, values and errors. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { lazyRequest, requestClass } from "./http/lazy-request.ts";
import { lazyResponse } from "./http/lazy-response.ts";

const Real = { Request, Response };
const Lazy = { Request: requestClass(), Response: lazyResponse() };
type Classes = typeof Real;

const BODIES: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => "",
  () => "text ä",
  () => '{"a":1}',
  () => new Uint8Array([0, 97, 255]),
  () => new Uint8Array([1, 97, 98, 3]).subarray(1, 3),
  () => new Uint8Array([97, 98]).buffer,
  () => new URLSearchParams({ a: "1 2" }),
  () => new Blob(["blob"], { type: "text/x-blob" }),
  () => new ReadableStream({ start: (c) => (c.enqueue(new Uint8Array([97])), c.close()) }),
  () => 7,
  () => ({ a: 1 }),
];
const HEADERS: readonly (() => unknown)[] = [
  () => undefined,
  () => ({ "x-a": "1", "Content-Type": "text/x-own" }),
  () => ({ "X-A": "1", "x-a": "2" }),
  () => [
    ["set-cookie", "a"],
    ["set-cookie", "b"],
  ],
  () => new Headers({ "x-h": "h" }),
  () => ({ "bad name": "1" }),
  () => ({ a: "1\r\nb: 2" }),
  () => ({ a: " spaces " }),
  () => new Map([["m", "1"]]),
  () => ({ constructor: "c" }),
  () => ({ n: 1 }),
  () => 3,
];
const STATUSES = [undefined, 200, 201, 204, 304, 404, 599, 600, 199, 99, 0, Number.NaN, "201", null];
const TEXTS = [undefined, "", "Fine", "ä", "a\nb", 5, null];
const READERS = ["text", "json", "arrayBuffer", "bytes", "blob", "formData"] as const;

/** Returns the outcome of a step: a comparable value, or an error as its name. */
async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return await plain(await work());
  } catch (error) {
    return `threw ${(error as Error).name}`;
  }
}

async function plain(value: unknown): Promise<unknown> {
  if (value instanceof Headers) return [...value];
  if (value instanceof ReadableStream) return "a stream";
  if (value instanceof Blob) return ["blob", value.type, await value.text()];
  if (value instanceof ArrayBuffer) return ["buffer", ...new Uint8Array(value)];
  if (value instanceof Uint8Array) return ["bytes", ...value];
  if (value instanceof FormData) return ["form", ...value];
  if (value instanceof AbortSignal) return ["signal", value.aborted];
  if (typeof value === "object" && value !== null && "headers" in value) return "another";
  return value;
}

/** All members that Node's class has and that only read. */
const getters = (of: object): string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(of)).flatMap(([name, { get }]) => (get === undefined ? [] : [name]));

type Holder = { it: Request & Response };
type Step = { readonly name: string; readonly run: (holder: Holder, classes: Classes) => unknown };

const shared: readonly Step[] = [
  ...READERS.map((name): Step => ({ name, run: ({ it }) => it[name]() })),
  { name: "add a header", run: ({ it }) => it.headers.append("x-later", "1") },
  { name: "drop a header", run: ({ it }) => it.headers.delete("content-type") },
  { name: "set a cookie", run: ({ it }) => it.headers.append("set-cookie", "c=1") },
  {
    name: "clone and read",
    run: async ({ it }) => {
      const copy = it.clone();
      return [[...copy.headers], await copy.text()];
    },
  },
  { name: "go on with a clone", run: (holder) => void (holder.it = holder.it.clone() as Holder["it"]) },
  { name: "read the stream", run: async ({ it }) => (await it.body?.getReader().read())?.done },
  { name: "name of its class", run: ({ it }) => [Object.prototype.toString.call(it), it.constructor.name] },
];
const ofRequests: readonly Step[] = [
  ...getters(Request.prototype).map((name): Step => ({ name, run: ({ it }) => it[name as "url"] })),
  { name: "instanceof", run: ({ it }, { Request: R }) => it instanceof R },
  { name: "new Request(it)", run: (holder, { Request: R }) => void (holder.it = new R(holder.it) as Holder["it"]) },
  {
    name: "new Request(it, init)",
    run: (holder, { Request: R }) =>
      void (holder.it = new R(holder.it, { method: "PUT", body: "new", headers: { n: "1" } }) as Holder["it"]),
  },
  { name: "new Request(url, it)", run: (holder, { Request: R }) => void (holder.it = new R("http://other/", holder.it) as Holder["it"]) },
  {
    name: "a class of one's own",
    run: ({ it }, { Request: R }) => {
      class Mine extends R {
        mine = 1;
      }
      const mine = new Mine(it);
      return [mine.mine, mine instanceof Mine, mine instanceof R, it instanceof Mine];
    },
  },
];
const ofResponses: readonly Step[] = [
  ...getters(Response.prototype).map((name): Step => ({ name, run: ({ it }) => it[name as "url"] })),
  { name: "instanceof", run: ({ it }, { Response: R }) => it instanceof R },
  { name: "new Response(body, it)", run: (holder, { Response: R }) => void (holder.it = new R("other", holder.it) as Holder["it"]) },
  {
    name: "new Response(its body, it)",
    run: (holder, { Response: R }) => void (holder.it = new R(holder.it.body, holder.it) as Holder["it"]),
  },
  {
    name: "a class of one's own",
    run: ({ it }, { Response: R }) => {
      class Mine extends R {
        mine = 1;
      }
      const mine = new Mine("m");
      return [mine.mine, mine.status, mine instanceof Mine, mine instanceof R, it instanceof Mine];
    },
  },
];

async function runBoth(make: (classes: Classes, isLazy: boolean) => unknown, steps: readonly Step[]): Promise<[unknown[], unknown[]]> {
  const found = [];
  for (const [classes, isLazy] of [
    [Real, false],
    [Lazy, true],
  ] as const) {
    const outcomes: unknown[] = [];
    const holder = {} as Holder;
    outcomes.push(await outcomeOf(() => void (holder.it = make(classes, isLazy) as Holder["it"])));
    if (holder.it !== undefined) for (const { name, run } of steps) outcomes.push([name, await outcomeOf(() => run(holder, classes))]);
    found.push(outcomes);
  }
  return found as [unknown[], unknown[]];
}

const RUNS = { numRuns: 2000, seed: 31 };

test("a response made in any way behaves as Node's", async () => {
  const making = fc.record({
    body: fc.constantFrom(...BODIES),
    headers: fc.constantFrom(...HEADERS),
    status: fc.constantFrom(...STATUSES),
    statusText: fc.constantFrom(...TEXTS),
    way: fc.constantFrom("new", "no init", "json", "error", "redirect"),
  });
  await fc.assert(
    fc.asyncProperty(making, fc.array(fc.constantFrom(...shared, ...ofResponses), { maxLength: 8 }), async (given, steps) => {
      const make = ({ Response: R }: Classes): Response => {
        const init = Object.fromEntries(
          Object.entries({ status: given.status, statusText: given.statusText, headers: given.headers() }).filter(
            ([, value]) => value !== undefined,
          ),
        ) as ResponseInit;
        if (given.way === "json") return R.json(given.body(), init);
        if (given.way === "error") return R.error();
        if (given.way === "redirect") return R.redirect("http://h/x", given.status as 301);
        return given.way === "new" ? new R(given.body() as string, init) : new R(given.body() as string);
      };
      const [real, lazy] = await runBoth(make, steps);
      expect(lazy).toEqual(real);
    }),
    RUNS,
  );
});

test("a request that came in behaves as one that Node made of the same parts", async () => {
  const making = fc.record({
    method: fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"),
    body: fc.constantFrom("", "text ä", '{"a":1}', "a=1&b=2"),
    type: fc.constantFrom("text/plain", "application/json", "application/x-www-form-urlencoded"),
  });
  await fc.assert(
    fc.asyncProperty(
      making,
      fc.array(fc.constantFrom(...shared, ...ofRequests), { maxLength: 8 }),
      async ({ method, body, type }, steps) => {
        const headers = ["content-type", type, "x-a", "1"];
        const bytes = new TextEncoder().encode(method === "GET" || method === "HEAD" ? "" : body);
        const { signal } = new AbortController();
        const make = ({ Request: R }: Classes, isLazy: boolean): Request => {
          const head = { method, url: "http://h/p?q=1", requestId: "1", timeoutMs: 0, modelId: "", client: "", headers };
          if (isLazy) return lazyRequest(head, bytes, () => signal);
          const content = bytes.byteLength === 0 ? {} : { body: bytes, duplex: "half" };
          return new R(head.url, { method, headers: { "content-type": type, "x-a": "1" }, signal, ...content } as RequestInit);
        };
        const [real, lazy] = await runBoth(make, steps);
        expect(lazy).toEqual(real);
      },
    ),
    RUNS,
  );
});
