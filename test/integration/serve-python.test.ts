/** Deployments in Python: requests, handles, streams, configuration, health, errors, batches, and composition with TypeScript in both directions. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getActor, python } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ask } from "./serve-client.ts";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const FILE = new URL("python/served.py", import.meta.url);
const folder = useFolder();
useSession({ numCpus: 16 });

interface Model {
  scale(value: number): number;
  up_to(count: number): Generator<number>;
  waits(): void;
  sizes(text: string): string;
  named(): string;
  place(): string;
  gang(): [gangId: string, rank: number, worldSize: number, place: number] | null;
}

const log = new Log(folder);
const Model = python.actor<Model, [factor: number, log?: string]>(FILE, "Model", {
  numCpus: 1,
  methods: { up_to: { numReturns: "streaming" } },
});
let address = "";
let model: serve.Handle<serve.Deployment<new (factor: number, log?: string) => Model>>;

beforeAll(async () => {
  await serve.start({ httpOptions: { port: 0, accessLog: false } });
  const bound = serve.deployment(Model, { maxOngoingRequests: 4, healthCheckPeriodMs: 200 }).bind(10, log.file);
  model = await serve.run(bound, { name: "model", routePrefix: "/model" });
  address = Object.values((await serve.status()).proxies)[0]?.address ?? "";
});
afterAll(() => serve.shutdown());

test("requests reach __call__, and what it returns becomes a response", async () => {
  const asked = await ask(address, "/model/json?q=7", { method: "POST", body: '{"x": 4}', headers: { "X-Agent": "tests" } });
  expect(JSON.parse(asked.body)).toEqual({ value: 40, method: "POST", q: "7", agent: "tests" });
  expect(await ask(address, "/model/text")).toMatchObject({
    status: 200,
    body: "plain",
    headers: { "content-type": "text/plain;charset=UTF-8" },
  });
  expect(await ask(address, "/model/bytes")).toMatchObject({ body: "\0\u0001", headers: { "content-type": "application/octet-stream" } });
  expect(await ask(address, "/model/made")).toMatchObject({ status: 201, body: '{"made":true}', headers: { "x-kind": "made" } });
  expect((await ask(address, "/model/length", { method: "POST", body: new Uint8Array(200_000) })).body).toBe("200000");
  const context = await ask(address, "/model/context", { headers: { "x-request-id": "seven", serve_multiplexed_model_id: "small" } });
  expect(JSON.parse(context.body)).toEqual({ app: "model", deployment: "Model", id: "seven", model: "small" });
});

test("streams arrive piece by piece, and a client that goes ends the generator", async () => {
  expect(await ask(address, "/model/stream")).toMatchObject({
    body: "data: one\n\ndata: two\n\n",
    headers: { "content-type": "text/event-stream" },
  });
  const gone = new AbortController();
  const response = await fetch(`${address}/model/hangs`, { signal: gone.signal });
  await response.body?.getReader().read();
  gone.abort();
  await until(() => log.lines.includes("left"), "the generator to be closed");
});

test("a generator that fails before its first value is a 500, and one that fails behind it breaks off", async () => {
  const failed = await ask(address, "/model/fails?after=0");
  expect([failed.status, failed.body.includes("secret")]).toEqual([500, false]);
  await expect(ask(address, "/model/fails?after=1")).rejects.toThrow(/aborted|broke off/);
  expect((await ask(address, "/model/text")).status).toBe(200);
});

test("an error is an id for clients, and one with a status is its status", async () => {
  const failed = await ask(address, "/model/other");
  expect(failed.status).toBe(500);
  expect(failed.body).not.toContain("secret");
  expect(await ask(address, "/model/refused")).toMatchObject({ status: 409, body: '{"detail":"not now"}' });
});

test("handles call methods, read generators, and cancel", async () => {
  expect(await model.scale.remote(4)).toBe(40);
  const numbers: number[] = [];
  for await (const number of model.up_to.remote(3)) numbers.push(number);
  expect(numbers).toEqual([0, 1, 2]);
  const batched = await Promise.all(["a", "b", "c"].map((text) => model.sizes.remote(text)));
  expect(batched).toEqual(["a of 3", "b of 3", "c of 3"]);
  const controller = await getActor<{ metrics(): Promise<string> }>("SERVE_CONTROLLER", { namespace: "shoal.serve" });
  const metrics = await controller.metrics.remote();
  const own = 'application="model",deployment="Model",replica="[^"]+"';
  expect(metrics).toMatch(new RegExp(`^model_scaled\\{${own},kind="int"\\} 1$`, "m"));
  expect(metrics).toMatch(new RegExp(`^serve_actual_batch_size_sum\\{${own},function_name="sizes"\\} 3$`, "m"));
  expect(metrics).toMatch(/^serve_event_loop_tasks\{.*loop_type="user_code"\} \d+$/m);
  const failure = await failureOf((model as unknown as { missing: typeof model.scale }).missing.remote(1));
  expect((failure.cause as Error).message).toContain("it has no method missing: it has");
  const waiting = model.waits.remote();
  await until(() => log.lines.includes("waits"), "the coroutine to begin");
  waiting.cancel();
  await failureOf(waiting);
  await until(() => log.lines.includes("cancelled"), "the coroutine to be cancelled");
});

test("a replica keeps the latest models, and shares their loads", async () => {
  const nameOf = (multiplexedModelId: string): PromiseLike<string> => model.options({ multiplexedModelId }).named.remote();
  expect(await Promise.all(["a", "a", "b", "a", "c"].map(nameOf))).toEqual(["a", "a", "b", "a", "c"].map((id) => `model ${id}`));
  expect(await nameOf("c")).toBe("model c");
  expect(String((await failureOf(nameOf("broken"))).cause)).toContain("no such model");
  expect(await nameOf("b")).toBe("model b");
  const loads = log.lines.filter((line) => line.startsWith("load "));
  expect(loads.slice(0, 3)).toEqual(["load a", "load b", "load c"]);
  expect(String((await failureOf(model.named.remote())).cause)).toContain("Cannot give a model: its id is needed");
  const controller = await getActor<{ metrics(): Promise<string> }>("SERVE_CONTROLLER", { namespace: "shoal.serve" });
  expect(await controller.metrics.remote()).toMatch(/^serve_num_multiplexed_models\{application="model".*\} 2$/m);
});

test("a configuration changes in place, and a replica whose Python dies is replaced", async () => {
  const Configured = serve.deployment(Model, { maxOngoingRequests: 4, healthCheckPeriodMs: 200, userConfig: { factor: 3 } });
  await serve.run(Configured.bind(10, log.file), { name: "model", routePrefix: "/model" });
  await until(async () => (await model.scale.remote(2)) === 6, "the new factor");
  const controller = await getActor<{ metrics(): Promise<string> }>("SERVE_CONTROLLER", { namespace: "shoal.serve" });
  for (const name of ["serve_replica_reconfigure_latency_ms", "serve_health_check_latency_ms"]) {
    const line = new RegExp(`^${name}_count\\{application="model",deployment="Model"\\} [1-9]`, "m");
    await until(async () => line.test(await controller.metrics.remote()), name);
  }
  expect((await ask(address, "/model/dies")).status).toBe(500);
  await until(async () => (await ask(address, "/model/text")).status === 200, "another replica");
  // The context of the first shows that it has company.
  await serve.run(Configured.options({ numReplicas: 2 }).bind(10, log.file), { name: "model", routePrefix: "/model" });
  await until(async () => (await model.broadcast("place")).sort().join() === "0 of 2,1 of 2", "the ranks of both");
  expect(await model.gang.remote()).toBe(null);
  // Members of a gang know it.
  const gangs = Configured.options({ numReplicas: 2, gangConfig: { gangSize: 2 }, actorOptions: { numCpus: 0.1 } });
  await serve.run(gangs.bind(10, log.file), { name: "model", routePrefix: "/model" });
  const members = async () => (await model.broadcast("gang")).flatMap((gang) => (gang === null ? [] : [gang]));
  await until(async () => (await members()).length === 2, "both members");
  const [one, other] = (await members()).sort(([, a], [, b]) => a - b);
  expect(one?.slice(1)).toEqual([0, 2, 0]);
  expect(other).toEqual([one?.[0], 1, 2, 1]);
});

test("deployments of Python and TypeScript are bound to each other", async () => {
  class Double {
    twice(value: number): number {
      return value * 2;
    }
    *count(to: number): Generator<number> {
      for (let n = 0; n < to; n += 1) yield n;
    }
    fails(): void {
      throw new RangeError("out of range");
    }
  }
  const Ingress = python.actor<object, [handles: object]>(FILE, "Ingress");
  const handles = { double: serve.deployment(Double).bind(), model: serve.deployment(Model).bind(5) };
  await serve.run(serve.deployment(Ingress).bind(handles), { name: "mixed", routePrefix: "/mixed" });
  const answer = await ask(address, "/mixed/?x=3");
  expect(JSON.parse(answer.body)).toEqual({ scaled: 30, counted: [0, 1], failure: "out of range" });
});

test("a module that the class imports is part of its version", async () => {
  const place = join(folder, "priced.py");
  const module = `shoal_prices_${process.pid}`;
  const text = `
import os, ${module} as prices

def price():
    return prices.PRICE

class Priced:
    def told(self):
        return [prices.PRICE, os.getpid()]
`;
  writeFileSync(place, text);
  interface Priced {
    told(): [price: number, pid: number];
  }
  const told = async (price: number): Promise<[number, number]> => {
    writeFileSync(join(folder, `${module}.py`), `PRICE = ${price}\n`);
    const Priced = python.actor<Priced>(place, "Priced");
    const handle = await serve.run(serve.deployment(Priced).bind(), { name: "priced", routePrefix: null });
    return await handle.told.remote();
  };
  const first = await told(1);
  expect(first[0]).toBe(1);
  expect(await told(1)).toEqual(first);
  // A worker that has the module of before in its memory.
  expect(await python.task<() => number>(place, "price").remote()).toBe(1);
  await until(async () => (await told(222))[0] === 222, "the new price");
});

test("an ingress that answers no client is warned of in the words of Python", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    await serve.run(serve.deployment(python.actor(FILE, "Servicer")).bind(), { name: "calls", routePrefix: "/calls" });
    // A replica that takes long to start is told of as well.
    expect(write.mock.calls.map(([text]) => String(text)).filter((text) => !text.includes("does not run yet"))).toEqual([
      expect.stringContaining("Servicer has no __call__(self, request) and no ASGI application (@serve.ingress(app)): give it one"),
    ]);
  } finally {
    write.mockRestore();
  }
  expect(await ask(address, "/calls")).toMatchObject({ status: 501, body: expect.stringContaining("__call__") });
  await serve.delete("calls");
});

test("what cannot run says so", async () => {
  expect(() => serve.deployment(python.actor(FILE, "Model", { maxConcurrency: 3 }))).toThrow("Serve sets maxConcurrency itself");
  const absent = await failureOf(serve.run(serve.deployment(python.actor(FILE, "Modell")).bind(), { name: "absent", routePrefix: null }));
  expect(String(absent)).toContain("did you mean Model?");
  expect(String(await failureOf(serve.run(serve.deployment(Model).bind(1), { localTestingMode: true })))).toContain("local testing mode");
});

test("an import path names a class of Python", async () => {
  const place = { folder: fileURLToPath(new URL("python", import.meta.url)), args: { size: 2 } };
  for (const [index, importPath] of ["served:Configured", "served.py:Configured"].entries()) {
    await serve.run(await serve.importApplication({ importPath, ...place }), {
      name: `imported-${index}`,
      routePrefix: `/imported-${index}`,
    });
    expect((await ask(address, `/imported-${index}/`)).body).toBe('{"args":{"size":2}}');
  }
});
