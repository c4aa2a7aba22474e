/**
 * Mutation: a NATS store whose reads any replica may answer, as NATS's own key-value clients have it by default.
 *
 * Changes the stream to allow it, and reads over a separate connection, so that the replica of another server than the writer's answers.
 */
import { connectNats, type NatsLink } from "../../src/runtime/nats/nats-link.ts";
import type { NatsSubjects } from "../../src/runtime/nats/nats-subjects.ts";
import { headersOf, type StreamApi } from "../../src/runtime/nats/stream-api.ts";
import type { ControlStore, StoreEntry } from "../../src/runtime/control-plane/control-store.ts";
import { StoreBefore } from "./altered-stores.ts";

export class DirectReads implements AsyncDisposable {
  readonly #links: readonly NatsLink[];
  readonly #subjects: NatsSubjects;
  #next = 0;

  private constructor(links: readonly NatsLink[], subjects: NatsSubjects) {
    this.#links = links;
    this.#subjects = subjects;
  }

  static async allow(api: StreamApi, { subjects, urls }: { subjects: NatsSubjects; urls: readonly string[] }): Promise<DirectReads> {
    const { config } = await api.call<{ config: object }>(`STREAM.INFO.${subjects.stream}`);
    await api.call(`STREAM.UPDATE.${subjects.stream}`, { ...config, allow_direct: true });
    const links = await Promise.all(urls.map((url) => connectNats({ servers: [url], name: "direct" })));
    return new DirectReads(links, subjects);
  }

  before(store: ControlStore): ControlStore {
    this.#next += 1;
    return new DirectStore(store, this.#links[this.#next % this.#links.length] as NatsLink, this.#subjects);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#links.map((link) => link.close()));
  }
}

class DirectStore extends StoreBefore {
  readonly #link: NatsLink;
  readonly #subjects: NatsSubjects;

  constructor(inner: ControlStore, link: NatsLink, subjects: NatsSubjects) {
    super(inner);
    this.#link = link;
    this.#subjects = subjects;
  }

  override async get(key: string): Promise<StoreEntry | undefined> {
    const subject = `$JS.API.DIRECT.GET.${this.#subjects.stream}.${this.#subjects.ofKey(key)}`;
    const message = await this.#link.connection.request(subject, "", { timeout: 2_000 });
    const sequence = headersOf(message.headers).get("Nats-Sequence");
    return sequence === undefined ? undefined : { key, value: message.data, revision: Number(sequence) };
  }
}
