/**
 * Load on a web server by `wrk`, a program of Debian's, and the bare `node:http` server that Serve is compared to.
 *
 * `wrk` costs little processor time beside the servers, and both sides are measured with the same program: `ray/serve_figures.py` calls it, too. Called by the figures `serve-*`.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { type Application, run, shutdown, start } from "shoal/serve";
import type { Measurement, Plan } from "./figure.ts";

interface Load {
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
}

/** @throws where `wrk` is not installed, or an answer was no success */
export async function loadOf(url: string, { connections = 64, plan }: { connections?: number; plan: Plan }): Promise<Load> {
  const seconds = Math.max(1, Math.round((plan.windowMs * plan.windows) / 1000));
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", url];
  const { stdout } = await promisify(execFile)("wrk", args).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") throw new Error("Cannot measure a web server: wrk is not installed: apt-get install wrk");
    throw cause;
  });
  return readLoad(stdout);
}

/** Reads what `wrk --latency` prints. @throws where answers were no success */
export function readLoad(printed: string): Load {
  if (/Non-2xx|Socket errors/.test(printed)) throw new Error(`Cannot measure a web server: requests failed:\n${printed}`);
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(printed);
  const slow = /99%\s+([\d.]+)(us|ms|s)\b/.exec(printed);
  if (rate === null || slow === null) throw new Error(`Cannot read what wrk printed:\n${printed}`);
  const unit = { us: 0.001, ms: 1, s: 1000 }[slow[2] as "us" | "ms" | "s"];
  return { requestsPerSecond: Number(rate[1]), p99Ms: Number(slow[1]) * unit };
}

/** Serves the application while `measure` runs. */
export async function whileServed<T>(application: Application, measure: (address: string) => Promise<T>): Promise<T> {
  const { address } = await start({ httpOptions: { port: 0 } });
  await run(application);
  try {
    return await measure(address as string);
  } finally {
    await shutdown();
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

/** Rate of requests through Serve; beside it those of the bare server, in turn. */
export async function besideBare(
  { application, path, listener }: { application: Application; path: string; listener: RequestListener },
  plan: Plan,
): Promise<{ served: Load; bare: Load }> {
  const load = (address: string): Promise<Load> => loadOf(`${address}${path}`, { plan });
  const bare = await whileBare(listener, async (address) => {
    await load(address);
    return await load(address);
  });
  const served = await whileServed(application, async (address) => {
    await load(address);
    return await load(address);
  });
  return { served, bare };
}

export function rateMeasurement({ served, bare }: { served: Load; bare: Load }): Measurement {
  return {
    samples: [served.requestsPerSecond],
    details: {
      p99Ms: served.p99Ms,
      barePerSecond: Math.round(bare.requestsPerSecond),
      bareP99Ms: bare.p99Ms,
      shareOfBare: Math.round((served.requestsPerSecond / bare.requestsPerSecond) * 1000) / 1000,
    },
  };
}
