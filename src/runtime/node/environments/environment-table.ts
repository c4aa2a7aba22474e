/**
 * The runtime environments of this node: described, being built or ready, with their waiting workers.
 *
 * A pure state machine. Processes describe an environment before they ask for its workers; environments that other nodes' processes ask for are looked up. The first
 * wanted worker starts the build, and workers wanted meanwhile start together afterwards. A failure ends all waiting requests and is then forgotten. The next request
 * builds again, because the cause may have been a network.
 */
import type { JobId, NodeId } from "../../base/ids.ts";
import type { ForeignCode } from "../../closure/modules/foreign-code.ts";
import type { Refusal } from "../leases/demands/lease-obstacles.ts";
import { FAILED_STARTS_MAX } from "../workers/limits.ts";

/** How a worker of an environment is started. */
export interface LaunchSettings {
  readonly description: EnvironmentDescription;
  readonly envVars: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
  /** The folder whose `node_modules` its code finds first. */
  readonly packageFolder: string | undefined;
  /** Where the driver's files are, when they are not where the driver has them. */
  readonly foreignCode?: ForeignCode;
  /** The interpreter of Python workers. */
  readonly interpreter?: string;
  /** The Node binary of the workers, if it is not the daemon's. */
  readonly program?: string;
  /** Modules imported before workers are forked; empty if workers are started one by one. */
  readonly preload?: readonly string[];
}

/** The description of an environment for its builder; the node reads only a job's settings for its workers. */
export interface EnvironmentDescription {
  readonly envVars?: unknown;
  /** Flags of Node that workers have besides. */
  readonly execArgv?: readonly string[];
  readonly job?: { readonly jobId: JobId; readonly namespace: string; readonly node: NodeId; readonly execArgv: readonly string[] };
}

/** The result of building an environment. */
export type EnvironmentResult = { readonly built: LaunchSettings } | { readonly failed: string; readonly output: readonly string[] };

interface EnvironmentFailure {
  readonly reason: string;
  /** Output of the installer or the worker. */
  readonly output: readonly string[];
}

export type EnvironmentEvent =
  | { kind: "described"; key: string; description: EnvironmentDescription }
  | { kind: "workerWanted"; key: string }
  | { kind: "workerStarted"; key: string }
  | { kind: "workerStartFailed"; key: string; output: readonly string[] }
  | { kind: "built"; key: string; settings: LaunchSettings }
  | { kind: "buildFailed"; key: string; failure: EnvironmentFailure };

type EnvironmentEffect =
  | { kind: "ask"; key: string }
  | { kind: "build"; key: string; description: EnvironmentDescription }
  | { kind: "launch"; key: string; settings: LaunchSettings }
  | { kind: "failed"; key: string; failure: EnvironmentFailure };

interface Environment {
  /** Undefined while others are asked. */
  description: EnvironmentDescription | undefined;
  state: "asked" | "described" | "building" | "ready";
  settings: LaunchSettings | undefined;
  /** Workers to start when it is ready. */
  wanted: number;
  /** Workers that did not come up, one after the other. */
  failedStarts: number;
}

export class EnvironmentTable {
  readonly #environments = new Map<string, Environment>();

  handle(event: EnvironmentEvent): EnvironmentEffect[] {
    const { key } = event;
    const environment = this.#environments.get(key);
    switch (event.kind) {
      case "described":
        if (environment === undefined) this.#add(key, event.description, "described");
        else if (environment.description === undefined) {
          environment.description = event.description;
          return this.#build(key, environment);
        }
        return [];
      case "workerWanted":
        if (environment === undefined) {
          this.#add(key, undefined, "asked").wanted = 1;
          return [{ kind: "ask", key }];
        }
        if (environment.settings !== undefined) return [{ kind: "launch", key, settings: environment.settings }];
        environment.wanted += 1;
        return environment.state === "described" ? this.#build(key, environment) : [];
      case "workerStarted":
        if (environment !== undefined) environment.failedStarts = 0;
        return [];
      case "workerStartFailed": {
        if (environment === undefined) return [];
        environment.failedStarts += 1;
        if (environment.failedStarts < FAILED_STARTS_MAX) return [];
        environment.failedStarts = 0;
        return [
          { kind: "failed", key, failure: { reason: `${FAILED_STARTS_MAX} workers of it died at their start`, output: event.output } },
        ];
      }
      case "built": {
        if (environment === undefined) return [];
        const { settings } = event;
        const launches: EnvironmentEffect[] = Array.from({ length: environment.wanted }, () => ({ kind: "launch", key, settings }));
        Object.assign(environment, { state: "ready", settings, wanted: 0 });
        return launches;
      }
      case "buildFailed":
        if (environment === undefined) return [];
        // A key without an explanation is asked for again.
        if (environment.description === undefined) this.#environments.delete(key);
        environment.state = "described";
        environment.wanted = 0;
        return [{ kind: "failed", key, failure: event.failure }];
    }
  }

  #add(key: string, description: EnvironmentDescription | undefined, state: "asked" | "described"): Environment {
    const environment: Environment = { description, state, settings: undefined, wanted: 0, failedStarts: 0 };
    this.#environments.set(key, environment);
    return environment;
  }

  #build(key: string, environment: Environment): EnvironmentEffect[] {
    const { description } = environment;
    if (description === undefined) return [];
    environment.state = "building";
    return [{ kind: "build", key, description }];
  }

  /** The keys of those that are this job's, or all jobs' of a node. */
  keysOf({ job, node }: { job?: JobId; node?: NodeId }): string[] {
    return Array.from(this.#environments)
      .filter(([, { description }]) => description?.job !== undefined && (description.job.jobId === job || description.job.node === node))
      .map(([key]) => key);
  }

  /** Forgets an unused environment. A later request describes it again. */
  forget(key: string): void {
    this.#environments.delete(key);
  }

  underWay(key: string): "asked" | "building" | undefined {
    const state = this.#environments.get(key)?.state;
    return state === "asked" || state === "building" ? state : undefined;
  }

  /** All of which the meaning is known. */
  descriptions(): { key: string; description: EnvironmentDescription }[] {
    return Array.from(this.#environments).flatMap(([key, { description }]) => (description === undefined ? [] : [{ key, description }]));
  }

  describe(key: string): EnvironmentDescription | undefined {
    return this.#environments.get(key)?.description;
  }
}

/** Makes the refusal for requests that wait for a worker of a failed environment. */
export function environmentRefusal({ reason, output }: EnvironmentFailure): Refusal {
  const said = output.length === 0 ? "" : `; it printed:\n    ${output.join("\n    ")}`;
  return {
    code: "environmentFailed",
    reason: `its runtime environment could not be set up: ${reason}${said}`,
    hint: "Mend what the message names and submit it again: a failed environment is built anew.",
  };
}
