/**
 * The text of a successful `shoal start`.
 *
 * Decides the text for the user: addresses, the command for other machines, how programs connect, how to stop. Warnings appear only where
 * they apply. Pure, so that each of them has a test.
 */
import { workersWithin } from "../../../runtime/os/machine/open-files.ts";
import { isLoopbackHost, parseNetworkAddress, readNetworkAddresses, formatAddresses } from "../../../runtime/os/network/network-address.ts";

export interface StartedFacts {
  readonly address: string;
  /** All known heads. */
  readonly heads: readonly string[];
  readonly nodeId: string;
  readonly joinToken: string | undefined;
  readonly isHead: boolean;
  /** Whether other heads may take over. */
  readonly hasRivals: boolean;
  /** The head's tables are kept by a NATS server, and not in its memory. */
  readonly hasNats: boolean;
  /** Whether an earlier head of the same name has left tables on this machine. */
  readonly isContinued: boolean;
  readonly logs: string;
  /** Folder of the history; undefined where none is kept. */
  readonly history?: string | undefined;
  /** How many files a process of this machine may have open, where that is limited. */
  readonly openFilesMax: number | undefined;
  /** Where the dashboard listens. */
  readonly dashboardUrl?: string | undefined;
  /** Whether its default port was taken. */
  readonly isDashboardMoved?: boolean | undefined;
  /** By which other machines may reach this one. */
  readonly otherAddresses: readonly string[];
}

export function startedText(facts: StartedFacts, { isForeground }: { isForeground: boolean }): string {
  const { address, nodeId, isHead, logs } = facts;
  const shown = formatAddresses(readNetworkAddresses(address));
  return [
    isHead ? headLine(facts, shown) : `This machine is a node (${nodeId}) of the cluster at ${shown}.`,
    "",
    "A program on this machine connects with",
    '  await init({ address: "auto" });',
    "or unchanged, with SHOAL_ADDRESS=auto in its environment.",
    "",
    ...(isHead && facts.isContinued ? [...CONTINUED_LINES, ""] : []),
    ...(isHead ? [...joinLines(facts), ""] : []),
    ...(isHead && !facts.hasNats ? [...MEMORY_LINES, ""] : []),
    ...fewFilesLines(facts.openFilesMax),
    ...dashboardLines(facts),
    "See what runs:  shoal status",
    isForeground ? "End it:         Ctrl-C" : "End it:         shoal stop",
    `Logs:           ${logs}`,
  ].join("\n");
}

function dashboardLines({ dashboardUrl, isDashboardMoved }: StartedFacts): string[] {
  if (dashboardUrl === undefined) return [];
  const moved = isDashboardMoved === true ? " (the default port is taken)" : "";
  return [`Dashboard:      ${dashboardUrl}${moved}; \`shoal dashboard\` logs you in`];
}

/** Where a node can have fewer workers than people ask for. */
const OPEN_FILES_FEW = 4096;

function fewFilesLines(limit: number | undefined): string[] {
  if (limit === undefined || limit >= OPEN_FILES_FEW) return [];
  return [
    `A process may have ${limit} files open here (\`ulimit -n\`): enough for some ${workersWithin(limit)} workers and actors on this node.`,
    "",
  ];
}

function headLine({ nodeId, heads, hasRivals }: StartedFacts, shown: string): string {
  if (!hasRivals) return `Started a cluster: its head is at ${shown}, and this machine is its first node (${nodeId}).`;
  const [, ...others] = heads;
  const beside = others.length === 0 ? "and no other one is there yet" : `beside ${formatAddresses(others)}`;
  return `Started a head at ${shown}, ${beside}, and a node of the cluster (${nodeId}).`;
}

const CONTINUED_LINES = [
  "A head of this name was here before, and this one knows what it kept: its tokens are good, and its detached",
  "actors that have restarts left are started again. Another --name begins a new cluster.",
];

const MEMORY_LINES = [
  "There is no nats-server here, so the head keeps its tables in memory: actors and groups end with it.",
  "`shoal nats install` gets one; other machines can join only with it.",
];

const SECRET_LINES = ["Whoever has this token can run programs in the cluster: keep it secret."];

function joinLines({ address, heads, joinToken, otherAddresses }: StartedFacts): string[] {
  const { host } = parseNetworkAddress(address);
  const join = (shown: string): string => `  shoal start --address ${shown} --token ${joinToken ?? "TOKEN"}`;
  const tokenLines =
    joinToken === undefined ? ["The cluster's first token was revoked: `shoal token create` prints another TOKEN."] : SECRET_LINES;
  if (isLoopbackHost(host)) {
    const example = otherAddresses[0] ?? "ADDRESS";
    return [
      "Other machines cannot reach it. To let them join, end it and start it at an address of this machine:",
      `  shoal start --head --host ${example}`,
      "A further node on this machine, for trying things out:",
      join(formatAddresses(heads)),
      ...(joinToken === undefined ? tokenLines : []),
    ];
  }
  return ["Other machines join it with", join(formatAddresses(heads)), ...tokenLines];
}
