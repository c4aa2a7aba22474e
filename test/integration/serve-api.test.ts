/** The REST API of Serve and `/metrics`: a configuration that is put, changed, broken and deleted over HTTP, who may ask, and a controller that dies in between. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { actors } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, afterEach, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { ask } from "./serve-client.ts";
import { failureOf, until, useSession } from "./session.ts";

useSession({ numCpus: 6 });
// Inside of the repository: the project finds the package by its name. A space in its name is a path's own.
const project = mkdtempSync(join(REPOSITORY, "test", "serve api-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));
afterEach(() => serve.shutdown());

const APPLICATIONS = "/api/serve/applications/";
const app = (word: string): string => `
import * as serve from "shoal/serve";
class Greeter {
  #counted = new serve.metrics.Counter("greetings", { tagKeys: ["name"] });
  #level = 0;
  reconfigure({ level }: { level: number }) { this.#level = level; }
  fetch(request: Request) {
    this.#counted.inc(1, { name: new URL(request.url).searchParams.get("name") ?? 'a "b"' });
    return "${word} " + this.#level + (process.env.MOOD ?? "");
  }
}
export const build = ({ fails }: { fails?: boolean }) => {
  if (fails) throw new RangeError("no model of this name");
  return serve.deployment(Greeter, { userConfig: { level: 1 } }).bind();
};
`;
const config = (level: number, more: object = {}): object => ({
  http_options: { port: 0 },
  applications: [
    {
      name: "greet",
      route_prefix: "/greet",
      import_path: "app.ts:build",
      runtime_env: { working_dir: project, env_vars: { MOOD: "!", KEY: "sk-application" } },
      deployments: [
        { name: "Greeter", user_config: { level }, ray_actor_options: { runtime_env: { env_vars: { KEY: "sk-deployment" } } } },
      ],
      ...more,
    },
  ],
});

interface Details {
  proxies: Record<string, { status: string }>;
  applications: Record<
    string,
    {
      status: string;
      message: string;
      source: string;
      deployed_app_config: object;
      deployments: Record<string, { replicas: { state: string; replica_id: string }[] }>;
    }
  >;
  target_groups: { targets: { port: number }[] }[];
}

class Client {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor({ address, token }: { address: string; token: string }) {
    this.address = address;
    this.headers = { authorization: `Bearer ${token}` };
  }
  ask(path: string, options: { method?: string; body?: string } = {}): ReturnType<typeof ask> {
    return ask(this.address, path, { ...options, headers: this.headers });
  }
  put(body: unknown): ReturnType<typeof ask> {
    return this.ask(APPLICATIONS, { method: "PUT", body: typeof body === "string" ? body : JSON.stringify(body) });
  }
  async details(query = ""): Promise<Details> {
    return JSON.parse((await this.ask(APPLICATIONS + query)).body) as Details;
  }
  async until(status: string, name = "greet"): Promise<Details["applications"][string]> {
    let found: Details["applications"][string] | undefined;
    await until(async () => {
      found = (await this.details()).applications[name];
      return found !== undefined && found.status !== "DEPLOYING";
    }, `application ${name} to be ${status}`);
    if (found?.status !== status) throw new Error(`application ${name} is ${found?.status}, and not ${status}: ${JSON.stringify(found)}`);
    return found;
  }
  /** The address at which a proxy listens, once the controller knows. */
  async proxy(): Promise<string> {
    let port: number | undefined;
    await until(async () => (port = (await this.details()).target_groups[0]?.targets[0]?.port) !== undefined, "a proxy to listen");
    return `http://127.0.0.1:${port}`;
  }
}

async function opened(): Promise<Client> {
  const { api } = await serve.start({ httpOptions: { port: 0 }, apiOptions: { port: 0 } });
  if (api === undefined) throw new Error("the API is not open");
  return new Client(api);
}

test("a configuration is put, changed in place, loaded anew, broken, and deleted", async () => {
  writeFileSync(join(project, "app.ts"), app("hello"));
  const client = await opened();
  expect(await client.put(config(3))).toMatchObject({ status: 200, body: "" });
  const running = await client.until("RUNNING");
  expect(running).toMatchObject({ source: "declarative", message: "", deployments: { Greeter: { replicas: [{ state: "RUNNING" }] } } });
  expect((await ask(await client.proxy(), "/greet")).body).toBe("hello 3!");
  expect(await serve.deployedConfig()).toBe(JSON.stringify(config(3)));
  // Other users of the machine may ask: they read the names of variables, and no value.
  expect(running.deployed_app_config).toMatchObject({
    runtime_env: { env_vars: { MOOD: "***", KEY: "***" } },
    deployments: [{ name: "Greeter", ray_actor_options: { runtime_env: { env_vars: { KEY: "***" } } } }],
  });
  expect((await client.ask(APPLICATIONS)).body).not.toContain("sk-");
  // Code that has changed is loaded anew.
  writeFileSync(join(project, "app.ts"), app("bonjour"));
  await client.put(config(4));
  await until(async () => (await ask(await client.proxy(), "/greet")).body === "bonjour 4!", "the new code to answer");
  // A program's applications are told apart, and ended by a configuration that does not name them.
  await serve.run(serve.deployment(() => "mine", { name: "Mine" }).bind(), { name: "mine", routePrefix: "/mine" });
  expect(Object.keys((await client.details("?api_type=IMPERATIVE")).applications)).toEqual(["mine"]);
  await client.put(config(4, { args: { fails: true } }));
  expect((await client.until("DEPLOY_FAILED")).message).toBe("RangeError: no model of this name");
  expect((await serve.status()).applications["greet"]).toMatchObject({ status: "DEPLOY_FAILED" });
  // The former version serves on.
  expect((await ask(await client.proxy(), "/greet")).body).toBe("bonjour 4!");
  await until(async () => (await client.details()).applications["mine"] === undefined, "the other application to end");
  expect(await client.ask(APPLICATIONS, { method: "DELETE" })).toMatchObject({ status: 200, body: "" });
  expect(await client.details()).toMatchObject({ applications: {}, proxies: {} });
  // Proxies that start anew have the services of gRPC that the configuration names.
  const grpc = { grpc_options: { port: 0, grpc_servicer_functions: [`${join(import.meta.dirname, "grpc", "shop.proto")}:shop.v1.Shop`] } };
  expect(await client.put({ ...config(5), ...grpc })).toMatchObject({ status: 200 });
  await client.until("RUNNING");
  expect((await ask(await client.proxy(), "/greet")).body).toBe("bonjour 5!");
  await until(async () => (await client.details()).target_groups.length === 2, "the proxy to listen for gRPC");
  expect(await client.details()).toMatchObject({
    grpc_options: { grpc_servicer_functions: ["shop.proto:shop.v1.Shop"], enable_reflection: true },
    target_groups: [{ protocol: "HTTP" }, { protocol: "gRPC", targets: [{ port: expect.any(Number) }] }],
  });
});

test("a configuration that is put again keeps all replicas; where a module has changed, those that load it are new", async () => {
  const say = (word: string): void => writeFileSync(join(project, "word.ts"), `export const word = ${JSON.stringify(word)};\n`);
  // The first class is sent by its module's name, the second with its text.
  const text = `
import * as serve from "shoal/serve";
import { word } from "./word.ts";
export class Named {
  #own: serve.Handle<typeof Own>;
  constructor(own: serve.Handle<typeof Own>) { this.#own = own; }
  async fetch() { return word + " " + (await this.#own.mark.remote()); }
}
class Own {
  mark() { return "!"; }
}
export const app = serve.deployment(Named).bind(serve.deployment(Own).bind());
`;
  writeFileSync(join(project, "versions.ts"), text);
  say("hello");
  const client = await opened();
  const put = async (): Promise<Record<string, unknown>> => {
    const application = { name: "versions", import_path: "versions.ts:app", runtime_env: { working_dir: project } };
    expect(await client.put({ http_options: { port: 0 }, applications: [application] })).toMatchObject({ status: 200 });
    const { deployments } = await client.until("RUNNING", "versions");
    return Object.fromEntries(Object.entries(deployments).map(([name, { replicas }]) => [name, replicas.map((one) => one.replica_id)]));
  };
  const first = await put();
  expect((await ask(await client.proxy(), "/")).body).toBe("hello !");
  expect(await put()).toEqual(first);
  say("bonjour");
  const second = await put();
  expect((await ask(await client.proxy(), "/")).body).toBe("bonjour !");
  expect(second["Named"]).not.toEqual(first["Named"]);
  expect(second["Own"]).toEqual(first["Own"]);
  writeFileSync(join(project, "versions.ts"), text.replace('"!"', '"?"'));
  expect((await put())["Own"]).not.toEqual(first["Own"]);
  expect((await ask(await client.proxy(), "/")).body).toBe("bonjour ?");
});

test("the API answers again, at the same place, after its controller has died", async () => {
  writeFileSync(join(project, "app.ts"), app("hello"));
  const client = await opened();
  await client.put({ ...config(3), target_capacity: 50 });
  await client.until("RUNNING");
  const proxy = await client.proxy();
  const controller = (await actors({ namespace: "shoal.serve" })).find(({ name }) => name === "SERVE_CONTROLLER");
  process.kill(controller?.pid ?? 0, "SIGKILL");
  await until(
    () =>
      client.details().then(
        ({ applications }) => applications["greet"]?.status === "RUNNING",
        () => false,
      ),
    "the API to know its application again",
  );
  expect(await client.details()).toMatchObject({ applications: { greet: { source: "declarative" } }, target_capacity: 50 });
  expect(await client.proxy()).toBe(proxy);
  await client.put(config(6));
  await until(async () => (await ask(proxy, "/greet")).body === "hello 6!", "the next configuration to hold");
});

test("the API and /metrics come back after another program has had their port for a moment", async () => {
  const client = await opened();
  const controller = (await actors({ namespace: "shoal.serve" })).find(({ name }) => name === "SERVE_CONTROLLER");
  process.kill(controller?.pid ?? 0, "SIGKILL");
  const other = createServer();
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        other.once("error", () => resolve(false));
        other.listen(Number(new URL(client.address).port), "127.0.0.1", () => resolve(true));
      }),
    "the port to be taken",
  );
  const health = async (): Promise<{ pid: number; apiAddress: string | undefined } | undefined> =>
    await serve.controllerHealth().catch(() => undefined);
  await until(async () => ![undefined, controller?.pid].includes((await health())?.pid), "the next controller");
  expect(await health()).toMatchObject({ apiAddress: undefined });
  expect(await serve.restApi()).toBeUndefined();
  await new Promise((resolve) => other.close(resolve));
  await until(async () => (await health())?.apiAddress === client.address, "the API to listen again");
  expect((await client.ask("/metrics")).status).toBe(200);
  expect((await client.details()).applications).toEqual({});
});

test("what is wrong with a request is told with Ray's statuses", async () => {
  const client = await opened();
  const putting = async (body: unknown): Promise<[number, string]> => {
    const { status, body: text } = await client.put(body);
    return [status, text];
  };
  expect(await putting("applications: []")).toEqual([400, expect.stringContaining("Cannot read the request's body: JSON is needed")]);
  expect(await putting({ applications: [{ import_path: "/a.ts:b", replicas: 2 }] })).toEqual([
    400,
    expect.stringContaining("applications[0].replicas: there is no such key"),
  ]);
  expect(await putting({ ...config(1), grpc_options: { grpc_servicer_functions: ["shop.proto:shop.v1.Shop"] } })).toEqual([
    400,
    expect.stringContaining("grpc_options.grpc_servicer_functions: a .proto file is named by its whole path"),
  ]);
  expect(await putting({ ...config(1), grpc_options: { grpc_servicer_functions: ["/none.proto:shop.v1.Shop"] } })).toEqual([
    400,
    expect.stringContaining("Cannot read the .proto file of a service"),
  ]);
  expect(await putting(config(1, { runtime_env: { working_dir: "here" } }))).toEqual([
    400,
    'Cannot read the configuration: applications[0].runtime_env.working_dir: a whole path is needed, as there is no folder to begin from: give runtime_env.working_dir as /FOLDER or local:///FOLDER: received "here"',
  ]);
  expect(await putting("x".repeat(5_000_000))).toEqual([413, expect.stringContaining("at most 1000000 bytes")]);
  expect(await client.ask(`${APPLICATIONS}?api_type=x`)).toMatchObject({ status: 400 });
  expect(await client.ask(APPLICATIONS, { method: "POST" })).toMatchObject({
    status: 405,
    headers: { allow: "GET, PUT, DELETE" },
  });
  expect((await client.ask("/api/jobs/")).status).toBe(404);
  expect(JSON.parse((await client.ask("/api/ray/version")).body)).toMatchObject({ version: "4" });
});

test("web pages and other machines are kept out", async () => {
  const client = await opened();
  const withHeaders = (headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request(`${client.address}${APPLICATIONS}`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
  const { authorization = "" } = client.headers;
  expect(await withHeaders({ authorization, origin: "http://evil.example" })).toBe(403);
  expect(await withHeaders({ authorization, host: "localhost" })).toBe(200);
  expect(await withHeaders({ host: "localhost" })).toBe(401);
  for (const path of [APPLICATIONS, "/api/ray/version", "/api/version", "/metrics", "/nowhere"])
    for (const method of ["GET", "PUT", "DELETE"]) {
      const headers: Record<string, string>[] = [
        {},
        { authorization: "Bearer wrong" },
        { authorization: `Basic ${authorization.slice(7)}` },
      ];
      for (const header of headers)
        expect(await ask(client.address, path, { method, headers: header })).toMatchObject({
          status: 401,
          headers: { "www-authenticate": "Bearer" },
        });
    }
  expect(await serve.restApi()).toEqual({ address: client.address, token: authorization.slice(7) });
  await serve.shutdown();
  expect(await serve.restApi()).toBeUndefined();
  expect((await failureOf(serve.start({ apiOptions: { requireToken: false } as object }))).message).toContain("always asks for a token");
  const token = "given-by-its-owner";
  const { api } = await serve.start({ httpOptions: { port: 0 }, apiOptions: { host: "0.0.0.0", port: 0, token } });
  expect(api?.token).toBe(token);
  const address = `http://127.0.0.1:${new URL(api?.address ?? "").port}`;
  expect(await ask(address, APPLICATIONS, { headers: { authorization: `Bearer ${token}` } })).toMatchObject({ status: 200 });
});

test("a PUT with as many keys as a configuration can have is answered at once", async () => {
  const client = await opened();
  const args = Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`k${index}`, 1]));
  const sinceMs = performance.now();
  const { status, body } = await client.put({ applications: [{ import_path: "a.ts:app", ...args }] });
  expect([status, body]).toEqual([400, expect.stringContaining("there is no such key")]);
  // With the square of the keys the controller stood still for a minute.
  expect(performance.now() - sinceMs).toBeLessThan(15_000);
});

test("metrics of all processes are in Prometheus' format, with Ray's names and users' own", async () => {
  writeFileSync(join(project, "app.ts"), app("hello"));
  const client = await opened();
  await client.put(config(1));
  await client.until("RUNNING");
  const proxy = await client.proxy();
  for (let index = 0; index < 3; index += 1) expect((await ask(proxy, "/greet?name=ada")).status).toBe(200);
  await ask(proxy, "/greet");
  await ask(proxy, "/nowhere");
  const { status, body, headers } = await client.ask("/metrics");
  expect([status, headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  const line = (name: string, ...labels: string[]): string | undefined =>
    body
      .split("\n")
      .find((one) => one.startsWith(`${name}{`) && labels.every((label) => one.includes(label)))
      ?.split("} ")[1];
  expect(line("serve_num_http_requests", 'application="greet"', 'method="GET"', 'status_code="200"')).toBe("4");
  expect(line("serve_num_http_error_requests", 'status_code="404"')).toBe("1");
  expect(line("serve_http_request_latency_ms_count", 'application="greet"')).toBe("4");
  expect(line("serve_deployment_request_counter", 'deployment="Greeter"')).toBe("4");
  expect(Number(line("serve_deployment_max_processing_latency_ms", 'deployment="Greeter"'))).toBeGreaterThan(0);
  expect(line("serve_request_router_fulfillment_time_ms_count", 'deployment="Greeter"', 'proxy="')).toBe("4");
  expect(line("serve_request_router_queue_len", 'deployment="Greeter"', 'proxy="', 'replica_id="greet#Greeter#')).toBe("0");
  expect(line("serve_autoscaling_target_replicas", 'application="greet"', 'deployment="Greeter"')).toBe("1");
  expect(line("serve_deployment_replica_healthy", 'deployment="Greeter"')).toBe("1");
  expect(line("serve_deployment_queued_queries", 'application="greet"')).toBe("0");
  expect(line("greetings", 'name="ada"', 'deployment="Greeter"')).toBe("3");
  expect(line("greetings", 'name="a \\"b\\""')).toBe("1");
});

test("a port that another program has is an error with the way out, after which another port is taken", async () => {
  const other = createServer();
  const port = await new Promise<number>((resolve) => other.listen(0, "127.0.0.1", () => resolve((other.address() as AddressInfo).port)));
  try {
    const failure = await failureOf(serve.start({ httpOptions: { port } }));
    expect(failure).toBeInstanceOf(serve.ListenError);
    expect(failure.message).toBe(`Cannot listen on 127.0.0.1:${port}: another program has the port`);
    const { address } = await serve.start({ httpOptions: { port: 0 }, development: true });
    expect((await ask(address ?? "", "/-/healthz")).status).toBe(200);
    // The other options of this start hold as well.
    class Broken {
      fetch(): never {
        throw new Error("clients see this");
      }
    }
    await serve.run(serve.deployment(Broken).bind());
    expect(await ask(address ?? "", "/")).toMatchObject({ status: 500, body: expect.stringContaining("clients see this") });
  } finally {
    other.close();
  }
});
