/**
 * This process's link to the controller: subscriptions to routes and deployments, and reports of request counts.
 *
 * Each process with handles or a proxy has one. After the controller's death the last known state stays in use, and the link subscribes again to the next
 * controller. The link keeps no driver alive.
 */
import { CONTROLLER_NAME, CONTROLLER_SERVICE, SERVE_NAMESPACE } from "../names.ts";
import { hostname } from "node:os";
import { getActor } from "../../core/index.ts";
import { connectToActor, messageOf, outsideCalls, type ServiceConnection, within } from "../../core/internal.ts";
import { REPORT_EVERY_MS, SYNC_WITHIN_MS, WATCH_RETRY_MS } from "../limits.ts";
import { metricsOfHandles, updateTook } from "../metrics/router-metrics.ts";
import {
  bodyOf,
  type LoadReport,
  ROUTES_KEY,
  type SubscribeBody,
  type SyncBody,
  tell,
  TOLD,
  type UpdateBody,
} from "./controller-messages.ts";

/** Names this process among others with handles. */
const PROCESS = `${hostname()}-${process.pid}`;

interface Subscription {
  /** A new value; `null`: there is none any more. */
  changed(value: unknown): void;
  /** Replicas that this process still uses. */
  held(): readonly string[];
}

export class ControllerLink {
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #counts: () => LoadReport;
  readonly #open: () => Promise<ServiceConnection>;
  #connection: ServiceConnection | undefined;
  #isConnecting = false;
  #isClosed = false;
  /** The last failure to connect. */
  #unreachable: string | undefined;
  #lastReport = "[]";
  #nextSync = 1;
  /** Callers that wait until the controller has published everything, by number. */
  readonly #syncing = new Map<number, () => void>();
  readonly #reporting: NodeJS.Timeout;

  /**
   * @param counts counts running and waiting requests by deployment of this process
   * @param open connects to the controller, and rejects while there is none
   */
  constructor(counts: () => LoadReport, open: () => Promise<ServiceConnection> = connectToController) {
    this.#counts = counts;
    this.#open = open;
    this.#reporting = outsideCalls(() => setInterval(() => this.report(), REPORT_EVERY_MS).unref());
  }

  subscribe(key: string, subscription: Subscription): void {
    this.#subscriptions.set(key, subscription);
    if (this.#connection === undefined) this.#connect();
    else tell(this.#connection, TOLD.SUBSCRIBE, { key, held: subscription.held() });
  }

  unsubscribe(key: string): void {
    if (this.#subscriptions.delete(key) && this.#connection !== undefined) tell(this.#connection, TOLD.UNSUBSCRIBE, { key });
  }

  /** Nothing of this process uses the replica any more. */
  released(key: string, replica: string): void {
    if (this.#connection !== undefined) tell(this.#connection, TOLD.RELEASED, { key, replica });
  }

  /** The reason for having no connection; undefined where nothing has failed. */
  get unreachable(): string | undefined {
    return this.#unreachable;
  }

  /**
   * Resolves when this process knows what the controller knew when it was asked. Without a connection, or when it breaks, the next one asks.
   *
   * After `SYNC_WITHIN_MS` it resolves all the same, and a connection that has not answered for so long is dropped.
   */
  async synced(): Promise<void> {
    if (this.#isClosed || this.#subscriptions.size === 0) return;
    const asked = this.#connection;
    const number = this.#nextSync++;
    const told = new Promise<true>((resolve) => this.#syncing.set(number, () => resolve(true)));
    if (asked !== undefined) tell(asked, TOLD.SYNC, { number });
    const isTold = await within(told, { timeoutMs: SYNC_WITHIN_MS, signal: undefined });
    this.#syncing.delete(number);
    if (isTold === undefined && asked === this.#connection) asked?.drop(`the controller did not answer within ${SYNC_WITHIN_MS} ms`);
  }

  /** Tells how many requests there are. An idle process says so once. */
  report(): void {
    if (this.#connection === undefined) return;
    const counts = this.#counts();
    const text = JSON.stringify(counts);
    if (text === "[]" && this.#lastReport === "[]") return;
    this.#lastReport = text;
    tell(this.#connection, TOLD.REPORT, { atMs: Date.now(), loads: counts });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#reporting);
    this.#connection?.close();
    this.#connection = undefined;
    for (const resolve of this.#syncing.values()) resolve();
  }

  #connect(): void {
    if (this.#isConnecting || this.#isClosed) return;
    this.#isConnecting = true;
    // The connection must outlive the request that opened it.
    outsideCalls(() => void this.#connectUntilDone());
  }

  async #connectUntilDone(): Promise<void> {
    while (!this.#isClosed) {
      try {
        this.#connected(await this.#open());
        break;
      } catch (error) {
        // The controller has died, or does not exist (yet or any more).
        this.#unreachable = messageOf(error);
        await new Promise<void>((resolve) => setTimeout(resolve, WATCH_RETRY_MS).unref());
      }
    }
    this.#isConnecting = false;
  }

  #connected(connection: ServiceConnection): void {
    if (this.#isClosed) {
      connection.close();
      return;
    }
    this.#connection = connection;
    this.#unreachable = undefined;
    this.#lastReport = "[]";
    connection.onFrame = (frame) => {
      if (frame.type === TOLD.METRICS)
        tell(connection, TOLD.METRICS, { process: PROCESS, metrics: metricsOfHandles(this.#subscriptions.has(ROUTES_KEY)) });
      if (frame.type === TOLD.SYNC) {
        const { number } = bodyOf(frame.body) as SyncBody;
        this.#syncing.get(number)?.();
      }
      if (frame.type !== TOLD.UPDATE) return;
      const { key, value, changedMs } = bodyOf(frame.body) as UpdateBody;
      if (changedMs !== undefined) updateTook(key, Date.now() - changedMs);
      this.#subscriptions.get(key)?.changed(value);
    };
    connection.onClose = () => {
      this.#connection = undefined;
      this.#connect();
    };
    for (const [key, subscription] of this.#subscriptions)
      tell(connection, TOLD.SUBSCRIBE, { key, held: subscription.held() } satisfies SubscribeBody);
    for (const number of this.#syncing.keys()) tell(connection, TOLD.SYNC, { number });
    this.report();
  }
}

async function connectToController(): Promise<ServiceConnection> {
  return await connectToActor(await getActor(CONTROLLER_NAME, { namespace: SERVE_NAMESPACE }), CONTROLLER_SERVICE);
}
