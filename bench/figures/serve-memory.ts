/** Memory of the controller, a proxy and one replica at rest, after a request: proportional set sizes of the three processes. */
import { setTimeout as delay } from "node:timers/promises";
import { actors } from "shoal";
import { deployment } from "shoal/serve";
import { type DriverFigure, valueAtMost } from "../figure.ts";
import { weighProcesses } from "../process-tree.ts";
import { SERVE_LIMIT_MS, whileServed } from "../web-load.ts";

/** By then garbage of the start has been collected, on both sides. */
const SETTLE_MS = 5000;

class Hello {
  fetch() {
    return "hello world";
  }
}

export const figure: DriverFigure = {
  where: "driver",
  name: "serve-memory",
  title: "controller, proxy and one replica at rest",
  unit: "MB",
  higherIsBetter: false,
  goal: valueAtMost(150),
  floor: valueAtMost(250),
  limitMs: SERVE_LIMIT_MS,
  run: () =>
    whileServed(deployment(Hello).bind(), async (address) => {
      await (await fetch(address)).text();
      await delay(SETTLE_MS);
      const serving = await actors({ namespace: "shoal.serve" });
      const weight = await weighProcesses(serving.flatMap(({ pid }) => (pid === undefined ? [] : [pid])));
      return { samples: [weight.privateMegabytes + weight.mappedSharedMegabytes], details: { processes: weight.processesCount } };
    }),
};
