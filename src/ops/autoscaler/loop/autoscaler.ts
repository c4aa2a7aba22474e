/**
 * The autoscaler: step by step it compares instances with the world, plans, and has the provider launch and end.
 *
 * One step does all that is due and waits for no provider. Every step of an instance is committed in the head's table, under the fence,
 * before its effect. After a death at any line the next autoscaler goes on from the table and the provider's list. An autoscaler whose fence
 * is old stops acting at once.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { BackOffs } from "../instances/back-off.ts";
import { type Instance, INSTANCE_LABEL, isComing, isEnded, moved, TYPE_LABEL } from "../instances/instance.ts";
import { reconcile, type Steps } from "../instances/reconcile.ts";
import {
  LAUNCH_BATCH_MAX,
  LAUNCH_TRIES_MAX,
  MESSAGE_LENGTH_MAX,
  NAME_PREFIX_LENGTH_MAX,
  RENEWS_EVERY_MS,
  VERDICTS_MAX,
} from "../limits.ts";
import { plan } from "../plan/plan.ts";
import type { Plan, Snapshot } from "../plan/snapshot.ts";
import type { LaunchRequest, NodeProvider } from "../provider.ts";
import { type AutoscalerPorts, type AutoscalerReport, FencedOutError } from "./ports.ts";
import { ProviderCalls } from "./provider-calls.ts";

interface AutoscalerOptions {
  /** The same for all autoscalers that one supervisor starts, of which the last acts. */
  readonly owner: string;
  /** Reads a cluster file. Throws for one that cannot be taken. */
  /** The cluster file, for a head that has none. */
  readonly configText: string;
  readonly readConfig: (text: string) => ClusterConfig;
  readonly provider: NodeProvider;
  readonly ports: AutoscalerPorts;
  /** Command and environment with which an instance starts its node. */
  readonly start: Pick<LaunchRequest, "command" | "env">;
}

export class Autoscaler {
  readonly #options: AutoscalerOptions;
  readonly #calls: ProviderCalls;
  readonly #backOffs = new BackOffs();
  readonly #instances = new Map<string, Instance>();
  #config: ClusterConfig | undefined;
  #configText: string;
  #configVersion = 0;
  /** Undefined while another autoscaler acts. */
  #fence: number | undefined;
  #committedMs = 0;
  #told = "";
  #reported = "";

  constructor(options: AutoscalerOptions) {
    this.#options = options;
    this.#configText = options.configText;
    const { log } = options.ports;
    const onEndFailed = (ids: readonly string[], text: string): void => log(`The provider could not end ${ids.join(", ")}: ${text}`);
    this.#calls = new ProviderCalls(options.provider, { onEndFailed, onAnswer: () => options.ports.wake() });
  }

  get isActing(): boolean {
    return this.#fence !== undefined;
  }

  /** Whether anything is under way: the next step should come soon. */
  get isBusy(): boolean {
    return this.#instances.values().some((instance) => !isEnded(instance) && instance.state !== "RUNNING");
  }

  /** The provider's list may have changed. */
  changed(): void {
    this.#calls.changed();
    this.#options.ports.wake();
  }

  /** Does all that is due. @throws the error of the head, after which the next step begins anew */
  async step(): Promise<void> {
    const { head, nowMs } = this.#options.ports;
    try {
      if (this.#fence === undefined && !(await this.#begin())) return;
      this.#calls.look(nowMs());
      const [demand, requested] = await Promise.all([head.demand(), head.requested()]);
      await this.#takeOutcomes();
      await this.#reconcile(demand);
      const config = await this.#currentConfig();
      const snapshot: Snapshot = { ...demand, requested, instances: this.#live(), backOffs: this.#backOffs.all };
      const planned = plan(snapshot, config, nowMs());
      await this.#carryOut(planned, config);
      await this.#say(planned, config);
    } catch (error) {
      if (error instanceof FencedOutError) this.#fence = undefined;
      throw error;
    }
  }

  /** Ends all instances, for the end of the whole cluster. Resolves when the provider lists none any more, or the time is over. */
  async endAll(untilMs: number, sleep: (ms: number) => Promise<void>): Promise<void> {
    const { provider, ports } = this.#options;
    for (;;) {
      const left = await provider.list();
      if (left.length === 0 || ports.nowMs() >= untilMs) return;
      await provider.terminate(left.map(({ instanceId }) => instanceId));
      await sleep(100);
    }
  }

  #live(): Instance[] {
    return Array.from(this.#instances.values()).filter((instance) => !isEnded(instance));
  }

  async #begin(): Promise<boolean> {
    const { owner, ports } = this.#options;
    const fence = await ports.head.acquire(owner);
    if (fence === undefined) return false;
    // A head without a store begins without a file.
    await ports.head.ensureConfig(this.#configText);
    const instances = await ports.head.instances();
    this.#instances.clear();
    for (const instance of instances) this.#instances.set(instance.id, instance);
    this.#fence = fence;
    this.#configVersion = 0;
    ports.log(`Acts as autoscaler ${fence}, with ${this.#live().length} instances.`);
    return true;
  }

  async #commit(steps: readonly Instance[]): Promise<number> {
    const { head, nowMs } = this.#options.ports;
    if (this.#fence === undefined) throw new FencedOutError("this autoscaler does not act");
    const version = await head.commit(this.#fence, steps);
    this.#committedMs = nowMs();
    for (const step of steps) this.#set(step);
    return version;
  }

  #set(step: Instance): void {
    const before = this.#instances.get(step.id);
    this.#instances.set(step.id, step);
    if (before?.state === step.state) return;
    const why = step.message === undefined ? "" : `: ${step.message}`;
    this.#options.ports.log(`${step.id} (${step.type}) is ${step.state}${why}.`);
    if (step.state === "RUNNING") this.#backOffs.joined(step.type);
  }

  async #currentConfig(): Promise<ClusterConfig> {
    const { head, nowMs, log } = this.#options.ports;
    const isDue = this.#config === undefined || nowMs() - this.#committedMs >= RENEWS_EVERY_MS;
    const version = isDue ? await this.#commit([]) : this.#configVersion;
    if (this.#config !== undefined && version === this.#configVersion) return this.#config;
    try {
      const text = await head.configText();
      this.#config = this.#options.readConfig(text);
      this.#configText = text;
      this.#backOffs.clear();
      log(`Uses cluster file ${version}.`);
    } catch (error) {
      if (this.#config === undefined) throw error;
      log(`Goes on with the cluster file before: ${messageOf(error)}`);
    }
    this.#configVersion = version;
    return this.#config;
  }

  async #takeOutcomes(): Promise<void> {
    const { nowMs } = this.#options.ports;
    const steps: Instance[] = [];
    for (const outcome of this.#calls.takeOutcomes()) {
      const instance = this.#instances.get(outcome.instanceId);
      if (instance?.state !== "REQUESTED") continue;
      if ("cause" in outcome) {
        const { cause, retryAfterMs } = outcome;
        const message = outcome.message.slice(0, MESSAGE_LENGTH_MAX);
        this.#backOffs.failed(instance.type, { cause, message, retryAfterMs }, nowMs());
        steps.push(moved(instance, "FAILED", nowMs(), { cause, message }));
      } else if (!("lost" in outcome)) {
        steps.push(moved(instance, "ALLOCATED", nowMs(), { providerId: outcome.providerId }));
      } else if ((instance.tries ?? 1) >= LAUNCH_TRIES_MAX) {
        const message = outcome.lost.slice(0, MESSAGE_LENGTH_MAX);
        this.#backOffs.failed(instance.type, { cause: "other", message }, nowMs());
        steps.push(moved(instance, "FAILED", nowMs(), { cause: "other", message }));
      }
      // A lost answer: the next list tells, or the same launch is asked for again.
    }
    if (steps.length > 0) await this.#commit(steps);
    const failed = steps.filter(({ state }) => state === "FAILED").map(({ id }) => id);
    this.#calls.terminate(failed, nowMs());
  }

  async #reconcile(demand: Pick<Snapshot, "nodes" | "isComplete">): Promise<void> {
    const { nowMs } = this.#options.ports;
    const steps = reconcile({ instances: this.#instances.values(), ...demand, list: this.#calls.list, nowMs: nowMs() });
    // Instances are ended only under a fence that holds.
    if (steps.changes.length > 0 || steps.ends.length > 0) await this.#commit(steps.changes);
    this.#backOffFailed(steps);
    this.#calls.terminate(steps.ends, nowMs());
    for (const instance of steps.drains) await this.#drain(instance);
  }

  #backOffFailed({ changes }: Steps): void {
    for (const { state, type, message = "it failed" } of changes)
      if (state === "FAILED") this.#backOffs.failed(type, { cause: "other", message }, this.#options.ports.nowMs());
  }

  async #carryOut({ launches, drains, cancels }: Plan, config: ClusterConfig): Promise<void> {
    const { nowMs, newName } = this.#options.ports;
    const now = nowMs();
    const steps = cancels.flatMap((id) => {
      const instance = this.#instances.get(id);
      return instance === undefined ? [] : [moved(instance, "TERMINATED", now, { cause: "cancelled" })];
    });
    for (const { type, count } of launches)
      for (let index = 0; index < count; index += 1) {
        // At most 63 letters, as in names of hosts and labels of Kubernetes.
        const id = `${config.clusterName.slice(0, NAME_PREFIX_LENGTH_MAX)}-${newName()}`.toLowerCase();
        steps.push({ id, type, state: "QUEUED", createdMs: now, sinceMs: now });
      }
    if (steps.length > 0) await this.#commit(steps);
    for (const id of drains) {
      const instance = this.#instances.get(id);
      if (instance?.state !== "RUNNING") continue;
      await this.#commit([moved(instance, "DRAINING", now, { cause: "idle" })]);
      await this.#drain(this.#instances.get(id) as Instance);
    }
    await this.#launch(config);
  }

  async #drain(instance: Instance): Promise<void> {
    const { head, nowMs } = this.#options.ports;
    const refusal = instance.nodeId === undefined ? undefined : await head.drain(instance.nodeId);
    // Work came in the meantime, so the node stays.
    if (refusal !== undefined) await this.#commit([moved(instance, "RUNNING", nowMs(), { cause: undefined })]);
  }

  async #launch(config: ClusterConfig): Promise<void> {
    const { nowMs, head } = this.#options.ports;
    const isDue = ({ id, state, sinceMs }: Instance): boolean => {
      if (state === "QUEUED") return true;
      if (state !== "REQUESTED" || this.#calls.isLaunching(id)) return false;
      // A list that was asked for afterwards lacks it, so the launch was lost.
      return (this.#calls.list?.askedMs ?? 0) > sinceMs;
    };
    const due = Array.from(this.#instances.values()).filter(isDue);
    for (let at = 0; at < due.length; at += LAUNCH_BATCH_MAX) {
      const batch = due.slice(at, at + LAUNCH_BATCH_MAX);
      const joinToken = await head.joinToken();
      await this.#commit(batch.map((instance) => moved(instance, "REQUESTED", nowMs(), { tries: (instance.tries ?? 0) + 1 })));
      this.#calls.launch(
        batch.flatMap((instance) => this.#requestOf(instance, config, joinToken)),
        nowMs(),
      );
    }
  }

  #requestOf({ id, type }: Instance, config: ClusterConfig, joinToken: string): LaunchRequest[] {
    const known = config.nodeTypes.find(({ name }) => name === type);
    if (known === undefined) return [];
    const labels = { ...known.labels, [TYPE_LABEL]: type, [INSTANCE_LABEL]: id };
    return [{ instanceId: id, type, resources: known.resources, labels, nodeConfig: known.nodeConfig, joinToken, ...this.#options.start }];
  }

  async #say({ verdicts }: Plan, config: ClusterConfig): Promise<void> {
    const { head, nowMs } = this.#options.ports;
    const told = verdicts.slice(0, VERDICTS_MAX).map(({ key, text }) => [key, text] as const);
    const text = JSON.stringify(told);
    if (text !== this.#told) await head.tell(told);
    this.#told = text;
    const report: Omit<AutoscalerReport, "atMs"> = {
      types: config.nodeTypes.map(({ name, maxWorkers }) => this.#typeReport(name, maxWorkers)),
      demands: verdicts.slice(0, VERDICTS_MAX).map(({ what, count, text: verdict }) => ({ what, count, verdict })),
      problem: this.#calls.problem === undefined ? undefined : `the provider does not list its nodes: ${this.#calls.problem}`,
    };
    const reported = JSON.stringify(report);
    if (reported !== this.#reported) await head.report({ ...report, atMs: nowMs() });
    this.#reported = reported;
  }

  #typeReport(name: string, maxWorkers: number): AutoscalerReport["types"][number] {
    const own = this.#live().filter(({ type }) => type === name);
    const backOff = this.#backOffs.all.get(name);
    const isBackingOff = backOff !== undefined && backOff.untilMs > this.#options.ports.nowMs();
    return {
      name,
      maxWorkers,
      running: own.filter(({ state }) => state === "RUNNING").length,
      coming: own.filter(isComing).length,
      leaving: own.filter(({ state }) => state === "DRAINING" || state === "TERMINATING").length,
      problem: isBackingOff
        ? `backing off until ${new Date(backOff.untilMs).toISOString()}: ${backOff.cause}: ${backOff.message}`
        : this.#pendingReason(name),
    };
  }

  /** Why the provider says that a node of the type is not there yet. */
  #pendingReason(type: string): string | undefined {
    const reason = this.#calls.list?.nodes.find(
      (node) => node.type === type && node.state === "pending" && node.reason !== undefined,
    )?.reason;
    return reason === undefined ? undefined : `pending: ${reason.slice(0, MESSAGE_LENGTH_MAX)}`;
  }
}
