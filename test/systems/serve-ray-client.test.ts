/**
 * The REST API of Serve, driven by Ray's own `ServeSubmissionClient`. Two configurations that Ray has published, with only the import paths
 * and environments changed, are read back by Ray's own models. A third has numbers of replicas and autoscaling. Prometheus' own parser
 * reads `/metrics`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { init, shutdown } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { REPOSITORY } from "../house/source-files.ts";
import { rayPrograms } from "./ray-environment.ts";

const project = mkdtempSync(join(REPOSITORY, "test", "serve-ray-"));

const APP = `
import * as serve from "shoal/serve";

class Translator {
  #language = "none";
  reconfigure({ language }: { language: string }) { this.#language = language; }
  translate(text: string) { return this.#language + ": " + text; }
  async fetch(request: Request) { return this.translate((await request.json()) as string); }
}
class Summarizer {
  #translator: serve.Handle<typeof Translator>;
  constructor(translator: serve.Handle<typeof Translator>) { this.#translator = translator; }
  async fetch(request: Request) { return await this.#translator.translate.remote(((await request.json()) as string).slice(0, 5)); }
}
export const textMl = serve.deployment(Summarizer).bind(serve.deployment(Translator).bind());

class ImageClassifier {
  #downloader: serve.Handle<any>;
  constructor(downloader: serve.Handle<any>) { this.#downloader = downloader; }
  async fetch(request: Request) { return { picture: await this.#downloader.remote((await request.json()) as string) }; }
}
const downloader = serve.deployment((url: string) => "the picture of " + url, { name: "downloader" });
export const imageClassifier = serve.deployment(ImageClassifier).bind(downloader.bind());
export const textTranslator = serve.deployment(Translator).bind();

export class Stand {
  #price = 0;
  reconfigure({ price }: { price: number }) { this.#price = price; }
  check(amount: number) { return this.#price * amount; }
}
export class FruitMarket {
  #stands: Record<string, serve.Handle<typeof Stand>>;
  constructor(mango: serve.Handle<typeof Stand>, orange: serve.Handle<typeof Stand>, pear: serve.Handle<typeof Stand>) {
    this.#stands = { MANGO: mango, ORANGE: orange, PEAR: pear };
  }
  async fetch(request: Request) {
    const [fruit, amount] = (await request.json()) as [string, number];
    return { price: await this.#stands[fruit]!.check.remote(amount) };
  }
}
const stand = (name: string) => serve.deployment(Stand, { name }).bind();
export const fruit = serve.deployment(FruitMarket).bind(stand("MangoStand"), stand("OrangeStand"), stand("PearStand"));
class Adder { fetch() { return "9 pizzas please!"; } }
export const conditional = serve.deployment(Adder).bind();
`;

/** The file that `serve build` has written in Ray's guide, as it stands there: `doc/source/serve/production-guide/config.md` of ray-project/ray. */
const PUBLISHED_TEXT_ML = `
proxy_location: EveryNode
http_options:
  host: 0.0.0.0
  port: 8000
grpc_options:
  port: 9000
  grpc_servicer_functions: []
applications:
- name: default
  route_prefix: /
  import_path: text_ml:app
  runtime_env:
    pip:
      - torch
      - transformers
  deployments:
  - name: Translator
    num_replicas: 1
    user_config:
      language: french
  - name: Summarizer
`;

/** The one of Ray's guide to several applications: `doc/source/serve/multi-app.md` of ray-project/ray. */
const PUBLISHED_MULTI_APP = `
proxy_location: EveryNode
http_options:
  host: 0.0.0.0
  port: 8000
grpc_options:
  port: 9000
  grpc_servicer_functions: []
logging_config:
  encoding: JSON
  log_level: INFO
  logs_dir: null
  enable_access_log: true
applications:
  - name: app1
    route_prefix: /classify
    import_path: image_classifier:app
    runtime_env: {}
    deployments:
      - name: downloader
      - name: ImageClassifier
  - name: app2
    route_prefix: /translate
    import_path: text_translator:app
    runtime_env: {}
    deployments:
      - name: Translator
`;

const EXCHANGED: Readonly<Record<string, string>> = {
  "text_ml:app": "app.ts:textMl",
  "image_classifier:app": "app.ts:imageClassifier",
  "text_translator:app": "app.ts:textTranslator",
};

/** A published configuration with the import paths and environments of this project. The address stays as it is: proxies that listen already keep theirs, as with Ray. */
function exchanged(published: string): object {
  const config = parse(published) as { applications: { import_path: string; runtime_env: object }[] };
  for (const application of config.applications) {
    application.import_path = EXCHANGED[application.import_path] as string;
    application.runtime_env = { working_dir: `local://${project}` };
  }
  return config;
}

/** With numbers of replicas, resources and autoscaling. */
const FRUIT = `
applications:
- name: fruit
  route_prefix: /fruit
  import_path: app.ts:fruit
  runtime_env: { working_dir: "local://${project}" }
  deployments:
  - name: MangoStand
    num_replicas: 1
    user_config: { price: 3 }
    ray_actor_options: { num_cpus: 0.1 }
  - name: OrangeStand
    num_replicas: 1
    user_config: { price: 2 }
    ray_actor_options: { num_cpus: 0.1 }
  - name: PearStand
    num_replicas: 1
    user_config: { price: 4 }
    ray_actor_options: { num_cpus: 0.1 }
  - name: FruitMarket
    num_replicas: 2
    ray_actor_options: { num_cpus: 0.1 }
- name: math
  route_prefix: /math
  import_path: app.ts:conditional
  runtime_env: { working_dir: "local://${project}" }
  deployments:
  - name: Adder
    autoscaling_config: { min_replicas: 1, max_replicas: 2, target_ongoing_requests: 1.5 }
    ray_actor_options: { num_cpus: 0.1 }
`;

let child: ChildProcess;
const lines: string[] = [];
let errors = "";

beforeAll(async () => {
  writeFileSync(join(project, "app.ts"), APP);
  await init({ numCpus: 4, logToDriver: false });
});
afterAll(async () => {
  child?.kill();
  await serve.shutdown();
  await shutdown();
  rmSync(project, { recursive: true, force: true });
});

interface Details {
  location: string | null;
  proxies: string[];
  applications: Record<
    string,
    {
      status: string;
      message: string;
      deployments: Record<string, [string, number, string[]]>;
      scaling: Record<string, string>;
      dead: number;
    }
  >;
  ports: number[];
  capacity: number | null;
  loops: number;
  restores: boolean;
}

async function client<T>(command: object): Promise<T> {
  child.stdin?.write(`${JSON.stringify(command)}\n`);
  while (lines.length === 0) {
    if (child.exitCode !== null) throw new Error(`Ray's client ended: ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return JSON.parse(lines.shift() as string) as T;
}

async function until(isReached: (details: Details) => boolean): Promise<Details> {
  for (;;) {
    const details = await client<Details>({ do: "details" });
    if (isReached(details)) return details;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function running(): Promise<Details> {
  return until(({ applications }) => {
    const statuses = Object.values(applications).map(({ status }) => status);
    return statuses.length > 0 && statuses.every((status) => status !== "DEPLOYING");
  });
}

async function ask(port: number | undefined, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  return text.startsWith("{") ? JSON.parse(text) : text;
}

test("Ray's client deploys configurations that Ray has published, reads them back by its models, and deletes all", {
  timeout: 600_000,
}, async () => {
  const { api } = await serve.start({ httpOptions: { port: 0 }, apiOptions: { port: 0 } });
  const script = join(REPOSITORY, "test", "systems", "python", "serve_client.py");
  child = spawn(join(rayPrograms(), "python"), [script, api?.address ?? ""], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, RAY_AUTH_MODE: "token", RAY_AUTH_TOKEN: api?.token ?? "" },
  });
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => lines.push(line));
  child.stderr?.on("data", (piece: Buffer) => (errors += piece.toString()));

  expect(await client({ do: "details" })).toMatchObject({ location: "EveryNode", proxies: ["HEALTHY"], applications: {} });
  expect(await client({ do: "deploy", config: exchanged(PUBLISHED_TEXT_ML) })).toBe("taken");
  const first = await running();
  expect(first.applications).toEqual({
    default: {
      status: "RUNNING",
      message: "",
      source: "declarative",
      route: "/",
      importPath: "app.ts:textMl",
      calls: { Translator: [], Summarizer: ["Translator"] },
      scaling: {},
      dead: 0,
      deployments: { Summarizer: ["HEALTHY", 1, ["RUNNING"]], Translator: ["HEALTHY", 1, ["RUNNING"]] },
    },
  });
  expect(await ask(first.ports[0], "/", "hello, world")).toBe("french: hello");

  expect(await client({ do: "deploy", config: exchanged(PUBLISHED_MULTI_APP) })).toBe("taken");
  const several = await running();
  expect(
    // In the order in which they were built.
    Object.entries(several.applications)
      .map(([name, { status, deployments }]) => [name, status, Object.keys(deployments).sort()])
      .sort(([one], [other]) => String(one).localeCompare(String(other))),
  ).toEqual([
    ["app1", "RUNNING", ["ImageClassifier", "downloader"]],
    ["app2", "RUNNING", ["Translator"]],
  ]);
  expect(await ask(several.ports[0], "/classify", "http://a/b.jpg")).toEqual({ picture: "the picture of http://a/b.jpg" });
  expect(await ask(several.ports[0], "/translate", "hello")).toBe("none: hello");

  expect(await client({ do: "deploy", config: parse(FRUIT) })).toBe("taken");
  const second = await running();
  expect(Object.fromEntries(Object.entries(second.applications).map(([name, { status, message }]) => [name, [status, message]]))).toEqual({
    fruit: ["RUNNING", ""],
    math: ["RUNNING", ""],
  });
  expect(await ask(second.ports[0], "/fruit", ["ORANGE", 3])).toEqual({ price: 6 });
  expect(await ask(second.ports[0], "/math", null)).toBe("9 pizzas please!");
  expect(second.applications["math"]?.scaling).toEqual({ Adder: "STABLE" });
  expect(second).toMatchObject({ capacity: null, restores: true });
  expect(second.loops).toBeGreaterThan(0);
  // Half of the replicas, as Ray rounds them.
  expect(await client({ do: "deploy", config: { ...parse(FRUIT), target_capacity: 50 } })).toBe("taken");
  const half = await until(({ applications }) => {
    const { dead, deployments } = applications["fruit"] ?? {};
    // The other replica takes its new rank meanwhile.
    return dead === 1 && deployments?.["FruitMarket"]?.[0] === "HEALTHY";
  });
  expect(half.capacity).toBe(50);
  expect(half.applications["fruit"]?.deployments).toMatchObject({
    FruitMarket: ["HEALTHY", 1, ["RUNNING"]],
    MangoStand: ["HEALTHY", 1, ["RUNNING"]],
  });
  expect(await client<string[]>({ do: "metrics" })).toEqual(
    expect.arrayContaining([
      "serve_num_http_requests:counter",
      "serve_deployment_processing_latency_ms:histogram",
      "serve_autoscaling_target_replicas:gauge",
    ]),
  );

  const refused = await client<string>({ do: "deploy", config: { applications: [{ name: "a", import_path: "app.ts:fruit" }] } });
  expect(refused).toMatch(/status code 400: .*applications\[0\]\.import_path: a whole path is needed/s);
  await client({ do: "delete" });
  expect(await client({ do: "details" })).toMatchObject({ proxies: [], applications: {} });
});
