/**
 * `shoal start`: a head and a node, or a node of another machine's head, kept running by a supervisor that this command leaves behind.
 *
 * Interprets the words together, and prints the result: text to paste on other machines, how a program connects, and how to stop it.
 * Everything is checked before a process is started, and a failure leaves nothing behind.
 */
import { ShoalError } from "../../../runtime/base/errors.ts";
import { START_ENDS_WITHIN_MS, STARTS_WITHIN_MS } from "../../providers/limits.ts";
import type { SupervisedHead, SupervisorConfiguration, SupervisorStarted } from "../../supervisor/supervisor-process.ts";
import { type DetachedProcess, startDetached } from "../../../runtime/os/processes/programs/detached-process.ts";
import {
  formatNetworkAddress,
  isLoopbackHost,
  parseNetworkAddress,
  readNetworkAddress,
  readNetworkAddresses,
  formatAddress,
} from "../../../runtime/os/network/network-address.ts";
import { installedNatsServer } from "../../../runtime/nats/server/nats-install.ts";
import { findNatsServer, NatsServerNotFoundError } from "../../../runtime/nats/server/nats-server-binary.ts";
import { openFilesMax } from "../../../runtime/os/machine/open-files.ts";
import { packageFolder } from "../../../runtime/os/own-files.ts";
import { readPrivateFile } from "../../../runtime/os/files/private-files.ts";
import { isDirectory, joinPath } from "../../../runtime/os/files/paths.ts";
import { randomHex } from "../../../runtime/os/random.ts";
import { assertOwnHost, ownAddresses, reach } from "../../../runtime/os/network/reach.ts";
import { readRunFiles } from "../../../runtime/os/files/clusters/run-file.ts";
import { readFailureLine, startFailedError } from "../../../runtime/os/processes/start-failure.ts";
import { ownModule } from "../../../runtime/os/own-files.ts";
import { newLogFolder, stateFolder } from "../../../runtime/os/files/state-folder.ts";
import type { Terminal } from "../../../runtime/os/terminal.ts";
import { type Command, defineCommand, type OptionSpecs, type OptionValues, UsageError } from "../command.ts";
import { headNodeOptions, readClusterFile } from "./cluster-file.ts";
import { natsOf, refuseUnsafeNats } from "../options/nats-options.ts";
import { DASHBOARD_OPTIONS, dashboardOf } from "../options/dashboard-options.ts";
import { HISTORY_OPTIONS, historyOf } from "../options/history-options.ts";
import { misused, NODE_OPTIONS, nodeOptions, port } from "../options/node-options.ts";
import { PREEMPTION_OPTIONS, preemptionOf } from "../options/preemption-options.ts";
import { startedText } from "./started-text.ts";

const DEFAULT_PORT = 6380;
const DEFAULT_HOST = "127.0.0.1";
/** The supervisor gives up by itself before. */
const SUPERVISOR_SPEAKS_WITHIN_MS = STARTS_WITHIN_MS + 4 * START_ENDS_WITHIN_MS;

const HA_NEEDS_NATS =
  "Cannot run shoal start: --ha needs --nats-url, a NATS that other heads reach, too, and that does not end with this machine: three servers on three machines, or one where no head runs. See docs/cluster.md.";

const DESCRIPTION = `Starts a node that goes on until \`shoal stop\`, and that any number of programs of this machine use:

  shoal start --head                       a cluster of its own, for this machine
  shoal start --head --host 10.0.0.7       the same, and other machines may join it there
  shoal start --address 10.0.0.7:6380 --token TOKEN
                                           a node of the cluster whose head is there
  shoal start --head --ha --host 10.0.0.7 --nats-url tls://TOKEN@10.0.0.1:4222,tls://TOKEN@10.0.0.2:4222,...
                                           one of several heads, of which one leads and the others stand by

Who may join has to show the token that \`shoal start --head\` prints; it may also be in SHOAL_TOKEN or in
the file of --token-file, where other users of this machine do not see it. Everything between machines is encrypted.`;

/** Options of a head and its node. */
export const HEAD_OPTIONS = {
  host: { valueName: "ADDRESS", help: "where other machines reach this one (head: default 127.0.0.1, this machine alone)" },
  port: { valueName: "PORT", help: `of the head; 0 is any that is free (default: ${DEFAULT_PORT})` },
  ha: { help: "with --head: other heads on the same NATS take over when this one is gone; needs --nats-url" },
  "nats-url": {
    valueName: "URL",
    help: "a NATS that runs already, nats:// or tls://host:port, with TOKEN@ or USER:PASSWORD@ before the host; several with commas",
  },
  "nats-ca": { valueName: "FILE", help: "the authority of its certificates (default: those of the system)" },
  "nats-credentials": { valueName: "FILE", help: "credentials of the head there: a .creds file" },
  "nats-port": { valueName: "PORT", help: "of the nats-server under the head (default: the head's port and 1)" },
  "no-nats": { help: "keep the head's tables in its memory: they end with it" },
  name: { valueName: "NAME", help: "of the cluster; names its state on the head's machine (default: default)" },
  ...DASHBOARD_OPTIONS,
  ...NODE_OPTIONS,
  ...HISTORY_OPTIONS,
  ...PREEMPTION_OPTIONS,
  block: { help: "stay in the foreground, for a service manager or a container; Ctrl-C ends it" },
  json: { help: "print the started processes as JSON" },
} as const satisfies OptionSpecs;

const OPTIONS = {
  head: { help: "be the head of a cluster" },
  address: { short: "a", valueName: "HOST:PORT", help: "address of the cluster's head; separate several heads by commas" },
  token: { valueName: "TOKEN", help: "the join token that the head printed (or in SHOAL_TOKEN, or a file)" },
  "token-file": { valueName: "FILE", help: "a file of this user alone that has the join token" },
  "autoscaling-config": { valueName: "FILE", help: "with --head: launch and end nodes as this cluster file says; see docs/autoscaler.md" },
  ...HEAD_OPTIONS,
} as const satisfies OptionSpecs;

type Values = OptionValues<typeof OPTIONS>;

export const startCommand: Command = defineCommand({
  name: "start",
  summary: "start a head and a node, or a node that joins a head",
  description: DESCRIPTION,
  options: OPTIONS,
  run: async ({ options, terminal }) => await startCluster(options, terminal),
});

/** Starts the processes of a head or a node, and tells the user. @throws UsageError, RangeError for wrong input; ShoalError where it does not start */
export async function startCluster(options: Values, terminal: Terminal): Promise<void> {
  const plan = await planOf(options, terminal);
  const isContinued = plan.head?.nats?.kind === "own" && isDirectory(joinPath(plan.head.directory, "nats"));
  const { started, supervisor, ended } = await start(plan);
  const facts = {
    ...started,
    isHead: plan.head !== undefined,
    hasRivals: plan.head?.hasRivals === true,
    hasNats: plan.head?.nats !== undefined,
    isContinued,
    logs: plan.logs,
    history: plan.history?.folder,
    otherAddresses: ownAddresses(),
    openFilesMax: openFilesMax(),
  };
  // Before anything is printed: a reader may end the process at once.
  if (plan.isForeground) for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => supervisor.kill(signal));
  if (options.json) terminal.print(JSON.stringify(facts));
  else terminal.print(startedText(facts, { isForeground: plan.isForeground }));
  if (!plan.isForeground) return supervisor.release();
  const how = await ended;
  if (how === "exit code 0") return;
  throw new ShoalError(`The supervisor ended unexpectedly (${how}), and with it the node.`, { reason: how, hint: `See ${plan.logs}.` });
}

/** @throws UsageError, RangeError for wrong input; ShoalError when the head is not reached */
async function planOf(values: Values, terminal: Terminal): Promise<SupervisorConfiguration> {
  const { environment } = terminal;
  const { head: isHead, address, "autoscaling-config": clusterFile } = values;
  const file = clusterFile === undefined || !isHead ? undefined : await readClusterFile("start", clusterFile);
  const name = values.name ?? file?.config.clusterName ?? "default";
  const host = (values.host ?? file?.config.headHost)?.replace(/^\[(.*)\]$/, "$1").replace(/^localhost$/i, "127.0.0.1");
  if (isHead === (address !== undefined)) {
    const problem = isHead
      ? "--head and --address exclude each other"
      : "say --head for a cluster of its own, or --address HOST:PORT to join one";
    throw new UsageError(`Cannot run shoal start: ${problem}. See \`shoal start --help\`.`);
  }
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw misused("name", 'takes 1 to 64 letters, digits, "_" and "-"', name);
  if (file !== undefined && file.config.clusterName !== name)
    throw misused("name", `is ${file.config.clusterName} in the cluster file`, name);
  const node = file === undefined ? nodeOptions(values) : headNodeOptions(nodeOptions(values), file.config.head);
  const id = randomHex(6);
  const preemption = preemptionOf(values);
  if (address === undefined) {
    refuse(values, ["token", "token-file"], "is for --address; a head makes its own token");
    const headHost = host ?? DEFAULT_HOST;
    if (headHost === "0.0.0.0" || headHost === "::")
      throw misused("host", "takes the address by which other machines reach this one", headHost);
    const headAddress = readNetworkAddress(formatNetworkAddress({ host: headHost, port: port(values.port, DEFAULT_PORT) }));
    refuseSecondHead(name, values.ha);
    const directory = joinPath(stateFolder(environment), "heads", name);
    const nats = await natsFor(values, { terminal, headAddress });
    await assertOwnHost(headHost, "--host");
    const dashboard = await dashboardOf(values);
    const head = { name, address: headAddress, directory, hasRivals: values.ha, nats, dashboard, autoscaler: file?.options };
    const listenAddress = formatNetworkAddress({ host: headHost, port: 0 });
    const logs = newLogFolder(environment, id);
    return {
      id,
      logs,
      history: historyOf(values, logs),
      head,
      join: undefined,
      listenAddress,
      node,
      isForeground: values.block,
      preemption,
    };
  }
  const ofHead = ["ha", "port", "name", "nats-url", "nats-ca", "nats-credentials", "nats-port", "no-nats", "autoscaling-config"] as const;
  refuse(values, [...ofHead, ...(Object.keys(DASHBOARD_OPTIONS) as (keyof typeof DASHBOARD_OPTIONS)[])], "is for --head");
  const token = joinTokenOf(values, environment);
  if (host !== undefined) await assertOwnHost(host, "--host");
  const addresses = readNetworkAddresses(address);
  const nearHost = await reachOne(addresses);
  const isHere = addresses.every((one) => isLoopbackHost(parseNetworkAddress(one).host));
  const listenAddress = formatNetworkAddress({ host: host ?? (isHere ? DEFAULT_HOST : nearHost), port: 0 });
  const joins = { addresses, token };
  const logs = newLogFolder(environment, id);
  return {
    id,
    logs,
    history: historyOf(values, logs),
    head: undefined,
    join: joins,
    listenAddress,
    node,
    isForeground: values.block,
    preemption,
  };
}

function givenOf(values: Values, options: readonly (keyof Values)[]): (keyof Values)[] {
  return options.filter((option) => {
    const value = values[option];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
}

/** @throws UsageError where one of the options is given */
function refuse(values: Values, options: readonly (keyof Values)[], because: string): void {
  const [option] = givenOf(values, options);
  if (option !== undefined) throw new UsageError(`Cannot run shoal start: --${option} ${because}. See \`shoal start --help\`.`);
}

/** @throws UsageError when there is none, or two; OpenSecretError for a file that others may read */
function joinTokenOf(values: Values, environment: Terminal["environment"]): string {
  const file = values["token-file"];
  if (file !== undefined && values.token !== undefined)
    throw new UsageError("Cannot run shoal start: --token and --token-file exclude each other. See `shoal start --help`.");
  if (file !== undefined) {
    const text = readPrivateFile(file)?.trim();
    if (text === undefined || text === "")
      throw new UsageError(
        `Cannot run shoal start: --token-file names no file with a join token: received ${file}. Write what \`shoal start --head\` prints into it.`,
      );
    return text;
  }
  const token = values.token ?? environment["SHOAL_TOKEN"] ?? "";
  if (token !== "") return token;
  throw new UsageError(
    "Cannot run shoal start: --token TOKEN is missing: `shoal start --head` prints it; SHOAL_TOKEN or the file of --token-file may hold it.",
  );
}

/** Tries the addresses in turn, since one of several heads may be down. @returns this machine's address on the way there */
async function reachOne(addresses: readonly string[]): Promise<string> {
  const tries = await Promise.allSettled(addresses.map((address) => reach(address, "the head")));
  const reached = tries.find((one) => one.status === "fulfilled");
  if (reached !== undefined) return reached.value;
  throw (tries[0] as PromiseRejectedResult).reason;
}

/**
 * The nats-server for a head. A head for its own machine works without one. A head for others does not: with tables in memory, its end
 * would lose those of a whole cluster.
 *
 * @throws NatsServerNotFoundError with every way to get one
 */
async function natsFor(
  values: Values,
  { terminal, headAddress }: { terminal: Terminal; headAddress: string },
): Promise<SupervisedHead["nats"]> {
  const ways = givenOf(values, ["nats-url", "nats-port", "no-nats"]);
  if (ways.length > 1)
    throw new UsageError(`Cannot run shoal start: --${ways.join(" and --")} exclude each other. See \`shoal start --help\`.`);
  if (values.ha && values["nats-url"] === undefined) throw new UsageError(HA_NEEDS_NATS);
  if (values["no-nats"]) return undefined;
  const url = values["nats-url"];
  if (url !== undefined) {
    const found = natsOf({ ...values, "nats-url": url });
    if (values.ha) refuseUnsafeNats(found);
    return found;
  }
  refuse(values, ["nats-ca", "nats-credentials"], "is for --nats-url");
  const headPort = parseNetworkAddress(headAddress).port;
  const natsPort = port(values["nats-port"], headPort === 0 ? 0 : headPort + 1, "nats-port");
  const { environment, workingDirectory } = terminal;
  try {
    const from = [workingDirectory, packageFolder()];
    const { path } = await findNatsServer({ environment, from, installed: installedNatsServer(environment) });
    return { kind: "own", program: path, port: natsPort };
  } catch (error) {
    if (
      !(error instanceof NatsServerNotFoundError) ||
      (environment["SHOAL_NATS_BIN"] ?? "") !== "" ||
      !isLoopbackHost(parseNetworkAddress(headAddress).host)
    )
      throw error;
    return undefined;
  }
}

/** Two heads of one name would be two owners of one state. */
function refuseSecondHead(name: string, isHa: boolean): void {
  const other = readRunFiles().running.find((run) => run.role === "head" && run.name === name);
  // Heads that take over from each other share only the NATS.
  if (other === undefined || (isHa && other.hasRivals === true)) return;
  throw new ShoalError(`Cannot start a head: one of the name "${name}" runs on this machine already, at ${formatAddress(other.address)}.`, {
    reason: "a head of this name runs already",
    hint: "`shoal status` shows it, `shoal stop` ends it. For a second cluster give a --name and a --port; for a second node use --address; heads that take over from each other are all started with --ha.",
  });
}

interface Started {
  readonly started: SupervisorStarted;
  readonly supervisor: DetachedProcess;
  readonly ended: Promise<string>;
}

/** @throws ShoalError with the cause, once no started process runs any more */
function start(configuration: SupervisorConfiguration): Promise<Started> {
  const { logs } = configuration;
  const { promise: ended, resolve: onEnded } = Promise.withResolvers<string>();
  return new Promise((resolve, reject) => {
    let failure: ShoalError | undefined;
    const timer = setTimeout(() => {
      failure = new ShoalError(`Cannot start Shoal: the supervisor did not answer within ${SUPERVISOR_SPEAKS_WITHIN_MS / 1000} s.`, {
        reason: "not ready in time",
        hint: `See the logs in ${logs}.`,
      });
      // All that it began ends with it.
      supervisor.kill("SIGKILL");
    }, SUPERVISOR_SPEAKS_WITHIN_MS);
    const supervisor = startDetached({
      entry: ownModule("ops/supervisor/supervisor-process"),
      configuration,
      outputFile: joinPath(logs, "output.log"),
      onMessage: (line) => {
        const told = readFailureLine(line);
        if (told !== undefined) {
          failure ??= startFailedError(told);
          return;
        }
        clearTimeout(timer);
        resolve({ started: JSON.parse(line) as SupervisorStarted, supervisor, ended });
      },
      onExit: (how) => {
        clearTimeout(timer);
        onEnded(how);
        reject(
          failure ??
            new ShoalError(`Cannot start Shoal: the supervisor ended (${how}) before anything ran.`, {
              reason: how,
              hint: `See ${joinPath(logs, "output.log")}.`,
            }),
        );
      },
    });
  });
}
