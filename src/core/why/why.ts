/**
 * `why(ref)`: explains as a tree why an unfinished call waits.
 *
 * This process knows its own calls: pending arguments, a queue, or the worker to which the call was sent. It asks
 * others for the rest, each with one request and a time limit. The node knows resources, their holders and placement
 * groups. The worker or actor that has the call looks into its own process in the same way. For a borrowed ref, the
 * process that makes it is asked. The calls on the way are passed on, so that a cycle is seen and named.
 */
import type { ActorId, IdSource, JobId, NodeId, ProcessId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import type { Connection } from "../../runtime/rpc/connection.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import type { PlaceReportHeader, WhyHeader, WhyRefHeader, WhyTrail } from "../../runtime/wire/calls/why-messages.ts";
import type { TaskContext } from "../../runtime/worker/tasks/task-context.ts";
import type { ActorClient } from "../actors/actor-client.ts";
import { callName, type CallRecord } from "../calls/call-record.ts";
import type { TaskSubmitter } from "../calls/submission/task-submitter.ts";
import type { LongWaits } from "./long-waits.ts";
import { leaseReason } from "./why-reason.ts";
import { placeReason } from "./why-place.ts";
import type { ReplyTo } from "../../runtime/wire/tables/replies.ts";
import { WireError } from "../../runtime/wire/wire-error.ts";

/** Time limit of the whole explanation. Each hop leaves a part of it to the one before. */
const WITHIN_MS = 1500;
const HOP_MS = 100;
/** Time limit of the head, which answers in a millisecond when it is there. */
const HEAD_ANSWERS_WITHIN_MS = 700;
/** Largest number of refs explained one by one. A list of a thousand refs is not. */
const CAUSES_MAX = 10;
const DEPTH_MAX = 30;

/** The parts of the runtime that an explanation needs. */
export interface WhyRuntime {
  readonly options: { readonly processId: ProcessId; readonly nodeId: NodeId; readonly jobId: JobId; readonly ids: IdSource };
  readonly table: ObjectTable;
  readonly daemon: Connection;
  readonly calls: { readonly submitter: TaskSubmitter };
  readonly longWaits: LongWaits;
  readonly actors: { client(id: ActorId, className: string, options: { watch: boolean }): ActorClient };
}

export class WhyExplainer {
  readonly #runtime: WhyRuntime;

  constructor(runtime: WhyRuntime) {
    this.#runtime = runtime;
  }

  explain(entry: ObjectEntry): Promise<WhyHeader> {
    return this.entry(entry, { visited: [], withinMs: WITHIN_MS });
  }

  async entry(entry: ObjectEntry, trail: WhyTrail): Promise<WhyHeader> {
    const what = entry.label === "" ? "object" : `call ${entry.label}`;
    if (entry.isSettled) {
      const state = entry.state === "failed" ? "failed" : "ready";
      return node({ what, state, reason: state === "failed" ? "it has failed" : "its value is there" });
    }
    const record = entry.maker as CallRecord | undefined;
    if (record !== undefined) return await this.#call(record, trail);
    const { id, owner } = entry;
    if (id === undefined || owner === undefined || owner === this.#runtime.options.processId)
      return node({ what, state: "unknown", reason: "no call of this process makes it" });
    return await this.#ask(what, trail, "the process that makes it", () =>
      this.#fromDaemon(MESSAGE.WHY_REF, { id, owner, trail: shorter(trail) }, trail),
    );
  }

  /** Answers the node, which asks for a holder of a ref of a call that this process made. */
  answer(callId: number, { id, trail }: WhyRefHeader): void {
    const { table, daemon } = this.#runtime;
    const entry = table.lookup(id);
    if (entry === undefined) daemon.replyError(callId, new WireError("notFound", "the ref is not known here"));
    else void this.entry(entry, trail).then((why) => daemon.reply(callId, why));
  }

  /** Explains a call that came to this process; `begun` are the calls that run here beside it. */
  async received(context: TaskContext | undefined, begun: readonly TaskContext[], trail: WhyTrail): Promise<WhyHeader> {
    if (context === undefined) return node({ what: "call", state: "unknown", reason: "it has just ended, or not arrived yet" });
    const what = nameOf(context);
    const key = context.taskId(this.#runtime.options.jobId);
    const details = { pid: process.pid };
    if (context.startedMs === undefined) {
      const { actor } = context.place;
      const before = begun.filter((other) => other !== context && other.place.actor === actor);
      const where = actor === undefined ? `on the worker with pid ${process.pid}` : "in its actor";
      const behind = before.length === 0 ? "behind calls that arrived before it" : `behind ${before.map((other) => other.name).join(", ")}`;
      const causes = await this.#all(before, (other) => this.#begun(other, trail));
      return node({ what, state: "waits for its turn", reason: `it waits ${where}, ${behind}`, causes, details });
    }
    const beside = context.place.actor === undefined ? begun.filter((other) => other !== context) : [];
    return await this.#begun(context, { ...trail, visited: trail.visited.filter(([visited]) => visited !== key) }, beside);
  }

  /** Explains a call that runs in this process; `beside` are tasks that share the process with it. */
  async #begun(context: TaskContext, trail: WhyTrail, beside: readonly TaskContext[] = []): Promise<WhyHeader> {
    const what = nameOf(context);
    const key = context.taskId(this.#runtime.options.jobId);
    const cycle = cycleOf(key, context.name, trail);
    if (cycle !== undefined) return cycle;
    const sinceMs = Math.round(performance.now() - (context.startedMs ?? performance.now()));
    const names = beside.slice(0, CAUSES_MAX).map((other) => other.name);
    const details = { pid: process.pid, sinceMs, ...(names.length > 0 && { sharedWith: names }) };
    const where = `process ${process.pid}${names.length === 0 ? "" : `, which it shares with ${names.join(", ")},`}`;
    const entries = this.#runtime.longWaits.waitsOf(context);
    if (entries.length === 0) {
      const does = context.waits > 0 ? "it waits for refs within a time limit" : "it runs";
      return node({ what, state: "running", reason: `${does} in ${where.replace(/,$/, "")}, for ${seconds(sinceMs)}`, details });
    }
    const next = { ...trail, visited: [...trail.visited, [key, context.name] as [string, string]] };
    const causes = await this.#all(entries, (entry) => this.entry(entry, next));
    return node({
      what,
      state: "waits for refs",
      reason: `it runs in ${where} and waits for ${count(entries.length, "ref")}`,
      causes,
      details,
    });
  }

  async #call(record: CallRecord, trail: WhyTrail): Promise<WhyHeader> {
    const name = callName(record);
    const what = record.actor === undefined ? `task ${name}` : `call ${name}`;
    const key = this.#runtime.options.ids.taskId(record.sequence);
    const cycle = cycleOf(key, name, trail);
    if (cycle !== undefined) return cycle;
    const next: WhyTrail = { ...trail, visited: [...trail.visited, [key, name]] };
    const pending = record.dependencies.filter((entry) => !entry.isSettled);
    if (pending.length > 0 && !record.isQueued) return await this.#arguments(what, pending, next);
    return record.actor === undefined ? await this.#task(what, record, next) : await this.#actorCall(what, record, next);
  }

  async #arguments(what: string, pending: readonly ObjectEntry[], trail: WhyTrail): Promise<WhyHeader> {
    const causes = await this.#all(pending, (entry) => this.entry(entry, trail));
    return node({
      what,
      state: "waits for arguments",
      reason: `${count(pending.length, "argument")} ${pending.length === 1 ? "is" : "are"} not there yet`,
      causes,
    });
  }

  async #task(what: string, record: CallRecord, trail: WhyTrail): Promise<WhyHeader> {
    const sent = this.#runtime.calls.submitter.whereIs(record);
    if (sent !== undefined) return await this.#sent(what, record, trail, sent);
    if (!record.isQueued && !this.#runtime.calls.submitter.isTravelling(record))
      return node({ what, state: "waits for its turn", reason: "it failed and waits for its next try" });
    return await this.#lease(what, { shape: record.shape }, trail);
  }

  async #actorCall(what: string, record: CallRecord, trail: WhyTrail): Promise<WhyHeader> {
    const client = this.#runtime.actors.client(record.actor as NonNullable<CallRecord["actor"]>, "", { watch: false }).resolved;
    const { state } = client;
    if (state?.phase === "restarting") return node({ what, state: "waits for the actor", reason: `actor ${client.className} restarts` });
    if (state?.phase !== "alive") {
      const why = await this.#lease(`actor ${client.className}`, { actor: client.id }, trail);
      return node({ what, state: "waits for the actor", reason: `actor ${client.className} has not started yet`, causes: [why] });
    }
    const link = client.linkOf(record);
    if (link !== undefined) return await this.#sent(what, record, trail, { link, pid: state.pid });
    const first = client.firstWaiting;
    if (first === undefined) return node({ what, state: "waits for the actor", reason: "it is about to be sent" });
    const pending = first.dependencies.filter((entry) => !entry.isSettled);
    if (first === record) return await this.#arguments(what, pending, trail);
    const cause = await this.#arguments(`call ${callName(first)}`, pending, trail);
    return node({
      what,
      state: "waits for its turn",
      reason: "calls of an actor keep their order, and one before it waits for arguments",
      causes: [cause],
    });
  }

  /** Asks the worker that has the call. It knows more, unless it computes. */
  async #sent(
    what: string,
    record: CallRecord,
    trail: WhyTrail,
    { link, pid }: NonNullable<ReturnType<TaskSubmitter["whereIs"]>>,
  ): Promise<WhyHeader> {
    const header = { callId: link.callIdOf(record), trail: shorter(trail) };
    const answer =
      trail.withinMs <= HOP_MS ? undefined : await link.ask(MESSAGE.WHY_CALL, header, trail.withinMs - HOP_MS).catch(() => undefined);
    if (answer !== undefined && answer.state !== "unknown") return answer;
    if (record.isEnded) return node({ what, state: "ready", reason: "it ended just now" });
    const details = { pid };
    if (link.hasBegun(record))
      return node({ what, state: "running", reason: `it computes in process ${pid}, which does not answer meanwhile`, details });
    const ahead = link.firstNotParked;
    const behind = ahead === undefined || ahead === record ? "" : `, behind ${callName(ahead)}`;
    return node({ what, state: "waits for its turn", reason: `it is with process ${pid}, which computes${behind}`, details });
  }

  async #lease(what: string, asked: { shape: string } | { actor: string }, trail: WhyTrail): Promise<WhyHeader> {
    return await this.#ask(what, trail, "the node", async () => {
      const report = await this.#fromDaemon(MESSAGE.WHY_LEASE, asked, trail);
      if (report.isClustered !== true) return node({ what, ...leaseReason(report) });
      return node({ what, ...placeReason(report, await this.#place(asked, trail), this.#runtime.options.nodeId) });
    });
  }

  /**
   * Returns the head's report on the nodes: undefined when it does not know the waiting demand, "away" when it does not answer.
   */
  async #place(asked: { shape: string } | { actor: string }, { withinMs }: WhyTrail): Promise<PlaceReportHeader | "away" | undefined> {
    const timeoutMs = Math.max(1, Math.min(HEAD_ANSWERS_WITHIN_MS, withinMs - 2 * HOP_MS));
    try {
      return (await this.#runtime.daemon.request(MESSAGE.WHY_PLACE, asked, { timeoutMs })).header;
    } catch {
      return "away";
    }
  }

  async #fromDaemon<N extends number>(type: N, header: unknown, trail: WhyTrail): Promise<ReplyTo<N>> {
    const reply = await this.#runtime.daemon.request(type, header, { timeoutMs: Math.max(1, trail.withinMs - HOP_MS) });
    return reply.header;
  }

  async #ask(what: string, trail: WhyTrail, whom: string, question: () => Promise<WhyHeader>): Promise<WhyHeader> {
    if (trail.visited.length > DEPTH_MAX) return node({ what, state: "unknown", reason: "there is more behind it" });
    try {
      return await question();
    } catch {
      return node({ what, state: "unknown", reason: `${whom} did not answer in time: it computes, or is gone` });
    }
  }

  async #all<T>(items: readonly T[], explain: (item: T) => Promise<WhyHeader>): Promise<WhyHeader[]> {
    return await Promise.all(items.slice(0, CAUSES_MAX).map(explain));
  }
}

function node(parts: Pick<WhyHeader, "what" | "state" | "reason"> & Partial<WhyHeader>): WhyHeader {
  return { causes: [], details: {}, ...parts };
}

function shorter(trail: WhyTrail): WhyTrail {
  return { ...trail, withinMs: trail.withinMs - HOP_MS };
}

/** Whether the call is already on the way that led to it. */
function cycleOf(key: string, name: string, { visited }: WhyTrail): WhyHeader | undefined {
  const at = visited.findIndex(([other]) => other === key);
  if (at < 0) return undefined;
  const names = [...visited.slice(at).map(([, other]) => other), name];
  return node({
    what: `call ${name}`,
    state: "cycle",
    reason: `these wait for each other and never end: ${names.join(" → ")}`,
    details: { cycle: names },
  });
}

function nameOf(context: TaskContext): string {
  return context.place.actor === undefined ? `task ${context.name}` : `call ${context.name}`;
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
