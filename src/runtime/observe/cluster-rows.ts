/**
 * Makes the rows of actors, nodes and placement groups from the facts that the head has of them.
 *
 * Lists of a living cluster and the head's history use the same rows, so both show the same columns. Pure.
 */
import { isNetworkAddress, parseNetworkAddress } from "../os/network/network-address.ts";
import type { ActorInfoHeader, GroupHeader, NodeHeader } from "../wire/messages.ts";
import type { KeyedRow } from "./select-rows.ts";

const ACTOR_STATES = { pending: "PENDING_CREATION", alive: "ALIVE", restarting: "RESTARTING", dead: "DEAD" } as const;
/** Ids end with the job of the process that made them. */
const JOB_DIGITS = 8;

export function actorRow({
  actorId,
  className,
  name,
  namespace,
  phase,
  isDetached,
  incarnation,
  pid,
  nodeId,
  reason,
  detail,
}: ActorInfoHeader): KeyedRow {
  const exit = detail?.exit;
  const row = {
    actor_id: actorId,
    class_name: className,
    state: ACTOR_STATES[phase],
    job_id: actorId.slice(-JOB_DIGITS),
    name: name ?? "",
    node_id: nodeId ?? null,
    pid: pid ?? null,
    ray_namespace: namespace,
    worker_id: detail?.worker ?? null,
    required_resources: detail?.resources ?? {},
    death_cause:
      phase !== "dead" && exit === undefined
        ? null
        : { reason: reason ?? null, signal: exit?.signal ?? null, exit_code: exit?.exitCode ?? null, last_lines: exit?.lastOutput ?? [] },
    is_detached: isDetached,
    placement_group_id: detail?.group ?? null,
    num_restarts: incarnation,
    max_restarts: Number.isFinite(detail?.maxRestarts) ? detail?.maxRestarts : -1,
    start_time_ms: detail?.createdMs ?? 0,
  };
  return { key: [row.start_time_ms, actorId], row };
}

export function nodeRow({ nodeId, hostname, address, labels, alive, draining, resources, reason, goneMs }: NodeHeader): KeyedRow {
  const row = {
    node_id: nodeId,
    node_ip: isNetworkAddress(address) ? parseNetworkAddress(address).host : "127.0.0.1",
    state: alive ? "ALIVE" : "DEAD",
    state_message: reason ?? (draining ? "It is being drained." : null),
    node_name: hostname,
    resources_total: resources,
    labels,
    end_time_ms: goneMs ?? null,
  };
  return { key: [goneMs ?? Number.MAX_SAFE_INTEGER, nodeId], row };
}

export function groupRow({ id, name, namespace, strategy, state, bundles, isDetached, nodeIds }: GroupHeader): KeyedRow {
  const row = {
    placement_group_id: id,
    name: name ?? "",
    state: state.toUpperCase(),
    ray_namespace: namespace,
    strategy,
    bundles: bundles.map((resources, index) => ({ bundle_index: index, resources, node_id: nodeIds[index] ?? null })),
    is_detached: isDetached,
  };
  return { key: [0, id], row };
}
