/**
 * Real FastAPI and Starlette in deployments of Python, asked by httpx and websockets: two versions of FastAPI, as included routers have been kept in another way since 0.137. The versions
 * are pinned, and installed below `.test-cache/` by the first run.
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
const folder = useFolder();
useSession({ numCpus: 8 });

let address = "";

function environment(fastapi: string, ...more: string[]): string {
  return installed(`fastapi-${fastapi}`, (place) => [
    ["python3", "-m", "venv", place],
    [join(place, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", `fastapi==${fastapi}`, ...more],
  ]);
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
  ["0.165.0", ["python-multipart==0.0.20", "httpx==0.28.1", "websockets==15.0.1"]],
  ["0.115.12", ["python-multipart==0.0.20"]],
])("FastAPI %s answers httpx and websockets", async (version, packages) => {
  const log = new Log(folder);
  const venv = environment(version, ...packages);
  const options = { runtimeEnv: { python: venv, envVars: { FASTAPI_LOG: log.file } } };
  interface Scores {
    twice(value: number): number;
  }
  const Scores = python.actor<Scores, [factor: number, lookup: object]>(FILE, "Scores", options);
  const handle = await serve.run(serve.deployment(Scores).bind(10, serve.deployment(Lookup).bind(log.file)), {
    name: "scores",
    routePrefix: "/api",
  });
  const client = join(environment("0.165.0"), "bin", "python3");
  const { stdout } = await promisify(execFile)(client, [fileURLToPath(CLIENT), `${address}/api`]);
  expect(JSON.parse(stdout)).toEqual({
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
  const options = { runtimeEnv: { python: environment("0.165.0"), envVars: { FASTAPI_LOG: new Log(folder).file } } };
  await serve.run(serve.deployment(python.actor(FILE, "starlette", options)).bind(), { name: "starlette", routePrefix: "/star" });
  expect(await (await fetch(`${address}/star/hello`)).text()).toBe(`hello from ${address}/star/hello`);
  expect((await fetch(`${address}/star/inner/hello`)).status).toBe(200);
});
