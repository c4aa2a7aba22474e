/**
 * Keeps the processes of `shoal start` running (the store's server, the head, a node, the dashboard, the autoscaler), and ends them in order.
 *
 * A head that ends is started again with growing pauses, for ever, at the same address: nodes look for it there. A node that ends is
 * replaced by a *new* one, under a new id: the cluster may have declared the old one dead, which is never taken back. A node that ended in
 * order (it was drained, or somebody ended it) is not replaced. Knows processes only as something that ends and can be signalled, so tests
 * need none.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { RestartBackoff } from "../../runtime/os/processes/restart-backoff.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import {
  AUTOSCALER_ENDS_WITHIN_MS,
  DASHBOARD_ENDS_WITHIN_MS,
  HEAD_ENDS_WITHIN_MS,
  NODE_ENDS_WITHIN_MS,
  STARTS_WITHIN_MS,
} from "../providers/limits.ts";
import { ENDED_IN_ORDER, type LocalProcess } from "../providers/local-processes.ts";

interface SupervisorParts<Head extends LocalProcess, Node extends LocalProcess, Dashboard extends LocalProcess> {
  /** Starts the storage of the head's tables, which restarts by itself. */
  readonly startStore?: ((signal: AbortSignal) => Promise<{ close(): Promise<void> }>) | undefined;
  readonly startHead?: ((signal: AbortSignal) => Promise<Head>) | undefined;
  readonly startNode: (head: Head | undefined, signal: AbortSignal) => Promise<Node>;
  /** Starts the HTTP server, which needs the head's address and asks the node later. */
  readonly startDashboard?: ((signal: AbortSignal) => Promise<Dashboard>) | undefined;
  /** Starts the autoscaler, which asks the head through the node. */
  readonly startAutoscaler?: ((head: Head | undefined, signal: AbortSignal) => Promise<LocalProcess>) | undefined;
  readonly log: (text: string) => void;
  /** Called when the set of running processes has changed. */
  readonly onChange: () => void;
  /** The node of a machine without a head has ended in order: nothing is left to keep. */
  readonly onLeft: () => void;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export class Supervisor<Head extends LocalProcess, Node extends LocalProcess, Dashboard extends LocalProcess = LocalProcess> {
  readonly #parts: SupervisorParts<Head, Node, Dashboard>;
  #store: { close(): Promise<void> } | undefined;
  #head: Head | undefined;
  #node: Node | undefined;
  #dashboard: Dashboard | undefined;
  #autoscaler: LocalProcess | undefined;
  #isStopping = false;
  #stopped: Promise<void> | undefined;
  readonly #ended = new Set<LocalProcess>();
  /** Starts under way; their processes are ended, too. */
  readonly #starting = new Set<Promise<unknown>>();
  /** Ends starts under way. */
  readonly #abort = new AbortController();
  /** Names the step that `start` waits for. */
  #awaited = "";

  constructor(parts: SupervisorParts<Head, Node, Dashboard>) {
    this.#parts = parts;
  }

  get head(): Head | undefined {
    return this.#head;
  }

  get node(): Node | undefined {
    return this.#node;
  }

  get dashboard(): Dashboard | undefined {
    return this.#dashboard;
  }

  get autoscaler(): LocalProcess | undefined {
    return this.#autoscaler;
  }

  /** Resolves when the node has joined. @throws the error of the failed start, after everything else has been ended */
  async start(): Promise<void> {
    const { startStore, startHead, startNode, startDashboard, startAutoscaler, sleep } = this.#parts;
    const { signal } = this.#abort;
    let isLate = false;
    void sleep(STARTS_WITHIN_MS).then(() => {
      if (this.#awaited === "") return;
      isLate = true;
      this.#abort.abort();
    });
    try {
      signal.throwIfAborted();
      this.#awaited = "the nats-server";
      this.#store = startStore === undefined ? undefined : await this.#track(startStore(signal));
      this.#awaited = "the head";
      if (startHead !== undefined)
        this.#keep("head", await this.#track(startHead(signal)), { start: () => startHead(signal), set: (head) => (this.#head = head) });
      this.#awaited = "the node";
      signal.throwIfAborted();
      this.#keepNode(await this.#track(startNode(this.#head, signal)));
      signal.throwIfAborted();
      this.#awaited = "the dashboard";
      if (startDashboard !== undefined)
        this.#keep("dashboard", await this.#track(startDashboard(signal)), {
          start: () => startDashboard(signal),
          set: (dashboard) => (this.#dashboard = dashboard),
        });
      signal.throwIfAborted();
      this.#awaited = "the autoscaler";
      if (startAutoscaler !== undefined)
        this.#keep("autoscaler", await this.#track(startAutoscaler(this.#head, signal)), {
          start: () => startAutoscaler(this.#head, signal),
          set: (autoscaler) => (this.#autoscaler = autoscaler),
        });
      signal.throwIfAborted();
      this.#awaited = "";
    } catch (error) {
      const awaited = this.#awaited;
      this.#awaited = "";
      const hasBeenStopped = this.#isStopping;
      await this.stop();
      if (isLate) throw startedTooLate(awaited, error);
      throw hasBeenStopped ? stoppedMeanwhile(awaited) : error;
    }
  }

  /** Ends the launched nodes, then the node, the head and the store's server. Always the same promise. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#isStopping = true;
    this.#abort.abort();
    await this.#endAll();
    // A start that was under way when this began.
    while (this.#starting.size > 0) {
      await Promise.allSettled(this.#starting);
      await this.#endAll();
    }
    await this.#store?.close();
  }

  /** Nodes end before the head that they belong to. */
  async #endAll(): Promise<void> {
    await this.#end(this.#autoscaler, AUTOSCALER_ENDS_WITHIN_MS);
    await this.#end(this.#dashboard, DASHBOARD_ENDS_WITHIN_MS);
    await this.#end(this.#node, NODE_ENDS_WITHIN_MS);
    await this.#end(this.#head, HEAD_ENDS_WITHIN_MS);
  }

  async #end(target: LocalProcess | undefined, withinMs: number): Promise<void> {
    if (target === undefined || this.#ended.has(target)) return;
    this.#ended.add(target);
    target.kill("SIGTERM");
    // Woken, in case somebody has stopped it.
    target.kill("SIGCONT");
    const late = this.#parts.sleep(withinMs).then(() => "late");
    if ((await Promise.race([target.ended, late])) !== "late") return;
    this.#parts.log(`Process ${target.pid} did not end within ${withinMs / 1000} s and is killed.`);
    target.kill("SIGKILL");
    await target.ended;
  }

  /** Has a process started again for as long as this supervisor lives. */
  #keep<Process extends LocalProcess>(
    what: string,
    process: Process,
    { start, set }: { start: () => Promise<Process>; set: (process: Process) => void },
  ): void {
    const backoff = new RestartBackoff();
    const keep = (kept: Process): void => {
      set(kept);
      this.#parts.onChange();
      void watch(kept);
    };
    const watch = async (watched: Process): Promise<void> => {
      const next = await this.#replaced(watched, { what, backoff, start });
      if (next !== undefined) keep(next);
    };
    keep(process);
  }

  #keepNode(node: Node): void {
    this.#node = node;
    this.#parts.onChange();
    const backoff = new RestartBackoff();
    const watch = async (watched: Node): Promise<void> => {
      const how = await watched.ended;
      if (!this.#isStopping && how === ENDED_IN_ORDER) return this.#nodeLeft();
      const next = await this.#replaced(watched, {
        what: "node",
        backoff,
        start: () => this.#parts.startNode(this.#head, this.#abort.signal),
      });
      if (next === undefined) return;
      this.#node = next;
      this.#parts.onChange();
      await watch(next);
    };
    void watch(node);
  }

  #nodeLeft(): void {
    const { log, onChange, onLeft } = this.#parts;
    this.#node = undefined;
    onChange();
    if (this.#head === undefined) {
      log("The node has left the cluster in order.");
      onLeft();
    } else {
      log("The node of this machine has left the cluster in order; the head continues.");
    }
  }

  /** Waits for the process to end, and for a replacement. Undefined if everything ends. */
  async #replaced<Process extends LocalProcess>(
    before: Process,
    { what, backoff, start }: { what: string; backoff: RestartBackoff; start: () => Promise<Process> },
  ): Promise<Process | undefined> {
    const { log, nowMs, sleep } = this.#parts;
    let startedMs = nowMs();
    let problem = `ended with ${await before.ended}`;
    while (!this.#isStopping) {
      const pauseMs = backoff.afterExit(nowMs() - startedMs);
      log(`The ${what} ${problem}; another is started in ${pauseMs} ms.`);
      await sleep(pauseMs);
      if (this.#isStopping) return undefined;
      startedMs = nowMs();
      try {
        const next = await this.#track(start());
        log(`Another ${what} runs: process ${next.pid}.`);
        // Ended by `stop`, which waits for starts that are under way.
        return next;
      } catch (error) {
        problem = `did not start: ${messageOf(error)}`;
      }
    }
    return undefined;
  }

  async #track<T>(start: Promise<T>): Promise<T> {
    // Pending until its caller has taken the result.
    const taken = start.then(
      () => this.#parts.sleep(0),
      () => {},
    );
    this.#starting.add(taken);
    void taken.then(() => this.#starting.delete(taken));
    return await start;
  }
}

function startedTooLate(awaited: string, cause: unknown): ShoalError {
  const { reason, message, hint } = cause as ShoalError;
  const because = cause instanceof ShoalError ? `: ${(reason ?? message).replace(/\.$/, "")}` : "";
  return new ShoalError(`Cannot start Shoal: ${awaited} was not ready within ${STARTS_WITHIN_MS / 1000} s${because}.`, {
    reason: "not ready in time",
    hint,
    cause,
  });
}

function stoppedMeanwhile(awaited: string): ShoalError {
  return new ShoalError(`Cannot start Shoal: it was told to end while ${awaited} began.`, { reason: "told to end" });
}
