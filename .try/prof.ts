import * as serve from "shoal/serve";
import { init } from "shoal";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
const run = promisify(execFile);
await init({ numCpus: 2, mode: "inProcess" });
class Hello {
  fetch() {
    return "Hello world!";
  }
}
await serve.start({ httpOptions: { port: 0 } });
await serve.run(serve.deployment(Hello, { maxOngoingRequests: 100 }).bind());
const address = Object.values((await serve.status()).proxies)[0]!.address!;
const c0 = process.cpuUsage();
const { stdout } = await run("wrk", ["-t1", `-c64`, "-d6s", `${address}/`]);
const c1 = process.cpuUsage(c0);
const total = Number(/(\d+) requests in/.exec(stdout)![1]);
console.log(total, (c1.user + c1.system) / total, "us/req");

import http from "node:http";
const server = http.createServer((_q, r) => {
  r.setHeader("content-type", "text/plain");
  r.end("Hello world!");
});
const port = await new Promise<number>((resolve) =>
  server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)),
);
for (let k = 0; k < 3; k++)
  for (const url of [`http://127.0.0.1:${port}/`, `${address}/`]) {
    const c0 = process.cpuUsage();
    const { stdout } = await run("wrk", ["-t1", `-c64`, "-d2s", url]);
    const c1 = process.cpuUsage(c0);
    const total = Number(/(\d+) requests in/.exec(stdout)![1]);
    console.log(url, total, (c1.user + c1.system) / total, "us/req");
  }
process.exit(0);
