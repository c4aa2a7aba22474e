/**
 * Real FastAPI, Starlette and Django in deployments of Python, asked by httpx and websockets: two versions of FastAPI, as included routers have been kept in another way since 0.137. The
 * versions are pinned, and installed below `.test-cache/` by the first run.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { python } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Log, until, useFolder, useSession } from "../integration/session.ts";
import { installed } from "./installed.ts";

const FILE = new URL("python/fastapi_app.py", import.meta.url);
const CLIENT = new URL("python/fastapi_client.py", import.meta.url);
const DJANGO = new URL("python/django_app.py", import.meta.url);
const DJANGO_CLIENT = new URL("python/django_client.py", import.meta.url);
const folder = useFolder();
useSession({ numCpus: 8 });

let address = "";

/** A virtual environment that is named after its first package. */
function environment(...packages: readonly string[]): string {
  return installed((packages[0] as string).replace("==", "-"), (place) => [
    ["python3", "-m", "venv", place],
    [join(place, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages],
  ]);
}

const WITH_CLIENTS = ["fastapi==0.165.0", "python-multipart==0.0.20", "httpx==0.28.1", "websockets==15.0.1"];
/** The output of a program of Python with clients. */
async function printed(program: URL, ...args: string[]): Promise<unknown> {
  const python3 = join(environment(...WITH_CLIENTS), "bin", "python3");
  return JSON.parse((await promisify(execFile)(python3, [fileURLToPath(program), ...args])).stdout);
}

class Lookup {
  #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  weight(text: string): number {
    return text.length;
  }
  async waits(): Promise<void> {
    const { appendFileSync } = await import("node:fs");
    const { signal } = (await import("shoal")).getRuntimeContext();
    appendFileSync(this.#file, "lookup begun\n");
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    appendFileSync(this.#file, "lookup cancelled\n");
  }
}

beforeAll(async () => {
  const started = await serve.start({ httpOptions: { port: 0 } });
  address = started.address as string;
});
afterAll(() => serve.shutdown());

test.each([
  ["0.165", WITH_CLIENTS],
  ["0.115", ["fastapi==0.115.12", "python-multipart==0.0.20"]],
])("FastAPI %s answers httpx and websockets", async (_version, packages) => {
  const log = new Log(folder);
  const venv = environment(...packages);
  const options = { runtimeEnv: { python: venv, envVars: { FASTAPI_LOG: log.file } } };
  interface Scores {
    twice(value: number): number;
  }
  const Scores = python.actor<Scores, [factor: number, lookup: object]>(FILE, "Scores", options);
  const handle = await serve.run(serve.deployment(Scores).bind(10, serve.deployment(Lookup).bind(log.file)), {
    name: "scores",
    routePrefix: "/api",
  });
  expect(await printed(CLIENT, `${address}/api`)).toEqual({
    score: { score: 80, unit: "points" },
    refused: [
      422,
      [
        ["body", "text"],
        ["body", "times"],
      ],
    ],
    item: { number: 40, q: "é" },
    latest: { latest: 10 },
    missing: [404, { detail: "no such item" }, "large"],
    plain: { agent: "systems" },
    file: { name: "large.bin", size: 5_000_000 },
    rest: { rest: "what/ever" },
    routed: { routed: 50 },
    later: 202,
    broken: 500,
    head: [405, ""],
    options: [405, "POST"],
    range: [206, expect.stringContaining("FastAPI"), "10"],
    schema: ["Scores", [{ url: "/api" }], ["number", "q"]],
    docs: true,
    type: expect.stringContaining("text/event-stream"),
    events: ["data: 0", "data: 10", "data: 20"],
    chat: { to: "ada", text: "hello", factor: 10 },
    seat: "7",
    nobody: [403, "", null],
    stranger: [401, '{"who":"stranger"}', "Bearer"],
    absent: [410, '{"detail":"has left"}', null],
  });
  expect(await handle.twice.remote(4)).toBe(8);
  const gone = new AbortController();
  const waiting = fetch(`${address}/api/waits`, { signal: gone.signal }).catch(() => {});
  await until(() => log.lines.includes("lookup begun"), "the call of the handle");
  gone.abort();
  await waiting;
  for (const line of ["lookup cancelled", "startup", "later", "events left", "the chat was left"])
    await until(() => log.lines.includes(line), line);
  await serve.delete("scores");
  await until(() => log.lines.includes("shutdown"), "the shutdown");
});

test("an application of Starlette is a deployment by itself, and knows the path under which it is", async () => {
  const options = { runtimeEnv: { python: environment(...WITH_CLIENTS), envVars: { FASTAPI_LOG: new Log(folder).file } } };
  await serve.run(serve.deployment(python.actor(FILE, "starlette", options)).bind(), { name: "starlette", routePrefix: "/star" });
  expect(await (await fetch(`${address}/star/hello`)).text()).toBe(`hello from ${address}/star/hello`);
  expect((await fetch(`${address}/star/inner/hello`)).status).toBe(200);
});

test.each(["application", "channels"])("Django's %s answers httpx, and Channels websockets", async (name) => {
  const log = new Log(folder);
  const options = { runtimeEnv: { python: environment("django==5.2.6", "channels==4.3.2"), envVars: { DJANGO_LOG: log.file } } };
  await serve.run(serve.deployment(python.actor(DJANGO, name, options)).bind(), { name: "django", routePrefix: "/shop" });
  const found = (await printed(DJANGO_CLIENT, `${address}/shop`)) as Record<string, unknown>;
  const host = new URL(address).host;
  expect(found).toMatchObject({
    index: { url: `${address}/shop/`, item: "/shop/items/7", visits: 2, host, secure: false, agent: "systems", from: true },
    item: { number: 4, query: ["a b", "é"], method: "GET" },
    missing: [404, true],
    nowhere: 404,
    forged: 403,
    form: { fields: { name: ["x", "é&="] }, files: {} },
    upload: { fields: { name: ["y"] }, files: { picture: ["a.bin", 5_000_003, "abc"] } },
    moved: [302, "/shop/items/8", 8],
    broken: [500, false],
    forbidden: 403,
    head: [200, "", "application/json"],
    download: [200, 'attachment; filename="shop.py"', true, true],
    text: ["gzip", 10_000],
    events: ["data: 0", "data: 1", "data: 2"],
  });
  await until(() => log.lines.includes("events left"), "the stream to be left");
  // A scope that Django does not know, such as WebSockets of a project without Channels, is an error of the application.
  if (name === "application") expect(found).toMatchObject({ chat: 500, "refused /chat/nobody": 500, "refused /nowhere/": 500 });
  else {
    const chat = { to: "ada", said: "hello" };
    expect(found).toMatchObject({ protocol: "chat", chat, closed: 4001, "refused /chat/nobody": 403, "refused /nowhere/": 500 });
    await until(() => log.lines.includes("chat left 4001"), "the chat to be left");
  }
  await serve.delete("django");
});
