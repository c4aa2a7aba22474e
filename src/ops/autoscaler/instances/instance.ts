/**
 * An instance: one launch of a node, from the wish to its end, as the head's table keeps it.
 *
 * `QUEUED` is wanted, `REQUESTED` the provider is being asked, `ALLOCATED` the provider has it, `RUNNING` its node is in the cluster. Then
 * `DRAINING`, `TERMINATING`, `TERMINATED`; or `FAILED`, which the provider refused, lost or gave up. A step is committed before its effect.
 */
import { count, exactly, fields, number, type Of, optional, text } from "../../../runtime/wire/header-shape.ts";

const state = exactly("QUEUED", "REQUESTED", "ALLOCATED", "RUNNING", "DRAINING", "TERMINATING", "TERMINATED", "FAILED");
type InstanceState = Of<typeof state>;

export const instanceShape = fields({
  id: text,
  type: text,
  state,
  /** When it was queued, and when it came into its state, in milliseconds since 1970. */
  createdMs: number,
  sinceMs: number,
  providerId: optional(text),
  nodeId: optional(text),
  /** Why it failed or is ended. */
  cause: optional(text),
  message: optional(text),
  /** Before this the type is not launched again. */
  retryAtMs: optional(number),
  /** How often the provider was asked to launch it. */
  tries: optional(count),
});
export type Instance = Of<typeof instanceShape>;

/** Label by which the cluster knows the instance of a node. */
export const INSTANCE_LABEL = "shoal.io/instance-id";
/** Label with the node's type. */
export const TYPE_LABEL = "shoal.io/node-type";

export function isEnded({ state: now }: Instance): boolean {
  return now === "TERMINATED" || now === "FAILED";
}

/** Whether it is on the way to run. */
export function isComing({ state: now }: Instance): boolean {
  return now === "QUEUED" || now === "REQUESTED" || now === "ALLOCATED";
}

/** Returns the instance in another state. */
export function moved(instance: Instance, to: InstanceState, nowMs: number, facts: Partial<Instance> = {}): Instance {
  return { ...instance, ...facts, state: to, sinceMs: nowMs };
}
