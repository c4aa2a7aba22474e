/**
 * Compares the table of instances with the provider's list and with the nodes of the cluster, and decides the next steps.
 *
 * The provider's list decides which instances exist. Lists lag, so an instance is missed only after a while, and a node that is alive proves
 * its instance. An instance that the provider calls pending is waited for. A listed instance that is absent from the table is ended, unless
 * its node is in the cluster. Pure.
 */
import { DRAINS_AGAIN_AFTER_MS, ENDS_AGAIN_AFTER_MS, JOINS_WITHIN_MS, UNLISTED_FOR_MS } from "../limits.ts";
import type { SnapshotNode } from "../plan/snapshot.ts";
import type { ProviderNode } from "../provider.ts";
import { type Instance, INSTANCE_LABEL, isEnded, moved } from "./instance.ts";

interface Observed {
  readonly instances: Iterable<Instance>;
  readonly nodes: readonly SnapshotNode[];
  /** Whether all nodes of the cluster are in `nodes`. */
  readonly isComplete: boolean;
  /** The provider's last list, and when it was asked for; undefined before the first one. */
  readonly list: { readonly nodes: readonly ProviderNode[]; readonly askedMs: number } | undefined;
  readonly nowMs: number;
}

export interface Steps {
  /** Instances in their new states. */
  readonly changes: readonly Instance[];
  /** Instances for the provider to end, unknown ones among them. */
  readonly ends: readonly string[];
  /** Instances whose nodes are to be drained. */
  readonly drains: readonly Instance[];
}

type Sight = ProviderNode | "absent" | "unknown";

export function reconcile(observed: Observed): Steps {
  const { nodes, list, nowMs, isComplete } = observed;
  const nodeOf = new Map(
    nodes.flatMap((node) => (node.labels[INSTANCE_LABEL] === undefined ? [] : [[node.labels[INSTANCE_LABEL], node] as const])),
  );
  const listed = new Map(list?.nodes.map((node) => [node.instanceId, node]));
  const known = new Set<string>();
  const changes: Instance[] = [];
  const ends: string[] = [];
  const drains: Instance[] = [];
  for (const instance of observed.instances) {
    known.add(instance.id);
    // A list from before the present state says nothing about it.
    const isFresh = list !== undefined && list.askedMs >= instance.sinceMs;
    const sight: Sight = listed.get(instance.id) ?? (isFresh ? "absent" : "unknown");
    const node = nodeOf.get(instance.id);
    const next = nextOf(instance, { node, sight, nowMs, isComplete });
    if (next !== undefined) changes.push(next);
    const now = next ?? instance;
    if (isEnded(instance) && node?.state === "alive") {
      // The instance was given up while it was on the way, and may have work by now.
      changes.push(moved(instance, "RUNNING", nowMs, { nodeId: node.nodeId, cause: undefined, message: undefined }));
      continue;
    }
    if (now.state === "TERMINATING" && (next !== undefined || nowMs - instance.sinceMs >= ENDS_AGAIN_AFTER_MS)) ends.push(now.id);
    if ((now.state === "FAILED" || now.state === "TERMINATED") && (next?.state === "FAILED" || typeof sight === "object"))
      ends.push(now.id);
    if (instance.state === "DRAINING" && next === undefined && node?.state === "alive" && nowMs - instance.sinceMs >= DRAINS_AGAIN_AFTER_MS)
      drains.push(instance);
  }
  for (const { instanceId, type, providerId } of listed.values()) {
    if (known.has(instanceId)) continue;
    const node = nodeOf.get(instanceId);
    // The table was lost with its head: nodes of the cluster stay, and go in order when they are idle.
    if (node === undefined) ends.push(instanceId);
    else changes.push({ id: instanceId, type, providerId, state: "RUNNING", createdMs: nowMs, sinceMs: nowMs, nodeId: node.nodeId });
  }
  return { changes, ends, drains };
}

interface Seen {
  readonly node: SnapshotNode | undefined;
  readonly sight: Sight;
  readonly nowMs: number;
  readonly isComplete: boolean;
}

/** Returns the instance in its next state; undefined where it stays. */
function nextOf(instance: Instance, { node, sight, nowMs, isComplete }: Seen): Instance | undefined {
  const isFailed = typeof sight === "object" && sight.state === "failed";
  const reason = typeof sight === "object" ? sight.reason : undefined;
  const ageMs = nowMs - instance.sinceMs;
  switch (instance.state) {
    case "QUEUED":
    case "TERMINATED":
    case "FAILED":
      return undefined;
    case "REQUESTED":
      if (node !== undefined) return moved(instance, "RUNNING", nowMs, { nodeId: node.nodeId });
      if (typeof sight === "object" && !isFailed) return moved(instance, "ALLOCATED", nowMs, { providerId: sight.providerId });
      return isFailed ? failed(instance, nowMs, reason ?? "the provider calls it failed") : undefined;
    case "ALLOCATED":
      if (node !== undefined) return moved(instance, "RUNNING", nowMs, { nodeId: node.nodeId });
      if (isFailed) return failed(instance, nowMs, reason ?? "the provider calls it failed");
      if (sight === "absent" && ageMs >= UNLISTED_FOR_MS) return failed(instance, nowMs, "the provider has it no more");
      // A pending instance is on the way, however long that takes.
      if (typeof sight === "object" && sight.state === "running" && ageMs >= JOINS_WITHIN_MS)
        return failed(instance, nowMs, `it has not joined the cluster within ${JOINS_WITHIN_MS / 1000} s`);
      return undefined;
    case "RUNNING":
      if (node === undefined) return isComplete ? ending(instance, nowMs, reason ?? "its node is dead") : undefined;
      if (node.state === "draining") return moved(instance, "DRAINING", nowMs, { cause: "drained" });
      return node.nodeId === instance.nodeId ? undefined : { ...instance, nodeId: node.nodeId };
    case "DRAINING":
      return node === undefined && isComplete ? moved(instance, "TERMINATING", nowMs) : undefined;
    case "TERMINATING":
      return sight === "absent" ? moved(instance, "TERMINATED", nowMs) : undefined;
  }
}

function failed(instance: Instance, nowMs: number, message: string): Instance {
  return moved(instance, "FAILED", nowMs, { cause: "other", message });
}

function ending(instance: Instance, nowMs: number, message: string): Instance {
  return moved(instance, "TERMINATING", nowMs, { cause: "dead", message });
}
