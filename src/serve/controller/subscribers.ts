/**
 * The processes that subscribe to the controller: the topics of each, and the replicas that each still uses.
 *
 * A replica is ended only when no process uses it: every process that knew the replica has let it go or has ended. So no request meets an ending replica in any
 * planned change. A new controller publishes nothing until it has restored its predecessor's state; meanwhile processes continue with the last publication.
 */
import { CONTROLLER_SERVICE } from "../names.ts";
import { offerConnections, type ServiceConnection } from "../../core/internal.ts";
import { METRICS_WITHIN_MS } from "../limits.ts";
import type { ProcessMetrics } from "../../metrics/registry.ts";
import {
  bodyOf,
  type MetricsBody,
  type ReleasedBody,
  type ReportBody,
  type SubscribeBody,
  type SyncBody,
  tell,
  TOLD,
  type UnsubscribeBody,
  type UpdateBody,
} from "../routing/controller-messages.ts";

interface SubscriberPorts {
  /** The value of a key, as subscribers get it. */
  valueOf(key: string): UpdateBody["value"];
  /** The replicas that a value names. */
  replicasIn(value: UpdateBody["value"]): readonly string[];
  reported(source: string, report: ReportBody): void;
  /** A process was told of a key. */
  told(key: string): void;
  gone(source: string): void;
  /** Publishes the gathered changes. */
  flush(): void;
}

interface Subscriber {
  readonly source: string;
  readonly connection: ServiceConnection;
  readonly keys: Set<string>;
  readonly uses: Set<string>;
  /** Gets its metrics, while they are asked for. */
  onMetrics: ((found: MetricsBody | undefined) => void) | undefined;
}

export class Subscribers {
  readonly #ports: SubscriberPorts;
  readonly #all = new Set<Subscriber>();
  /** Questions that came before values may be told. */
  readonly #early: (() => void)[] = [];
  readonly #waiting = new Map<string, (() => void)[]>();
  #nextSource = 1;
  #measuring: Promise<ProcessMetrics[]> | undefined;
  #isOpen = false;

  constructor(ports: SubscriberPorts) {
    this.#ports = ports;
  }

  /** To be called in the controller's constructor. */
  listen(): void {
    offerConnections(CONTROLLER_SERVICE, (connection) => this.#accept(connection));
  }

  /** From here on values are told; who subscribed before is told now. */
  open(): void {
    this.#isOpen = true;
    for (const subscriber of this.#all) for (const key of subscriber.keys) this.#tell(subscriber, { key, value: this.#ports.valueOf(key) });
    for (const answer of this.#early.splice(0)) answer();
  }

  /** Everybody who wants to know of the key is told what there is now. */
  publish(key: string): void {
    if (!this.#isOpen) return;
    const update = { key, value: this.#ports.valueOf(key), changedMs: Date.now() };
    for (const subscriber of this.#all) if (subscriber.keys.has(key)) this.#tell(subscriber, update);
  }

  /** How many processes listen to each key. */
  get counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { keys } of this.#all) for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts;
  }

  /** Resolves when no process uses the replica, or when the time is over. */
  async released(replica: string, withinMs: number): Promise<void> {
    if (!this.#isUsed(replica)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#waiting.set(replica, [...(this.#waiting.get(replica) ?? []), resolve]);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(replica);
  }

  /** Metrics of the processes that only have handles, such as drivers: of those that answer in time. */
  metrics(): Promise<ProcessMetrics[]> {
    this.#measuring ??= this.#askForMetrics().finally(() => (this.#measuring = undefined));
    return this.#measuring;
  }

  async #askForMetrics(): Promise<ProcessMetrics[]> {
    const asked = [...this.#all].map((subscriber) => {
      const { promise, resolve } = Promise.withResolvers<MetricsBody | undefined>();
      const timer = setTimeout(resolve, METRICS_WITHIN_MS, undefined);
      subscriber.onMetrics = (found) => {
        clearTimeout(timer);
        subscriber.onMetrics = undefined;
        resolve(found);
      };
      tell(subscriber.connection, TOLD.METRICS, { process: "", metrics: [] });
      return promise;
    });
    const found = await Promise.all(asked);
    return found.flatMap((one) =>
      one === undefined || one.metrics.length === 0 ? [] : [{ tags: { process: one.process }, metrics: one.metrics }],
    );
  }

  #accept(connection: ServiceConnection): void {
    const subscriber: Subscriber = { source: String(this.#nextSource), connection, keys: new Set(), uses: new Set(), onMetrics: undefined };
    this.#nextSource += 1;
    this.#all.add(subscriber);
    connection.onFrame = ({ type, body }) => {
      if (type === TOLD.SUBSCRIBE) this.#subscribe(subscriber, bodyOf(body) as SubscribeBody);
      else if (type === TOLD.UNSUBSCRIBE) subscriber.keys.delete((bodyOf(body) as UnsubscribeBody).key);
      else if (type === TOLD.RELEASED) this.#release(subscriber, (bodyOf(body) as ReleasedBody).replica);
      else if (type === TOLD.METRICS) subscriber.onMetrics?.(bodyOf(body) as MetricsBody);
      else if (type === TOLD.SYNC) this.#sync(subscriber, bodyOf(body) as SyncBody);
      else if (type === TOLD.REPORT) this.#ports.reported(subscriber.source, bodyOf(body) as ReportBody);
    };
    connection.onClose = () => {
      this.#all.delete(subscriber);
      subscriber.onMetrics?.(undefined);
      for (const replica of subscriber.uses) this.#release(subscriber, replica);
      this.#ports.gone(subscriber.source);
    };
  }

  #subscribe(subscriber: Subscriber, { key, held }: SubscribeBody): void {
    subscriber.keys.add(key);
    for (const replica of held) subscriber.uses.add(replica);
    if (this.#isOpen) this.#tell(subscriber, { key, value: this.#ports.valueOf(key) });
  }

  #sync(subscriber: Subscriber, body: SyncBody): void {
    if (!this.#isOpen) {
      this.#early.push(() => this.#sync(subscriber, body));
      return;
    }
    this.#ports.flush();
    tell(subscriber.connection, TOLD.SYNC, body);
  }

  #tell(subscriber: Subscriber, update: UpdateBody): void {
    for (const replica of this.#ports.replicasIn(update.value)) subscriber.uses.add(replica);
    tell(subscriber.connection, TOLD.UPDATE, update);
    this.#ports.told(update.key);
  }

  #release(subscriber: Subscriber, replica: string): void {
    subscriber.uses.delete(replica);
    if (!this.#isUsed(replica)) for (const resolve of this.#waiting.get(replica) ?? []) resolve();
  }

  #isUsed(replica: string): boolean {
    for (const { uses } of this.#all) if (uses.has(replica)) return true;
    return false;
  }
}
