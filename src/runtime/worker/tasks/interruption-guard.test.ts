import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { enterLibrary, insideLibrary, libraryCode } from "../../base/library-code.ts";
import { DaemonInterruptSlot, WorkerInterruptSlot } from "../../os/processes/memory/interrupt-slot.ts";
import { Interruption, InterruptionGuard, isGuarded, measure } from "./interruption-guard.ts";

const call = { caller: "ab".repeat(16), callId: 3 };

/** The signal, as the daemon sends it: to this process, from within. */
function interruptSelf(): void {
  process.kill(process.pid, "SIGINT");
}

/** The signal comes some time later, from another process. */
function setSignalBehind(ms: number): void {
  spawn("sh", ["-c", `sleep ${ms / 1000}; kill -INT ${process.pid}`]);
}

describe("the guard", () => {
  let folder: string;
  let daemon: DaemonInterruptSlot;
  let guard: InterruptionGuard;
  const ignore = (): void => {};
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "test-shoal-guard-"));
    daemon = new DaemonInterruptSlot(join(folder, "slot"));
    guard = new InterruptionGuard(new WorkerInterruptSlot(join(folder, "slot")));
    process.on("SIGINT", ignore);
  });
  afterEach(() => {
    process.off("SIGINT", ignore);
    rmSync(folder, { recursive: true });
  });

  function interruptionOf(body: () => unknown): Interruption {
    try {
      guard.run(call, body);
    } catch (error) {
      return error as Interruption;
    }
    throw new Error("it was not interrupted");
  }

  test("hands on what the body returns and throws", () => {
    expect(guard.run(call, () => 42)).toBe(42);
    const thrown = new Error("of the body");
    expect(() =>
      guard.run(call, () => {
        throw thrown;
      }),
    ).toThrow(thrown);
    expect(daemon.runsOther({ ...call, callId: 4, recursive: true })).toBe(false);
  });

  test("stops a body that does not end, and tells for whom", () => {
    const interruption = interruptionOf(() => {
      expect(daemon.requestInterrupt({ ...call, recursive: true })).toBe(true);
      interruptSelf();
      for (;;);
    });
    expect(interruption).toBeInstanceOf(Interruption);
    expect(interruption).toMatchObject({ request: { recursive: true }, isUnsafe: false });
    expect(guard.run(call, () => "the next")).toBe("the next");
  });

  test("tells when nobody here sent the signal, and when our own code was stopped", () => {
    const interruption = interruptionOf(() => {
      enterLibrary();
      interruptSelf();
      for (;;);
    });
    expect(interruption).toMatchObject({ request: undefined, isUnsafe: true });
    expect(libraryCode).toEqual({ isRunning: false, shield: undefined });
  });

  describe("while Shoal's own code runs", () => {
    test("has the daemon send no signal, and stops the call when that code has returned", () => {
      let steps = 0;
      const interruption = interruptionOf(() => {
        insideLibrary(() => {
          insideLibrary(() => {
            expect(daemon.requestInterrupt({ ...call, recursive: true })).toBe(false);
            steps += 1;
          });
          expect(daemon.requestInterrupt({ ...call, recursive: true })).toBe(false);
          steps += 1;
        });
        steps += 1;
      });
      expect(steps).toBe(2);
      expect(interruption).toMatchObject({ request: { recursive: true, isForAncestor: false }, isUnsafe: false });
      expect(guard.run(call, () => insideLibrary(() => "the next"))).toBe("the next");
    });

    test("stops the call when such code throws", () => {
      const interruption = interruptionOf(() => {
        try {
          insideLibrary(() => {
            daemon.requestInterrupt({ ...call, recursive: false });
            throw new Error("of a user's getter");
          });
        } catch {
          // The task goes on, as far as it knows.
        }
        for (;;);
      });
      expect(interruption).toMatchObject({ request: { recursive: false }, isUnsafe: false });
    });

    test("waits for a signal that was promised before such code began", () => {
      const interruption = interruptionOf(() => {
        expect(daemon.requestInterrupt({ ...call, recursive: false })).toBe(true);
        setSignalBehind(5);
        insideLibrary(() => {
          throw new Error("it has begun");
        });
      });
      expect(interruption).toMatchObject({ isUnsafe: false });
    });

    test("takes a request that was deferred for a call that then ended by itself for done", () => {
      const since = performance.now();
      const value = guard.run(call, () => {
        const isOutermost = enterLibrary();
        daemon.requestInterrupt({ ...call, recursive: false });
        libraryCode.isRunning = false;
        void isOutermost;
        return "ended";
      });
      expect(value).toBe("ended");
      expect(performance.now() - since).toBeLessThan(500);
      expect(guard.run(call, () => insideLibrary(() => "the next"))).toBe("the next");
    });

    test("is a comparison outside of a frame", () => {
      expect(enterLibrary()).toBe(false);
      expect(insideLibrary(() => libraryCode.isRunning)).toBe(false);
    });
  });

  test("waits for a signal that is on its way when the body has ended, and keeps its value", () => {
    const value = guard.run(call, () => {
      daemon.requestInterrupt({ ...call, recursive: false });
      return "ended by itself";
    });
    expect(value).toBe("ended by itself");
    expect(guard.run(call, () => "the next")).toBe("the next");
  });

  test("is around functions that are not known or take long", () => {
    const measured = { syncMs: Number.POSITIVE_INFINITY };
    expect(isGuarded(measured)).toBe(true);
    measure(measured, 1);
    expect(measured.syncMs).toBe(1);
    expect(isGuarded(measured)).toBe(false);
    measure(measured, 100);
    expect(isGuarded(measured)).toBe(true);
  });
});
