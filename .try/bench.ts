import * as serve from "shoal/serve";
import { init, remote, ready } from "shoal";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { readFileSync } from "node:fs";
const run = promisify(execFile);
const rounds = Number(process.argv[2] ?? 3),
  conns = process.argv[3] ?? "64",
  max = Number(process.argv[4] ?? 100);
await init({ numCpus: 2 });
class Bare {
  async start() {
    const http = await import("node:http");
    const server = http.createServer((_q, r) => {
      r.setHeader("content-type", "text/plain");
      r.end("Hello world!");
    });
    return await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)),
    );
  }
}
const bare = remote(Bare).remote();
const port = await bare.start.remote();
class Hello {
  fetch() {
    return new Response("Hello world!");
  }
  echo(x: number) {
    return x;
  }
}
await serve.start({ httpOptions: { port: 0 } });
const handle = await serve.run(serve.deployment(Hello, { maxOngoingRequests: max }).bind());
const address = Object.values((await serve.status()).proxies)[0]!.address!;
async function wrk(url: string) {
  const before = cpus();
  const { stdout } = await run("wrk", ["-t1", `-c${conns}`, "-d2s", "--latency", url]);
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(stdout)![1];
  const p99 = /99%\s+(\S+)/.exec(stdout)![1];
  const p50 = /50%\s+(\S+)/.exec(stdout)![1];
  const bad = /Non-2xx.*/.exec(stdout)?.[0] ?? "";
  const after = cpus();
  const total = Number(/(\d+) requests in/.exec(stdout)![1]);
  const us = Object.fromEntries(Object.keys(pids).map((k) => [k, (((after[k]! - before[k]!) * 1000) / total).toFixed(1)]));
  console.log("   cpu us/request", us, total);
  return { rate: Number(rate), p50, p99, bad };
}
import { actors } from "shoal";
function cpu(pid: number) {
  const f = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(f[11]) + Number(f[12])) * 10;
}
const pids: Record<string, number> = {};
for (const a of await actors()) pids[a.className] = a.pid!;
console.log(pids);
function cpus() {
  return Object.fromEntries(Object.entries(pids).map(([k, p]) => [k, cpu(p)]));
}
const ratios: number[] = [];
for (let i = 0; i < rounds; i++) {
  const a = await wrk(`http://127.0.0.1:${port}/`);
  const b = await wrk(`${address}/`);
  ratios.push(b.rate / a.rate);
  console.log("bare", a, "serve", b, (b.rate / a.rate).toFixed(2));
}
console.log("median", ratios.sort()[ratios.length >> 1]);
for (let k = 0; k < 3; k++) {
  const t = performance.now();
  const n = 5000;
  await Promise.all(Array.from({ length: n }, (_, i) => handle.echo.remote(i)));
  const t2 = performance.now();
  for (let i = 0; i < 1000; i++) await handle.echo.remote(i);
  const t3 = performance.now();
  console.log("handle calls", Math.round(n / ((t2 - t) / 1000)), "/s in flight", Math.round(1000 / ((t3 - t2) / 1000)), "/s one at a time");
}
await serve.shutdown();
