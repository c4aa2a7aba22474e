/** Replicas that share the driver's process (`init({ mode: "inProcess" })`): each knows its own context, wherever its code runs. */
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "./serve-client.ts";
import { useSession } from "./session.ts";

useSession({ mode: "inProcess", numCpus: 4 });
beforeAll(async () => {
  await serve.start({ httpOptions: { port: 0 } });
});
afterAll(() => serve.shutdown());

test("replicas that share a process have each its own context: in constructors, hooks, requests, streams, batches and models", async () => {
  const here = (): string => `${serve.getReplicaContext().deployment} ${serve.getReplicaContext().rank}`;
  const ended: string[] = [];
  class Part {
    readonly own = serve.getReplicaContext();
    readonly #seen: string[] = [here()];
    many = serve.batch(async (items: number[]) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return items.map(() => here());
    });
    load = serve.multiplexed(async () => here());
    reconfigure(): void {
      this.#seen.push(here());
    }
    checkHealth(): void {
      this.#seen.push(here());
    }
    async seen(): Promise<string[]> {
      return [...this.#seen, here(), await this.many(1), await this.load("a"), `Part ${this.own.rank}`];
    }
    async *stream(): AsyncGenerator<string, void, undefined> {
      yield here();
      await new Promise((resolve) => setTimeout(resolve, 1));
      yield here();
    }
    dispose(): void {
      ended.push(here());
    }
  }
  class Whole {
    readonly #part: serve.Handle<typeof Part>;
    constructor(part: serve.Handle<typeof Part>) {
      this.#part = part;
    }
    many = serve.batch(async (items: number[]) => {
      const [of] = await this.#part.broadcast("seen");
      return items.map(() => `${here()} of ${of?.[0]}`);
    });
    async fetch(): Promise<Response> {
      const before = here();
      const behind = await this.many(1);
      async function* body(): AsyncGenerator<string, void, undefined> {
        yield `${before}, ${behind}, `;
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield here();
      }
      return new Response(ReadableStream.from(body()).pipeThrough(new TextEncoderStream()));
    }
  }
  const part = serve.deployment(Part, { numReplicas: 2, userConfig: 1, actorOptions: { numCpus: 0 } }).bind();
  await serve.run(serve.deployment(Whole, { actorOptions: { numCpus: 0 } }).bind(part));
  const handle = await serve.getDeploymentHandle<typeof Part>("Part", "default");
  const seen = await handle.broadcast("seen");
  expect(seen.map((all) => new Set(all).size)).toEqual([1, 1]);
  expect(new Set(seen.flat())).toEqual(new Set(["Part 0", "Part 1"]));
  const streamed = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const items: string[] = [];
      for await (const item of handle.stream.options({ stream: true }).remote() as AsyncIterable<string>) items.push(item);
      return items;
    }),
  );
  expect(streamed.filter(({ length }) => length !== 2)).toEqual([]);
  expect(streamed.filter(([first, second]) => first !== second)).toEqual([]);
  const { address = "" } = Object.values((await serve.status()).proxies)[0] ?? {};
  expect((await ask(address, "/")).body).toMatch(/^Whole 0, Whole 0 of Part [01], Whole 0$/);
  // Nor does the driver run in one of them.
  expect(() => serve.getReplicaContext()).toThrow("outside of a deployment");
  await serve.delete("default");
  expect(ended.sort()).toEqual(["Part 0", "Part 1"]);
});

test("proxies that share a process all listen and know the routes", async () => {
  await serve.shutdown();
  const { address = "" } = await serve.start({ httpOptions: { port: 0, proxies: 2 } });
  expect(Object.values((await serve.status()).proxies).map((proxy) => [proxy.status, proxy.address])).toEqual([
    ["HEALTHY", address],
    ["HEALTHY", address],
  ]);
  class Hello {
    fetch(): Response {
      return new Response("hello");
    }
  }
  await serve.run(serve.deployment(Hello, { actorOptions: { numCpus: 0 } }).bind());
  // The system spreads connections over the proxies.
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(address, "/")));
  expect(answers.filter(({ body }) => body !== "hello")).toEqual([]);
});
