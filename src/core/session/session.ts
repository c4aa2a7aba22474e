/**
 * One session of a driver: from `init()` to the last file removed.
 *
 * Starts the node (a daemon process, or one inside this process) and keeps the runtime. Ends both at `shutdown()` and at the natural end of
 * the program: first the workers' remaining output, then failures that nobody saw, then teardown. At `process.exit` and an uncaught
 * exception there is time for the output only, and at a signal for nothing: the daemon does the rest. If the daemon was killed, its folders
 * are removed here.
 */
import { asError, messageOf } from "../../runtime/base/texts/describe.ts";
import { IdSource, newJobId, newNodeId, newProcessId, programNamespace } from "../../runtime/base/ids.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import { registeredExtensions } from "../../runtime/extension/load-extensions.ts";
import { resolveRuntimeEnv } from "../../runtime/environment/runtime-env.ts";
import { collectGarbage, collectYoungGarbage } from "../../runtime/os/engine/garbage.ts";
import { memoryRootNote } from "../../runtime/os/files/sessions/session-sweep.ts";
import { isBundled, requireOwnFiles } from "../../runtime/os/own-files.ts";
import { nativeUnavailableReason } from "../../runtime/os/shared-memory.ts";
import { newToken, randomHex } from "../../runtime/os/random.ts";
import { errorOfRefusal } from "../../runtime/rpc/refusals.ts";
import { newBusyPoll } from "../../runtime/rpc/busy-poll.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { findNode } from "../../runtime/os/files/clusters/local-node.ts";
import { EXIT_WAITS_MS } from "../limits.ts";
import { SHUTDOWN_WITHIN_MS } from "../../runtime/worker/limits.ts";
import { attachTo } from "./attached-node.ts";
import { currentRuntime, setCurrentRuntime } from "../current-runtime.ts";
import { type LocalNode, startDaemonProcess } from "../daemon-process.ts";
import { createRuntime } from "./create-runtime.ts";
import { listenForExit } from "./exit-hooks.ts";
import { jobEnvironment } from "./job-environment.ts";
import { offerOf } from "../../runtime/node/node-offer.ts";
import { newCaptureCheck } from "../objects/values/in-process-check.ts";
import { startInProcessNode } from "./in-process.ts";
import type { ResolvedInitOptions } from "../options/options.ts";
import { passLog, printLog, printWarning } from "../telemetry/output.ts";
import type { Runtime } from "../runtime.ts";
import { defaultStoreBytes } from "../../runtime/objects/store/store-quota.ts";

let session: Session | undefined;

export function currentSession(): Session | undefined {
  return session;
}

/** Whether this process has started the node that it is on, which then ends with it. False in workers, and for drivers that joined a cluster. */
export function startedHere(): boolean {
  return session !== undefined && session.options.address === undefined;
}

export class Session {
  readonly runtime: Runtime;
  readonly options: ResolvedInitOptions;
  readonly #node: LocalNode;
  readonly #ignoreExit: () => void;
  #ending: Promise<void> | undefined;

  /**
   * Starts one; everything may be called at once, `ready` tells when the node is up.
   *
   * @throws BundledError where the files are missing that a node runs
   */
  constructor(options: ResolvedInitOptions) {
    if (options.mode === "process") requireOwnFiles();
    this.options = options;
    const jobId = newJobId(randomHex);
    const found = options.address === undefined ? undefined : findNode(options.address);
    const nodeId = found?.nodeId ?? newNodeId(randomHex);
    const processId = newProcessId(randomHex, nodeId);
    const daemonId = found?.daemonId ?? newProcessId(randomHex, nodeId);
    const identity = { nodeId, daemonId, jobId, token: found?.token ?? newToken() };
    const namespace = options.namespace ?? programNamespace(processId);
    const node = {
      ...identity,
      namespace,
      ...offerOf(options, identity.nodeId),
      ...(found === undefined ? {} : { labels: found.labels }),
      objectStoreMemoryBytes: found?.storeQuotaBytes ?? options.objectStoreMemoryBytes ?? defaultStoreBytes(),
      memoryUsageThreshold: options.memoryUsageThreshold,
      taskOomRetries: options.taskOomRetries,
      waitingProcessesPerCpu: options.waitingProcessesPerCpu,
      spillRoot: options.spillDirectory,
      extensions: registeredExtensions().modules,
      onLine: (line: string) => printWarning(`node daemon: ${line}`),
    };
    this.#node =
      found !== undefined
        ? attachTo(found, processId)
        : options.mode === "inProcess"
          ? startInProcessNode({ ...node, driverId: processId, runtime: () => this.runtime })
          : startDaemonProcess(node, processId);
    this.runtime = createRuntime({
      ...identity,
      role: "driver",
      mode: options.mode,
      processId,
      ids: new IdSource(randomHex, jobId),
      namespace,
      // Where others have drivers, too, each job has workers of its own.
      runtimeEnv:
        found === undefined ? resolveRuntimeEnv(options.runtimeEnv) : jobEnvironment(options.runtimeEnv, { jobId, namespace, nodeId }),
      labels: node.labels,
      address: "",
      daemonTransport: this.#node.transport,
      busyPoll: options.mode === "inProcess" ? undefined : newBusyPoll(),
      memoryDirectory: this.#node.memoryDirectory,
      spillDirectory: this.#node.spillDirectory,
      storeQuotaBytes: node.objectStoreMemoryBytes,
      taskOomRetries: options.taskOomRetries,
      onLog: options.logToDriver ? printLog : passLog,
      onWarning: printWarning,
      // In a bundle nothing can be sent, and what reads code is not there.
      checkLocal: options.mode === "inProcess" && options.checkCaptures && !isBundled() ? newCaptureCheck(printWarning) : undefined,
      onDaemonLost: (reason) => this.#daemonLost(reason),
      collectGarbage,
      collectYoungGarbage,
    });
    setCurrentRuntime(this.runtime);
    session = this;
    if (options.mode === "process") sayWhatIsSlower();
    this.#ignoreExit = listenForExit({
      onIdle: () => void this.close({ failsPending: false }),
      onExit: () => {
        this.runtime.exit(EXIT_WAITS_MS);
        this.#node.abandon();
      },
    });
  }

  /** @throws ShoalError when the node could not be started */
  async ready(): Promise<void> {
    this.runtime.daemon.setKeepsProcessAlive(true);
    try {
      await this.runtime.daemon.request(MESSAGE.NODES, undefined);
    } catch (error) {
      await this.close();
      const { address } = this.options;
      if (address !== undefined) throw notConnected(address, asError(error));
      throw new ShoalError(`Cannot start Shoal: the node daemon did not come up: ${messageOf(error)}`, {
        reason: "the node daemon did not come up",
        hint: "See the lines that it printed above.",
        cause: error,
      });
    } finally {
      // An end that began meanwhile keeps the process until it is over.
      if (this.#ending === undefined) this.runtime.daemon.setKeepsProcessAlive(false);
    }
  }

  /** While it ends, and after. */
  get ending(): Promise<void> | undefined {
    return this.#ending;
  }

  /**
   * Ends everything; idempotent, and the same promise for all callers. Where the program ends, too (`failsPending` is false), its pending
   * calls do not fail: the program would go on to handle the error, and end in another way.
   */
  close(options: { failsPending: boolean } = { failsPending: true }): Promise<void> {
    this.#ending ??= this.#end(options);
    return this.#ending;
  }

  async #end(options: { failsPending: boolean }): Promise<void> {
    const { runtime } = this;
    runtime.daemon.setKeepsProcessAlive(true);
    const left = runtime.close(options);
    if (left.length > 0) printWarning(pendingText(left));
    const within = { timeoutMs: SHUTDOWN_WITHIN_MS, isOfSilence: true };
    await runtime.daemon.request(MESSAGE.SHUTDOWN, undefined, within).catch(() => {
      // The daemon has ended already, and its folders are removed below.
    });
    await runtime.reportUnseenFailures();
    await this.#node.ended();
    // Until here: the process may be ended meanwhile.
    runtime.daemon.drop("the session was shut down");
    this.#leave();
  }

  #leave(): void {
    this.#ignoreExit();
    if (currentRuntime() === this.runtime) setCurrentRuntime(undefined);
    if (session === this) session = undefined;
  }

  #daemonLost(reason: string): void {
    if (this.#ending !== undefined) return;
    printWarning(`The connection to the node daemon ended (${reason}); everything that was pending fails with NodeDiedError.`);
    this.#ending = this.#node.ended().then(() => this.#leave());
  }
}

/** Functions and methods whose pending calls are named at the end. */
const PENDING_NAMES_MAX = 5;

/** Names the calls that ended with the driver, the most frequent first. */
export function pendingText(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const kinds = Array.from(counts).sort(([, a], [, b]) => b - a);
  const shown = kinds.slice(0, PENDING_NAMES_MAX).map(([name, count]) => (count === 1 ? name : `${name} (${count})`));
  if (kinds.length > shown.length) shown.push(`${kinds.length - shown.length} more`);
  const were = names.length === 1 ? "1 call was" : `${names.length} calls were`;
  return `${were} still pending and ended with the driver: ${shown.join(", ")}. Await the results before the program ends.`;
}

/** Found by its file, and yet it does not answer as it should. */
function notConnected(address: string, error: Error): ShoalError {
  const action = `connect to the node of this machine (address ${JSON.stringify(address)})`;
  return (
    errorOfRefusal(action, error) ??
    new ShoalError(`Cannot ${action}: ${error.message}`, {
      reason: error.message,
      hint: "It may just be ending, or its head may be away: see `shoal status`, and start it again with `shoal start`.",
      cause: error,
    })
  );
}

/** The base path works everywhere; its users should know, once a session. */
function sayWhatIsSlower(): void {
  const native = nativeUnavailableReason();
  if (native !== undefined) printWarning(`Large objects are copied instead of mapped: ${native}`);
  const memory = memoryRootNote();
  if (memory !== undefined) printWarning(memory);
}
