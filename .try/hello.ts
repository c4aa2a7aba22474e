import * as serve from "shoal/serve";
import { init } from "shoal";
const t0 = performance.now();
await init({ numCpus: 2 });
const t1 = performance.now();
class Hello {
  #greeting: string;
  constructor(greeting: string) {
    this.#greeting = greeting;
  }
  fetch(request: Request) {
    return new Response(`${this.#greeting} ${new URL(request.url).pathname}`);
  }
  greet(name: string) {
    return `${this.#greeting} ${name}`;
  }
  async *count(n: number) {
    for (let i = 0; i < n; i++) yield i;
  }
}
const Hi = serve.deployment(Hello, { maxOngoingRequests: 100 });
await serve.start({ httpOptions: { port: 0 } });
const handle = await serve.run(Hi.bind("Hello"));
const t2 = performance.now();
const status = await serve.status();
console.log(JSON.stringify(status, null, 1));
const address = Object.values(status.proxies)[0]!.address!;
const response = await fetch(`${address}/abc?x=1`);
console.log(response.status, await response.text(), Object.fromEntries(response.headers), performance.now() - t2);
console.log("init", t1 - t0, "run", t2 - t1);
console.log(await handle.greet.remote("you"));
for await (const i of handle.count.remote(3)) console.log(i);
await serve.shutdown();
console.log("down");
