import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DaemonInterruptSlot, WorkerInterruptSlot } from "./interrupt-slot.ts";

const CALLER = "0123456789abcdef".repeat(2);
const call = { caller: CALLER, callId: 7 };

describe("the interrupt slot between a daemon and a worker", () => {
  let folder: string;
  let path: string;
  let daemon: DaemonInterruptSlot;
  let worker: WorkerInterruptSlot;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "test-shoal-interrupt-slot-"));
    path = join(folder, "run-1");
    daemon = new DaemonInterruptSlot(path);
    worker = new WorkerInterruptSlot(path);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("is readable by its user alone, and removed", () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    daemon.remove();
    expect(existsSync(path)).toBe(false);
  });

  test("tells the daemon which call a worker ran when it ended", () => {
    expect(daemon.running()).toBeUndefined();
    worker.enter(call);
    expect(daemon.running()).toEqual(call);
    worker.leave();
    expect(daemon.running()).toBeUndefined();
  });

  test.each(["1", "0"])("tells the daemon which call ran in a process that tasks shared (SHOAL_NATIVE=%s)", (native) => {
    const code = (
      last: string,
    ): string => `import { WorkerInterruptSlot } from ${JSON.stringify(new URL("./interrupt-slot.ts", import.meta.url).href)};
      const slot = new WorkerInterruptSlot(${JSON.stringify(path)});
      slot.share({ caller: ${JSON.stringify(CALLER)}, callId: 3, name: "${"long".repeat(40)}" });
      slot.share({ caller: ${JSON.stringify(CALLER)}, callId: 9, name: "child" });
      ${last}
      process.kill(process.pid, "SIGKILL");`;
    const run = (last: string): void => {
      const args = ["--experimental-strip-types", "--input-type=module", "--eval", code(last)];
      expect(spawnSync(process.execPath, args, { env: { ...process.env, SHOAL_NATIVE: native } }).signal).toBe("SIGKILL");
    };
    expect(daemon.sharing()).toBeUndefined();
    run("");
    expect(daemon.sharing()).toEqual({ caller: CALLER, callId: 9, name: "child" });
    expect(daemon.begun()).toEqual([]);
    run("slot.share(undefined);");
    expect(daemon.sharing()).toBeUndefined();
  });

  test.each(["1", "0"])("tells the daemon which call of each connection began last (SHOAL_NATIVE=%s)", (native) => {
    const code = `import { WorkerInterruptSlot } from ${JSON.stringify(new URL("./interrupt-slot.ts", import.meta.url).href)};
      const slot = new WorkerInterruptSlot(${JSON.stringify(path)});
      const first = slot.begunOf(7);
      const second = slot.begunOf(9);
      slot.begunOf(11);
      first.begins(0);
      second.begins(4);
      first.begins(5);
      process.kill(process.pid, "SIGKILL");`;
    expect(daemon.begun()).toEqual([]);
    const child = spawnSync(process.execPath, ["--experimental-strip-types", "--input-type=module", "--eval", code], {
      env: { ...process.env, SHOAL_NATIVE: native },
    });
    expect(child.signal).toBe("SIGKILL");
    expect(daemon.begun()).toEqual([
      [7, 5],
      [9, 4],
    ]);
    expect(daemon.running()).toBeUndefined();
  });

  test("marks calls of the connections that had calls last when there were more than it has places for", () => {
    const connections = Array.from({ length: 65 }, (_, index) => worker.begunOf(index + 1));
    for (const each of connections) each.begins(1);
    expect(daemon.begun()[0]).toEqual([65, 1]);
    connections[0]?.begins(2);
    const begun = new Map(daemon.begun());
    expect(begun.size).toBe(64);
    expect([begun.get(1), begun.get(2), begun.get(3), begun.get(65)]).toEqual([2, undefined, 1, 1]);
    connections[1]?.begins(3);
    connections[0]?.begins(4);
    expect(new Map(daemon.begun()).get(1)).toBe(4);
  });

  test("lets a signal be sent to the call that runs, which knows of it", () => {
    worker.enter(call);
    expect(daemon.requestInterrupt({ ...call, recursive: true })).toBe(true);
    expect(worker.interruptRequest()).toMatchObject({ recursive: true, isForAncestor: false });
    worker.leave();
    expect(worker.interruptRequest()).toMatchObject({ recursive: true, isForAncestor: false });
    worker.interrupted();
    expect(worker.interruptRequest()).toBeUndefined();
  });

  test("lets none be sent while nothing or another call runs, and leaves no request behind", () => {
    expect(daemon.requestInterrupt({ ...call, recursive: true })).toBe(false);
    for (const other of [
      { caller: CALLER, callId: 8 },
      { caller: CALLER.replace("0", "f"), callId: 7 },
    ]) {
      worker.enter(other);
      expect(daemon.requestInterrupt({ ...call, recursive: false })).toBe(false);
      expect(daemon.runsOther({ ...call, recursive: true })).toBe(true);
      worker.leave();
      expect(daemon.runsOther({ ...call, recursive: true })).toBe(false);
    }
    worker.enter(call);
    expect(daemon.runsOther({ ...call, recursive: true })).toBe(false);
    expect(worker.interruptRequest()).toBeUndefined();
  });

  test("lets a recursive request for a call that the running one was made for reach it, and no other request", () => {
    const ancestors = [8, 9].map((callId) => ({ caller: CALLER, callId }));
    worker.enter(call, ancestors);
    const oldest = { caller: CALLER, callId: 9 };
    expect(daemon.requestInterrupt({ ...oldest, recursive: false })).toBe(false);
    expect(daemon.runsOther({ ...oldest, recursive: false })).toBe(true);
    expect(daemon.runsOther({ ...oldest, recursive: true })).toBe(false);
    expect(worker.interruptRequest()).toBeUndefined();
    expect(daemon.requestInterrupt({ ...oldest, recursive: true })).toBe(true);
    expect(worker.interruptRequest()).toMatchObject({ recursive: true, isForAncestor: true });
    worker.leave();
    worker.interrupted();
    worker.enter({ ...call, callId: 10 });
    expect(daemon.requestInterrupt({ ...oldest, recursive: true })).toBe(false);
  });

  test("has one signal under way at a time, and keeps its request while others are refused", () => {
    worker.enter(call, [{ caller: CALLER, callId: 8 }]);
    expect(daemon.requestInterrupt({ ...call, recursive: false })).toBe(true);
    for (const callId of [8, 11]) expect(daemon.requestInterrupt({ caller: CALLER, callId, recursive: true })).toBe(false);
    expect(worker.interruptRequest()).toMatchObject({ recursive: false, isForAncestor: false });
  });

  test("defers what comes while Shoal's own code runs, until the daemon asks again", () => {
    worker.enter(call);
    worker.raise();
    expect(worker.hasRequest).toBe(false);
    expect(daemon.requestInterrupt({ ...call, recursive: true })).toBe(false);
    expect(daemon.hasDeferred).toBe(true);
    expect(worker.hasRequest).toBe(true);
    expect(worker.interruptRequest()).toEqual({ recursive: true, isForAncestor: false, isDeferred: true });
    worker.lower();
    expect(daemon.requestInterrupt({ ...call, recursive: true })).toBe(true);
    expect(daemon.hasDeferred).toBe(false);
    expect(worker.interruptRequest()).toEqual({ recursive: true, isForAncestor: false, isDeferred: false });
    worker.interrupted();
    expect(worker.hasRequest).toBe(false);
  });

  test("keeps the request for another call", () => {
    worker.enter(call);
    daemon.requestInterrupt({ ...call, recursive: false });
    worker.leave();
    worker.enter({ ...call, callId: 9 });
    worker.interrupted();
    worker.enter(call);
    expect(worker.interruptRequest()).toMatchObject({ recursive: false, isForAncestor: false });
  });
});
