/**
 * An API server of Kubernetes that answers with the recorded bodies of a real one (`test/fixtures/kubernetes/answers.json`).
 *
 * Keeps pods and secrets by their names, gives each change a version, and runs a made pod after a moment. Faults are switches: a quota,
 * lost answers, lists that are too old, cut watches. `test/frameworks/kubernetes.test.ts` makes and checks the recordings.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { REPOSITORY } from "../house/source-files.ts";

interface Recorded {
  readonly status: number;
  readonly body: unknown;
}
interface RecordedPod {
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    deletionTimestamp?: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  status: Record<string, unknown>;
  gracePeriodSeconds?: number;
}
interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: RecordedPod;
}

const ANSWERS = JSON.parse(readFileSync(join(REPOSITORY, "test", "fixtures", "kubernetes", "answers.json"), "utf8")) as Readonly<
  Record<string, Recorded>
>;
const RUNS_AFTER_MS = 20;

export class RecordedApiServer {
  readonly pods = new Map<string, RecordedPod>();
  readonly secrets = new Set<string>();
  /** Requests by method and kind, such as `GET pods`, `WATCH pods`. */
  readonly asked: string[] = [];
  readonly #server: Server;
  readonly #changes: Change[] = [];
  readonly #watches = new Set<ServerResponse>();
  #version = 100;
  #oldest = 0;
  #uids = 0;
  /** No pod may be made. */
  isFull = false;
  /** Machines do not answer: deleted pods stay, unless they are deleted without grace. */
  hasLostMachines = false;
  /** When pods of lost machines should have ended. */
  deletedAt = "2026-01-01T00:00:00Z";
  /** So many creations are carried out, and their connections cut. */
  lost = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<RecordedApiServer> {
    const server = new RecordedApiServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  /** Writes a kubeconfig into the folder. @returns its path */
  kubeconfig(folder: string): string {
    const path = join(folder, "kubeconfig");
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const one = (value: object): object[] => [{ name: "test", ...value }];
    const context = { cluster: "test", user: "test", namespace: "team" };
    const parts = { contexts: one({ context }), clusters: one({ cluster: { server } }), users: one({ user: { token: "secret" } }) };
    writeFileSync(path, JSON.stringify({ "current-context": "test", ...parts }));
    return path;
  }

  /** Deletes a pod as somebody else does. */
  remove(name: string): void {
    const pod = this.pods.get(name);
    this.pods.delete(name);
    if (pod !== undefined) this.#change("DELETED", pod);
  }

  /** Ends all watches, and forgets the changes until now. */
  cutWatches({ forgets = false }: { forgets?: boolean } = {}): void {
    if (forgets) this.#oldest = this.#version;
    for (const watch of this.#watches) watch.destroy();
    this.#watches.clear();
  }

  async stop(): Promise<void> {
    this.cutWatches();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const [place = "", query] = url.split("?");
    const searchParams = new URLSearchParams(query);
    const [, kind = "", name] = /^\/api\/v1\/namespaces\/team\/(pods|secrets)(?:\/([\w.-]+))?$/.exec(place) ?? [];
    this.asked.push(`${searchParams.has("watch") ? "WATCH" : method} ${kind}`);
    let text = "";
    for await (const part of request.setEncoding("utf8") as AsyncIterable<string>) text += part;
    const given = text === "" ? undefined : (JSON.parse(text) as RecordedPod);
    if (request.headers.authorization !== "Bearer secret") return send(response, { status: 401, body: { message: "Unauthorized" } });
    if (kind === "secrets") return send(response, this.#secret(method, name ?? given?.metadata.name ?? ""));
    if (searchParams.has("watch")) return this.#watch(response, Number(searchParams.get("resourceVersion")));
    const isForced = given?.gracePeriodSeconds === 0;
    const answer = method === "DELETE" && this.hasLostMachines && !isForced ? this.#delete(name ?? "") : this.#pod(method, name, given);
    if (method === "POST" && this.lost > 0) {
      this.lost -= 1;
      response.destroy();
    } else send(response, answer);
  }

  #secret(method: string, name: string): Recorded {
    if (method === "POST") {
      if (this.secrets.has(name)) return recorded("secretTaken");
      this.secrets.add(name);
      return recorded("secretMade");
    }
    return this.secrets.delete(name) ? recorded("secretMade") : recorded("secretMissing");
  }

  #pod(method: string, name: string | undefined, given: RecordedPod | undefined): Recorded {
    if (method === "POST" && given !== undefined) return this.#make(given);
    if (name === undefined) {
      const list = recorded("list").body as { metadata: object; items: unknown[] };
      return {
        status: 200,
        body: { ...list, metadata: { resourceVersion: String(this.#version) }, items: Array.from(this.pods.values()) },
      };
    }
    const pod = this.pods.get(name);
    if (pod === undefined) return recorded("podMissing");
    if (method === "DELETE") this.remove(name);
    return { status: 200, body: pod };
  }

  #delete(name: string): Recorded {
    const pod = this.pods.get(name);
    if (pod === undefined) return recorded("podMissing");
    if (pod.metadata.deletionTimestamp === undefined)
      this.#change("MODIFIED", { ...pod, metadata: { ...pod.metadata, deletionTimestamp: this.deletedAt } });
    return { status: 200, body: this.pods.get(name) };
  }

  #make({ metadata }: RecordedPod): Recorded {
    if (this.isFull) return recorded("podBeyondQuota");
    if (this.pods.has(metadata.name)) return recorded("podTaken");
    const { status, body } = recorded("podMade");
    this.#uids += 1;
    const made = body as RecordedPod;
    const pod = { ...made, metadata: { ...made.metadata, ...metadata, uid: `uid-${this.#uids}` } };
    this.#change("ADDED", pod);
    setTimeout(() => {
      if (this.pods.get(metadata.name)?.metadata.uid !== pod.metadata.uid) return;
      const [, runs] = recorded("changes").body as [object, { object: RecordedPod }];
      this.#change("MODIFIED", { ...pod, status: runs.object.status });
    }, RUNS_AFTER_MS);
    return { status, body: this.pods.get(metadata.name) };
  }

  #change(type: Change["type"], pod: RecordedPod): void {
    this.#version += 1;
    const object = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#version) } };
    if (type !== "DELETED") this.pods.set(object.metadata.name, object);
    const change = { version: this.#version, type, object };
    this.#changes.push(change);
    for (const watch of this.#watches) watch.write(lineOf(change));
  }

  #watch(response: ServerResponse, version: number): void {
    if (version < this.#oldest) return send(response, recorded("expired"));
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const change of this.#changes) if (change.version > version) response.write(lineOf(change));
    this.#watches.add(response);
    response.on("close", () => this.#watches.delete(response));
  }
}

function recorded(name: string): Recorded {
  const found = ANSWERS[name];
  if (found === undefined) throw new Error(`nothing is recorded as ${name}`);
  return structuredClone(found);
}

function lineOf({ type, object }: Change): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function send(response: ServerResponse, { status, body }: Recorded): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
