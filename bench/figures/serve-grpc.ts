/** Unary calls of gRPC through proxy and replica, 64 at a time over 8 connections; a bare server of `@grpc/grpc-js` in the same round. */
import { deployment, run, shutdown, start } from "shoal/serve";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { ECHO_PROTO, grpcLoadOf, whileBareGrpc } from "../grpc-calls.ts";
import { SERVE_LIMIT_MS } from "../web-load.ts";

class Echo {
  say(text: { value: string }) {
    return text;
  }
}

export const figure: DriverFigure = {
  where: "driver",
  name: "serve-grpc",
  title: "unary calls of gRPC, 64 at a time",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(5),
  floor: ratioAtLeast(1),
  fastMode: "told",
  limitMs: SERVE_LIMIT_MS,
  note: "by a client of @grpc/grpc-js in a process of its own on both sides, whose own time is part of the figure: shareOfBare is that of a server of the same package",
  async run(plan) {
    const bare = await whileBareGrpc((address) => grpcLoadOf(address, plan));
    const { grpcAddress = "" } = await start({
      httpOptions: { port: 0 },
      grpcOptions: { port: 0, services: [{ protoFile: ECHO_PROTO, service: "bench.Echo" }] },
    });
    await run(deployment(Echo, { maxOngoingRequests: 1000 }).bind());
    const { callsPerSecond, p99Ms } = await grpcLoadOf(grpcAddress, plan);
    await shutdown();
    const shareOfBare = Math.round((callsPerSecond / bare.callsPerSecond) * 1000) / 1000;
    return {
      samples: [callsPerSecond],
      details: { p99Ms, barePerSecond: Math.round(bare.callsPerSecond), bareP99Ms: bare.p99Ms, shareOfBare },
    };
  },
};
