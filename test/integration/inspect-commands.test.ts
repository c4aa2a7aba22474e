/** The commands `shoal stack`, `profile` and `inspect`, and the routes of the same, on a program and its workers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { REPOSITORY } from "../house/source-files.ts";
import { until } from "./session.ts";
import { SHOAL, useShoal } from "./shoal-program.ts";

const { run: shoal, startHead, environment, folder } = useShoal();

const PROGRAM = `
import { init, remote } from "shoal";
await init({ address: "auto" });
const compute = remote(function computeLong() { let sum = 0; for (;;) sum += Math.sqrt(sum + 1); });
void compute.remote();
await new Promise((resolve) => setTimeout(resolve, 2_000));
(function driverComputes() { let sum = 0; for (;;) sum += Math.sqrt(sum + 1); })();
`;

interface StackRow {
  readonly pid: number;
  readonly running: readonly string[];
  readonly threads: readonly { readonly frames: readonly { readonly function: string }[] }[];
}

test("stacks, profiles and a debugger reach a program and a worker that both compute without end", { timeout: 120_000 }, async () => {
  const { dashboardUrl } = await startHead("--num-cpus", "1", "--dashboard-port", "0");
  const file = join(REPOSITORY, "test", "integration", `.program-${process.pid}-inspect.mts`);
  writeFileSync(file, PROGRAM);
  const program = spawn(process.execPath, [file], { env: environment, stdio: "ignore" });
  const gone = once(program, "exit");
  try {
    let worker: StackRow | undefined;
    await until(async () => {
      const rows = JSON.parse((await shoal("stack", "--json")).stdout || "[]") as StackRow[];
      worker = rows.find(({ threads }) => threads[0]?.frames.some(({ function: name }) => name === "computeLong"));
      return worker !== undefined;
    }, "the worker to compute");
    expect(worker?.running).toEqual(["computeLong"]);
    const pid = String(worker?.pid);
    const text = (await shoal("stack", "--pid", pid)).stdout;
    expect(text).toMatch(
      /^worker \w+, pid \d+, node \w+, runs computeLong\n {4}computeLong \(.*:\d+\)\n {4}… \d+ calls of Shoal and Node\n$/,
    );

    // The program itself, by Node's usual port: another program of the machine may have the port.
    await until(async () => {
      const { stdout, stderr } = await shoal("stack", "--pid", String(program.pid));
      return /another process may have the port/.test(stderr) || stdout.includes("driverComputes");
    }, "the program's stack");

    const output = join(folder, "cpu.cpuprofile");
    expect(await shoal("profile", "--pid", pid, "--duration", "0.3", "--output", output)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(output, "utf8")).toContain('"computeLong"');

    const inspect = spawn(process.execPath, [SHOAL, "inspect", "--pid", pid, "--json"], { env: environment });
    const [line] = (await once(inspect.stdout, "data")) as [Buffer];
    const { url } = JSON.parse(line.toString()) as { url: string };
    const debuggerSocket = new WebSocket(url);
    await once(debuggerSocket, "open");
    debuggerSocket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression: "process.pid" } }));
    const [answer] = (await once(debuggerSocket, "message")) as [Buffer];
    expect(JSON.parse(answer.toString())).toMatchObject({ result: { result: { value: worker?.pid } } });
    inspect.kill("SIGINT");
    await Promise.all([once(inspect, "exit"), once(debuggerSocket, "close")]);
    const again = new WebSocket(url);
    expect(await Promise.race([once(again, "error").then(() => "closed"), once(again, "open").then(() => "open")])).toBe("closed");

    const token = (await shoal("get-auth-token")).stdout.trim();
    const ask = (path: string): Promise<Response> => fetch(`${dashboardUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect(await (await ask(`/worker/traceback?pid=${pid}`)).text()).toContain("computeLong");
    const profile = await ask(`/worker/cpu_profile?pid=${pid}&duration=0.3`);
    expect(profile.headers.get("content-disposition")).toContain(`${pid}.cpuprofile`);
    expect(await profile.text()).toContain('"computeLong"');
    expect((await ask("/worker/traceback?pid=1")).status).toBe(404);
    expect((await ask(`/worker/cpu_profile?pid=${pid}&duration=1e9`)).status).toBe(400);
    const printed = (await shoal("logs", "worker", "--pid", pid, "--err")).stdout;
    expect(printed).not.toContain("Debugger");
  } finally {
    program.kill("SIGKILL");
    await gone;
    if (existsSync(file)) await import("node:fs/promises").then(({ rm }) => rm(file));
  }
});

test("a wrong command line names its fault", async () => {
  expect((await shoal("profile")).stderr).toContain("ID or --pid is missing");
  expect((await shoal("profile", "cpu", "--snapshot", "--pid", "1")).stderr).toContain("--snapshot is for heap");
  expect((await shoal("stack", "--pid", "x")).stderr).toContain("--pid takes the id of a process: received x");
  expect((await shoal("profile", "--pid", "1", "--duration", "0")).stderr).toContain("--duration takes seconds above 0");
});
