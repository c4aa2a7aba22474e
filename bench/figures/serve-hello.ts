/** "hello world" through proxy and replica, 64 connections; a bare `node:http` server in the same round. */
import { deployment } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { besideBare, SERVE_LIMIT_MS } from "../web-load.ts";

class Hello {
  fetch() {
    return new Response("hello world");
  }
}

export const figure: DriverFigure = {
  where: "driver",
  program: "wrk",
  name: "serve-hello",
  title: "hello world over HTTP, 64 connections",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(8),
  floor: ratioAtLeast(5),
  fastMode: "held",
  limitMs: SERVE_LIMIT_MS,
  note: "by wrk; shareOfBare is held to 0.6 (floor 0.45), p99OverBare to 3",
  run: (plan) =>
    besideBare(
      {
        application: deployment(Hello, { maxOngoingRequests: 1000 }).bind(),
        listener: (_request, response) => response.end("hello world"),
      },
      plan,
    ),
};
