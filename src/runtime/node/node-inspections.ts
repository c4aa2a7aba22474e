/**
 * Looks into processes of this node when somebody asks: stacks, profiles, heap snapshots, and inspectors for debuggers.
 *
 * One question at a time looks into a process. A result that exceeds one frame waits in a file for its reader; nothing keeps it after a
 * minute without one. An inspector that was opened for a debugger closes when nobody renews it.
 */
import type { ProcessId } from "../base/ids.ts";
import type { InspectorWork, ProcessInspector } from "../os/inspector/process-inspector.ts";
import { ProgramInspector } from "../os/inspector/program-inspector.ts";
import { ResultFile } from "../os/inspector/result-file.ts";
import { randomHex } from "../os/random.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type { InspectHeader } from "../wire/observing/inspect-messages.ts";
import type { Handlers } from "../wire/tables/message-table.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { MessagesOfProcess } from "../wire/tables/messages-to-daemon.ts";
import { INSPECTOR_KEPT_OPEN_MS, PROFILE_MS_MAX, RESULT_KEPT_MS, RESULT_PART_BYTES, RESULTS_KEPT_MAX } from "./limits.ts";
import type { NodePeers } from "./node-peers.ts";
import type { WorkerPool } from "./workers/worker-pool.ts";

interface InspectionParts {
  readonly local: NodePeers["local"];
  readonly workers: () => Pick<WorkerPool, "inspectorOf">;
}

interface KeptResult {
  readonly file: ResultFile;
  timer: NodeJS.Timeout;
}

interface FirstPart {
  /** Reads the rest; empty where there is none. */
  readonly id: string;
  readonly sizeBytes: number;
  readonly first: Uint8Array;
}

interface OpenInspector {
  readonly inspector: ProcessInspector;
  timer: NodeJS.Timeout;
}

export class NodeInspections {
  readonly #parts: InspectionParts;
  readonly #busy = new Set<string>();
  readonly #results = new Map<string, KeptResult>();
  readonly #open = new Map<string, OpenInspector>();

  constructor(parts: InspectionParts) {
    this.#parts = parts;
  }

  get handlers(): Handlers<
    Pick<MessagesOfProcess, typeof MESSAGE.INSPECT | typeof MESSAGE.INSPECT_READ>,
    [peer: HeadPeer, message: Message]
  > {
    return {
      [MESSAGE.INSPECT]: (asked, { connection }, { callId }) => {
        this.#inspect(asked).then(
          ({ id, sizeBytes, first }) => connection.reply(callId, { id, sizeBytes }, [first]),
          (error: Error) => connection.replyError(callId, error),
        );
      },
      [MESSAGE.INSPECT_READ]: ({ id, at }, { connection }, { callId }) => {
        this.#part(id, at).then(
          (bytes) => connection.reply(callId, undefined, [bytes]),
          (error: Error) => connection.replyError(callId, error),
        );
      },
    };
  }

  close(): void {
    for (const id of Array.from(this.#results.keys())) this.#forget(id);
    for (const { timer } of this.#open.values()) clearTimeout(timer);
    this.#open.clear();
  }

  async #inspect({ process, work, durationMs }: InspectHeader): Promise<FirstPart> {
    if (durationMs > PROFILE_MS_MAX) throw new Error(`a profile may take ${PROFILE_MS_MAX} ms: received ${durationMs}`);
    if (work === "close") {
      await this.#closeInspector(process);
      return { id: "", sizeBytes: 0, first: new Uint8Array() };
    }
    const inspector = this.#open.get(process)?.inspector ?? this.#inspectorOf(process);
    if (this.#busy.has(process)) throw new Error("another question looks into the process now: ask again when it has ended");
    this.#busy.add(process);
    try {
      if (work !== "open") return await this.#result(inspector, work, durationMs);
      const first = Buffer.from(JSON.stringify({ url: await this.#openInspector(process, inspector) }));
      return { id: "", sizeBytes: first.length, first };
    } finally {
      this.#busy.delete(process);
    }
  }

  #inspectorOf(process: string): ProcessInspector {
    const peer = this.#parts.local.get(process as ProcessId);
    if (peer?.kind === "driver") return new ProgramInspector(peer.pid);
    const inspector = peer === undefined ? undefined : this.#parts.workers().inspectorOf(peer.id);
    if (inspector !== undefined) return inspector;
    if (peer === undefined) throw new Error("no such process lives on this node");
    throw new Error("the worker is part of a program's own process, which its own tools can look into");
  }

  /** Keeps the rest of a result that exceeds one answer. */
  async #result(inspector: ProcessInspector, work: InspectorWork, durationMs: number): Promise<FirstPart> {
    const file = await ResultFile.create();
    try {
      await inspector.run(work, { durationMs, write: (text) => file.write(text) });
      const first = await file.read(0, RESULT_PART_BYTES);
      if (first.length < file.sizeBytes) return { id: this.#keep(file), sizeBytes: file.sizeBytes, first };
      await file[Symbol.asyncDispose]();
      return { id: "", sizeBytes: first.length, first };
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw error;
    }
  }

  #keep(file: ResultFile): string {
    const [oldest] = this.#results.keys();
    if (this.#results.size >= RESULTS_KEPT_MAX && oldest !== undefined) this.#forget(oldest);
    const id = randomHex(16);
    this.#results.set(id, { file, timer: setTimeout(() => this.#forget(id), RESULT_KEPT_MS).unref() });
    return id;
  }

  async #part(id: string, at: number): Promise<Uint8Array> {
    const kept = this.#results.get(id);
    if (kept === undefined) throw new Error("the result is not kept any more: ask for another one");
    kept.timer.refresh();
    const bytes = await kept.file.read(at, RESULT_PART_BYTES);
    if (at + bytes.length >= kept.file.sizeBytes) this.#forget(id);
    return bytes;
  }

  #forget(id: string): void {
    const kept = this.#results.get(id);
    if (kept === undefined) return;
    clearTimeout(kept.timer);
    this.#results.delete(id);
    void kept.file[Symbol.asyncDispose]();
  }

  async #openInspector(process: string, inspector: ProcessInspector): Promise<string> {
    const url = await inspector.open();
    clearTimeout(this.#open.get(process)?.timer);
    const timer = setTimeout(() => void this.#closeInspector(process), INSPECTOR_KEPT_OPEN_MS).unref();
    this.#open.set(process, { inspector, timer });
    return url;
  }

  async #closeInspector(process: string): Promise<void> {
    const open = this.#open.get(process);
    if (open === undefined) return;
    clearTimeout(open.timer);
    this.#open.delete(process);
    await open.inspector.close();
  }
}
