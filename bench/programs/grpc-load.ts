/**
 * Calls `Say` of `echo.proto` again and again, 64 at a time over 8 connections, and prints the rate and the slowest hundredth as JSON: `grpc-load.ts ADDRESS WARM-UP-MS FOR-MS`.
 *
 * A separate program, as on Ray's side.
 */
import * as grpc from "@grpc/grpc-js";
import { echoService } from "../grpc-calls.ts";

const CONNECTIONS = 8;
const AT_A_TIME = 64;

const [address = "", warmUpMs = "", forMs = ""] = process.argv.slice(2);
const Echo = echoService();
const clients = Array.from(
  { length: CONNECTIONS },
  // Clients of one address share a connection otherwise.
  () => new Echo(address, grpc.credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 }),
);
const metadata = new grpc.Metadata();
metadata.set("application", "default");
const beginMs = performance.now() + Number(warmUpMs);
const endMs = beginMs + Number(forMs);
const durations: number[] = [];

function say(client: grpc.Client): Promise<void> {
  const { Say } = client as grpc.Client & { Say: (...args: unknown[]) => void };
  return new Promise((resolve, reject) => {
    Say.call(client, { value: "hello world" }, metadata, (error: Error | null, answer: { value?: string } | undefined) => {
      if (error !== null) reject(error);
      else if (answer?.value !== "hello world") reject(new Error(`Cannot measure a server of gRPC: it answered ${JSON.stringify(answer)}`));
      else resolve();
    });
  });
}

async function callAgain(client: grpc.Client): Promise<void> {
  for (let startMs = performance.now(); startMs < endMs; ) {
    await say(client);
    const nowMs = performance.now();
    if (startMs >= beginMs && nowMs <= endMs) durations.push(nowMs - startMs);
    startMs = nowMs;
  }
}

await Promise.all(Array.from({ length: AT_A_TIME }, (_, index) => callAgain(clients[index % CONNECTIONS] as grpc.Client)));
for (const client of clients) client.close();
durations.sort((left, right) => left - right);
const p99Ms = durations[Math.floor(durations.length * 0.99)] ?? 0;
process.stdout.write(JSON.stringify({ callsPerSecond: durations.length / (Number(forMs) / 1000), p99Ms: Math.round(p99Ms * 100) / 100 }));
