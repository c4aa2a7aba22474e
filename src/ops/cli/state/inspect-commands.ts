/**
 * `shoal stack`, `shoal profile` and `shoal inspect`: look into processes that run, whether they answer or compute without end.
 *
 * A profile is written as it comes, and a file that could not be written whole is removed. An inspector is open only while the command
 * runs: the command renews it, and closes it at its end.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import { writeTexts } from "../../../runtime/os/files/logs/write-texts.ts";
import type { FoundProcess, Inspector, Profile } from "../../state/inspector.ts";
import { ADDRESS, type Command, defineCommand, UsageError } from "../command.ts";

const PID = { valueName: "PID", help: "a worker or a program, by its process, in place of ID" } as const;
const NODE = { valueName: "ID", help: "only of this node" } as const;
const SECONDS_DEFAULT = 5;
const SECONDS_MAX = 600;
const RENEW_EVERY_MS = 5_000;

const stackCommand: Command = defineCommand({
  name: "stack",
  summary: "print what a worker, an actor or a program executes now",
  description: `Prints the calls of a process, the innermost first: of JavaScript, and of each thread of Python. ID is that of an actor, a
task that runs, or a worker. Without ID or --pid it prints those of all workers.

Example: shoal stack --pid 4711`,
  moreWords: "ID",
  options: { pid: PID, "node-id": NODE, address: ADDRESS, json: { help: "print a list of { worker_id, node_id, pid, running, threads }" } },
  run: async ({ options, words, terminal }) => {
    const wanted = wantedOf("stack", words, options, { mayBeAll: true });
    await withInspector(options.address, async (inspector) => {
      const processes = wanted === undefined ? await inspector.workers(options["node-id"]) : [await found(inspector, wanted)];
      const { stackText } = await import("../../state/inspector.ts");
      const rows: object[] = [];
      for (const process of processes) {
        const { workerId: worker_id, nodeId: node_id, pid } = process;
        const head = `${process.type === "DRIVER" ? "program" : "worker"} ${worker_id}, pid ${pid}, node ${node_id}`;
        try {
          const [running, stack] = await Promise.all([inspector.running(process), inspector.stack(process)]);
          rows.push({ worker_id, node_id, pid, running, ...stack });
          if (!options.json) terminal.print(`${head}${running.length === 0 ? "" : `, runs ${running.join(", ")}`}\n${stackText(stack)}`);
        } catch (error) {
          if (wanted !== undefined) throw failureOf("show the stack", error);
          rows.push({ worker_id, node_id, pid, error: messageOf(error) });
          if (!options.json) terminal.print(`${head}\n    ${messageOf(error)}`);
        }
      }
      if (options.json) terminal.print(JSON.stringify(rows));
      else if (processes.length === 0) terminal.print("No worker runs.");
    });
  },
});

const ENDINGS: Readonly<Record<Profile, string>> = { cpu: "cpuprofile", heap: "heapprofile", snapshot: "heapsnapshot" };

const profileCommand: Command = defineCommand({
  name: "profile",
  summary: "record where a worker, an actor or a program spends time or memory",
  description: `Writes a file that the tools of Chrome and Visual Studio Code open. WHAT is cpu (default) or heap; ID is that of an actor, a
task that runs, or a worker. heap records where memory is allocated; with --snapshot it writes all objects of the heap, and the
process stands still meanwhile. A Python worker has a cpu profile alone, of all its threads.

Example: shoal profile cpu --pid 4711 --duration 10`,
  moreWords: "[cpu|heap] ID",
  options: {
    pid: PID,
    "node-id": NODE,
    duration: { short: "d", valueName: "SECONDS", help: `how long (default: ${SECONDS_DEFAULT}, at most ${SECONDS_MAX})` },
    snapshot: { help: "with heap: write all objects, while the process stands still" },
    output: { short: "o", valueName: "FILE", help: "where to write (default: PID-TIME.cpuprofile, .heapprofile or .heapsnapshot)" },
    address: ADDRESS,
    json: { help: "print { filename, worker_id, node_id, pid } as JSON" },
  },
  run: async ({ options, words, terminal }) => {
    const [first, ...rest] = words;
    const isNamed = first === "cpu" || first === "heap";
    const wanted = wantedOf("profile", isNamed ? rest : words, options, { mayBeAll: false });
    if (options.snapshot && first !== "heap")
      throw new UsageError("Cannot run shoal profile: --snapshot is for heap. See `shoal profile --help`.");
    const profile: Profile = options.snapshot ? "snapshot" : first === "heap" ? "heap" : "cpu";
    const seconds = secondsOf(options.duration);
    await withInspector(options.address, async (inspector) => {
      const process = await found(inspector, wanted);
      const time = new Date().toISOString().replaceAll(":", "-");
      const filename = options.output ?? `${process.pid}-${time}.${ENDINGS[profile]}`;
      if (profile === "snapshot") terminal.tell(`shoal: process ${process.pid} stands still until its snapshot is made.`);
      try {
        await writeTexts(filename, inspector.profile(process, profile, seconds * 1000));
      } catch (error) {
        throw failureOf("write the profile", error);
      }
      const { workerId: worker_id, nodeId: node_id, pid } = process;
      terminal.print(
        options.json ? JSON.stringify({ filename, worker_id, node_id, pid }) : `The profile of process ${pid} is in ${filename}`,
      );
    });
  },
});

const inspectCommand: Command = defineCommand({
  name: "inspect",
  summary: "open the inspector of a worker, an actor or a program for a debugger",
  description: `Opens the inspector of a process on this machine at a secret address, prints the address, and closes the inspector at Ctrl-C.
ID is that of an actor, a task that runs, or a worker. Whoever has the address can run code in the process.

Example: shoal inspect --pid 4711`,
  moreWords: "ID",
  options: { pid: PID, address: ADDRESS, json: { help: "print { url, pid } as JSON" } },
  run: async ({ options, words, terminal }) => {
    const wanted = wantedOf("inspect", words, options, { mayBeAll: false });
    await withInspector(options.address, async (inspector, hereId) => {
      const process = await found(inspector, wanted);
      if (process.nodeId !== hereId) {
        const reason = `process ${process.pid} is on node ${process.nodeId}`;
        const hint = "Run `shoal inspect` on that machine: an inspector listens to its own machine alone.";
        throw new ShoalError(`Cannot open the inspector: ${reason}.`, { reason, hint });
      }
      const url = await inspector.open(process).catch((error: unknown) => Promise.reject(failureOf("open the inspector", error)));
      try {
        const { pid } = process;
        const devtools = `devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${url.slice("ws://".length)}`;
        terminal.print(options.json ? JSON.stringify({ url, pid }) : `${url}\n  in Chrome: ${devtools}\n  Ctrl-C closes it.`);
        await renewedUntilInterrupted(() => inspector.open(process));
      } finally {
        // The process may have ended.
        await inspector.close(process).catch(() => {});
      }
    });
  },
});

export const inspectCommands: readonly Command[] = [stackCommand, profileCommand, inspectCommand];

type Wanted = Parameters<Inspector["find"]>[0];

interface Given {
  readonly pid: string | undefined;
  readonly "node-id"?: string | undefined;
}

function wantedOf(command: string, words: readonly string[], given: Given, how: { mayBeAll: true }): Wanted | undefined;
function wantedOf(command: string, words: readonly string[], given: Given, how: { mayBeAll: false }): Wanted;
function wantedOf(command: string, [id, more]: readonly string[], given: Given, { mayBeAll }: { mayBeAll: boolean }): Wanted | undefined {
  const { pid, "node-id": nodeId } = given;
  const refuse = (problem: string): UsageError =>
    new UsageError(`Cannot run shoal ${command}: ${problem}. See \`shoal ${command} --help\`.`);
  if (more !== undefined) throw refuse(`"${more}" is one word too many`);
  if (id !== undefined && pid !== undefined) throw refuse("ID and --pid exclude each other");
  if (pid !== undefined) {
    if (!/^[1-9]\d{0,9}$/.test(pid)) throw refuse(`--pid takes the id of a process: received ${pid}`);
    return { pid: Number(pid), nodeId };
  }
  if (id !== undefined) return { id };
  if (mayBeAll) return undefined;
  throw refuse("ID or --pid is missing");
}

function secondsOf(text: string | undefined): number {
  if (text === undefined) return SECONDS_DEFAULT;
  const seconds = Number(text.replace(/s$/, ""));
  if (seconds > 0 && seconds <= SECONDS_MAX) return seconds;
  throw new UsageError(`Cannot run shoal profile: --duration takes seconds above 0, at most ${SECONDS_MAX}: received ${text}.`);
}

/** Ends at Ctrl-C, or where the inspector cannot be renewed as its process has gone. */
async function renewedUntilInterrupted(renew: () => Promise<unknown>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setInterval(
    () => void renew().catch((error: unknown) => reject(failureOf("keep the inspector open", error))),
    RENEW_EVERY_MS,
  );
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, resolve);
  try {
    await promise;
  } finally {
    clearInterval(timer);
    for (const signal of signals) process.off(signal, resolve);
  }
}

/** @param use also gets the id of the node on this machine */
async function withInspector(address: string | undefined, use: (inspector: Inspector, nodeId: string) => Promise<void>): Promise<void> {
  const [{ connectToCluster }, { LiveReader }, { Inspector: Reader }] = await Promise.all([
    import("../../connection/cluster-connection.ts"),
    import("../../state/live-reader.ts"),
    import("../../state/inspector.ts"),
  ]);
  using cluster = await connectToCluster(address);
  const state = new LiveReader((type, header, asked) => cluster.ask(type, header, asked));
  await use(new Reader((type, header, asked) => cluster.request(type, header, asked), state), cluster.node.nodeId);
}

async function found(inspector: Inspector, wanted: Wanted): Promise<FoundProcess> {
  const answer = await inspector.find(wanted);
  if (answer.kind === "found") return answer.process;
  const { reason, hint } = answer;
  throw new ShoalError(`Cannot look into a process: ${reason}.`, { reason, hint });
}

function failureOf(action: string, error: unknown): ShoalError {
  const reason = messageOf(error);
  return new ShoalError(`Cannot ${action}: ${reason}`, { reason, cause: error });
}
