/**
 * `serve.multiplexed`: one replica serves many models and keeps the most recent ones.
 *
 * The least recently used model goes first, preferably one that no request uses. A model that is being loaded occupies a place, and its calls share the load. If
 * all places are being loaded, the next model waits. The controller learns the loaded models, so that routers prefer this replica for them. A model that goes is
 * disposed of when its requests have ended. No request waits for another's end, so meanwhile there may be more models than places.
 */
import { CONTROLLER_NAME, SERVE_NAMESPACE } from "../names.ts";
import { getActor } from "../../core/index.ts";
import { count, describeValue, outsideCalls, readOptions } from "../../core/internal.ts";
import { type ModelMetrics, modelMetrics } from "../metrics/serve-metrics.ts";
import { findReplicaContext, outsideRequests, replicaTags } from "./context/replica-context.ts";
import { currentRequest, type RequestContext, whenRequestEnds } from "./context/request-context.ts";

/** The options of `multiplexed`. */
export interface MultiplexedOptions {
  /** Models that a replica keeps. Default: 3. */
  maxModels?: number | undefined;
}

const MULTIPLEXED = {
  of: "serve.multiplexed",
  otherNames: { max_num_models_per_replica: "it is maxModels" },
  options: { maxModels: count({ min: 1 }, 3) },
};

interface Place<M> {
  readonly model: Promise<M>;
  isLoading: boolean;
  /** Requests that have asked for it and are not over. */
  readonly users: Set<RequestContext>;
  /** Called once no request uses the model. */
  onUnused: (() => void) | undefined;
}

/** The model that the request of this code asks for; empty where it names none. By HTTP: the header `serve_multiplexed_model_id`. */
export function getMultiplexedModelId(): string {
  return currentRequest()?.modelId ?? "";
}

/**
 * Makes a function that gives a model by its id, loaded at most once for as long as it is kept.
 *
 * @throws TypeError by the promise where neither an id is given nor the request names one
 * @example
 * class Models {
 *   model = serve.multiplexed(async (id: string) => loadModel(id), { maxModels: 2 });
 *   async fetch(request: Request) {
 *     const model = await this.model();      // the one that the request names
 *     return model.answer(await request.text());
 *   }
 * }
 */
export function multiplexed<M>(
  load: (modelId: string) => M | PromiseLike<M>,
  options?: MultiplexedOptions,
): (modelId?: string) => Promise<M> {
  if (typeof load !== "function")
    throw new TypeError(`Cannot multiplex: a function that loads a model is needed: received ${describeValue(load)}`);
  const cache = new ModelCache<M>(load, { ...readOptions(options, MULTIPLEXED), changed: tellController });
  return (modelId = getMultiplexedModelId()) => {
    if (typeof modelId !== "string" || modelId === "")
      return Promise.reject(
        new TypeError(
          `Cannot give a model: its id is needed, by the call, by handle.options({ multiplexedModelId }) or by the header serve_multiplexed_model_id: received ${describeValue(modelId)}`,
        ),
      );
    return cache.get(modelId);
  };
}

/** @internal */
export class ModelCache<M> {
  readonly #load: (modelId: string) => M | PromiseLike<M>;
  readonly #max: number;
  readonly #changed: (models: string[]) => void;
  readonly #request: () => RequestContext | undefined;
  /** The one that was asked for longest ago is the first. */
  readonly #places = new Map<string, Place<M>>();
  #waiting: (() => void)[] = [];
  /** Made by the first call, which runs in its replica. */
  #metrics: ModelMetrics | undefined;

  constructor(
    load: (modelId: string) => M | PromiseLike<M>,
    {
      maxModels,
      changed,
      request = currentRequest,
    }: { maxModels: number; changed: (models: string[]) => void; request?: () => RequestContext | undefined },
  ) {
    this.#request = request;
    this.#load = load;
    this.#max = maxModels;
    this.#changed = changed;
  }

  get models(): string[] {
    return [...this.#places].filter(([, { isLoading }]) => !isLoading).map(([id]) => id);
  }

  async get(id: string): Promise<M> {
    this.#metrics ??= modelMetrics(replicaTags());
    this.#metrics.requests.add(1);
    for (;;) {
      const known = this.#places.get(id);
      if (known !== undefined) {
        this.#places.delete(id);
        this.#places.set(id, known);
        this.#use(known);
        return await known.model;
      }
      if (this.#makeRoom()) return await this.#begin(id);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The model is not disposed of before the request that has asked for it is over. */
  #use(place: Place<M>): void {
    const { users } = place;
    const request = this.#request();
    if (request === undefined || users.has(request)) return;
    const ended = (): void => {
      users.delete(request);
      if (users.size === 0) place.onUnused?.();
    };
    if (whenRequestEnds(request, ended)) users.add(request);
  }

  #makeRoom(): boolean {
    if (this.#places.size < this.#max) return true;
    const loaded = [...this.#places].filter(([, { isLoading }]) => !isLoading);
    const leaving = loaded.find(([, { users }]) => users.size === 0) ?? loaded[0];
    if (leaving === undefined) return false;
    this.#places.delete(leaving[0]);
    void this.#dispose(...leaving);
    return true;
  }

  async #dispose(id: string, place: Place<M>): Promise<void> {
    if (place.users.size > 0) await new Promise<void>((resolve) => (place.onUnused = resolve));
    const metrics = this.#metrics as ModelMetrics;
    const startMs = performance.now();
    // The model may have been loaded anew while the requests of this copy ended.
    if (!this.#places.has(id)) metrics.isLoaded(id).set(0);
    metrics.unloads.add(1);
    try {
      await disposeOf(await place.model);
    } catch (error) {
      console.error(`Model ${id} could not be disposed of:`, error);
    }
    metrics.unloadMs.observe(performance.now() - startMs);
  }

  #begin(id: string): Promise<M> {
    const metrics = this.#metrics as ModelMetrics;
    const startMs = performance.now();
    // A request that is cancelled does not end the load for others.
    const model = outsideRequests(async () => await this.#load(id));
    const place: Place<M> = { model, isLoading: true, users: new Set(), onUnused: undefined };
    this.#places.set(id, place);
    this.#use(place);
    const settled = (): void => {
      place.isLoading = false;
      metrics.loaded.set(this.models.length);
      this.#changed(this.models);
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
    const loaded = (): void => {
      metrics.loads.add(1);
      metrics.loadMs.observe(performance.now() - startMs);
      metrics.isLoaded(id).set(1);
      settled();
    };
    model.then(loaded, () => {
      if (this.#places.get(id) === place) this.#places.delete(id);
      settled();
    });
    return model;
  }
}

async function disposeOf(model: unknown): Promise<void> {
  if (typeof model !== "object" || model === null) return;
  const {
    [Symbol.asyncDispose]: asyncDispose,
    [Symbol.dispose]: dispose,
    dispose: plain,
  } = model as {
    [Symbol.asyncDispose]?: () => unknown;
    [Symbol.dispose]?: () => unknown;
    dispose?: unknown;
  };
  const end = asyncDispose ?? dispose ?? (typeof plain === "function" ? (plain as () => unknown) : undefined);
  await end?.call(model);
}

/** Routers are to know which models this replica has. */
export function tellController(models: readonly string[]): void {
  const replica = findReplicaContext();
  if (replica === undefined) return;
  outsideCalls(() => {
    getActor<{ models(replica: string, models: readonly string[]): void }>(CONTROLLER_NAME, { namespace: SERVE_NAMESPACE }).then(
      (controller) => controller.models.remote(replica.replicaId, models).then(undefined, () => {}),
      () => {
        // Local testing mode has no controller; one that is dead asks nobody.
      },
    );
  });
}
