/** Calls of a handle from the driver, 100 at a time. */
import { deployment, run, shutdown } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { operationsPerSecond } from "../throughput.ts";
import { SERVE_LIMIT_MS } from "../web-load.ts";

const AT_A_TIME = 100;

class Echo {
  echo(value: number) {
    return value;
  }
}

export const figure: DriverFigure = {
  where: "driver",
  name: "serve-handle",
  title: "calls of a handle, 100 at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(20),
  floor: ratioAtLeast(10),
  limitMs: SERVE_LIMIT_MS,
  note: "Ray by its defaults alone: in its fast mode a program without an event loop cannot call a handle",
  async run(plan) {
    const handle = await run(deployment(Echo, { maxOngoingRequests: 1000 }).bind(), { routePrefix: null });
    const batch = (): Promise<unknown> => Promise.all(Array.from({ length: AT_A_TIME }, (_, value) => handle.echo.remote(value)));
    const measured = await operationsPerSecond(batch, plan, { operationsPerCall: AT_A_TIME });
    await shutdown();
    return measured;
  },
};
