import { expect, test } from "vitest";
import type { ProcessId } from "../../base/ids.ts";
import { WorkerPool } from "./worker-pool.ts";

test("reports a worker whose code is stopped, and none that runs something else", () => {
  const interrupted: ProcessId[] = [];
  const running = { caller: "driver" as ProcessId, callId: 7, recursive: false };
  const names = ["first", "second"] as ProcessId[];
  const pool = new WorkerPool({
    launcher: {
      launch: ({ workerId }) => ({ pid: 1, kill: () => {}, interrupt: ({ callId }) => workerId === "second" && callId === running.callId }),
    },
    newId: () => names.shift() as ProcessId,
    events: { onOutput: () => {}, onExit: () => {}, onInterrupted: (id) => interrupted.push(id) },
  });
  pool.spawn("", undefined);
  pool.spawn("", undefined);
  pool.interrupt("second" as ProcessId, { ...running, callId: 8 });
  pool.interrupt("gone" as ProcessId, running);
  expect(interrupted).toEqual([]);
  pool.interrupt("second" as ProcessId, running);
  pool.interruptWhereRun(running);
  expect(interrupted).toEqual(["second", "second"]);
});
