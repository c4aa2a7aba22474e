/** JSON that a Hono application reads and sends back, through proxy and replica, 64 connections; the same application on `node:http` by Hono's own adapter in the same round. */
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { deployment } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { besideBare, JSON_ECHO, SERVE_LIMIT_MS } from "../web-load.ts";

function newApp(): Hono {
  const app = new Hono();
  app.post("/", async (context) => context.json(await context.req.json()));
  return app;
}

class Echo {
  #app = newApp();
  fetch(request: Request) {
    return this.#app.fetch(request);
  }
}

export const figure: DriverFigure = {
  where: "driver",
  program: "wrk",
  name: "serve-json",
  title: "JSON echo by a framework, 64 connections",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(5),
  fastMode: "told",
  limitMs: SERVE_LIMIT_MS,
  note: "Hono here, FastAPI on Ray; shareOfBare is held to 0.5",
  run: (plan) =>
    besideBare(
      {
        application: deployment(Echo, { maxOngoingRequests: 1000 }).bind(),
        listener: getRequestListener(newApp().fetch),
        script: JSON_ECHO,
      },
      plan,
    ),
};
