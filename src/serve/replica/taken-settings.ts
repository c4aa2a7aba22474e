/**
 * The settings of a replica that change while it runs, and the part that the user's code has accepted.
 *
 * Calls run one after the other, even after the controller has given one up, so the last settings hold. A configuration counts as accepted once the code is healthy
 * with it. The next call passes a configuration or rank that the code failed to accept again, even if nothing has changed. Only `replica.ts` calls it.
 */
import type { ReplicaContext } from "./context/replica-context.ts";
import type { UserCode } from "./user-object.ts";

/** The settings of a replica that may change while it runs. */
export interface ReplicaSettings {
  readonly userConfig: string | undefined;
  readonly maxOngoingRequests: number;
  readonly rank: number;
  readonly worldSize: number;
}

type ReconfiguredCode = Pick<UserCode, "reconfigure" | "setRank" | "checkHealth">;

export class TakenSettings {
  readonly #context: Pick<ReplicaContext, "rank" | "worldSize">;
  /** The last configuration that was given to the user's code. */
  #userConfig: string | undefined;
  /** The user's code has not taken it yet, or failed to. */
  #isMisconfigured = false;
  #isReconfiguring = false;
  /** False where the context shows a rank that the user's code may not have taken. */
  #isRankTold = true;
  /** Settles with the last call. */
  #last: Promise<void> = Promise.resolve();

  /** @param userConfig of the start @param context is changed in place: code that keeps it sees the change, too */
  constructor(userConfig: string | undefined, context: Pick<ReplicaContext, "rank" | "worldSize">) {
    this.#userConfig = userConfig;
    this.#context = context;
  }

  get userConfig(): string | undefined {
    return this.#userConfig;
  }

  get isMisconfigured(): boolean {
    return this.#isMisconfigured;
  }

  /** The user's code is busy with the configuration. */
  get isReconfiguring(): boolean {
    return this.#isReconfiguring;
  }

  /** The user's code has taken the rank that the context shows. */
  get isRankTold(): boolean {
    return this.#isRankTold;
  }

  /** @throws the error of the user's `reconfigure`, or one that says that the code is unhealthy with the new configuration */
  take(settings: ReplicaSettings, user: ReconfiguredCode | undefined): Promise<void> {
    const taken = this.#last.then(() => this.#take(settings, user));
    this.#last = taken.catch(() => {});
    return taken;
  }

  async #take({ userConfig, rank, worldSize }: ReplicaSettings, user: ReconfiguredCode | undefined): Promise<void> {
    const context = this.#context;
    if (rank !== context.rank || worldSize !== context.worldSize || !this.#isRankTold) {
      Object.assign(context, { rank, worldSize });
      this.#isRankTold = false;
      await user?.setRank(rank, worldSize);
      this.#isRankTold = true;
    }
    if (userConfig === this.#userConfig && !this.#isMisconfigured) return;
    this.#userConfig = userConfig;
    this.#isMisconfigured = true;
    this.#isReconfiguring = true;
    try {
      await user?.reconfigure(userConfig === undefined ? undefined : JSON.parse(userConfig));
      await requireHealthy(user);
      this.#isMisconfigured = false;
    } finally {
      this.#isReconfiguring = false;
    }
  }
}

/** As at a start: the first periodic check would fail after the update had been reported as done. @throws Error with the user's error as its cause */
async function requireHealthy(user: ReconfiguredCode | undefined): Promise<void> {
  try {
    await user?.checkHealth();
  } catch (cause) {
    throw new Error(`the health check failed with the new userConfig: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
