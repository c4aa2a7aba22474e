/**
 * The process of the autoscaler: `shoal autoscaler` beside a head, a child of the supervisor.
 *
 * Wires the provider, the connection to the cluster and the loop together. It keeps no state, so the supervisor may start another one at any
 * time. When the cluster is stopped it ends all instances first, unless other heads remain.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { fileUrlOf } from "../../runtime/os/files/file-url.ts";
import { tellingStartFailures } from "../../runtime/os/processes/start-failure.ts";
import { readParentLine } from "../../runtime/os/processes/worker-process.ts";
import { randomHex } from "../../runtime/os/random.ts";
import { ClusterLink } from "../connection/cluster-link.ts";
import type { ClusterConfig } from "./config/cluster-config.ts";
import { readClusterConfig } from "./config/read-cluster-config.ts";
import { askAutoscaler, headPort } from "./head-client.ts";
import { LOOKS_EVERY_MS, PLAN_SHARE, PLANS_EVERY_MS } from "./limits.ts";
import { Autoscaler } from "./loop/autoscaler.ts";
import { FencedOutError } from "./loop/ports.ts";
import { LocalProcessesProvider } from "./providers/local-processes-provider.ts";
import { checkTypes, openProvider } from "./providers/open-provider.ts";
import { AUTOSCALER_ENDS_INSTANCES_WITHIN_MS } from "../providers/limits.ts";

/** The cluster file, as `shoal start` has read it. */
export interface AutoscalerOptions {
  readonly configText: string;
  /** The file's absolute path. */
  readonly source: string;
}

export interface AutoscalerConfiguration extends AutoscalerOptions {
  /** The supervisor's id. */
  readonly owner: string;
  /** Whether the supervisor starts its first autoscaler, whose file holds. Later ones take the file that `shoal up` gave last. */
  readonly isFirst: boolean;
  readonly clusterName: string;
  readonly headAddress: string;
  readonly headAddresses: readonly string[];
  readonly listenAddress: string;
  readonly access: { readonly token?: string | undefined; readonly joinToken?: string | undefined };
  readonly hasRivals: boolean;
  readonly logs: string;
  readonly extensions: readonly string[] | undefined;
  /** Modules of extensions that every node of `shoal start` has. */
  readonly ownExtensions: readonly string[];
}

/** The supervisor starts another autoscaler, which opens the new provider. */
const EXIT_OTHER_PROVIDER = 3;
const FAILED_STEP_PAUSE_MS = 1_000;
/** Several answers of a moment are taken together. */
const WAKES_AFTER_MS = 10;

let end: () => void = () => process.exit(0);
const { configuration, send } = await readParentLine<AutoscalerConfiguration>(() => end());
process.title = "shoal autoscaler";
const started = tellingStartFailures(send);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => end());
const { owner, clusterName, headAddress, headAddresses, access, source, configText, hasRivals } = configuration;
const log = (text: string): void => console.log(text);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nowMs = (): number => Date.now();
const link = new ClusterLink(headAddress);
await askAutoscaler(link, "configure", { text: configText, ifNone: !configuration.isFirst });
const givenText = configuration.isFirst ? configText : (await askAutoscaler(link, "config", {})).text;
const config = readClusterConfig(givenText, source);
/** Nodes of this machine join a head of this machine by its own token; all others get a join token. */
const localToken = config.provider.type === "local-processes" ? (access.token ?? "") : "";
const head = headPort(link, { token: localToken });
const machines = machinesOf(config);
const provider = await openProvider({
  config,
  context: { clusterName, headAddress: headAddresses.join(",") },
  source,
  local: () => new LocalProcessesProvider({ ...configuration, onLine: (instanceId, line) => console.log(`${instanceId}: ${line}`) }),
  moduleUrl: (module) => (module.startsWith(".") || module.startsWith("/") ? new URL(module, fileUrlOf(source)).href : module),
});
let wake = (): void => {};
const autoscaler = new Autoscaler({
  owner,
  provider,
  configText,
  readConfig: (text) => {
    const read = readClusterConfig(text, source);
    checkTypes(provider, read, source);
    if (machinesOf(read) === machines) return read;
    log("The cluster file has another provider: the next autoscaler begins with it.");
    process.exit(EXIT_OTHER_PROVIDER);
  },
  ports: { head, nowMs, log, newName: () => randomHex(6), wake: () => wake() },
  start: { command: ["shoal", "start", "--address", headAddresses.join(","), "--block"], env: {} },
});
const unwatch = provider.watch?.(() => autoscaler.changed());
const ending = new AbortController();
end = () => {
  if (ending.signal.aborted) return;
  ending.abort();
  unwatch?.();
  void finish().finally(() => process.exit(0));
};
started(JSON.stringify({}));
let problem = "";
while (!ending.signal.aborted) {
  const beganMs = performance.now();
  await autoscaler.step().then(
    () => {
      problem = "";
    },
    (error: unknown) => {
      const text = messageOf(error);
      if (text !== problem && !(error instanceof FencedOutError)) log(`A step failed: ${text}`);
      problem = text;
    },
  );
  const usualMs = autoscaler.isBusy ? PLANS_EVERY_MS : LOOKS_EVERY_MS;
  const pauseMs = Math.max(problem === "" ? usualMs : FAILED_STEP_PAUSE_MS, PLAN_SHARE * (performance.now() - beganMs));
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  await Promise.race([sleep(pauseMs), woken]);
  await sleep(WAKES_AFTER_MS);
}

/** The part of a cluster file that a provider is opened with. */
function machinesOf({ provider: { type, config: given }, ssh, setup }: ClusterConfig): string {
  return JSON.stringify([type, given, ssh, setup]);
}

async function finish(): Promise<void> {
  if (!hasRivals) await autoscaler.endAll(nowMs() + AUTOSCALER_ENDS_INSTANCES_WITHIN_MS, sleep);
  await provider.close();
}
