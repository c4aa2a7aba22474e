/**
 * Writes the output of this node's workers into files, and answers questions about log files.
 *
 * The entry point provides the folder (`LogFolder`), so simulations and local runs have none. Questions to a node without a folder fail
 * with that reason. Messages between the halves of a library (`SIGNAL`) are no output and are left out.
 */
import type { ProcessId } from "../base/ids.ts";
import { SIGNAL } from "../base/texts/signal-line.ts";
import type { LogAnswer, LogFile, LogQuestion } from "../os/logs/log-files.ts";
import { checkGlob } from "../os/logs/log-names.ts";
import type { PrintedLine } from "../os/logs/node-output.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type { Handlers } from "../wire/tables/message-table.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { MessagesOfProcess } from "../wire/tables/messages-to-daemon.ts";

/** The files of a node (`os/logs/node-output.ts`). */
export interface LogFolder {
  write(line: PrintedLine): void;
  ended(worker: ProcessId): Promise<void>;
  list(glob: string): Promise<{ files: (LogFile & { isLive: boolean })[]; matching: number }>;
  read(question: LogQuestion): Promise<(LogAnswer & { isLive: boolean }) | undefined>;
  close(): Promise<void>;
}

export class NodeLogs {
  readonly #folder: LogFolder | undefined;

  constructor(folder: LogFolder | undefined) {
    this.#folder = folder;
  }

  get handlers(): Handlers<Pick<MessagesOfProcess, typeof MESSAGE.LOG_LIST | typeof MESSAGE.LOG_READ>, [peer: HeadPeer, message: Message]> {
    return {
      [MESSAGE.LOG_LIST]: ({ glob }, { connection }, { callId }) => {
        this.#list(glob).then(
          (answer) => connection.reply(callId, answer),
          (error: Error) => connection.replyError(callId, error),
        );
      },
      [MESSAGE.LOG_READ]: ({ node: _node, ...question }, { connection }, { callId }) => {
        this.#read(question).then(
          ({ bytes, marks, ...answer }) => {
            const rows = marks.map(({ offset, timeMs, taskId, name }) => [offset, timeMs, taskId, name]);
            connection.reply(callId, { ...answer, marks: rows }, [bytes]);
          },
          (error: Error) => connection.replyError(callId, error),
        );
      },
    };
  }

  printed(line: Omit<PrintedLine, "stream"> & { stream: "stdout" | "stderr" }): void {
    if (this.#folder === undefined) return;
    // A message of a library to its other half is no output.
    const signal = line.text.indexOf(SIGNAL);
    if (signal === 0) return;
    const text = signal < 0 ? line.text : line.text.slice(0, signal);
    this.#folder.write({ ...line, text, stream: line.stream === "stdout" ? "out" : "err" });
  }

  workerEnded(worker: ProcessId): void {
    void this.#folder?.ended(worker);
  }

  async close(): Promise<void> {
    await this.#folder?.close();
  }

  async #list(glob: string): ReturnType<LogFolder["list"]> {
    checkGlob(glob);
    return await this.#required.list(glob);
  }

  async #read(question: LogQuestion): Promise<LogAnswer & { isLive: boolean }> {
    const answer = await this.#required.read(question);
    if (answer === undefined) throw new Error(`there is no log ${JSON.stringify(question.name.slice(0, 200))} on this node`);
    return answer;
  }

  get #required(): LogFolder {
    if (this.#folder !== undefined) return this.#folder;
    throw new Error("this node writes no logs: only nodes of `shoal start` do");
  }
}
