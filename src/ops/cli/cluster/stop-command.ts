/**
 * `shoal stop`: ends all nodes and heads of this user on this machine, nodes before heads, and lists them.
 *
 * Asks the supervisors, which end their processes in order. The remains of a killed supervisor are ended here, too: its processes by number
 * and identity, and the folders of their sessions. Nothing runs afterwards, or the command names the survivors.
 */
import { STOPS_WITHIN_MS } from "../../providers/limits.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import { clustersOfRuns, formatClusters } from "../../../runtime/os/files/clusters/local-clusters.ts";
import { readNetworkAddresses, formatAddress, formatAddresses } from "../../../runtime/os/network/network-address.ts";
import { removeStaleNodeFiles } from "../../../runtime/os/files/clusters/node-file.ts";
import { isRunning, readRunFiles, removeRunFile, type RunFile, signalProcess } from "../../../runtime/os/files/clusters/run-file.ts";
import { sweepStaleSessions } from "../../../runtime/os/files/sessions/session-sweep.ts";
import type { Terminal } from "../../../runtime/os/terminal.ts";
import { type Command, defineCommand, UsageError } from "../command.ts";

const LOOK_EVERY_MS = 50;

export const stopCommand: Command = defineCommand({
  name: "stop",
  summary: "end the nodes and heads of this user on this machine",
  description: `Ends what \`shoal start\` started on this machine, nodes before heads. Programs that are connected lose
their node and fail; other machines of the cluster go on, unless this one has the head. Where this
machine has parts of several clusters, --address or --all says of which.`,
  options: {
    address: { short: "a", valueName: "HOST:PORT", help: "of the head, where this machine has parts of several clusters" },
    all: { help: "of all clusters of this machine" },
    force: { help: "kill it, without letting anything end in order" },
    timeout: { valueName: "SECONDS", help: `how long it may take before it is killed (default: ${STOPS_WITHIN_MS / 1000})` },
    json: { help: "print the ended processes as JSON" },
  },
  run: async ({ options, terminal }) => {
    const timeoutMs = 1000 * seconds(options.timeout);
    const { running: all, ended } = readRunFiles();
    const running = runsToEnd(all, options);
    const stopped: { address: string; role: string; how: "in order" | "killed" }[] = [];
    // Nodes that joined go before the heads that they belong to.
    for (const role of ["node", "head"] as const) {
      const runs = running.filter((run) => run.role === role);
      await Promise.all(
        runs.map(async (run) => {
          const how = await end(run, { force: options.force, timeoutMs });
          stopped.push({ address: formatAddress(run.address), role, how });
          if (!options.json)
            terminal.print(
              `${role === "head" ? "Ended the head and the node" : "Ended the node"} of the cluster at ${formatAddress(run.address)}${how === "killed" ? ", by force" : ""}.`,
            );
        }),
      );
    }
    for (const run of ended) if (await endLeftovers(run)) tellLeftover(terminal, run);
    removeStaleNodeFiles();
    sweepStaleSessions();
    if (options.json) terminal.print(JSON.stringify({ stopped }));
    else if (stopped.length === 0) terminal.print("Nothing of Shoal runs on this machine.");
  },
});

/** @throws UsageError, RangeError for wrong input; ShoalError when it is unclear which of several clusters is meant */
function runsToEnd(running: RunFile[], { address, all }: { address: string | undefined; all: boolean }): readonly RunFile[] {
  if (all && address !== undefined)
    throw new UsageError("Cannot run shoal stop: --all and --address exclude each other. See `shoal stop --help`.");
  const clusters = clustersOfRuns(running);
  if (address !== undefined) {
    const wanted = readNetworkAddresses(address);
    const found = clusters.find(({ addresses }) => addresses.some((one) => wanted.includes(one)));
    if (found !== undefined) return found.members;
    const there = clusters.length === 0 ? "nothing of Shoal runs on this machine" : `there is only ${formatClusters(clusters)}`;
    throw new ShoalError(`Cannot stop the cluster at ${formatAddresses(wanted)}: nothing of it runs on this machine: ${there}.`, {
      reason: "nothing of it runs on this machine",
      hint: "Name the address that `shoal start` printed.",
    });
  }
  const [first] = clusters;
  if (all || first === undefined || clusters.length === 1) return running;
  const reason = `this machine has parts of ${clusters.length} clusters: ${formatClusters(clusters)}`;
  throw new ShoalError(`Cannot stop the cluster of this machine: ${reason}.`, {
    reason,
    hint: `Name one with --address ${formatAddresses(first.addresses)}, or end all of them with --all.`,
  });
}

/** Ends runs in order, by force where one takes too long. @throws ShoalError when one does not end even so */
export async function endRuns(runs: readonly RunFile[]): Promise<{ address: string; role: string; how: "in order" | "killed" }[]> {
  return await Promise.all(
    runs.map(async (run) => {
      const how = await end(run, { force: false, timeoutMs: STOPS_WITHIN_MS });
      return { address: formatAddress(run.address), role: run.role, how };
    }),
  );
}

function tellLeftover(terminal: Terminal, run: RunFile): void {
  terminal.tell(`Removed what a killed supervisor of the cluster at ${formatAddress(run.address)} had left.`);
}

/** @throws ShoalError when it does not end even by force */
async function end(run: RunFile, { force, timeoutMs }: { force: boolean; timeoutMs: number }): Promise<"in order" | "killed"> {
  if (!force) {
    // SIGTERM is for service managers: a supervisor may have a grace for it.
    signalProcess(run, "SIGINT");
    signalProcess(run, "SIGCONT");
    if (await hasEnded([run], timeoutMs)) return "in order";
  }
  // The run file names the supervisor's children, which nothing starts again once it has ended.
  signalProcess(run, "SIGKILL");
  await endLeftovers(run);
  return "killed";
}

/** Returns whether anything was left. @throws ShoalError when it cannot be ended */
async function endLeftovers(run: RunFile): Promise<boolean> {
  const left = run.processes.filter(isRunning);
  for (const process of left) signalProcess(process, "SIGKILL");
  if (!(await hasEnded([run, ...left], 5_000))) {
    const who = left.filter(isRunning).map(({ what, pid }) => `${what} (process ${pid})`);
    throw new ShoalError(`Cannot end ${who.join(", ")}: the system does not let it go.`, {
      reason: "a process does not end",
      hint: "It may be waiting for a disk or a device that does not answer; see `ps -o stat,wchan -p PID`.",
    });
  }
  removeRunFile(run.id);
  return left.length > 0;
}

async function hasEnded(processes: readonly { identity: string }[], withinMs: number): Promise<boolean> {
  const giveUpAt = performance.now() + withinMs;
  while (processes.some(isRunning)) {
    if (performance.now() > giveUpAt) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return true;
}

function seconds(text: string | undefined): number {
  if (text === undefined) return STOPS_WITHIN_MS / 1000;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0)
    throw new UsageError(`Cannot run shoal stop: --timeout takes seconds: received ${text}. See \`shoal stop --help\`.`);
  return value;
}
