/** Frameworks that others wrote, as they are, behind the proxy: Hono, Express, Fastify, plain listeners, h3 and tRPC, each through a real client. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { request as httpRequest } from "node:http";
import { createRoute, OpenAPIHono, z as zod } from "@hono/zod-openapi";
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { initTRPC } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import express from "express";
import fastify from "fastify";
import { getRequestIP, H3 } from "h3";
import { Hono } from "hono";
import { cors } from "hono/cors";
import { streamSSE } from "hono/streaming";
import { trimTrailingSlash } from "hono/trailing-slash";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { ask } from "./serve-client.ts";
import { Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

let address = "";

/** Needs no CPU, so that all of them run beside each other. */
const run = (target: serve.Deployable, prefix: string, ...args: unknown[]): Promise<unknown> =>
  serve.run(
    (serve.deployment(target, { maxOngoingRequests: 20, actorOptions: { numCpus: 0 } }).bind as (...given: unknown[]) => serve.Application)(
      ...args,
    ),
    {
      name: prefix.slice(1),
      routePrefix: prefix,
    },
  );

beforeAll(async () => {
  await serve.start({ httpOptions: { port: 0 } });
  address = Object.values((await serve.status()).proxies)[0]?.address ?? "";
});
afterAll(() => serve.shutdown());

test("Hono: routes, middleware, streams, and an OpenAPI page", async () => {
  class Api {
    readonly #app = new Hono();
    constructor() {
      const open = new OpenAPIHono();
      const body = { content: { "application/json": { schema: zod.object({ total: zod.number() }) } }, description: "the sum" };
      const query = zod.object({ a: zod.coerce.number(), b: zod.coerce.number() });
      open.openapi(createRoute({ method: "get", path: "/sum", request: { query }, responses: { 200: body } }), (c) => {
        const { a, b } = c.req.valid("query");
        return c.json({ total: a + b }, 200);
      });
      open.doc("/doc", { openapi: "3.0.0", info: { version: "1", title: "Sums" } });
      this.#app.use(cors());
      this.#app.get("/users/:id", (c) => c.json({ id: c.req.param("id"), agent: c.req.header("x-agent") }, 201));
      this.#app.post("/form", async (c) => c.text((await c.req.parseBody<{ name: string }>()).name));
      this.#app.get("/events", (c) =>
        streamSSE(c, async (stream) => {
          for (const word of ["one", "two"]) await stream.writeSSE({ event: "word", data: word });
        }),
      );
      this.#app.route("/open", open);
    }
    fetch(request: Request): Response | Promise<Response> {
      return this.#app.fetch(request);
    }
  }
  await run(Api, "/hono");
  const user = await ask(address, "/hono/users/7", { headers: { "x-agent": "me" } });
  expect(user).toMatchObject({ status: 201, body: '{"id":"7","agent":"me"}', headers: { "access-control-allow-origin": "*" } });
  const form = new FormData();
  form.set("name", "Jo");
  expect(await (await fetch(`${address}/hono/form`, { method: "POST", body: form })).text()).toBe("Jo");
  expect((await ask(address, "/hono/events")).body).toBe("event: word\ndata: one\n\nevent: word\ndata: two\n\n");
  expect((await ask(address, "/hono/open/sum?a=2&b=3")).body).toBe('{"total":5}');
  expect((await ask(address, "/hono/open/sum?a=x&b=3")).status).toBe(400);
  expect(JSON.parse((await ask(address, "/hono/open/doc")).body)).toMatchObject({
    info: { title: "Sums" },
    paths: { "/sum": { get: {} } },
  });
  expect((await ask(address, "/hono/nothing")).status).toBe(404);
});

test("Express: middleware, bodies, cookies, redirects, errors, streams", async () => {
  class Api {
    readonly #app = express();
    constructor() {
      this.#app.use(express.json({ limit: 200_000 }));
      this.#app.post("/items/:id", (request, response) => {
        response
          .cookie("a", "1")
          .cookie("b", "2")
          .status(201)
          .json({ id: request.params["id"], query: request.query, body: request.body, ip: request.ip });
      });
      this.#app.get("/moved", (_request, response) => response.redirect("/else"));
      this.#app.get("/fails", async () => {
        await Promise.reject(Object.assign(new Error("no such thing"), { status: 409 }));
      });
      this.#app.get("/stream", async (_request, response) => {
        response.type("text/plain");
        for (const piece of ["a", "b", "c"]) {
          response.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        response.end();
      });
      this.#app.put("/mirror", (request, response) => void request.pipe(response));
      this.#app.get("/empty", (_request, response) => void response.sendStatus(204));
    }
    fetch(request: Request): Promise<Response> {
      return serve.nodeHandler(this.#app)(request);
    }
  }
  await run(Api, "/express");
  const made = await ask(address, "/express/items/5?x=1", {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": "198.51.100.1" },
    body: '{"name":"ä"}',
  });
  expect(made).toMatchObject({ status: 201, headers: { "x-powered-by": "Express", "set-cookie": ["a=1; Path=/", "b=2; Path=/"] } });
  expect(JSON.parse(made.body)).toEqual({ id: "5", query: { x: "1" }, body: { name: "ä" }, ip: "127.0.0.1" });
  expect(await ask(address, "/express/moved")).toMatchObject({ status: 302, headers: { location: "/else" } });
  expect(await ask(address, "/express/fails")).toMatchObject({ status: 409 });
  expect(await ask(address, "/express/nothing")).toMatchObject({ status: 404 });
  expect(
    await ask(address, "/express/items/5", { method: "POST", headers: { "content-type": "application/json" }, body: "{" }),
  ).toMatchObject({ status: 400 });
  expect(await ask(address, "/express/stream")).toMatchObject({ status: 200, body: "abc" });
  expect(await ask(address, "/express/empty")).toMatchObject({ status: 204, body: "" });
  const large = "x".repeat(3_000_000);
  expect((await ask(address, "/express/mirror", { method: "PUT", body: large })).body === large).toBe(true);
  const tag = (await ask(address, "/express/moved", { method: "HEAD" })).headers["content-length"];
  expect(tag).toBe("27");
});

test("Fastify: schemas, hooks, errors, streams", async () => {
  class Api {
    readonly #app = fastify();
    constructor() {
      const body = { type: "object", required: ["n"], properties: { n: { type: "number" } } } as const;
      this.#app.addHook("onSend", (_request, reply, payload, done) => {
        reply.header("x-hook", "yes");
        done(null, payload);
      });
      this.#app.post<{ Body: { n: number } }>(
        "/double",
        { schema: { body } },
        (request, reply) => void reply.send({ double: request.body.n * 2 }),
      );
      this.#app.get("/fails", async () => {
        throw new Error("broken");
      });
      this.#app.get("/stream", async (_request, reply) => {
        const { Readable } = await import("node:stream");
        return reply.type("text/plain").send(Readable.from(["a", "b"]));
      });
    }
    fetch(request: Request): Promise<Response> {
      return serve.nodeHandler(this.#app)(request);
    }
  }
  await run(Api, "/fastify");
  const json = { "content-type": "application/json" };
  expect(await ask(address, "/fastify/double", { method: "POST", headers: json, body: '{"n":4}' })).toMatchObject({
    status: 200,
    body: '{"double":8}',
    headers: { "x-hook": "yes" },
  });
  expect(await ask(address, "/fastify/double", { method: "POST", headers: json, body: "{}" })).toMatchObject({ status: 400 });
  expect(await ask(address, "/fastify/fails")).toMatchObject({ status: 500 });
  expect(await ask(address, "/fastify/stream")).toMatchObject({ status: 200, body: "ab" });
});

test("an application that keeps its prefix: redirects and relative links of Hono, Express and Fastify stay below it", async () => {
  class OnHono {
    readonly #app = new Hono()
      .basePath("/on-hono")
      .use(trimTrailingSlash())
      .get("/", (c) => c.redirect("/on-hono/here"))
      .get("/here", (c) => c.text(`${c.req.path} ${c.req.header("x-forwarded-prefix")}`));
    fetch(request: Request): Response | Promise<Response> {
      return this.#app.fetch(request);
    }
    websocket(socket: serve.ServerWebSocket, request: Request): void {
      socket.close(1000, request.url.replace(/^https?:..[^/]+/, ""));
    }
  }
  class OnExpress {
    readonly fetch: (request: Request) => Promise<Response>;
    constructor() {
      const app = express();
      const routes = express.Router();
      routes.get("/", (request, response) => response.redirect(`${request.baseUrl}/here`));
      routes.get("/to", (_request, response) => response.redirect("here"));
      routes.get(
        "/here",
        (request, response) => void response.send(`${request.originalUrl} ${String(request.headers["x-forwarded-prefix"])}`),
      );
      this.fetch = serve.nodeHandler(app.use("/on-express", routes));
    }
  }
  class OnFastify {
    readonly fetch: (request: Request) => Promise<Response>;
    constructor() {
      const app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
      app.register(
        async (routes) => {
          routes.get("/", (request, reply) => reply.redirect(`${routes.prefix}/here`));
          routes.get("/here", (request) => `${request.url} ${String(request.headers["x-forwarded-prefix"])}`);
        },
        { prefix: "/on-fastify" },
      );
      this.fetch = serve.nodeHandler(app);
    }
  }
  const options = { keepRoutePrefix: true, actorOptions: { numCpus: 0 } };
  for (const [Target, prefix] of [
    [OnHono, "/on-hono"],
    [OnExpress, "/on-express"],
    [OnFastify, "/on-fastify"],
  ] as const) {
    await serve.run(serve.deployment(Target, options).bind(), { name: prefix.slice(1), routePrefix: prefix });
    for (const path of ["", "/", "/here"]) {
      const response = await fetch(`${address}${prefix}${path}`);
      expect([path, response.status, await response.text()]).toEqual([path, 200, `${prefix}/here undefined`]);
    }
    expect((await fetch(`${address}${prefix}-other`)).status).toBe(404);
  }
  // A middleware makes its redirect of the URL that it sees; a relative path depends on the client's.
  const trimmed = await fetch(`${address}/on-hono/here/`, { redirect: "manual" });
  expect(trimmed.headers.get("location")).toBe(`${address}/on-hono/here`);
  expect(await (await fetch(`${address}/on-express/to`)).text()).toBe("/on-express/here undefined");
  const socket = new WebSocket(`${address.replace("http", "ws")}/on-hono/room`);
  const { reason } = await new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve));
  expect(reason).toBe("/on-hono/room");
  // An update may take the prefix off.
  await serve.run(serve.deployment(OnHono, { ...options, keepRoutePrefix: false }).bind(), { name: "on-hono", routePrefix: "/on-hono" });
  expect((await fetch(`${address}/on-hono/here`)).status).toBe(404);
});

test("a plain listener: raw heads, early hints, errors, and clients that leave", async () => {
  class Api {
    readonly #file: string;
    constructor(file: string) {
      this.#file = file;
    }
    async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const { appendFileSync } = await import("node:fs");
      switch (request.url) {
        case "/head":
          response.writeEarlyHints({ link: "</a.css>; rel=preload" });
          response.writeHead(202, "Taken", ["x-a", "1", "x-a", "2", "transfer-encoding", "chunked"]).end("whole");
          return;
        case "/throws":
          throw new Error("secret");
        case "/breaks":
          request.socket.destroy();
          return;
        case "/half":
          response.writeHead(200, { "content-type": "text/plain" }).write("half");
          setTimeout(() => response.destroy(), 20);
          return;
        case "/wait":
          response.on("close", () => appendFileSync(this.#file, `closed ${response.writableFinished}\n`));
          request.on("close", () => appendFileSync(this.#file, "request closed\n"));
          appendFileSync(this.#file, "waits\n");
          return;
        default:
          response.end();
      }
    }
    fetch(request: Request): Promise<Response> {
      return serve.nodeHandler((incoming, response) => this.#answer(incoming, response))(request);
    }
  }
  const log = new Log(folder);
  await run(Api, "/plain", log.file);
  expect(await ask(address, "/plain/head")).toMatchObject({ status: 202, body: "whole", headers: { "x-a": "1, 2" } });
  for (const path of ["/plain/throws", "/plain/breaks"]) {
    const answer = await ask(address, path);
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain("secret");
  }
  expect(await ask(address, "/plain/half").catch((error: Error) => error.message)).toMatch(/broke off|aborted|hang up/);
  const waiting = httpRequest(`${address}/plain/wait`);
  waiting.on("error", () => {});
  waiting.end();
  await until(() => log.lines.includes("waits"), "the listener to wait");
  waiting.destroy();
  await until(() => log.lines.includes("closed false"), "the listener to be told");
  expect(() => serve.nodeHandler({} as never)).toThrow("a listener (request, response) or a Fastify instance is needed");
});

test("h3", async () => {
  class Api {
    readonly #app = new H3();
    constructor() {
      this.#app.get("/hello/:name", (event) => ({ hello: event.context.params?.["name"] }));
      this.#app.get("/ip", (event) => [getRequestIP(event), serve.getClientAddress(event.req as Request)]);
      this.#app.post("/sum", async (event) => String(((await event.req.json()) as number[]).reduce((sum, number) => sum + number, 0)));
    }
    fetch(request: Request): Response | Promise<Response> {
      return this.#app.fetch(request);
    }
  }
  await run(Api, "/h3");
  expect(await ask(address, "/h3/hello/you")).toMatchObject({ status: 200, body: '{"hello":"you"}' });
  expect((await ask(address, "/h3/sum", { method: "POST", body: "[1,2,3]" })).body).toBe("6");
  expect((await ask(address, "/h3/ip", { headers: { "x-forwarded-for": "198.51.100.1" } })).body).toBe('["127.0.0.1","127.0.0.1"]');
  expect((await ask(address, "/h3/nothing")).status).toBe(404);
});

function makeRouter() {
  const t = initTRPC.create();
  return t.router({
    greet: t.procedure.input(z.object({ name: z.string() })).query(({ input }) => ({ text: `hello ${input.name}` })),
    add: t.procedure.input(z.array(z.number())).mutation(({ input }) => input.reduce((sum, number) => sum + number, 0)),
  });
}

test("tRPC: queries in one batch, mutations, mistakes, through its own client", async () => {
  class Api {
    readonly #router = makeRouter();
    fetch(request: Request): Promise<Response> {
      return fetchRequestHandler({ endpoint: "/", req: request, router: this.#router });
    }
  }
  await run(Api, "/trpc");
  const client = createTRPCClient<ReturnType<typeof makeRouter>>({ links: [httpBatchLink({ url: `${address}/trpc` })] });
  expect(await Promise.all([client.greet.query({ name: "a" }), client.greet.query({ name: "b" }), client.add.mutate([1, 2])])).toEqual([
    { text: "hello a" },
    { text: "hello b" },
    3,
  ]);
  await expect(client.greet.query({ name: 7 } as never)).rejects.toMatchObject({ data: { code: "BAD_REQUEST" } });
});
