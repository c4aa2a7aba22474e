/** Configurations and the commands of `shoal serve`, as a user runs them: a project with its own files, `run` with `--reload`, `build`, and a configuration that is deployed twice. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import * as serve from "shoal/serve";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { ask } from "./serve-client.ts";
import { failureOf, Log, until, useSession } from "./session.ts";
import { SHOAL } from "./shoal-program.ts";

// The tests read replicas' output.
useSession({ numCpus: 6, logToDriver: true });
// Inside of the repository: the project finds the package by its name.
const project = mkdtempSync(join(REPOSITORY, "test", "serve-project-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));
afterEach(() => serve.shutdown());

const APP = `
import * as serve from "shoal/serve";
import { greeting } from "./lib/greeting.ts";

class Greeter {
  #level = 0;
  reconfigure({ level }: { level: number }) { this.#level = level; }
  greet(name: string) { return greeting + ", " + name + "! " + this.#level + (process.env.MOOD ?? ""); }
}
class Front {
  #greeter: serve.Handle<typeof Greeter>;
  #name: string;
  constructor(greeter: serve.Handle<typeof Greeter>, name: string) { this.#greeter = greeter; this.#name = name; }
  fetch() { return this.#greeter.greet.remote(this.#name); }
}
const build = (name: string) => serve.deployment(Front).bind(serve.deployment(Greeter, { userConfig: { level: 1 } }).bind(), name);
export const app = build("world");
export const builder = ({ name = "nobody" }: { name?: string }) => build(name);
`;
mkdirSync(join(project, "lib"));
writeFileSync(join(project, "app.ts"), APP);
const say = (greeting: string): void =>
  writeFileSync(join(project, "lib", "greeting.ts"), `export const greeting = ${JSON.stringify(greeting)};\n`);
say("Hello");

const config = (level: number, second: string): string => `
http_options: { port: 0, root_path: /api }
applications:
- name: greet
  import_path: app.ts:builder
  args: { name: Ada }
  runtime_env: { env_vars: { MOOD: " :)" } }
  deployments:
  - name: Greeter
    num_replicas: 2
    user_config: { level: ${level} }
${second}`;

test("a configuration is deployed, changed in place, and what it does not name is ended", async () => {
  const other = "- { name: other, route_prefix: /other, import_path: 'app.ts:app' }";
  const { address = "" } = await serve.deployConfig(config(3, other), { folder: project });
  expect((await ask(address, "/api")).body).toBe("Hello, Ada! 3 :)");
  expect((await ask(address, "/api/other")).body).toBe("Hello, world! 1");
  expect((await serve.status()).applications["greet"]?.deployments["Greeter"]?.replicaStates).toEqual({ RUNNING: 2 });
  await serve.deployConfig(config(4, ""), { folder: project });
  expect((await ask(address, "/api")).body).toBe("Hello, Ada! 4 :)");
  expect(Object.keys((await serve.status()).applications)).toEqual(["greet"]);
  expect(await serve.deployedConfig()).toBe(config(4, ""));
  // Errors of a configuration are found before anything changes.
  for (const [text, message] of [
    [config(5, "- { name: x, route_prefix: /x, import_path: 'app.ts:none' }"), "app.ts exports no none: it exports app, builder"],
    [config(5, "- { name: x, route_prefix: /x, import_path: 'none.ts:app' }"), "there is no file"],
    [
      config(5, "- { name: x, route_prefix: /x, import_path: 'app.ts:app', deployments: [{ name: Nobody }] }"),
      'line 12: applications[1].deployments[0]: the application has no deployment "Nobody": it has Front, Greeter',
    ],
    [
      config(
        5,
        "- { name: x, route_prefix: /x, import_path: 'app.ts:app', deployments: [{ name: Greeter, gang_scheduling_config: { gang_size: 1 }, ray_actor_options: { num_cpus: 0 } }] }",
      ),
      "line 12: applications[1].deployments[0]: Cannot make deployment Greeter: replicas of a gang run in a placement group, which reserves resources, and actorOptions ask for none: give numCpus",
    ],
    [
      `tracing_config: { exporter_import_path: "my.tracing:setup" }\n${config(5, "")}`,
      "Cannot load my.tracing:setup: it names a function of Python, and one of TypeScript or JavaScript is needed here",
    ],
    [config(5, "- { name: greet, import_path: 'app.ts:app' }"), 'line 12: applications[1].name: another application has the name "greet"'],
  ] as const)
    expect((await failureOf(serve.deployConfig(text, { folder: project }))).message).toContain(message);
  expect((await ask(address, "/api")).body).toBe("Hello, Ada! 4 :)");
  // A part of the replicas runs; where that is none, requests wait.
  const replicas = async (): Promise<object | undefined> =>
    (await serve.status()).applications["greet"]?.deployments["Greeter"]?.replicaStates;
  await serve.deployConfig(config(4, "target_capacity: 50\n"), { folder: project });
  await until(async () => isDeepStrictEqual(await replicas(), { RUNNING: 1 }), "half of the replicas");
  await serve.deployConfig(config(4, "target_capacity: 0\n"), { folder: project });
  await until(async () => isDeepStrictEqual(await replicas(), {}), "no replica");
  const held = ask(address, "/api");
  await serve.deployConfig(config(4, ""), { folder: project });
  expect((await held).body).toBe("Hello, Ada! 4 :)");
  expect(await replicas()).toEqual({ RUNNING: 2 });
});

test("a policy of a configuration says how many replicas there are, with the arguments that the file gives; a router chooses among them", async () => {
  const policy = `export const fixed = ({ currentReplicas }: { currentReplicas: number }, { wanted = 1 }: { wanted?: number } = {}) => currentReplicas < wanted ? wanted : wanted;\n`;
  const router = `export class First { 
  constructor({ sign }: { sign: number }) { this.sign = sign; }
  sign: number;
  chooseReplicas(_request: unknown, candidates: { id: string }[]) { return candidates.toSorted((a, b) => (a.id < b.id ? -this.sign : this.sign)); }
}\n`;
  writeFileSync(join(project, "policies.ts"), policy + router);
  const scaled = `http_options: { port: 0 }
applications:
- import_path: app.ts:app
  deployments:
  - name: Greeter
    autoscaling_config:
      min_replicas: 1
      max_replicas: 4
      upscale_delay_s: 0.1
      policy: { policy_function: "policies.ts:fixed", policy_kwargs: { wanted: 3 } }
    request_router_config: { request_router_class: "policies.ts:First", request_router_kwargs: { sign: 1 } }
`;
  const { address = "" } = await serve.deployConfig(scaled, { folder: project });
  await until(
    async () => (await serve.status()).applications["default"]?.deployments["Greeter"]?.replicaStates.RUNNING === 3,
    "three replicas",
  );
  expect(
    (await failureOf(serve.deployConfig(scaled.replace("policies.ts:fixed", "policies.ts:none"), { folder: project }))).message,
  ).toContain("policies.ts exports no none: it exports");
  expect((await ask(address, "/")).body).toBe("Hello, world! 1");
});

test("a request that takes longer than it may is answered with 504, and what it called ends at its deadline, at any depth", async () => {
  const log = new Log(project);
  const text = `
import { appendFileSync } from "node:fs";
import { getRuntimeContext } from "shoal";
import * as serve from "shoal/serve";
class Last {
  async wait(file: string) {
    const { signal } = getRuntimeContext();
    appendFileSync(file, "begun\\n");
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    appendFileSync(file, "ended\\n");
  }
}
// Answers before its own call does: only the deadline ends that call.
class Middle {
  #last: serve.Handle<typeof Last>;
  constructor(last: serve.Handle<typeof Last>) { this.#last = last; }
  begin(file: string) { this.#last.wait.remote(file); }
}
class Front {
  #middle: serve.Handle<typeof Middle>;
  constructor(middle: serve.Handle<typeof Middle>) { this.#middle = middle; }
  async fetch({ url, signal }: Request) {
    if (url.endsWith("/slow")) return await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await this.#middle.begin.remote(decodeURIComponent(new URL(url).search.slice(1)));
    return "begun";
  }
}
export const app = serve.deployment(Front).bind(serve.deployment(Middle).bind(serve.deployment(Last).bind()));
`;
  writeFileSync(join(project, "deadlines.ts"), text);
  const limited = "http_options: { port: 0, request_timeout_s: 0.5 }\napplications:\n- import_path: deadlines.ts:app\n";
  const { address = "" } = await serve.deployConfig(limited, { folder: project });
  const slow = await ask(address, "/slow");
  expect([slow.status, JSON.parse(slow.body)]).toEqual([504, expect.objectContaining({ status: 504 })]);
  // The first calls connect the three, for which the time may be too short.
  const chain = async (file: string): Promise<string> => (await ask(address, `/chain?${encodeURIComponent(file)}`)).body;
  await until(async () => (await chain(new Log(project).file)) === "begun", "the three to know each other");
  const startMs = performance.now();
  expect(await chain(log.file)).toBe("begun");
  await until(() => log.lines.includes("ended"), "the call at the end of the chain to end");
  expect(log.lines).toEqual(["begun", "ended"]);
  expect(performance.now() - startMs).toBeGreaterThan(450);
});

test("a change behind an alias, in a linked package, or of an installed package's version replaces the replicas; one not deployed is warned of", async () => {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  };
  const install = (version: string, rate: number): void => {
    write("shop/node_modules/rates/index.js", `export const rate = ${rate};`);
    write(
      "shop/node_modules/rates/package.json",
      `{ "name": "rates", "version": "${version}", "type": "module", "exports": "./index.js" }`,
    );
  };
  write("shop/package.json", '{ "type": "module", "imports": { "#price": "./price.ts" } }');
  write(
    "shop/tell.ts",
    'import { price } from "#price"; import { rate } from "rates"; import { unit } from "units"; export const tell = () => `${price * rate} ${unit}`;',
  );
  write(
    "shop.ts",
    'import * as serve from "shoal/serve"; import { tell } from "./shop/tell.ts"; export class Shop { fetch() { return `${tell()} ${process.pid}`; } } export const app = serve.deployment(Shop).bind();',
  );
  write("units/package.json", '{ "name": "units", "type": "module", "exports": "./units.ts" }');
  install("1.0.0", 2);
  symlinkSync(join(project, "units"), join(project, "shop", "node_modules", "units"));
  write("units/units.ts", 'export const unit = "pounds";');
  write("shop/price.ts", "export const price = 10;");
  const told = async (): Promise<string[]> => {
    const text = "http_options: { port: 0 }\napplications: [{ name: shop, import_path: 'shop.ts:app' }]";
    const { address = "" } = await serve.deployConfig(text, { folder: project });
    return (await ask(address, "/")).body.split(" ");
  };
  const printed = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => printed.mockRestore());
  const said = (): string => printed.mock.calls.map(([text]) => String(text)).join("");
  const [price, unit, pid] = await told();
  expect([price, unit]).toEqual(["20", "pounds"]);
  expect(await told()).toEqual([price, unit, pid]);
  write("shop/price.ts", "export const price = 11;");
  expect((await told()).slice(0, 2)).toEqual(["22", "pounds"]);
  write("units/units.ts", 'export const unit = "pence";');
  expect((await told()).slice(0, 2)).toEqual(["22", "pence"]);
  install("1.0.1", 3);
  const third = await told();
  expect(third.slice(0, 2)).toEqual(["33", "pence"]);
  // No replica here had loaded a file that was changed since its deploy, however late it looked.
  expect(said()).not.toContain("runs other code than was deployed");
  // A replica that starts after a change that was not deployed says so.
  write("shop/price.ts", "export const price = 12;");
  // Clocks of file systems may be a little late.
  await delay(50);
  process.kill(Number(third[2]), "SIGKILL");
  const warning = /replica shop#Shop#\S+ runs other code than was deployed: \S+\/shop\/price\.ts has changed since\. Deploy again/;
  await until(() => warning.test(said()), "the warning");
});

test("shoal serve build writes a configuration that deploys", async () => {
  const { stdout, stderr, exitCode } = await runProgram([SHOAL, "serve", "build", "app.ts:app", "-d", ".."], { cwd: join(project, "lib") });
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("name: Greeter\n        num_replicas: 1\n");
  const { address = "" } = await serve.deployConfig(stdout.replace("8000", "0"), { folder: project });
  expect((await ask(address, "/")).body).toBe("Hello, world! 1");
});

test("an application of Python is built, deployed, and rolled out when a module that it imports changes", async () => {
  const write = (word: string): void => writeFileSync(join(project, "lib", "words.py"), `WORD = ${JSON.stringify(word)}\n`);
  write("Salve");
  const text = `
import json, os
from lib import words

async def app(scope, receive, send):
    assert scope["type"] == "http"
    body = " ".join([words.WORD, scope["root_path"], os.environ.get("MOOD", "")]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
`;
  writeFileSync(join(project, "main.py"), text);
  const { stdout, stderr, exitCode } = await runProgram([SHOAL, "serve", "build", "main:app"], { cwd: project });
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("import_path: main:app\n");
  expect(stdout).toContain("name: app\n        num_replicas: 1\n");
  const configuration = stdout
    .replace("8000", "0")
    .replace("runtime_env: {}", "runtime_env: { env_vars: { MOOD: calm } }")
    .replace("route_prefix: /", "route_prefix: /py");
  const { address = "" } = await serve.deployConfig(configuration, { folder: project });
  expect((await ask(address, "/py/x")).body).toBe("Salve /py calm");
  write("Buongiorno");
  await serve.deployConfig(configuration, { folder: project });
  await until(async () => (await ask(address, "/py/x")).body === "Buongiorno /py calm", "the new word");
  const missing = await failureOf(serve.deployConfig(configuration.replace("main:app", "nowhere:app"), { folder: project }));
  expect(missing.message).toContain("there is no file");
  expect(missing.message).toContain("nowhere.py");
});

test("shoal serve run --reload answers all the while, with the new code when a file changes and the old where that fails, and ends by a signal", async () => {
  const child = spawn(process.execPath, [SHOAL, "serve", "run", "app.ts:builder", "name=Bob", "--reload", "--port", "0"], {
    cwd: project,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let told = "";
  child.stderr.on("data", (chunk: Buffer) => (told += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  try {
    const addresses = (): string[] => Array.from(told.matchAll(/runs at (\S+)/g), ([, found = ""]) => found);
    await until(() => addresses().length === 1, "the application to run");
    expect((await ask(addresses()[0] ?? "", "/")).body).toBe("Hello, Bob! 1");
    const [address = ""] = addresses();
    const answers = new Set<string>();
    const asking = (async () => {
      while (child.exitCode === null && addresses().length < 3) answers.add((await ask(address, "/")).body);
    })();
    say("Good day");
    await until(() => addresses().length === 2, "the application to run again");
    expect((await ask(address, "/")).body).toBe("Good day, Bob! 1");
    writeFileSync(join(project, "lib", "greeting.ts"), "export const greeting = ;\n");
    await until(() => told.includes("greeting.ts"), "the mistake to be told");
    expect((await ask(address, "/")).body).toBe("Good day, Bob! 1");
    say("Good night");
    await until(() => addresses().length === 3, "the application to run again");
    expect((await ask(address, "/")).body).toBe("Good night, Bob! 1");
    await asking;
    expect(new Set(addresses())).toEqual(new Set([address]));
    expect([...answers]).toEqual(expect.arrayContaining(["Hello, Bob! 1", "Good day, Bob! 1"]));
    expect([...answers].filter((answer) => !/^(Hello|Good day|Good night), Bob! 1$/.test(answer))).toEqual([]);
  } finally {
    child.kill("SIGTERM");
  }
  expect(await ended).toBe(0);
  say("Hello");
});

test("commands refuse what cannot be meant", async () => {
  const run = (...args: string[]): ReturnType<typeof runProgram> => runProgram([SHOAL, "serve", ...args], { cwd: project });
  writeFileSync(join(project, "bad.yaml"), "applications:\n- import_path: app.ts:app\n  replicas: 2\n");
  const [bad, none, shutdown, words] = await Promise.all([
    run("run", "bad.yaml"),
    run("run", "app.ts"),
    run("shutdown"),
    run("run", "app.ts:app", "x"),
  ]);
  expect([bad.exitCode, bad.stderr]).toEqual([
    1,
    expect.stringMatching(/^shoal: Cannot read bad\.yaml: line 3: applications\[0\]\.replicas: there is no such key/),
  ]);
  expect(none.stderr).toContain('Cannot load app.ts: the export is missing\n  Write it as "app.ts:app"');
  expect([shutdown.exitCode, words.exitCode]).toEqual([2, 2]);
});
