/** Tests a leading head apart from its server, with fake time and an in-memory control plane. */
import { afterEach, expect, test, vi } from "vitest";
import type { NodeId, ProcessId } from "../../base/ids.ts";
import { HeadLifecycle } from "./head-lifecycle.ts";
import { openControlPlane } from "../../nats/open-control-plane.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("a head compacts the store every ten minutes, for as long as it leads", async () => {
  vi.useFakeTimers();
  await using plane = await openControlPlane({ kind: "memory" });
  const compact = vi.spyOn(plane.store, "compact");
  const lifecycle = new HeadLifecycle({
    plane,
    address: "127.0.0.1:1",
    self: { nodeId: "a".repeat(32) as NodeId, processId: "b".repeat(32) as ProcessId },
    token: "token",
    security: undefined,
    hasRivals: false,
    newIncarnation: () => "1",
    nowMs: () => performance.now(),
    extensions: [],
  });
  await vi.advanceTimersByTimeAsync(599_000);
  expect(compact).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(602_000);
  expect(compact).toHaveBeenCalledTimes(2);
  lifecycle.close();
  await vi.advanceTimersByTimeAsync(1_200_000);
  expect(compact).toHaveBeenCalledTimes(2);
});
