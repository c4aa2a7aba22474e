/**
 * Load on a web server by `wrk`, a program of Debian's, and the bare `node:http` server that Serve is compared to.
 *
 * `wrk` costs little processor time beside the servers, and both sides are measured with the same program: `ray/serve_figures.py` calls it, too. Each phase has a time limit
 * that names it, so a side that hangs says where. Called by the figures `serve-*`.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Application } from "shoal/serve";
import type { Measurement, Plan } from "./figure.ts";

/** Time limit for a round of a figure of Serve, the runtime included; most take a tenth. */
export const SERVE_LIMIT_MS = 90_000;
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 20_000;
/** How much longer than it was told `wrk` may take. */
const LOAD_GRACE_MS = 20_000;
/** Longer than any stream of the figures; by default `wrk` counts an answer after 2 s as an error. */
const ANSWER_LIMIT = "60s";

export const JSON_ECHO: string = join(import.meta.dirname, "json-echo.lua");

interface Load {
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
  /** With heads and the frames of chunks. */
  readonly bytesPerSecond: number;
}

interface LoadOptions {
  readonly plan: Plan;
  /** Default: 64. */
  readonly connections?: number | undefined;
  /** The request that `wrk` sends, in Lua. Default: GET. */
  readonly script?: string | undefined;
}

/** Measures after a warm-up. @throws where `wrk` is not installed, or an answer was no success */
export async function loadOf(url: string, options: LoadOptions): Promise<Load> {
  const { warmUpMs, windowMs, windows } = options.plan;
  await wrk(url, { ...options, forMs: warmUpMs });
  return wrk(url, { ...options, forMs: windowMs * windows });
}

async function wrk(url: string, { connections = 64, script, forMs }: LoadOptions & { readonly forMs: number }): Promise<Load> {
  const seconds = Math.max(1, Math.round(forMs / 1000));
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, `--timeout`, ANSWER_LIMIT, "--latency"];
  if (script !== undefined) args.push("-s", script);
  const timeout = seconds * 1000 + LOAD_GRACE_MS;
  const ending = promisify(execFile)("wrk", [...args, url], { timeout, killSignal: "SIGKILL" });
  const { stdout } = await ending.catch((cause: Error & { code?: unknown; killed?: boolean }) => {
    if (cause.code === "ENOENT") throw new Error("Cannot measure a web server: wrk is not installed: apt-get install wrk");
    if (cause.killed === true) throw new Error(`Cannot measure a web server: wrk was to end in ${seconds} s, and had not in ${timeout} ms`);
    throw cause;
  });
  return readLoad(stdout);
}

/** Reads what `wrk --latency` prints. @throws where answers were no success */
export function readLoad(printed: string): Load {
  if (/Non-2xx|Socket errors/.test(printed)) throw new Error(`Cannot measure a web server: requests failed:\n${printed}`);
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(printed);
  const slow = /99%\s+([\d.]+)(us|ms|s|m)\b/.exec(printed);
  const bytes = /Transfer\/sec:\s+([\d.]+)([KMG]?)B/.exec(printed);
  if (rate === null || slow === null || bytes === null) throw new Error(`Cannot read what wrk printed:\n${printed}`);
  const time = { us: 0.001, ms: 1, s: 1000, m: 60_000 }[slow[2] as "us" | "ms" | "s" | "m"];
  const size = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 }[bytes[2] as "" | "K" | "M" | "G"];
  return { requestsPerSecond: Number(rate[1]), p99Ms: Number(slow[1]) * time, bytesPerSecond: Number(bytes[1]) * size };
}

/** The bytes of one whole answer as they come over the wire, its head included: by these a stream that `wrk` has read in part is counted. @throws where it lacks its last piece */
export async function answerBytes(address: string, last: string): Promise<number> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.write(`GET / HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`);
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  const answer = Buffer.concat(pieces);
  if (!answer.includes(last)) throw new Error(`Cannot measure a stream: it is not whole:\n${answer.subarray(-500).toString()}`);
  return answer.byteLength;
}

/** @throws where it takes longer, with the name of the work */
export async function within<T>(limitMs: number, doing: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Cannot measure Serve: ${doing} took more than ${limitMs / 1000} s`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Serves the application while `measure` runs. */
export async function whileServed<T>(application: Application, measure: (address: string) => Promise<T>): Promise<T> {
  // Loaded here, so that the tests of this file need no build.
  const { run, shutdown, start } = await import("shoal/serve");
  const { address } = await within(START_LIMIT_MS, "its start", start({ httpOptions: { port: 0 } }));
  await within(START_LIMIT_MS, "the start of the application", run(application));
  try {
    return await measure(address as string);
  } finally {
    await within(STOP_LIMIT_MS, "its end", shutdown());
  }
}

/** Answers of a bare server in this process. */
async function whileBare<T>(listener: RequestListener, measure: (address: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await measure(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

interface BesideBare {
  readonly application: Application;
  readonly listener: RequestListener;
  readonly script?: string;
}

/** Rate of requests through Serve; in the details that of the bare server, the mean of once before and once after. */
export async function besideBare({ application, listener, script }: BesideBare, plan: Plan): Promise<Measurement> {
  const load = (address: string): Promise<Load> => loadOf(`${address}/`, { plan, script });
  const before = await whileBare(listener, load);
  const served = await whileServed(application, load);
  const after = await whileBare(listener, load);
  const bare = (of: (load: Load) => number): number => (of(before) + of(after)) / 2;
  const rate = bare(({ requestsPerSecond }) => requestsPerSecond);
  const slow = bare(({ p99Ms }) => p99Ms);
  return {
    samples: [served.requestsPerSecond],
    details: {
      p99Ms: served.p99Ms,
      barePerSecond: Math.round(rate),
      bareP99Ms: slow,
      shareOfBare: Math.round((served.requestsPerSecond / rate) * 1000) / 1000,
      p99OverBare: Math.round((served.p99Ms / slow) * 100) / 100,
    },
  };
}
