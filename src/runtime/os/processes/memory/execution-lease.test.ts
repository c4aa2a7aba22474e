import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DaemonExecutionLease, leasedTransport, WorkerExecutionLease } from "./execution-lease.ts";
import { loopbackPair } from "../../network/transport.ts";

describe("a worker that may run for as long as its daemon says", () => {
  let folder: string;
  let daemon: DaemonExecutionLease;
  let seen: string[];
  /** How much later than the real one the worker's clock is. */
  let laterMs: number;
  let blockedMs: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "test-shoal-lease-"));
    daemon = new DaemonExecutionLease(join(folder, "runs-until"));
    seen = [];
    laterMs = 0;
    blockedMs = 0;
  });
  afterEach(() => {
    daemon.close();
    rmSync(folder, { recursive: true });
  });

  const newWorker = (whileBlocked = (): void => {}): WorkerExecutionLease =>
    new WorkerExecutionLease({
      path: join(folder, "runs-until"),
      end: (reason) => seen.push(reason),
      nowMs: () => Number(process.hrtime.bigint()) / 1e6 + laterMs,
      block: (ms) => {
        blockedMs += ms;
        laterMs += ms;
        whileBlocked();
      },
    });

  test("runs without an end before the daemon has named one", () => {
    laterMs = 1e9;
    newWorker().check();
    expect(blockedMs).toBe(0);
  });

  test("looks again when the time that it knows is over", () => {
    daemon.allow(performance.now() + 1_000);
    const worker = newWorker();
    daemon.allow(performance.now() + 60_000);
    laterMs = 30_000;
    worker.check();
    expect(blockedMs).toBe(0);
  });

  test("stands still after it, and half a second more, until the daemon has been answered", () => {
    daemon.allow(performance.now() + 1_000);
    const worker = newWorker(() => {
      if (blockedMs === 200) daemon.allow(performance.now() + laterMs + 60_000);
    });
    laterMs = 1_400;
    worker.check();
    expect(blockedMs).toBe(0);
    laterMs = 1_600;
    worker.check();
    worker.check();
    expect(blockedMs).toBe(200);
    expect(seen).toEqual([]);
  });

  test("ends when it has stood still for thirty seconds", () => {
    daemon.allow(performance.now());
    laterMs = 600;
    newWorker().check();
    expect(seen).toEqual([expect.stringContaining("other nodes may have taken over")]);
    expect(blockedMs).toBeGreaterThan(29_000);
  });

  test("reads nothing before it may run", async () => {
    daemon.allow(performance.now());
    laterMs = 600;
    const worker = newWorker(() => {
      seen.push("blocked");
      daemon.allow(performance.now() + laterMs + 60_000);
    });
    const [near, far] = loopbackPair();
    leasedTransport(near, worker).onChunk = (chunk) => seen.push(chunk.toString());
    far.write(Buffer.from("call"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual(["blocked", "call"]);
  });
});
