/**
 * `serve.llm.buildOpenAIApp`: models behind OpenAI's API, as an application for `serve.run`.
 *
 * Called by users, in the process that deploys.
 * Each model becomes a deployment; the ingress, a deployment before them, speaks HTTP. Decides names, defaults of queues, and which options are refused before anything starts.
 */
import { custom, describeValue, isPlainObject, readOptions, text } from "../../../core/internal.ts";
import { type Application, deployment } from "../../deployments/deployment.ts";
import type { BackpressureConfig, DeploymentOptions } from "../../deployments/deployment-options.ts";
import { type EngineSource, isBuiltIn, ongoingRequestsOf } from "../engine-source.ts";
import { LLMServer } from "../llm-server.ts";
import { keyHash } from "./openai-access.ts";
import { OpenAIIngress, type ServedModel } from "./openai-ingress.ts";

/** Options of a model. */
export interface ModelOptions {
  /** Name that clients send as `model`. */
  readonly id: string;
  readonly engine: EngineSource;
  /** Owner in the list of models (`owned_by`). Default: "shoal". */
  readonly ownedBy?: string | undefined;
  /** Options of its replicas: number, resources, and limit on waiting requests. Default: 1 replica, 1,000 waiting requests, then 503. */
  readonly deployment?: DeploymentOptions | undefined;
}

/** The options of `buildOpenAIApp`. */
export interface OpenAIAppOptions {
  readonly models: readonly ModelOptions[];
  /** Keys of which clients send one (`Authorization: Bearer …`). The application keeps their hashes alone. Default: no key is asked for. */
  readonly apiKeys?: readonly string[] | undefined;
  /** Origins of web pages that may call the API, such as "https://chat.example", or "*". Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Options of the replicas that speak HTTP. Default: one, 1,000 requests at a time. */
  readonly ingress?: DeploymentOptions | undefined;
}

const INGRESS_ONGOING = 1_000;
/** Requests that wait for one model in each replica of the ingress; more would wait longer than clients do. */
const QUEUED = 1_000;

const options = <T>(what: string): ReturnType<typeof custom<T | undefined>> =>
  custom<T | undefined>(`${what} is needed`, undefined, (value) => (isPlainObject(value) ? "ok" : "wrong type"));
const texts = (needed: string): ReturnType<typeof custom<readonly string[] | undefined>> =>
  custom<readonly string[] | undefined>(needed, undefined, (value) =>
    Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string" && one !== "") ? "ok" : "wrong type",
  );
const APP = {
  of: "an app with OpenAI's API",
  otherNames: { llmConfigs: "it is models", llm_configs: "it is models" },
  options: {
    models: custom<readonly ModelOptions[]>("an array with at least one model is needed", [], (value) =>
      Array.isArray(value) && value.length > 0 && value.every(isPlainObject) ? "ok" : "wrong type",
    ),
    apiKeys: texts("an array of texts, at least one, is needed"),
    corsOrigins: texts('an array of origins such as "https://chat.example" is needed'),
    ingress: options<DeploymentOptions>("an object of options"),
  },
};
const MODEL = {
  of: "a model",
  otherNames: { model_id: "it is id", name: "it is id", deploymentOptions: "it is deployment" },
  options: {
    id: text(undefined),
    engine: custom<EngineSource | undefined>(
      "what serve.llm.upstream() and the like give, a class or a function is needed",
      undefined,
      (value) => (typeof value === "function" || (isPlainObject(value) && "kind" in (value as object)) ? "ok" : "wrong type"),
    ),
    ownedBy: text("shoal"),
    deployment: options<DeploymentOptions>("an object of options"),
  },
};

/**
 * An application with OpenAI's API: `/v1/models`, `/v1/chat/completions`, `/v1/responses`, `/v1/completions`, `/v1/embeddings`; and `/health`, which asks for no key.
 *
 * @throws TypeError, RangeError that name the option; RangeError for two models of one id
 * @example
 * const app = serve.llm.buildOpenAIApp({ models: [{ id: "qwen", engine: serve.llm.upstream({ url: "http://127.0.0.1:11434/v1", model: "qwen3:4b" }) }] });
 * await serve.run(app); // curl http://127.0.0.1:8000/v1/models
 */
export function buildOpenAIApp(given: OpenAIAppOptions): Application<typeof OpenAIIngress> {
  const { models, apiKeys, corsOrigins = [], ingress } = readOptions(given, APP);
  if (models.length === 0) throw new TypeError("Cannot make an app with OpenAI's API: the option models is missing");
  const ids = new Set<string>();
  const served = models.map((model) => {
    const read = servedModel(model);
    if (ids.has(read.facts.id))
      throw new RangeError(
        `Cannot make an app with OpenAI's API: each model has an id of its own: received ${describeValue(read.facts.id)} twice`,
      );
    ids.add(read.facts.id);
    return read;
  });
  const Ingress = deployment(OpenAIIngress, { name: "OpenAIIngress", maxOngoingRequests: INGRESS_ONGOING, ...ingress });
  return Ingress.bind(
    served.map(({ facts }) => facts),
    served.map(({ server }) => server),
    { keyHashes: apiKeys?.map(keyHash), corsOrigins },
  );
}

function servedModel(given: ModelOptions): { facts: ServedModel; server: Application<typeof LLMServer> } {
  const { id, engine, ownedBy, deployment: more } = readOptions(given, MODEL);
  if (id === undefined || engine === undefined)
    throw new TypeError(`Cannot make a model: the option ${id === undefined ? "id" : "engine"} is missing`);
  const Server = deployment(LLMServer, {
    // As ids have slashes, which names of deployments have not.
    name: `LLMServer:${id.replaceAll(/[#/\s]/g, "--")}`,
    maxOngoingRequests: ongoingRequestsOf(engine),
    maxQueuedRequests: QUEUED,
    ...(isBuiltIn(engine) && engine.kind === "vllm" && { actorOptions: { numCpus: 0 } }),
    ...more,
  });
  const { statusCode: overloaded = 503, retryAfterMs }: BackpressureConfig = more?.backpressureConfig ?? {};
  return { facts: { id, ownedBy, overloaded, retryAfterMs }, server: Server.bind(id, engine) };
}
