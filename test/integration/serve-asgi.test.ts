/** ASGI applications as deployments of Python, through plain clients: scopes, streams in both directions, ends of clients, WebSockets, lifespan. FastAPI itself is in `test/systems`. */
import { writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request as httpRequest } from "node:http";
import { getActor, python } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { ask } from "./serve-client.ts";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const FILE = new URL("python/asgi_app.py", import.meta.url);
const folder = useFolder();
useSession({ numCpus: 8 });

const log = new Log(folder);
let address = "";

beforeAll(async () => {
  const started = await serve.start({ httpOptions: { port: 0 } });
  address = started.address as string;
  const app = python.actor(FILE, "app", { runtimeEnv: { envVars: { ASGI_LOG: log.file } } });
  await serve.run(serve.deployment(app, { maxOngoingRequests: 20 }).bind(), { name: "asgi", routePrefix: "/asgi" });
});
afterAll(() => serve.shutdown());

test("an application gets the scope of a request, and its answer arrives as it is", async () => {
  const options = { headers: { "X-Two": ["one", "two"], "x-request-id": "seven" } };
  const told = await ask(address, "/asgi/tell?q=%C3%A9", options);
  expect(told.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
  const scope = JSON.parse(told.body) as Record<string, unknown>;
  expect(scope).toMatchObject({
    type: "http",
    method: "GET",
    path: "/asgi/tell",
    root_path: "/asgi",
    raw: "/asgi/tell",
    query: "q=%C3%A9",
  });
  expect(scope).toMatchObject({ scheme: "http", model: "loaded", id: "seven" });
  expect((scope["headers"] as string[][]).filter(([name]) => name === "x-two")).toEqual([
    ["x-two", "one"],
    ["x-two", "two"],
  ]);
  expect(await ask(address, "/asgi/tell", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
  expect(await ask(address, "/asgi/nothing", { method: "OPTIONS" })).toMatchObject({ status: 204, body: "" });
  const failed = await ask(address, "/asgi/fails");
  expect(failed.status).toBe(500);
  expect(failed.body).not.toContain("secret");
  expect((await failureOf(ask(address, "/asgi/breaks"))).message).toMatch(/aborted|broke off|hang up/);
});

test("bodies stream in both directions at once", async () => {
  const large = new Uint8Array(300_000).fill(120);
  expect((await ask(address, "/asgi/echo", { method: "POST", body: large })).body.length).toBe(300_000);
  const pieces: string[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const sent = httpRequest(`${address}/asgi/echo`, { method: "POST" }, (response) => {
    response.on("data", (piece: Buffer) => pieces.push(piece.toString()));
    response.on("end", resolve);
  });
  sent.write("one");
  await until(() => pieces.join("") === "one", "the first piece to come back before the second is sent");
  sent.end("two");
  await ended;
  expect(pieces.join("")).toBe("onetwo");
});

test("a client that does not read holds its application up", async () => {
  const gone = new AbortController();
  await fetch(`${address}/asgi/floods`, { signal: gone.signal });
  const floods = (): number => log.lines.filter((line) => line.startsWith("flood")).length;
  let before = 0;
  await until(async () => {
    before = floods();
    await new Promise((resolve) => setTimeout(resolve, 300));
    return before > 0 && floods() === before;
  }, "the application to stand still");
  expect(before).toBeLessThan(50);
  gone.abort();
});

test("an application hears that its client has gone, and one that does not listen is cancelled", async () => {
  for (const [path, line] of [
    ["listens", "heard of the end"],
    ["deaf", "was cancelled"],
  ]) {
    const gone = new AbortController();
    const response = await fetch(`${address}/asgi/${path}`, { signal: gone.signal });
    expect(response.status).toBe(200);
    gone.abort();
    await until(() => log.lines.includes(line as string), line as string);
  }
  const broken = httpRequest(`${address}/asgi/echo`, { method: "POST" });
  broken.on("error", () => {});
  broken.write("half");
  await new Promise((resolve) => broken.once("response", resolve));
  broken.destroy();
  await until(() => log.lines.includes("upload broke off"), "the end of the upload");
});

test("WebSockets carry text, bytes, protocols and codes, and may be refused", async () => {
  const url = address.replace("http", "ws");
  const socket = new WebSocket(`${url}/asgi/socket`, ["v1", "v2"]);
  const messages: unknown[] = [];
  const upgraded = new Promise<IncomingHttpHeaders>((resolve) => socket.once("upgrade", ({ headers }) => resolve(headers)));
  socket.on("message", (data: Buffer, isBinary) => messages.push(isBinary ? [...data] : data.toString()));
  await new Promise((resolve) => socket.once("open", resolve));
  expect(socket.protocol).toBe("v2");
  expect(await upgraded).toMatchObject({ "set-cookie": ["seat=7", "row=3"], "x-seat": "7", "x-request-id": expect.any(String) });
  for (const message of ["hello", new Uint8Array([1, 2]), ""]) socket.send(message);
  await until(() => messages.length === 3, "three answers");
  expect(messages).toEqual(["hello", [1, 2], ""]);
  socket.close(4007, "done");
  await until(() => log.lines.includes("closed with 4007 done"), "the code of the client");

  const other = new WebSocket(`${url}/asgi/socket`);
  other.once("open", () => other.send("bye"));
  expect(await new Promise((resolve) => other.once("close", (code, reason) => resolve([code, reason.toString()])))).toEqual([
    4001,
    "enough",
  ]);
  const refused = new WebSocket(`${url}/asgi/refused`);
  expect(String(await new Promise((resolve) => refused.once("error", resolve)))).toContain("403");
  const handshake = {
    connection: "upgrade",
    upgrade: "websocket",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-version": "13",
  };
  const denied = await ask(address, "/asgi/denied", { headers: handshake });
  expect(denied).toMatchObject({ status: 401, body: "no token" });
  expect(denied.headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "content-type": "text/plain" });
});

test("an error that an application has answered itself counts as one of the deployment", async () => {
  const controller = await getActor<{ metrics(): Promise<string> }>("SERVE_CONTROLLER", { namespace: "shoal.serve" });
  const errors = async (): Promise<number> =>
    Number(/^serve_deployment_error_counter\{application="asgi".*\} (\d+)$/m.exec(await controller.metrics.remote())?.[1] ?? 0);
  const before = await errors();
  expect(await ask(address, "/asgi/answers")).toMatchObject({ status: 500, body: "sorry" });
  expect(await ask(address, "/asgi/answers?streams")).toMatchObject({ status: 500, body: "very sorry" });
  await until(async () => (await errors()) === before + 2, "the errors behind the answers");
  const socket = new WebSocket(`${address.replace("http", "ws")}/asgi/socket`);
  socket.once("open", () => socket.send("fall"));
  await new Promise((resolve) => socket.once("close", resolve));
  await until(async () => (await errors()) === before + 3, "the error behind the close");
});

test("a class has an application, made by a function, and methods for handles", async () => {
  interface Built {
    scale(value: number): number;
  }
  const Built = python.actor<Built, [factor: number]>(FILE, "Built");
  const handle = await serve.run(serve.deployment(Built).bind(3), { name: "built", routePrefix: "/built" });
  expect(await handle.scale.remote(4)).toBe(12);
  expect((await ask(address, "/built/")).body).toBe("built");
  const failure = await failureOf((handle as unknown as { remote(): PromiseLike<unknown> }).remote());
  expect(String(failure.cause)).toContain("an ASGI application answers its requests");
});

test("a class without ASGI reads a body as it comes", async () => {
  await serve.run(serve.deployment(python.actor(FILE, "Upload")).bind(), { name: "upload", routePrefix: "/upload" });
  const answer = await ask(address, "/upload/", { method: "POST", body: new Uint8Array(300_000) });
  expect(JSON.parse(answer.body)).toEqual({ size: 300_000, isStreamed: true });
  expect(JSON.parse((await ask(address, "/upload/", { method: "POST", body: "x" })).body)).toEqual({ size: 1, isStreamed: false });
});

test("an application that does not start keeps its deployment from running", async () => {
  const failure = await failureOf(
    serve.run(serve.deployment(python.actor(FILE, "never_starts"), { maxConstructorRetryCount: 1 }).bind(), {
      name: "never",
      routePrefix: null,
    }),
  );
  expect(String(failure)).toContain("no model here");
});

test("background tasks end before the shutdown of the application, which runs when the replica ends", async () => {
  expect(await ask(address, "/asgi/after")).toMatchObject({ status: 201, body: "answered" });
  expect(log.lines).not.toContain("after the answer");
  const deleted = serve.delete("asgi");
  writeFileSync(`${log.file}-go`, "");
  await deleted;
  await until(() => log.lines.includes("shutdown"), "the shutdown");
  expect(log.lines.slice(-2)).toEqual(["after the answer", "shutdown"]);
});
