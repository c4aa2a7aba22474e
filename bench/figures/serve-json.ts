/** JSON from a Hono application through proxy and replica, 64 connections; the same application on a bare `node:http` server in the same round. */
import { Hono } from "hono";
import { deployment } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { besideBare, rateMeasurement } from "../web-load.ts";

function newApp(): Hono {
  const app = new Hono();
  app.get("/items/:id", (context) => context.json({ id: context.req.param("id"), query: context.req.query() }));
  return app;
}

class Items {
  #app = newApp();
  fetch(request: Request) {
    return this.#app.fetch(request);
  }
}

export const figure: DriverFigure = {
  where: "driver",
  name: "serve-json",
  title: "JSON by a framework, 64 connections",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(5),
  note: "Hono here, FastAPI on Ray; shareOfBare is held to 0.5, the bare server makes a whole Request for each, which its own adapter avoids",
  async run(plan) {
    const app = newApp();
    return rateMeasurement(
      await besideBare(
        {
          application: deployment(Items, { maxOngoingRequests: 1000 }).bind(),
          path: "/items/7?a=b",
          listener: async (request, response) => {
            const headers = request.headers as Record<string, string>;
            const answer = await app.fetch(new Request(`http://${request.headers.host}${request.url}`, { headers }));
            response.writeHead(answer.status, Object.fromEntries(answer.headers));
            response.end(await answer.text());
          },
        },
        plan,
      ),
    );
  },
};
