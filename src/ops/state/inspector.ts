/**
 * Looks into processes of a living cluster: finds the process of an actor, a task or a worker, and reads its stack or profile.
 *
 * The daemon of the process does the work, and a process that has ended is refused here. Results come in parts, so a heap snapshot of any
 * size is never whole in this process. Commands, routes and `shoal/state` use this reader.
 */
import type { StackFrame, ThreadStack } from "../../runtime/os/inspector/process-inspector.ts";
import type { StateRow } from "../../runtime/observe/select-rows.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import type { InspectHeader } from "../../runtime/wire/observing/inspect-messages.ts";
import { INSPECTED_MAX, PROFILE_WITHIN_MORE_MS, SNAPSHOT_WITHIN_MS, STATE_TIMEOUT_DEFAULT_MS } from "./limits.ts";
import type { AskWithBytes } from "./log-reader.ts";
import type { StateFilter, StateReader } from "./state-reader.ts";

/** Names one process: an id, or its number on a node. */
export interface ProcessSource {
  /** An actor, a task that runs, or a worker. */
  readonly id?: string | undefined;
  readonly actorId?: string | undefined;
  readonly taskId?: string | undefined;
  readonly workerId?: string | undefined;
  readonly pid?: number | undefined;
  /** Needed where two nodes have a process with that `pid`. */
  readonly nodeId?: string | undefined;
}

export interface FoundProcess {
  readonly workerId: string;
  readonly nodeId: string;
  readonly pid: number;
  readonly type: string;
}

/** The stacks of a process. */
export interface StackAnswer {
  readonly language: "javascript" | "python";
  readonly threads: readonly ThreadStack[];
}

export type Profile = "cpu" | "heap" | "snapshot";

export type FoundOrNot =
  | { readonly kind: "found"; readonly process: FoundProcess }
  | { readonly kind: "none"; readonly reason: string; readonly hint: string };

const HINT = "`shoal list workers -f is_alive=true` lists processes.";

export class Inspector {
  readonly #ask: AskWithBytes;
  readonly #state: StateReader;

  constructor(ask: AskWithBytes, state: StateReader) {
    this.#ask = ask;
    this.#state = state;
  }

  /** @throws RangeError when not one thing is named */
  async find({ id, actorId, taskId, workerId, pid, nodeId }: ProcessSource): Promise<FoundOrNot> {
    const given = Object.entries({ id, actorId, taskId, workerId, pid }).filter(([, value]) => value !== undefined);
    if (given.length !== 1)
      throw new RangeError(
        `Cannot look into a process: name one of id, actorId, taskId, workerId and pid: received ${given.map(([name]) => name).join(", ") || "none"}`,
      );
    if (pid !== undefined) return await this.#findPid(pid, nodeId);
    if (workerId !== undefined) return await this.#findWorker(workerId);
    if (actorId !== undefined) return await this.#findOf("actors", actorId);
    if (taskId !== undefined) return await this.#findOf("tasks", taskId);
    const text = id as string;
    for (const resource of ["workers", "actors", "tasks"] as const)
      if ((await this.#state.get(resource, text)) !== undefined)
        return resource === "workers" ? await this.#findWorker(text) : await this.#findOf(resource, text);
    return none(`there is no actor, task or worker ${text.slice(0, 100)}`, HINT);
  }

  /** Living workers of all nodes, the newest first. */
  async workers(nodeId?: string): Promise<FoundProcess[]> {
    const filters: StateFilter[] = [
      ["is_alive", "=", true],
      ["worker_type", "=", "WORKER"],
    ];
    if (nodeId !== undefined) filters.push(["node_id", "=", nodeId]);
    const { rows } = await this.#state.list("workers", { filters, limit: INSPECTED_MAX });
    return rows.map(processOf);
  }

  /** @throws Error with the node's reason */
  async stack(process: FoundProcess, timeoutMs: number = STATE_TIMEOUT_DEFAULT_MS): Promise<StackAnswer> {
    let text = "";
    for await (const part of this.#parts(process, { work: "stack", durationMs: 0 }, timeoutMs)) text += part;
    return JSON.parse(text) as StackAnswer;
  }

  /** Returns the text of a `.cpuprofile`, `.heapprofile` or `.heapsnapshot` in parts. */
  profile(process: FoundProcess, profile: Profile, durationMs: number): AsyncGenerator<string, void, undefined> {
    const withinMs = profile === "snapshot" ? SNAPSHOT_WITHIN_MS : durationMs + PROFILE_WITHIN_MORE_MS;
    return this.#parts(process, { work: profile, durationMs }, withinMs);
  }

  /** Opens the inspector of a process, or keeps it open. @returns the address of the inspector on the machine of the process */
  async open(process: FoundProcess): Promise<string> {
    let text = "";
    for await (const part of this.#parts(process, { work: "open", durationMs: 0 }, STATE_TIMEOUT_DEFAULT_MS)) text += part;
    return (JSON.parse(text) as { url: string }).url;
  }

  async close(process: FoundProcess): Promise<void> {
    for await (const _part of this.#parts(process, { work: "close", durationMs: 0 }, STATE_TIMEOUT_DEFAULT_MS));
  }

  /** Returns the names of the calls that the process runs. */
  async running({ workerId }: FoundProcess): Promise<string[]> {
    const filters: StateFilter[] = [
      ["worker_id", "=", workerId],
      ["state", "=", "RUNNING"],
    ];
    const { rows } = await this.#state.list("tasks", { filters, limit: INSPECTED_MAX, detail: true });
    return rows.map(({ name }) => String(name));
  }

  async *#parts(
    { nodeId: node, workerId }: FoundProcess,
    work: Pick<InspectHeader, "work" | "durationMs">,
    timeoutMs: number,
  ): AsyncGenerator<string, void, undefined> {
    const asked: InspectHeader = { node, process: workerId, ...work };
    const { header, body } = await this.#ask(MESSAGE.INSPECT, asked, { timeoutMs });
    const decoder = new TextDecoder();
    yield decoder.decode(body, { stream: true });
    const { id, sizeBytes } = header;
    for (let at = body.length; at < sizeBytes; ) {
      const next = await this.#ask(MESSAGE.INSPECT_READ, { node, id, at }, { timeoutMs: STATE_TIMEOUT_DEFAULT_MS });
      if (next.body.length === 0) throw new Error("the node kept less of the result than it made");
      at += next.body.length;
      yield decoder.decode(next.body, { stream: true });
    }
  }

  async #findPid(pid: number, nodeId: string | undefined): Promise<FoundOrNot> {
    const filters: StateFilter[] = [
      ["pid", "=", pid],
      ["is_alive", "=", true],
    ];
    if (nodeId !== undefined) filters.push(["node_id", "=", nodeId]);
    const [row, other] = (await this.#state.list("workers", { filters, limit: 2 })).rows;
    if (row === undefined) return none(`no living worker or program has the pid ${pid}`, HINT);
    if (other !== undefined) return none(`processes of two nodes have the pid ${pid}`, "Name the node, too.");
    return { kind: "found", process: processOf(row) };
  }

  async #findWorker(worker: string, whose = `the worker ${worker.slice(0, 100)}`): Promise<FoundOrNot> {
    const row = await this.#state.get("workers", worker);
    if (row === undefined) return none(`there is no process of ${whose}`, HINT);
    if (row["is_alive"] !== true) return none(`the process of ${whose} has ended`, HINT);
    return { kind: "found", process: processOf(row) };
  }

  async #findOf(resource: "actors" | "tasks", id: string): Promise<FoundOrNot> {
    const what = resource === "actors" ? "actor" : "task";
    const row = await this.#state.get(resource, id);
    if (row === undefined) return none(`there is no ${what} ${id.slice(0, 100)}`, `See \`shoal list ${resource}\`.`);
    const state = String(row["state"]);
    const isThere = resource === "actors" ? state === "ALIVE" : state === "RUNNING";
    if (!isThere || typeof row["worker_id"] !== "string")
      return none(`the ${what} ${id.slice(0, 100)} has no process now`, `Its state is ${state}.`);
    return await this.#findWorker(row["worker_id"], `the ${what} ${id.slice(0, 100)}`);
  }
}

/** Text of a stack for people: a line for each frame, the innermost first. */
export function stackText({ language, threads }: StackAnswer): string {
  return threads
    .map(({ name, frames }) => {
      const lines = frames.length === 0 ? ["    (waits for events)"] : frameTexts(frames);
      return [...(language === "python" ? [`  ${name}`] : []), ...lines].join("\n");
    })
    .join("\n");
}

/** Shoal's own calls below the user's last are counted only. */
function frameTexts(frames: readonly StackFrame[]): string[] {
  const shown = frames.findLastIndex(({ isInternal }) => isInternal !== true) + 1;
  if (shown === 0) return frames.map(frameText);
  const rest = frames.length - shown;
  return [...frames.slice(0, shown).map(frameText), ...(rest === 0 ? [] : [`    … ${rest} calls of Shoal and Node`])];
}

function frameText({ function: name, file, line }: StackFrame): string {
  return `    ${name} (${file === "" ? "native" : `${file}:${line}`})`;
}

function processOf(row: StateRow): FoundProcess {
  const { worker_id: workerId, node_id: nodeId, pid, worker_type: type } = row;
  return { workerId: String(workerId), nodeId: String(nodeId), pid: Number(pid), type: String(type) };
}

function none(reason: string, hint: string): FoundOrNot {
  return { kind: "none", reason, hint };
}
