/**
 * The machines on which trials run, by name and address, for the results.
 *
 * A trial's process reports its id and its node. The driver asks the cluster once for each node, and the process itself does if a class has
 * `logResult`.
 */
import { getRuntimeContext, nodes } from "../../core/index.ts";
import { hostOf } from "../../runs/node-address.ts";
import type { TrialPlace } from "./trial.ts";
import type { ProcessId } from "../processes/trial-protocol.ts";

type Machine = Omit<TrialPlace, "pid">;

/** The place of a node that the cluster does not list. */
const UNKNOWN: Machine = { hostname: "", nodeIp: "" };

export class TrialPlaces {
  readonly #machines = new Map<string, Promise<Machine>>();

  async of({ pid, nodeId }: ProcessId): Promise<TrialPlace> {
    let machine = this.#machines.get(nodeId);
    if (machine === undefined) this.#machines.set(nodeId, (machine = machineOf(nodeId)));
    const known = await machine;
    if (known === UNKNOWN) this.#machines.delete(nodeId);
    return { pid, ...known };
  }
}

let own: Promise<TrialPlace> | undefined;

/** Where this process runs. */
export function ownPlace(): Promise<TrialPlace> {
  return (own ??= new TrialPlaces().of({ pid: process.pid, nodeId: getRuntimeContext().nodeId }));
}

async function machineOf(nodeId: string): Promise<Machine> {
  try {
    const node = (await nodes()).find((one) => one.nodeId === nodeId);
    return node === undefined ? UNKNOWN : { hostname: node.hostname, nodeIp: hostOf(node.address) ?? "127.0.0.1" };
  } catch {
    // A cluster that has ended shows in the trials.
    return UNKNOWN;
  }
}
