/** From `serve.run` in a program whose runtime is up to the first answer over HTTP: controller, proxy and replica start. */
import { deployment, run, shutdown, start, status } from "shoal/serve";
import { type DriverFigure, valueAtMost } from "../figure.ts";
import { SERVE_LIMIT_MS } from "../web-load.ts";

class Hello {
  fetch() {
    return "hello world";
  }
}

export const figure: DriverFigure = {
  where: "driver",
  name: "serve-start",
  title: "serve.run to the first answer",
  unit: "ms",
  higherIsBetter: false,
  goal: valueAtMost(500),
  floor: valueAtMost(1000),
  limitMs: SERVE_LIMIT_MS,
  async run() {
    const startMs = performance.now();
    void start({ httpOptions: { port: 0 } });
    await run(deployment(Hello).bind());
    const address = Object.values((await status()).proxies)[0]?.address ?? "";
    const answer = await fetch(address);
    const text = await answer.text();
    const ms = performance.now() - startMs;
    if (text !== "hello world") throw new Error(`Cannot measure the start of Serve: received ${text}`);
    await shutdown();
    return { samples: [ms] };
  },
};
