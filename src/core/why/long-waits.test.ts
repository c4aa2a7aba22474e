import { afterEach, describe, expect, test } from "vitest";
import type { ActorId, JobId, ObjectId } from "../../runtime/base/ids.ts";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { WaitsHeader } from "../../runtime/wire/messages.ts";
import { TaskContext } from "../../runtime/worker/tasks/task-context.ts";
import { LongWaits } from "./long-waits.ts";

const told: WaitsHeader[] = [];
const waits = new LongWaits({
  jobId: "00000001" as JobId,
  idOf: (entry) => `task${entry.sequence}00000000` as ObjectId,
  tell: (header) => told.push(header),
});
const place = {
  actor: "a" as ActorId,
  actorName: undefined,
  incarnation: 0,
  resources: {},
  executor: undefined,
  shape: "",
  accelerators: {},
  isSerial: true,
};
const context = new TaskContext({ name: "A.wait", taskIdPrefix: "aaaaaaaaaaaa", callId: 1, place });

afterEach(() => {
  waits.close();
  told.length = 0;
});

function pending(sequence: number): ObjectEntry {
  const entry = new ObjectEntry(sequence, 0);
  entry.label = "B.answer";
  return entry;
}

describe("waits that last", () => {
  test("are told once they have lasted a whole turn, and their end after that", () => {
    const wait = waits.begin(context, [pending(7)]);
    waits.turn();
    expect(told).toEqual([]);
    waits.turn();
    waits.turn();
    const task = context.taskId("00000001" as JobId);
    expect(told).toEqual([
      { began: [{ number: 1, task, name: "A.wait", actor: "a", for: [{ task: "task7", name: "B.answer", actor: undefined }] }], ended: [] },
    ]);
    waits.end(wait);
    waits.turn();
    expect(told[1]).toEqual({ began: [], ended: [1] });
  });

  test("are not told when they end before", () => {
    waits.end(waits.begin(context, [pending(1)]));
    for (let turn = 0; turn < 3; turn += 1) waits.turn();
    expect(told).toEqual([]);
  });
});
