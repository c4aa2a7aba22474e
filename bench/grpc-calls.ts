/**
 * Load on a server of gRPC by the program `programs/grpc-load.ts`, and the bare server that Serve is compared to. Ray's side runs the same program (`ray/serve_figures.py`).
 *
 * Called by the figure `serve-grpc`.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { Plan } from "./figure.ts";

export const ECHO_PROTO: URL = new URL("echo.proto", import.meta.url);
const LOAD = fileURLToPath(new URL("programs/grpc-load.ts", import.meta.url));
/** The program may take so much longer than it was told, its start included. */
const LOAD_GRACE_MS = 20_000;

interface GrpcLoad {
  readonly callsPerSecond: number;
  readonly p99Ms: number;
}

/** Measures after a warm-up, from another process. @throws where a call failed */
export async function grpcLoadOf(address: string, { warmUpMs, windowMs, windows }: Plan): Promise<GrpcLoad> {
  const forMs = windowMs * windows;
  const args = [LOAD, address, String(warmUpMs), String(forMs)];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    timeout: warmUpMs + forMs + LOAD_GRACE_MS,
    killSignal: "SIGKILL",
  });
  return JSON.parse(stdout) as GrpcLoad;
}

/** The service of `echo.proto` as `@grpc/grpc-js` has it. */
export function echoService(): grpc.ServiceClientConstructor {
  const loaded = grpc.loadPackageDefinition(loadSync(fileURLToPath(ECHO_PROTO))) as unknown as {
    readonly bench: { readonly Echo: grpc.ServiceClientConstructor };
  };
  return loaded.bench.Echo;
}

/** A server in this process, which does nothing meanwhile. */
export async function whileBareGrpc<T>(measure: (address: string) => Promise<T>): Promise<T> {
  const server = new grpc.Server();
  const say: grpc.handleUnaryCall<object, object> = ({ request }, answer) => answer(null, request);
  server.addService(echoService().service, { Say: say });
  const port = await promisify(server.bindAsync.bind(server))("127.0.0.1:0", grpc.ServerCredentials.createInsecure());
  try {
    return await measure(`127.0.0.1:${port}`);
  } finally {
    server.forceShutdown();
  }
}
