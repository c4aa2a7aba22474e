/** Pods as instances: each phase has its state, and reasons are Kubernetes' own words. */
import { expect, test } from "vitest";
import { instanceOfPod, isOverdue, type Pod } from "./pod.ts";

const CREATED = "2026-01-01T00:00:00Z";
const NOW_MS = Date.parse(CREATED) + 60_000;

function pod(status: NonNullable<Pod["status"]>, metadata: Partial<Pod["metadata"]> = {}): Pod {
  const labels = { "shoal.io/instance-id": "demo-1" };
  const annotations = { "shoal.io/node-type": "cpu" };
  return {
    metadata: { name: "demo-1", uid: "u", resourceVersion: "1", creationTimestamp: CREATED, labels, annotations, ...metadata },
    status,
  };
}

function seen(given: Pod, { nowMs = NOW_MS, unschedulableForMs }: { nowMs?: number; unschedulableForMs?: number } = {}): [string, string?] {
  const { state, reason } = instanceOfPod(given, { nowMs, unschedulableForMs }) ?? { state: "none" };
  return reason === undefined ? [state] : [state, reason];
}

const waits = (reason: string, message: string): Pod =>
  pod({ phase: "Pending", containerStatuses: [{ name: "shoal", state: { waiting: { reason, message } } }] });
const unscheduled = pod({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes are available: 3 Insufficient cpu." }],
});

test("a pod that is on the way is pending, with the reason why it waits", () => {
  expect(seen(pod({ phase: "Pending" }))).toEqual(["pending"]);
  expect(seen(waits("ContainerCreating", ""))).toEqual(["pending"]);
  expect(seen(waits("ImagePullBackOff", "Back-off pulling image"))).toEqual(["pending", "ImagePullBackOff: Back-off pulling image"]);
  expect(seen(unscheduled)).toEqual(["pending", "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."]);
});

test("a pod that cannot start has failed: at once, after five minutes, or after the file's time", () => {
  expect(seen(waits("InvalidImageName", "couldn't parse image"))).toEqual(["failed", "InvalidImageName: couldn't parse image"]);
  expect(seen(waits("ImagePullBackOff", "x"), { nowMs: NOW_MS + 240_000 })[0]).toBe("failed");
  expect(seen(unscheduled, { unschedulableForMs: 61_000 })[0]).toBe("pending");
  expect(seen(unscheduled, { unschedulableForMs: 60_000 })[0]).toBe("failed");
  expect(seen(unscheduled, { nowMs: NOW_MS + 1e9 })[0]).toBe("pending");
});

test("a pod that has ended has failed, with the cause", () => {
  const ended = (exitCode: number, reason: string): Pod =>
    pod({ phase: "Failed", containerStatuses: [{ name: "shoal", state: { terminated: { exitCode, reason } } }] });
  expect(seen(ended(137, "OOMKilled"))).toEqual(["failed", "OOMKilled (exit code 137)"]);
  expect(seen(pod({ phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." }))).toEqual([
    "failed",
    "Evicted: The node was low on resource: memory.",
  ]);
  expect(seen(pod({ phase: "Succeeded" }))).toEqual(["failed", "the pod is Succeeded"]);
});

test("a deleted pod is terminating, with the reason of the disruption where there is one", () => {
  const deleted = { deletionTimestamp: CREATED };
  expect(seen(pod({ phase: "Running" }, deleted))).toEqual(["terminating", "the pod is deleted"]);
  const preempted = [
    {
      type: "DisruptionTarget",
      status: "True",
      reason: "PreemptionByScheduler",
      message: "preempting to accommodate a higher priority pod",
    },
  ];
  expect(seen(pod({ phase: "Running", conditions: preempted }, deleted))).toEqual([
    "terminating",
    "PreemptionByScheduler: preempting to accommodate a higher priority pod",
  ]);
});

test("a deleted pod is overdue a minute after its grace", () => {
  expect(isOverdue(pod({ phase: "Running" }), 1e15)).toBe(false);
  const deleted = pod({ phase: "Running" }, { deletionTimestamp: CREATED });
  expect([isOverdue(deleted, NOW_MS - 1), isOverdue(deleted, NOW_MS)]).toEqual([false, true]);
});

test("a running pod runs, also where its kubelet is silent; a pod without the label is nobody's instance", () => {
  expect(seen(pod({ phase: "Running", podIP: "10.1.1.1" }))).toEqual(["running"]);
  expect(instanceOfPod(pod({ phase: "Running", podIP: "10.1.1.1" }), { nowMs: 0, unschedulableForMs: undefined })).toMatchObject({
    instanceId: "demo-1",
    providerId: "demo-1",
    type: "cpu",
    address: "10.1.1.1",
  });
  expect(seen(pod({ phase: "Unknown", reason: "NodeLost" }))).toEqual(["running", "NodeLost"]);
  expect(seen(pod({ phase: "Running" }, { labels: {} }))).toEqual(["none"]);
});
