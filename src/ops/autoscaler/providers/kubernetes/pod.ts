/**
 * A pod as the API server tells it, and the instance that it stands for. Pure.
 *
 * `shoal.io/cluster` and `shoal.io/instance-id` are labels of every pod that the provider makes. Reasons are Kubernetes' own words: of the
 * scheduler, of the image puller, of the eviction, or of the ended container.
 */
import { count, either, fields, list, nothing, number, type Of, optional, record, text } from "../../../../runtime/wire/header-shape.ts";
import { INSTANCE_LABEL, TYPE_LABEL } from "../../instances/instance.ts";
import type { ProviderNode } from "../../provider.ts";
import { FORCED_AFTER_MS, IMAGE_WITHIN_MS, TEXT_LENGTH_MAX } from "./limits.ts";

export const CLUSTER_LABEL = "shoal.io/cluster";

const ownerShape = fields({ apiVersion: text, kind: text, name: text, uid: text });
const containerStatus = fields({
  name: text,
  state: optional(
    fields({
      waiting: optional(fields({ reason: optional(text), message: optional(text) })),
      terminated: optional(fields({ exitCode: number, reason: optional(text), message: optional(text), signal: optional(count) })),
    }),
  ),
});
export const podShape = fields({
  metadata: fields({
    name: text,
    uid: text,
    resourceVersion: text,
    creationTimestamp: text,
    deletionTimestamp: optional(text),
    labels: optional(record(text)),
    annotations: optional(record(text)),
    ownerReferences: optional(list(ownerShape)),
  }),
  status: optional(
    fields({
      phase: optional(text),
      reason: optional(text),
      message: optional(text),
      podIP: optional(text),
      conditions: optional(
        list(
          fields({
            type: text,
            status: text,
            reason: optional(text),
            message: optional(text),
            // Null in conditions that nobody has dated.
            lastTransitionTime: optional(either(text, nothing)),
          }),
        ),
      ),
      containerStatuses: optional(list(containerStatus)),
      initContainerStatuses: optional(list(containerStatus)),
    }),
  ),
});
export type Pod = Of<typeof podShape>;
export type OwnerReference = Of<typeof ownerShape>;

interface PodTimes {
  readonly nowMs: number;
  /** A pod that no node can take for so long has failed, so that other types are tried. Undefined: it waits. */
  readonly unschedulableForMs: number | undefined;
}

/** The instance of the pod; undefined for a pod that this provider has not made. */
export function instanceOfPod(pod: Pod, times: PodTimes): ProviderNode | undefined {
  const { metadata, status = {} } = pod;
  const instanceId = metadata.labels?.[INSTANCE_LABEL];
  if (instanceId === undefined) return undefined;
  const node = {
    instanceId,
    providerId: metadata.name,
    type: metadata.annotations?.[TYPE_LABEL] ?? metadata.labels?.[TYPE_LABEL] ?? "",
    address: status.podIP,
  };
  const shown = (state: ProviderNode["state"], reason?: string): ProviderNode => ({
    ...node,
    state,
    reason: reason?.slice(0, TEXT_LENGTH_MAX),
  });
  if (status.phase === "Failed" || status.phase === "Succeeded") return shown("failed", endReason(pod));
  if (metadata.deletionTimestamp !== undefined) return shown("terminating", disruption(pod) ?? "the pod is deleted");
  if (status.phase === "Running") return shown("running");
  // The kubelet does not answer. The node proves by its heartbeats whether it lives.
  if (status.phase === "Unknown") return shown("running", status.message ?? status.reason);
  return pendingInstance(pod, times, shown);
}

/**
 * Whether the pod's machine has not ended it in its time: the machine is lost, and the pod would stay for ever. Its node has ended itself,
 * as it does not reach the head, or has left the cluster before.
 */
export function isOverdue({ metadata: { deletionTimestamp } }: Pod, nowMs: number): boolean {
  return deletionTimestamp !== undefined && nowMs - Date.parse(deletionTimestamp) >= FORCED_AFTER_MS;
}

function pendingInstance(
  { metadata, status = {} }: Pod,
  { nowMs, unschedulableForMs }: PodTimes,
  shown: (state: ProviderNode["state"], reason?: string) => ProviderNode,
): ProviderNode {
  const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") {
    const reason = sentence(scheduled.reason, scheduled.message);
    const sinceMs = Date.parse(scheduled.lastTransitionTime ?? metadata.creationTimestamp);
    const isOver = WAITS_FOR_ROOM.has(scheduled.reason ?? "") && unschedulableForMs !== undefined && nowMs - sinceMs >= unschedulableForMs;
    return shown(isOver ? "failed" : "pending", reason);
  }
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const waiting = all.find(({ state }) => state?.waiting?.reason !== undefined && !STARTS.has(state.waiting.reason))?.state?.waiting;
  if (waiting === undefined) return shown("pending");
  const reason = sentence(waiting.reason, waiting.message);
  const isOver = NEVER_STARTS.has(waiting.reason ?? "") || nowMs - Date.parse(metadata.creationTimestamp) >= IMAGE_WITHIN_MS;
  return shown(isOver ? "failed" : "pending", reason);
}

/** Reasons of a pod that no machine can take now. */
const WAITS_FOR_ROOM: ReadonlySet<string> = new Set(["Unschedulable"]);
/** Reasons of a container that waits as every container does. */
const STARTS: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);
/** Reasons that no later try changes. */
const NEVER_STARTS: ReadonlySet<string> = new Set(["InvalidImageName", "ErrImageNeverPull"]);

function endReason(pod: Pod): string {
  const { status = {} } = pod;
  const moved = disruption(pod);
  if (moved !== undefined) return moved;
  if (status.reason !== undefined || status.message !== undefined) return sentence(status.reason, status.message);
  const ended = status.containerStatuses?.map(({ state }) => state?.terminated).find((one) => one !== undefined);
  if (ended === undefined) return `the pod is ${status.phase}`;
  return sentence(`${ended.reason ?? "ended"} (exit code ${ended.exitCode})`, ended.message);
}

/** Why Kubernetes takes the pod away: preemption, eviction, a drained or lost machine. */
function disruption({ status = {} }: Pod): string | undefined {
  const target = status.conditions?.find(({ type, status: is }) => type === "DisruptionTarget" && is === "True");
  return target === undefined ? undefined : sentence(target.reason, target.message);
}

function sentence(reason: string | undefined, message: string | undefined): string {
  return [reason, message].filter((part) => part !== undefined && part !== "").join(": ");
}
