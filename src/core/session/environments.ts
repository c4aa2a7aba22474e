/**
 * The runtime environment of a call made in this process: the call's options, merged into the process's own environment.
 *
 * The result is a key in the shape of the call, under which the node keeps workers of their own. The node daemon learns the meaning of a
 * key once, before the first call that carries it. Processes in the default environment whose program names none pay one flag a call.
 */
import type { NodeId } from "../../runtime/base/ids.ts";
import { RuntimeEnvError } from "../../runtime/base/errors.ts";
import {
  DEFAULT_ENVIRONMENT_KEY,
  environmentKey,
  mergeRuntimeEnv,
  NO_ENVIRONMENT,
  type NodePlace,
  placedRuntimeEnv,
  type RuntimeEnvSpec,
} from "../../runtime/environment/runtime-env.ts";
import type { Connection } from "../../runtime/rpc/connection.ts";
import { machineName } from "../../runtime/os/machine/machine.ts";
import { leaseKey, parseLeaseSpec } from "../../runtime/scheduling/lease-spec.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";

interface ProcessPlace {
  readonly nodeId: NodeId;
  readonly mode: "process" | "inProcess";
  readonly runtimeEnv?: RuntimeEnvSpec | undefined;
}

export class Environments {
  /** The process's environment: a driver's job, or the environment for which a worker was started. */
  readonly inherited: RuntimeEnvSpec;
  readonly #daemon: Connection;
  /** The process's node: folders that are named here lie there. */
  readonly #here: NodePlace;
  readonly #mode: "process" | "inProcess";
  readonly #described = new Set<string>();
  readonly #merged = new WeakMap<RuntimeEnvSpec, { readonly spec: RuntimeEnvSpec; readonly shapes: Map<string, string> }>();

  constructor(daemon: Connection, { nodeId, mode, runtimeEnv = NO_ENVIRONMENT }: ProcessPlace) {
    this.#daemon = daemon;
    this.#mode = mode;
    this.#here = { node: nodeId, hostname: machineName() };
    this.inherited = runtimeEnv;
  }

  /** Whether calls without options of their own need `shapeFor`. */
  get isInherited(): boolean {
    return this.inherited !== NO_ENVIRONMENT;
  }

  /**
   * The shape with the environment in it; `own` is what the options of the call say.
   *
   * @throws RuntimeEnvError where everything runs in one process
   */
  shapeFor(shape: string, own: RuntimeEnvSpec | undefined): string {
    const given = own ?? NO_ENVIRONMENT;
    let merged = this.#merged.get(given);
    if (merged === undefined) {
      const placed = given === NO_ENVIRONMENT || this.inherited.job === undefined ? given : placedRuntimeEnv(given, this.#here);
      merged = { spec: mergeRuntimeEnv(this.inherited, placed), shapes: new Map() };
      this.#merged.set(given, merged);
    }
    let found = merged.shapes.get(shape);
    if (found === undefined) {
      const key = environmentKey(merged.spec);
      this.#describe(key, merged.spec);
      const spec = parseLeaseSpec(shape);
      found = leaseKey(spec.resources, { ...spec, environment: key });
      merged.shapes.set(shape, found);
    }
    return found;
  }

  #describe(key: string, spec: RuntimeEnvSpec): void {
    if (key === DEFAULT_ENVIRONMENT_KEY || this.#described.has(key)) return;
    if (this.#mode === "inProcess") {
      if (spec.language === "python") {
        throw new RuntimeEnvError("Cannot run Python in this session: everything runs in one process, and Python needs one of its own", {
          reason: 'the session was started with mode: "inProcess"',
          hint: "Start the session without mode.",
        });
      }
      throw new RuntimeEnvError("Cannot use runtimeEnv in this session: everything runs in one process, which has one environment", {
        reason: 'the session was started with mode: "inProcess"',
        hint: "Leave runtimeEnv out for tests in one process, or start the session without mode.",
      });
    }
    this.#described.add(key);
    this.#daemon.send(MESSAGE.ENVIRONMENT, { key, description: spec });
  }
}
