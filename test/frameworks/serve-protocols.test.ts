/** Serve under programs that others wrote to test servers: gRPC's interoperability client of grpc-go, and h2spec for HTTP/2 beside a bare server of Node's. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { NodeId } from "../../src/runtime/base/ids.ts";
import { certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { useSession } from "../integration/session.ts";
import { goProgram } from "./go-programs.ts";

const run = promisify(execFile);
const interop = goProgram("grpcInterop");
const h2spec = goProgram("h2spec");
useSession({ numCpus: 2 });

interface Payload {
  body: Uint8Array;
}
interface OutputRequest {
  payload?: Payload | null;
  responseParameters: { size: number; intervalUs: number }[];
  responseStatus?: { code: number; message: string } | null;
}

const zeros = (size: number): { payload: Payload } => ({ payload: { body: new Uint8Array(size) } });

class TestService {
  fetch(): Response {
    return new Response("hello");
  }

  emptyCall(): object {
    return {};
  }

  unaryCall({ responseSize, responseStatus }: { responseSize: number } & OutputRequest, context: serve.GrpcContext): object {
    this.#repeat(context);
    this.#throwFor(responseStatus);
    return zeros(responseSize);
  }

  async *streamingOutputCall({ responseParameters }: OutputRequest): AsyncGenerator<object> {
    for (const { size, intervalUs } of responseParameters) {
      await new Promise((resolve) => setTimeout(resolve, intervalUs / 1000));
      yield zeros(size);
    }
  }

  async streamingInputCall(requests: AsyncIterable<{ payload: Payload }>): Promise<object> {
    let size = 0;
    for await (const { payload } of requests) size += payload.body.byteLength;
    return { aggregatedPayloadSize: size };
  }

  async *fullDuplexCall(requests: AsyncIterable<OutputRequest>, context: serve.GrpcContext): AsyncGenerator<object> {
    this.#repeat(context);
    for await (const request of requests) {
      this.#throwFor(request.responseStatus);
      yield* this.streamingOutputCall(request);
    }
  }

  #repeat({ metadata, headers, trailers }: serve.GrpcContext): void {
    const [initial] = metadata.get("x-grpc-test-echo-initial") ?? [];
    const [trailing] = metadata.get("x-grpc-test-echo-trailing-bin") ?? [];
    if (initial !== undefined) headers.set("x-grpc-test-echo-initial", initial);
    if (trailing !== undefined) trailers.set("x-grpc-test-echo-trailing-bin", trailing);
  }

  #throwFor(status: OutputRequest["responseStatus"]): void {
    if (status !== undefined && status !== null && status.code !== 0) throw new serve.GrpcStatusError(status.code, status.message);
  }
}

let folder = "";
let grpcAddress = "";
let httpsPort = 0;
let pem: { key: string; cert: string };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "test-shoal-protocols-"));
  const nowMs = Date.now();
  const { key, publicKey } = newNodeKey();
  pem = { key, cert: certifyNode(newAuthority({ nowMs }), { nodeId: "0".repeat(32) as NodeId, publicKey, hosts: ["localhost"], nowMs }) };
  const services = [{ protoFile: new URL("grpc/interop.proto", import.meta.url), service: "grpc.testing.TestService" }];
  const started = await serve.start({ httpOptions: { port: 0, tls: pem, allowedHosts: ["*"] }, grpcOptions: { port: 0, services } });
  grpcAddress = started.grpcAddress ?? "";
  httpsPort = Number(new URL(started.address ?? "").port);
  await serve.run(serve.deployment(TestService, { maxOngoingRequests: 100 }).bind());
});
afterAll(async () => {
  await serve.shutdown();
  rmSync(folder, { recursive: true, force: true });
});

const reason = (missing: string | undefined): string => (missing === undefined ? "" : ` (skipped: ${missing})`);

const CASES = [
  "empty_unary",
  "large_unary",
  "client_streaming",
  "server_streaming",
  "ping_pong",
  "empty_stream",
  "timeout_on_sleeping_server",
  "cancel_after_begin",
  "cancel_after_first_response",
  "status_code_and_message",
  "special_status_message",
  "custom_metadata",
  "unimplemented_method",
  "unimplemented_service",
];

test.skipIf(interop.missing !== undefined).each(CASES)(`grpc-go's client passes %s${reason(interop.missing)}`, async (name) => {
  const [host, port] = grpcAddress.split(":") as [string, string];
  const { stderr } = await run(interop.path, [`--server_host=${host}`, `--server_port=${port}`, "--use_tls=false", `--test_case=${name}`]);
  expect(stderr).toMatch(/done|passed|^$/i);
});

/** The cases that fail, by their numbers and names. */
async function failuresAt(port: number): Promise<{ count: number; failed: string[] }> {
  const report = join(folder, `${port}.xml`);
  // A case that fails makes it end with 1.
  await run(h2spec.path, ["-t", "-k", "-h", "127.0.0.1", "-p", String(port), "-o", "5", "-j", report], { maxBuffer: 1e7 }).catch(() => {});
  const cases = [
    ...readFileSync(report, "utf8").matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*?(?:\/>|>([^]*?)<\/testcase>)/g),
  ];
  return {
    count: cases.length,
    failed: cases.flatMap(([, section = "", name = "", inner = ""]) => (/<(failure|error)/.test(inner) ? [`${section} ${name}`] : [])),
  };
}

test.skipIf(h2spec.missing !== undefined)(
  `h2spec finds nothing that it does not find in Node's own server${reason(h2spec.missing)}`,
  async () => {
    const bare = createSecureServer(pem, (request, response) => {
      request.resume();
      response.end("hello");
    });
    bare.on("sessionError", () => {});
    await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
    const nodes = await failuresAt((bare.address() as AddressInfo).port);
    bare.close();
    const own = await failuresAt(httpsPort);
    expect(own.count).toBeGreaterThan(140);
    expect(own.failed.filter((name) => !nodes.failed.includes(name))).toEqual([]);
  },
  600_000,
);
