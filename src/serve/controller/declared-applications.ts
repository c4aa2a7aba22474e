/**
 * The applications of the configuration that the REST API has taken over, until each is deployed or has failed to be built.
 *
 * Owns which of them are being built and which cannot be, so that their statuses say so; applications that are built are the state's. A configuration that comes meanwhile takes the
 * place of the one before: what that one still builds is dropped. Called by the controller.
 */
import type { BuiltInTask } from "../config/build-in-task.ts";
import type { ConfigApplication, Fields } from "../config/read-config.ts";
import type { ApplicationTarget, TargetCapacity } from "../deployments/deployment-config.ts";
import type { ApplicationStatusInfo } from "./serve-state.ts";
import { reasonOf } from "./starting/replica-starter.ts";

/** Functions of the controller that it calls. */
interface DeclaredPorts {
  build(application: ConfigApplication): Promise<BuiltInTask>;
  /** @param how `isWanted` is asked again before anything changes; `together` are the paths of the applications that are built */
  deploy(built: BuiltInTask, how: { isWanted: () => boolean; together: ReadonlyMap<string, string | null> }): Promise<void>;
  /** The application that has the path of this one; undefined where it is free. */
  holderOf(target: ApplicationTarget): string | undefined;
  /** Names of the applications. */
  apps(): readonly string[];
  delete(app: string): Promise<unknown>;
  /** All of the configuration has been built, or failed to be. */
  settled(): Promise<unknown>;
}

interface Declared {
  readonly fields: Fields;
  readonly routePrefix: string | null;
  readonly deployedMs: number;
  /** Why it cannot be built; undefined while it is. */
  failure: string | undefined;
}

export class DeclaredApplications {
  readonly #ports: DeclaredPorts;
  readonly #pending = new Map<string, Declared>();
  #generation = 0;

  constructor(ports: DeclaredPorts) {
    this.#ports = ports;
  }

  /** Names of those that are not deployed. */
  get names(): string[] {
    return [...this.#pending.keys()];
  }

  find(app: string): Declared | undefined {
    return this.#pending.get(app);
  }

  /** Builds and deploys a configuration's applications without waiting for them, and ends all others. @param capacity the wanted part of the replicas */
  put(applications: readonly ConfigApplication[], capacity: TargetCapacity | undefined): void {
    this.#generation += 1;
    const generation = this.#generation;
    this.#pending.clear();
    const deployedMs = Date.now();
    for (const { name, fields, routePrefix } of applications)
      this.#pending.set(name, { fields, routePrefix, deployedMs, failure: undefined });
    this.#deploy(applications, { generation, capacity }).catch((error: unknown) =>
      console.error("Cannot write to the cluster's store that all applications of the configuration are built:", error),
    );
  }

  forget(app: string): boolean {
    return this.#pending.delete(app);
  }

  clear(): void {
    this.#generation += 1;
    this.#pending.clear();
  }

  /** Completes the status of an application with the state of its build; undefined for an unknown application. */
  statusOf(app: string, running: ApplicationStatusInfo | undefined): ApplicationStatusInfo | undefined {
    const declared = this.#pending.get(app);
    if (declared === undefined) return running;
    const { failure, routePrefix } = declared;
    return {
      status: failure === undefined ? "DEPLOYING" : "DEPLOY_FAILED",
      message: failure ?? "",
      routePrefix: running?.routePrefix ?? routePrefix,
      deployments: running?.deployments ?? {},
    };
  }

  async #deploy(
    applications: readonly ConfigApplication[],
    { generation, capacity }: { generation: number; capacity: TargetCapacity | undefined },
  ): Promise<void> {
    const wanted = new Set(applications.map(({ name }) => name));
    // First, as one of the others may want its route.
    const ended = Promise.all(
      this.#ports
        .apps()
        .filter((name) => !wanted.has(name))
        .map((name) => this.#ports.delete(name)),
    );
    const together = new Map<string, string | null>();
    const build = async (application: ConfigApplication): Promise<BuiltInTask> => {
      const built = await this.#ports.build(application);
      together.set(built.target.name, built.target.routePrefix);
      return built;
    };
    const built = new Map(applications.map((application) => [application.name, build(application)]));
    // Failures are reported below, also of those that another application waits for.
    for (const building of built.values()) building.catch(() => {});
    await Promise.all(
      applications.map(async (application) => {
        const declared = this.#pending.get(application.name);
        // False after a newer configuration, a deletion, or a program's own application of the name.
        const isWanted = (): boolean => declared !== undefined && this.#pending.get(application.name) === declared;
        try {
          const { target, code } = await (built.get(application.name) as Promise<BuiltInTask>);
          await ended;
          if (!isWanted()) return;
          // The path counts as free once its holder, which moves to a new path, is built.
          await built.get(this.#ports.holderOf(target) ?? "")?.catch(() => {});
          await this.#ports.deploy({ target: { ...target, capacity }, code }, { isWanted, together });
          if (isWanted()) this.#pending.delete(application.name);
        } catch (error) {
          if (declared !== undefined && isWanted()) declared.failure = reasonOf(error);
        }
      }),
    );
    // A failure here is reported by each application.
    await Promise.allSettled([ended]);
    if (generation === this.#generation) await this.#ports.settled();
  }
}
