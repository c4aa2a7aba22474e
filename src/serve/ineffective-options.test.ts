import { expect, test } from "vitest";
import type { ServeOptions } from "./controller/controller.ts";
import { resolveLogging } from "./deployments/deployment-options.ts";
import { resolveGrpcOptions } from "./grpc/grpc-options.ts";
import { ineffectiveOptions } from "./ineffective-options.ts";
import { resolveHttpOptions } from "./proxy/options/http-options.ts";

const held: ServeOptions = { http: resolveHttpOptions({ port: 1 }), showsErrors: false };

test("options that were not given, or that are those of what runs, are not named", async () => {
  const grpc = await resolveGrpcOptions({ port: 2 });
  const wanted = { http: resolveHttpOptions(undefined), grpc, logging: undefined, showsErrors: false };
  expect(ineffectiveOptions({}, { wanted, held })).toEqual([]);
  expect(
    ineffectiveOptions(
      { httpOptions: { host: undefined, maxBodyBytes: wanted.http.maxBodyBytes }, grpcOptions: { port: 2 }, development: false },
      { wanted, held: { ...held, grpc } },
    ),
  ).toEqual([]);
});

test("options that differ from those of what runs are named", async () => {
  const httpOptions = { port: 3, accessLog: true };
  const grpcOptions = { port: 2, reflection: false };
  const loggingConfig = { encoding: "JSON" } as const;
  const given = { httpOptions, grpcOptions, loggingConfig, tracing: {}, development: true };
  const wanted: ServeOptions = {
    http: resolveHttpOptions(httpOptions),
    grpc: await resolveGrpcOptions(grpcOptions),
    logging: resolveLogging(loggingConfig),
    tracing: { setupId: "tracing-1", samplingRatio: 1 },
    showsErrors: true,
  };
  const named = ["port of httpOptions", "accessLog of httpOptions"];
  expect(ineffectiveOptions(given, { wanted, held })).toEqual([...named, "grpcOptions", "loggingConfig", "tracing", "development"]);
  const grpc = await resolveGrpcOptions({ port: 2 });
  expect(ineffectiveOptions({ grpcOptions }, { wanted, held: { ...held, grpc } })).toEqual(["reflection of grpcOptions"]);
});
