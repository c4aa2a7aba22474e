/** A driver whose daemon has ended: reads of stored and borrowed objects fail. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { IdSource, type JobId, newJobId, newNodeId, newProcessId, type ObjectId, type ProcessId } from "../runtime/base/ids.ts";
import { memoryRoot } from "../runtime/os/files/sessions/session-sweep.ts";
import { loopbackPair, type Transport } from "../runtime/os/network/transport.ts";
import { randomHex } from "../runtime/os/random.ts";
import { ObjectRefHandle } from "./objects/object-ref.ts";
import type { Runtime } from "./runtime.ts";
import { createRuntime } from "./session/create-runtime.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function driver(): { runtime: Runtime; daemonEnd: Transport; daemonId: ProcessId; lost: Promise<string> } {
  const folder = mkdtempSync(join(memoryRoot(), "shoal-lost-daemon-"));
  folders.push(folder);
  const [near, daemonEnd] = loopbackPair();
  const nodeId = newNodeId(randomHex);
  const daemonId = newProcessId(randomHex, nodeId);
  const jobId: JobId = newJobId(randomHex);
  const { promise: lost, resolve } = Promise.withResolvers<string>();
  const runtime = createRuntime({
    role: "driver",
    mode: "process",
    processId: newProcessId(randomHex, nodeId),
    nodeId,
    daemonId,
    jobId,
    token: "",
    ids: new IdSource(randomHex, jobId),
    namespace: "",
    labels: {},
    address: "",
    daemonTransport: near,
    memoryDirectory: folder,
    spillDirectory: folder,
    storeQuotaBytes: 1e8,
    taskOomRetries: 0,
    onLog: () => {},
    onWarning: () => {},
    onDaemonLost: resolve,
    collectGarbage: () => 0,
  });
  return { runtime, daemonEnd, daemonId, lost };
}

test("a stored object is not read any more: another may lie there by now", async () => {
  const { runtime, daemonEnd, lost } = driver();
  const ref = runtime.put(new Uint8Array(1_000_000));
  expect(await runtime.getOne(ref, {})).toHaveLength(1_000_000);
  daemonEnd.destroy();
  await lost;
  await expect(runtime.getOne(ref, {})).rejects.toMatchObject({ name: "NodeDiedError" });
  runtime.close({ failsPending: false });
});

test("an object of another process is waited for no longer, whether the wait began before or begins now", async () => {
  const { runtime, daemonEnd, daemonId, lost } = driver();
  const borrowed = (digit: string): ObjectRefHandle => {
    const entry = runtime.table.receive({ id: digit.repeat(40) as ObjectId, owner: daemonId });
    return new ObjectRefHandle(entry);
  };
  const before = runtime.getOne(borrowed("1"), {}).catch((error: unknown) => error);
  daemonEnd.destroy();
  await lost;
  expect(await before).toMatchObject({ name: "NodeDiedError" });
  await expect(runtime.getOne(borrowed("2"), {})).rejects.toMatchObject({ name: "NodeDiedError" });
  runtime.close({ failsPending: false });
});
