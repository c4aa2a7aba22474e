/**
 * The few requests of Kubernetes' API that the provider makes: pods and secrets of one namespace.
 *
 * Every request is idempotent by its object's name. A refusal is a `KubernetesRefusal` with Kubernetes' own status, reason and message. A
 * request without an answer throws another error, since nobody knows then whether it was carried out.
 */
import { fields, list, number, optional, text, unchecked, type Shape } from "../../../../runtime/wire/header-shape.ts";
import { messageOf } from "../../../../runtime/base/texts/describe.ts";
import { RestClient, type RestAnswer, type RestRequest } from "../../../../runtime/os/network/rest-client.ts";
import type { KubernetesAccess } from "./access.ts";
import {
  ANSWER_BYTES_MAX,
  ANSWERS_WITHIN_MS,
  EVENT_BYTES_MAX,
  PAGE_PODS,
  PODS_MAX,
  TEXT_LENGTH_MAX,
  WATCH_ENDS_WITHIN_MS,
  WATCH_SECONDS,
} from "./limits.ts";
import { podShape, type Pod } from "./pod.ts";
import type { PodManifest, SecretManifest } from "./pod-template.ts";

const statusShape = fields({ reason: optional(text), message: optional(text), code: optional(number) });
const listShape = fields({
  metadata: fields({ resourceVersion: text, continue: optional(text) }),
  items: list(podShape),
});
const eventShape = fields({ type: text, object: unchecked<unknown>() });
const markShape = fields({ metadata: fields({ resourceVersion: text }) });

/** Kubernetes refused a request. */
export class KubernetesRefusal extends Error {
  override readonly name = "KubernetesRefusal";
  readonly status: number;
  /** `AlreadyExists`, `Forbidden`, `Invalid`, `Expired` and so on. */
  readonly reason: string;
  /** Kubernetes asks to wait so long. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { status, reason, retryAfterMs }: { status: number; reason: string; retryAfterMs?: number | undefined }) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A change of a pod; `mark` carries a newer version of the list alone. */
export type PodChange = { readonly type: "put" | "deleted"; readonly pod: Pod } | { readonly type: "mark"; readonly version: string };

export class KubernetesApi {
  readonly #client: RestClient;
  readonly #token: KubernetesAccess["token"];
  readonly #namespace: string;
  readonly #selector: string;

  constructor(access: KubernetesAccess, { namespace, labelSelector }: { namespace: string; labelSelector: string }) {
    this.#client = new RestClient(access);
    this.#token = access.token;
    this.#namespace = namespace;
    this.#selector = `labelSelector=${encodeURIComponent(labelSelector)}`;
  }

  /** Lists the cluster's pods, page by page, with the version from which a watch goes on. */
  async listPods(): Promise<{ pods: Pod[]; version: string }> {
    const pods: Pod[] = [];
    let more = "";
    for (;;) {
      const next = more === "" ? "" : `&continue=${encodeURIComponent(more)}`;
      const page = this.#read(listShape, await this.#ask("GET", this.#path("pods", `?${this.#selector}&limit=${PAGE_PODS}${next}`)));
      pods.push(...page.items);
      if (pods.length > PODS_MAX) throw new RangeError(`there are more than ${PODS_MAX} pods`);
      more = page.metadata.continue ?? "";
      if (more === "") return { pods, version: page.metadata.resourceVersion };
    }
  }

  /**
   * Hands on changes after a version until the server ends the watch.
   *
   * @throws KubernetesRefusal with status 410 where the version is too old
   */
  async watchPods(version: string, onChange: (change: PodChange) => void, signal: AbortSignal): Promise<void> {
    const query = `?watch=1&${this.#selector}&resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}`;
    const limits = { timeoutMs: WATCH_ENDS_WITHIN_MS, bytesMax: EVENT_BYTES_MAX, signal };
    const answer = await this.#client.lines(this.#request("GET", this.#path("pods", query), limits), (line) => {
      if (line !== "") onChange(this.#change(line));
    });
    if (answer.status !== 200) throw refusalOf(answer);
  }

  async pod(name: string): Promise<Pod | undefined> {
    const found = await this.#ask("GET", this.#path("pods", `/${name}`)).catch(unless(404));
    return found === undefined ? undefined : this.#read(podShape, found);
  }

  /** @throws KubernetesRefusal with status 409 where the name is taken */
  async createPod(manifest: PodManifest): Promise<Pod> {
    return this.#read(podShape, await this.#ask("POST", this.#path("pods", "?fieldValidation=Strict"), manifest));
  }

  /**
   * Deletes the pod with that name and that uid; one that is gone is no error.
   *
   * @param options.isForced whether the pod leaves the server at once, though its machine does not answer
   */
  async deletePod(name: string, uid: string, { isForced }: { isForced: boolean }): Promise<void> {
    const only = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid }, ...(isForced && { gracePeriodSeconds: 0 }) };
    // 409: the name belongs to another pod by now.
    await this.#ask("DELETE", this.#path("pods", `/${name}`), only).catch(unless(404, 409));
  }

  /** Makes the secret in place of one with its name: a repeated launch has a newer token. */
  async replaceSecret(manifest: SecretManifest): Promise<void> {
    const made = await this.#ask("POST", this.#path("secrets"), manifest).catch(unless(409));
    if (made !== undefined) return;
    await this.deleteSecret(manifest.metadata.name);
    await this.#ask("POST", this.#path("secrets"), manifest);
  }

  /** A secret that is gone is no error. */
  async deleteSecret(name: string): Promise<void> {
    await this.#ask("DELETE", this.#path("secrets", `/${name}`)).catch(unless(404));
  }

  close(): void {
    this.#client.close();
  }

  #path(kind: "pods" | "secrets", rest = ""): string {
    return `/api/v1/namespaces/${this.#namespace}/${kind}${rest}`;
  }

  #request(method: RestRequest["method"], path: string, limits: Pick<RestRequest, "timeoutMs" | "bytesMax" | "signal">): RestRequest {
    const token = this.#token();
    const headers = { accept: "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    return { method, path, headers, ...limits };
  }

  async #ask(method: RestRequest["method"], path: string, body?: object): Promise<RestAnswer> {
    const wanted = this.#request(method, path, { timeoutMs: ANSWERS_WITHIN_MS, bytesMax: ANSWER_BYTES_MAX });
    const written =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { ...wanted.headers, "content-type": "application/json" } };
    const answer = await this.#client.request({ ...wanted, ...written });
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw refusalOf(answer);
  }

  #read<T>(shape: Shape<T>, { text: given }: RestAnswer): T {
    const value: unknown = JSON.parse(given);
    if (!shape(value)) throw new TypeError("the API server's answer is of another form than Kubernetes 1 has");
    return value;
  }

  #change(line: string): PodChange {
    const event: unknown = JSON.parse(line);
    if (!eventShape(event)) throw new TypeError("the API server's event is of another form than Kubernetes 1 has");
    const { type, object } = event;
    if (type === "ERROR") {
      const status = statusShape(object) ? object : {};
      const { message = "the watch failed", reason = "Unknown", code = 0 } = status;
      throw new KubernetesRefusal(message, { status: code, reason });
    }
    if (type === "BOOKMARK" && markShape(object)) return { type: "mark", version: object.metadata.resourceVersion };
    if (!podShape(object)) throw new TypeError("the API server's event has no pod");
    return { type: type === "DELETED" ? "deleted" : "put", pod: object };
  }
}

function unless(...statuses: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof KubernetesRefusal && statuses.includes(error.status)) return undefined;
    throw error;
  };
}

function refusalOf({ status, headers, text: body }: RestAnswer): KubernetesRefusal {
  let told: unknown;
  try {
    told = JSON.parse(body);
  } catch (error) {
    told = { message: `${body.slice(0, TEXT_LENGTH_MAX)} (${messageOf(error)})` };
  }
  const { message = "", reason = "" } = statusShape(told) ? told : {};
  const seconds = Number(headers["retry-after"]);
  return new KubernetesRefusal(message || `the API server answered ${status}`, {
    status,
    reason,
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? 1_000 * seconds : undefined,
  });
}
