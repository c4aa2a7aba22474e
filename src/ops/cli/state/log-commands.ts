/**
 * `shoal logs`: lists the log files of the cluster, and prints the output of an actor, a task, a worker, or a file.
 *
 * Output is printed as the program wrote it, byte for byte. With `--json` each line is one object with its time and task. A pattern that
 * matches one file prints the file. `--follow` ends with the process or the task, so that scripts can wait for the end of a log.
 */
import { ShoalError } from "../../../runtime/base/errors.ts";
import type { Terminal } from "../../../runtime/os/terminal.ts";
import type { LogList, LogReader, LogSource } from "../../state/log-reader.ts";
import { ADDRESS, type Command, defineCommand, UsageError } from "../command.ts";

const OF = ["actor", "task", "worker"] as const;
type Of = (typeof OF)[number];

const logsCommand: Command = defineCommand({
  name: "logs",
  summary: "list log files, or print the output of an actor, a task, a worker or a file",
  description: `Without words it lists the log files of all nodes. WHAT is one of
  GLOB                            the file that matches, or a list where several do; * and ? stand for anything
  actor --id ID                   output of an actor, a dead one too: of its last process
  task --id ID                    what one task or one call of an actor printed
  worker --id ID | --pid PID      output of a worker

Example: shoal logs actor --id 0b3d2c1a5e6f70000000000101000000 --tail 50 --follow`,
  moreWords: "WHAT",
  options: {
    id: { valueName: "ID", help: "of the actor, the task or the worker" },
    pid: { valueName: "PID", help: "of the worker's process" },
    "node-id": { valueName: "ID", help: "only of this node" },
    tail: { short: "n", valueName: "LINES", help: "how many lines from the end (default: 1000); -1 is all" },
    follow: { short: "f", help: "go on as more is printed, until the process or the task ends" },
    err: { help: "of a worker: standard error in place of standard output" },
    interval: { valueName: "SECONDS", help: "with --follow: time between two looks (default: 0.25)" },
    address: ADDRESS,
    json: { help: "print a list as JSON, and a log as one object a line" },
  },
  run: async ({ options, words, terminal }) => {
    const wanted = wantedOf(words, options);
    const reading = {
      tail: tailOf(options.tail),
      follow: options.follow,
      intervalMs: secondsOf(options.interval),
      withMarks: options.json,
    };
    const [{ connectToCluster }, { LiveReader }, { LogReader: Reader }] = await Promise.all([
      import("../../connection/cluster-connection.ts"),
      import("../../state/live-reader.ts"),
      import("../../state/log-reader.ts"),
    ]);
    using cluster = await connectToCluster(options.address);
    const reader = new Reader(
      (type, header, asked) => cluster.request(type, header, asked),
      new LiveReader((type, header, asked) => cluster.ask(type, header, asked)),
    );
    let source: LogSource;
    if (wanted.kind === "source") source = wanted.source;
    else {
      const list = await reader.list({ nodeId: options["node-id"], glob: wanted.glob });
      const [only, ...others] = list.rows;
      if (words.length === 0 || only === undefined || others.length > 0)
        return printList(terminal, list, { wanted: wanted.glob, ...options });
      source = { filename: only.name, nodeId: only.nodeId };
    }
    await printLog(terminal, reader, { source, reading, isJson: options.json });
  },
});

export const logCommands: readonly Command[] = [logsCommand];

interface Given {
  readonly id: string | undefined;
  readonly pid: string | undefined;
  readonly "node-id": string | undefined;
  readonly err: boolean;
}

type Wanted = { kind: "source"; source: LogSource } | { kind: "files"; glob: string };

/** @throws UsageError with the missing or superfluous part */
function wantedOf(words: readonly string[], { id, pid, "node-id": nodeId, err }: Given): Wanted {
  const [first, ...rest] = words[0] === "cluster" ? words.slice(1) : words;
  if (rest.length > 0) throw new UsageError(`Cannot run shoal logs: "${rest[0]}" is one word too many. See \`shoal logs --help\`.`);
  const of = OF.find((word) => word === first);
  if (of === undefined) {
    if (id !== undefined || pid !== undefined)
      throw new UsageError(`Cannot run shoal logs: --id and --pid need actor, task or worker before them. See \`shoal logs --help\`.`);
    return { kind: "files", glob: first ?? "*" };
  }
  const stream = err ? "err" : "out";
  return { kind: "source", source: { ...processOf(of, { id, pid }), nodeId, stream } };
}

function processOf(of: Of, { id, pid }: Pick<Given, "id" | "pid">): LogSource {
  if (pid !== undefined && (of !== "worker" || id !== undefined))
    throw new UsageError(`Cannot run shoal logs: --pid is for a worker, without --id. See \`shoal logs --help\`.`);
  if (pid !== undefined) {
    if (!/^[1-9]\d{0,9}$/.test(pid)) throw new UsageError(`Cannot run shoal logs: --pid takes the id of a process: received ${pid}.`);
    return { pid: Number(pid) };
  }
  if (id === undefined) throw new UsageError(`Cannot run shoal logs: ${of} needs --id${of === "worker" ? " or --pid" : ""}.`);
  return { actor: { actorId: id }, task: { taskId: id }, worker: { workerId: id } }[of];
}

function tailOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const lines = Number(text);
  if (Number.isSafeInteger(lines) && lines >= -1) return lines;
  throw new UsageError(`Cannot run shoal logs: --tail takes a whole number from 0, or -1 for all lines: received ${text}.`);
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (seconds > 0) return seconds * 1000;
  throw new UsageError(`Cannot run shoal logs: --interval takes seconds above 0: received ${text}.`);
}

async function printList(terminal: Terminal, list: LogList, { wanted, json }: { wanted: string; json: boolean }): Promise<void> {
  for (const text of list.warnings) terminal.tell(`shoal: ${text}`);
  if (list.rows.length === 0 && wanted !== "*" && !json) {
    const reason = `no log file matches ${JSON.stringify(wanted)}`;
    throw new ShoalError(`Cannot show a log: ${reason}.`, { reason, hint: "`shoal logs` lists all." });
  }
  const { logListText } = await import("./state-text.ts");
  terminal.print(json ? JSON.stringify({ rows: list.rows.map(rowOf), warnings: list.warnings }) : logListText(list.rows));
}

function rowOf({ nodeId, name, sizeBytes, modifiedMs, isLive }: LogList["rows"][number]): object {
  return { node_id: nodeId, filename: name, size_bytes: sizeBytes, modified_ms: modifiedMs, is_live: isLive };
}

interface Printing {
  readonly source: LogSource;
  readonly reading: Parameters<LogReader["read"]>[1];
  readonly isJson: boolean;
}

async function printLog(terminal: Terminal, reader: LogReader, { source, reading, isJson }: Printing): Promise<void> {
  const found = await reader.find(source);
  if (found.kind === "none") throw new ShoalError(`Cannot show the log: ${found.reason}.`, { reason: found.reason, hint: found.hint });
  const { GAP_TEXT, logLines } = await import("../../state/log-lines.ts");
  const chunks = reader.read(found, reading);
  if (!isJson) {
    for await (const { bytes, isGap } of chunks) {
      if (isGap) terminal.tell(`shoal: ${GAP_TEXT.trimEnd()}`);
      if (!(await terminal.write(bytes))) return;
    }
    return;
  }
  const { workerOfLog } = await import("../../../runtime/os/logs/log-names.ts");
  const { pid = null, stream = null } = workerOfLog(found.name) ?? {};
  for await (const { task_id: task, ...line } of logLines(chunks)) {
    const facts = { node_id: found.nodeId, filename: found.name, pid, stream, actor_id: source.actorId ?? null, task_id: task || null };
    if (!(await terminal.write(Buffer.from(`${JSON.stringify({ ...facts, ...line })}\n`)))) return;
  }
}
