/** "hello world" by a class of Python behind HTTP, 64 connections: on Shoal its requests pass a replica's process of Node. */
import { python } from "shoal";
import { deployment } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { CALLED, WITH_NUMPY } from "../python-calls.ts";
import { loadOf, SERVE_LIMIT_MS, whileServed } from "../web-load.ts";

const Hello = python.actor<object, []>(CALLED, "Hello", { numCpus: 0, runtimeEnv: { python: WITH_NUMPY.python } });

export const figure: DriverFigure = {
  where: "driver",
  program: "wrk",
  name: "serve-python",
  title: "hello world by Python, 64 connections",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(1),
  fastMode: "told",
  limitMs: SERVE_LIMIT_MS,
  run: (plan) =>
    whileServed(deployment(Hello, { maxOngoingRequests: 1000 }).bind(), async (address) => {
      const { requestsPerSecond, p99Ms } = await loadOf(`${address}/`, { plan });
      return { samples: [requestsPerSecond], details: { p99Ms } };
    }),
};
