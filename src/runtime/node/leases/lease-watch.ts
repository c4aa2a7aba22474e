/**
 * The clock of the lease manager: ticks while somebody waits who could be served, and the end of idle workers in excess.
 *
 * Also warns of long waits. Part of the daemon. Its timers run only while there is a reason, so an idle node wakes up for nothing.
 * Invariant: each timer runs once at most.
 */
import type { ActorId } from "../../base/ids.ts";
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import type { LeaseManager } from "./lease-manager.ts";
import { SURPLUS_IDLE_MS, WAITING_TICK_MS } from "./limits.ts";
import { StarvationWatch } from "./reports/starvation-watch.ts";

interface LeaseWatchOptions {
  readonly leases: LeaseManager;
  readonly nowMs: () => number;
  readonly tick: () => void;
  readonly trim: () => void;
  readonly warn: (text: string) => void;
  readonly nameOf: (actor: ActorId) => string | undefined;
}

const WATCH_MS = 1000;

export class LeaseWatch {
  readonly #options: LeaseWatchOptions;
  readonly #starvation = new StarvationWatch();
  #tickTimer: NodeJS.Timeout | undefined;
  #watchTimer: NodeJS.Timeout | undefined;
  #trimTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: LeaseWatchOptions) {
    this.#options = options;
  }

  /** Something about the leases has changed. */
  update(): void {
    const { leases, tick } = this.#options;
    if (leases.hasUnmetDemand && this.#tickTimer === undefined && !this.#isClosed) {
      this.#tickTimer = setInterval(tick, WAITING_TICK_MS);
      this.#tickTimer.unref();
    } else if (!leases.hasUnmetDemand && this.#tickTimer !== undefined) {
      clearInterval(this.#tickTimer);
      this.#tickTimer = undefined;
    }
    if (leases.isSomebodyWaiting && this.#watchTimer === undefined && !this.#isClosed) {
      this.#watchTimer = setInterval(() => this.#watch(), WATCH_MS);
      this.#watchTimer.unref();
    }
    if (leases.hasSurplus && this.#trimTimer === undefined && !this.#isClosed) {
      this.#trimTimer = setInterval(() => this.#trim(), SURPLUS_IDLE_MS);
      this.#trimTimer.unref();
    }
  }

  #trim(): void {
    const { leases, trim } = this.#options;
    trim();
    if (leases.hasSurplus) return;
    clearInterval(this.#trimTimer);
    this.#trimTimer = undefined;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#tickTimer);
    clearInterval(this.#watchTimer);
    clearInterval(this.#trimTimer);
  }

  #watch(): void {
    const { leases, nowMs, nameOf, warn } = this.#options;
    const waits = leases.waiting();
    const specs = new Map(waits.map(({ key, spec }) => [key, spec]));
    const explain = ({ key }: { key: string }): ReturnType<LeaseManager["explain"]> => leases.explain(specs.get(key) as LeaseSpec);
    for (const warning of this.#starvation.observe(waits, { nowMs: nowMs(), explain, nameOf })) warn(warning);
    if (waits.length > 0) return;
    clearInterval(this.#watchTimer);
    this.#watchTimer = undefined;
  }
}
