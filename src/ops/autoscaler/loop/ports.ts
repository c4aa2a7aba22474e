/**
 * The ports of the autoscaler's loop: the head, a clock, a log, and names.
 *
 * `head-client.ts` asks a real head; tests give one that is made up. The loop itself imports neither sockets nor timers.
 */
import type { Of } from "../../../runtime/wire/header-shape.ts";
import type { autoscalerReport } from "../autoscaler-messages.ts";
import type { Instance } from "../instances/instance.ts";
import type { RequestedBundle, Snapshot } from "../plan/snapshot.ts";

export type AutoscalerReport = Of<typeof autoscalerReport>;

/** The head refused a step, because another autoscaler acts: the present one has to begin again. */
export class FencedOutError extends Error {
  override readonly name = "FencedOutError";
}

export interface HeadPort {
  /** @returns the fence; undefined while another autoscaler acts */
  acquire(owner: string): Promise<number | undefined>;
  /** Records steps. @returns the version of the cluster file @throws FencedOutError for a fence that is not the last one */
  commit(fence: number, steps: readonly Instance[]): Promise<number>;
  /** All instances of the table, ended ones too. */
  instances(): Promise<Instance[]>;
  configText(): Promise<string>;
  /** Gives the head a cluster file where it has none. */
  ensureConfig(text: string): Promise<void>;
  demand(): Promise<Pick<Snapshot, "nodes" | "waiting" | "groups" | "isComplete">>;
  requested(): Promise<readonly RequestedBundle[]>;
  /** Asks a node to leave for being idle. @returns why it does not; undefined where it leaves, or is gone already */
  drain(nodeId: string): Promise<string | undefined>;
  /** Says what becomes of demands, by shape or id of a group. */
  tell(verdicts: readonly (readonly [key: string, text: string])[]): Promise<void>;
  report(report: AutoscalerReport): Promise<void>;
  /** Makes a secret with which an instance joins. */
  joinToken(): Promise<string>;
}

export interface AutoscalerPorts {
  readonly head: HeadPort;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly log: (text: string) => void;
  /** Random hexadecimal digits for names of instances. */
  readonly newName: () => string;
  /** The next step has something to do. */
  readonly wake: () => void;
}
