/** The commands of `shoal serve` on a cluster that `shoal start` has started, from a folder with a space in its name. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type ProgramRun, runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { ask } from "./serve-client.ts";
import { until } from "./session.ts";
import { SHOAL, useShoal } from "./shoal-program.ts";

const { environment, program, startHead } = useShoal();
// Inside of the repository: the project finds the package by its name.
const project = mkdtempSync(join(REPOSITORY, "test", "serve project-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));
const serve = (...args: string[]): Promise<ProgramRun> => runProgram([SHOAL, "serve", ...args], { cwd: project, env: environment });

writeFileSync(
  join(project, "app.ts"),
  `import * as serve from "shoal/serve";
class Greeter {
  fetch() { return "hello" + (process.env.MOOD ?? ""); }
}
export const app = serve.deployment(Greeter, { actorOptions: { numCpus: 0.1 } }).bind();
`,
);
const config = (mood: string): string => `http_options: { port: 0 }
applications:
- name: greet
  import_path: app.ts:app
  runtime_env: { env_vars: { MOOD: "${mood}" } }
`;

test("start, deploy, status, config, controller-health, build and shutdown on a cluster", async () => {
  await startHead();
  expect(await serve("status")).toMatchObject({ exitCode: 0, stdout: "nothing is served\n", stderr: "" });
  const none = await serve("controller-health");
  expect([none.exitCode, none.stderr]).toEqual([1, "shoal: Serve does not run on this cluster. `shoal serve start` starts it.\n"]);
  const started = await serve("start", "--http-port", "0", "--api-port", "0");
  expect([started.exitCode, started.stderr]).toEqual([0, ""]);
  expect(started.stdout).toMatch(
    /^Proxies listen at http:\/\/127\.0\.0\.1:\d+\nThe REST API listens at http:\/\/127\.0\.0\.1:\d+\nIts clients show a token, .*\n$/,
  );
  const [proxy = "", api = ""] = Array.from(started.stdout.matchAll(/at (\S+)/g), ([, address = ""]) => address);
  const shown = async (): Promise<{ headers: Record<string, string> }> => {
    const token = (await serve("token")).stdout.trimEnd();
    return { headers: { authorization: `Bearer ${token}` } };
  };
  expect((await ask(api, "/metrics")).status).toBe(401);
  writeFileSync(join(project, "serve.yaml"), config("!"));
  const deployed = await serve("deploy", "serve.yaml");
  expect([deployed.exitCode, deployed.stdout, deployed.stderr]).toEqual([
    0,
    `serve.yaml runs at ${proxy}\nThe REST API listens at ${api}\nIts clients show a token, which \`shoal serve token\` prints\n`,
    "",
  ]);
  expect((await ask(proxy, "/")).body).toBe("hello!");
  expect((await ask(api, "/metrics", await shown())).body).toContain("serve_num_http_requests{");
  const [one, other, kept, health] = await Promise.all([
    serve("status", "-n", "greet"),
    serve("status", "-n", "x"),
    serve("config"),
    serve("controller-health", "--json"),
  ]);
  expect(one.stdout).toBe("application greet: RUNNING, /\n  Greeter: HEALTHY, replicas: 1 RUNNING\n");
  expect(other).toMatchObject({ exitCode: 1, stderr: "shoal: there is no application x: there are greet\n" });
  expect(kept.stdout).toBe(config("!"));
  expect(JSON.parse(health.stdout)).toMatchObject({ applications: 1, replicas: 1, apiAddress: api });
  // A configuration that cannot be is refused with line and key, and what ran before goes on.
  const broken = [
    [`${config("?")}  replicas: 2\n`, "Cannot read bad-0.yaml: line 6: applications[0].replicas: there is no such key"],
    [
      `${config("?")}- { name: greet, import_path: "app.ts:app" }\n`,
      'line 6: applications[1].name: another application has the name "greet"',
    ],
    [`${config("?")}target_capacity: 150\n`, "line 6: target_capacity: a number from 0 to 100 is needed: received 150"],
  ] as const;
  await Promise.all(
    broken.map(async ([text, message], index) => {
      writeFileSync(join(project, `bad-${index}.yaml`), text);
      const refused = await serve("deploy", `bad-${index}.yaml`);
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(message)]);
    }),
  );
  expect((await ask(proxy, "/")).body).toBe("hello!");
  expect((await serve("build", "app.ts:app")).stdout).toContain("import_path: app.ts:app\n");
  expect(await serve("shutdown", "--yes")).toMatchObject({ exitCode: 0, stderr: "" });
  expect((await serve("status")).stdout).toBe("nothing is served\n");
  expect(await serve("config")).toMatchObject({ exitCode: 1, stderr: "shoal: no configuration was deployed\n" });
  // Started anew with gRPC, for one proxy of the cluster, and with none at all.
  const shop = `${join(import.meta.dirname, "grpc", "shop.proto")}:shop.v1.Shop`;
  const words = ["--grpc-port", "0", "--grpc-servicer-functions", shop, "--grpc-disable-reflection", "--api-port", "0"];
  const withGrpc = await serve("start", "--http-port", "0", "--proxy-location", "HeadOnly", ...words);
  expect(withGrpc.stdout).toMatch(
    /^Proxies listen at \S+\ngRPC listens at 127\.0\.0\.1:\d+\nThe REST API listens at \S+\nIts clients .*\n$/,
  );
  const details = JSON.parse(
    (await ask(/API listens at (\S+)/.exec(withGrpc.stdout)?.[1] ?? "", "/api/serve/applications/", await shown())).body,
  );
  expect(details).toMatchObject({
    proxy_location: "HeadOnly",
    grpc_options: { grpc_servicer_functions: ["shop.proto:shop.v1.Shop"], enable_reflection: false },
  });
  await serve("shutdown", "--yes");
  const without = await serve("start", "--proxy-location", "Disabled", "--api-port", "0");
  expect([without.exitCode, without.stdout]).toEqual([0, expect.stringMatching(/^The REST API listens at \S+\nIts clients .*\n$/)]);
});

test("run takes a working folder and an environment, refuses what is unknown in it, and runs a configuration anew whose files change", async () => {
  await startHead();
  const folder = join(project, "my work");
  mkdirSync(folder);
  writeFileSync(join(folder, "mine.ts"), 'export { app } from "../app.ts";\n');
  writeFileSync(join(project, "env.yaml"), "env_vars:\n  MOOD: ' from a file'\n");
  const run = (...args: string[]): Promise<ProgramRun> => serve("run", "--address", "auto", "--non-blocking", "--port", "0", ...args);
  const ran = await run("mine.ts:app", "--working-dir", "my work", "--runtime-env", "env.yaml");
  expect([ran.exitCode, ran.stdout]).toEqual([0, ""]);
  expect((await ask(/runs at (\S+)/.exec(ran.stderr)?.[1] ?? "", "/")).body).toBe("hello from a file");
  const refused = await run("app.ts:app", "--runtime-env-json", '{"variables": {}}');
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining("Cannot read --runtime-env-json: line 1: variables: there is no such key: there are working_dir"),
  ]);
  expect((await run("app.ts:app", "--runtime-env", "env.yaml", "--runtime-env-json", "{}")).exitCode).toBe(2);
  // From another folder, on the same cluster. The code is in a third one.
  const there = join(folder, "there");
  mkdirSync(there);
  writeFileSync(join(there, "serve.yaml"), config("").replace("app.ts", "mine.ts").replace("{ env_vars", '{ working_dir: "..", env_vars'));
  writeFileSync(join(folder, "mine.ts"), "export const app = ;\n");
  const child = spawn(process.execPath, [SHOAL, "serve", "run", join(there, "serve.yaml"), "--reload", "--address", "auto"], {
    cwd: tmpdir(),
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let told = "";
  const mistakes = (): number => told.split("SyntaxError").length - 1;
  child.stderr.on("data", (chunk: Buffer) => (told += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  try {
    const addresses = (): string[] => Array.from(told.matchAll(/runs at (\S+)/g), ([, found = ""]) => found);
    // The folder of the code is watched before any of the code has run.
    await until(() => mistakes() > 0, "the first mistake to be told");
    writeFileSync(join(folder, "mine.ts"), 'export { app } from "../app.ts";\n');
    await until(() => addresses().length === 1, "the configuration to run");
    const before = mistakes();
    writeFileSync(join(folder, "mine.ts"), "export const app = ;\n");
    await until(() => mistakes() > before, "the mistake to be told");
    expect((await ask(addresses()[0] ?? "", "/")).body).toBe("hello");
    // Editors that never leave half a file rename a new one over it.
    writeFileSync(
      join(folder, ".mine.ts"),
      'import * as serve from "shoal/serve";\nexport const app = serve.deployment(() => "hello again", { name: "Greeter", actorOptions: { numCpus: 0.1 } }).bind();\n',
    );
    renameSync(join(folder, ".mine.ts"), join(folder, "mine.ts"));
    await until(() => addresses().length === 2, "the configuration to run anew");
    expect((await ask(addresses()[1] ?? "", "/")).body).toBe("hello again");
  } finally {
    child.kill("SIGTERM");
  }
  expect([await ended, told.split("something has changed").length]).toEqual([0, 4]);
  expect((await serve("status")).stdout).toBe("nothing is served\n");
});

test("a controller that another program starts anew knows the placement groups of the first one's replicas", async () => {
  await startHead();
  const imports =
    'import { actors, getActor, init, kill, placementGroupTable, shutdown } from "shoal";\nimport * as serve from "shoal/serve";\n';
  const groups =
    '(await placementGroupTable()).filter(({ name = "", state }) => name.startsWith("SERVE_GROUP::") && state !== "removed").length';
  const pids =
    '(await actors({ namespace: "shoal.serve" })).filter(({ name = "", phase }) => name.startsWith("SERVE_REPLICA::") && phase !== "dead").map(({ pid }) => pid).sort()';
  const first = `${imports}await init({ address: "auto" });
await serve.start({ httpOptions: { location: "disabled" } });
class Member { where() { return 1; } }
await serve.run(serve.deployment(Member, { numReplicas: 2, gangConfig: { gangSize: 2 }, actorOptions: { numCpus: 0.1 } }).bind(), { routePrefix: null });
await kill(await getActor("SERVE_CONTROLLER", { namespace: "shoal.serve" }));
console.log(JSON.stringify({ pids: ${pids}, groups: ${groups} }));
await shutdown();`;
  const second = `${imports}await init({ address: "auto" });
await serve.start({ httpOptions: { location: "disabled" } });
const pids = ${pids};
await serve.delete("default");
for (let tries = 0; ${groups} > 0 && tries < 100; tries += 1) await new Promise((resolve) => setTimeout(resolve, 50));
console.log(JSON.stringify({ pids, groups: ${groups} }));
await serve.shutdown();
await shutdown();`;
  const before = (await program(first)) as { pids: number[]; groups: number };
  expect([before.pids.length, before.groups]).toEqual([2, 1]);
  expect(await program(second)).toEqual({ pids: before.pids, groups: 0 });
});
