/**
 * Looks into a user's program on this machine, which Shoal did not start: its inspector opens at Node's usual port.
 *
 * The program tells nobody its address, so it is asked of the port, and the process behind the port must be the program. A program that is
 * not Node would end by the signal, so it is refused first.
 */
import { readlinkSync } from "node:fs";
import { basename } from "node:path";
import { InspectorSession } from "./inspector-session.ts";
import { INSPECTOR_OPENS_WITHIN_MS, PROGRAM_INSPECTOR_PORT } from "./limits.ts";
import { closeAt } from "./node-inspector.ts";
import type { InspectorWork, ProcessInspector, WorkOptions } from "./process-inspector.ts";
import { runInV8 } from "./v8-work.ts";

const LOOK_EVERY_MS = 50;

export class ProgramInspector implements ProcessInspector {
  readonly #pid: number;
  #url: string | undefined;

  constructor(pid: number) {
    this.#pid = pid;
  }

  async run(work: InspectorWork, options: WorkOptions): Promise<void> {
    const isOwn = this.#url === undefined;
    const { url, wasOpen } = this.#url === undefined ? await this.#find() : { url: this.#url, wasOpen: true };
    try {
      await using session = await InspectorSession.connect(url);
      await runInV8(session, work, options);
    } finally {
      if (isOwn && !wasOpen) await closeAt(url);
    }
  }

  async open(): Promise<string> {
    this.#url ??= (await this.#find()).url;
    return this.#url;
  }

  async close(): Promise<void> {
    const url = this.#url;
    this.#url = undefined;
    if (url !== undefined) await closeAt(url);
  }

  /** @throws Error where the program is not Node, or another process has the port */
  async #find(): Promise<{ url: string; wasOpen: boolean }> {
    const open = await this.#ownAddress();
    if (open !== undefined) return { url: open, wasOpen: true };
    if (!isNode(this.#pid)) throw new Error(`process ${this.#pid} is a program that does not run in Node: its own tools can look into it`);
    process.kill(this.#pid, "SIGUSR1");
    const until = performance.now() + INSPECTOR_OPENS_WITHIN_MS;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      const url = await this.#ownAddress();
      if (url !== undefined) return { url, wasOpen: false };
    }
    throw new Error(
      `program ${this.#pid} did not open its inspector at port ${PROGRAM_INSPECTOR_PORT} within ${INSPECTOR_OPENS_WITHIN_MS} ms: another process may have the port, or its code listens to SIGUSR1`,
    );
  }

  /** Returns the address at the usual port, if the program listens there. */
  async #ownAddress(): Promise<string | undefined> {
    try {
      const signal = AbortSignal.timeout(INSPECTOR_OPENS_WITHIN_MS);
      const answer = await fetch(`http://127.0.0.1:${PROGRAM_INSPECTOR_PORT}/json/list`, { signal, redirect: "error" });
      const [target]: unknown[] = (await answer.json()) as unknown[];
      const url = String((target as { webSocketDebuggerUrl?: unknown }).webSocketDebuggerUrl);
      if (!/^ws:\/\/127\.0\.0\.1:\d{1,5}\/[0-9a-f-]{36}$/.test(url)) return undefined;
      await using session = await InspectorSession.connect(url);
      const { result } = await session.call("Runtime.evaluate", { expression: "process.pid", returnByValue: true });
      return (result as { value?: unknown } | undefined)?.value === this.#pid ? url : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Linux names the program of a process; elsewhere nothing is sent. */
function isNode(pid: number): boolean {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).startsWith("node");
  } catch {
    return false;
  }
}
