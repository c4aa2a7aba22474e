/** Two steps behind HTTP: an ingress that calls one deployment and hands its response on to another, 64 connections. */
import { deployment, type Handle } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { loadOf, SERVE_LIMIT_MS, whileServed } from "../web-load.ts";

class AddOne {
  add(value: number) {
    return value + 1;
  }
}

class Twice {
  double(value: number) {
    return value * 2;
  }
}

class Both {
  #addOne: Handle<typeof AddOne>;
  #twice: Handle<typeof Twice>;
  constructor(addOne: Handle<typeof AddOne>, twice: Handle<typeof Twice>) {
    this.#addOne = addOne;
    this.#twice = twice;
  }
  async fetch() {
    return String(await this.#twice.double.remote(this.#addOne.add.remote(20)));
  }
}

export const figure: DriverFigure = {
  where: "driver",
  program: "wrk",
  name: "serve-composition",
  title: "two deployments behind HTTP, 64 connections",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(5),
  fastMode: "told",
  limitMs: SERVE_LIMIT_MS,
  async run(plan) {
    const options = { maxOngoingRequests: 1000 };
    const app = deployment(Both, options).bind(deployment(AddOne, options).bind(), deployment(Twice, options).bind());
    return await whileServed(app, async (address) => {
      const { requestsPerSecond, p99Ms } = await loadOf(`${address}/`, { plan });
      return { samples: [requestsPerSecond], details: { p99Ms } };
    });
  },
};
