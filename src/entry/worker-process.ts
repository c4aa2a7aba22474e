/**
 * The process of a worker: a runtime like the driver's, and a host for tasks and actors. It ends with its daemon.
 *
 * The node's launcher starts it with its configuration on the parent's line; a spare worker gets the configuration later. In a cluster it runs only while its
 * daemon extends its execution lease, and afterwards reads from no connection (`runtime/os/processes/memory/execution-lease.ts`).
 */
import { startWorkerRuntime } from "../core/session/worker-runtime.ts";
import { userStack } from "../core/user-stacks.ts";
import { loadExtensions } from "../runtime/extension/load-extensions.ts";
import type { RuntimeEnvSpec } from "../runtime/environment/runtime-env.ts";
import { saveCodeCache } from "../runtime/os/files/code-cache.ts";
import { listen } from "../runtime/os/network/endpoint.ts";
import { collectGarbage, collectYoungGarbage } from "../runtime/os/engine/garbage.ts";
import { OutboxSlots, outboxMemory } from "../runtime/os/processes/memory/outbox.ts";
import { WorkerInterruptSlot } from "../runtime/os/processes/memory/interrupt-slot.ts";
import { leasedTransport, WorkerExecutionLease } from "../runtime/os/processes/memory/execution-lease.ts";
import { resolvePackagesFrom } from "../runtime/os/packages/module-resolution.ts";
import { dieWithParent } from "../runtime/os/shared-memory.ts";
import { setTlsIdentity } from "../runtime/os/network/tls-identity.ts";
import type { Transport } from "../runtime/os/network/transport.ts";
import { readParentLine } from "../runtime/os/processes/worker-process.ts";
import type { WorkerConfiguration } from "../runtime/node/workers/process-launcher.ts";
import type { SpareConfiguration } from "../runtime/node/workers/spare-process.ts";
import { connectProven } from "../runtime/rpc/handshake.ts";
import { listenForJoin } from "../runtime/rpc/join-listener.ts";
import { newBusyPoll } from "../runtime/rpc/busy-poll.ts";
import { CallRecorder } from "../runtime/observe/call-recorder.ts";
import { OBSERVATION_LENGTH } from "../runtime/observe/observation-layout.ts";
import { newObservationMemory } from "../runtime/os/processes/memory/observation-file.ts";
import { CallObservers } from "../runtime/worker/calls/call-observers.ts";
import { markOutput } from "../runtime/worker/console-source.ts";
import { InterruptionGuard } from "../runtime/worker/tasks/interruption-guard.ts";
// The public module: what shipped code imports as "shoal" is what runs here.
import "../index.ts";
import { useForeignCode } from "../runtime/closure/modules/foreign-imports.ts";
import { setSubpathImport } from "../runtime/closure/values/well-known.ts";

// Most workers need no other subpath of this package, so one is loaded with the first function that refers to it. Node finds it by `exports` of package.json.
setSubpathImport((subpath) => import(subpath));

// While it waits for its configuration: a spare worker may be killed as soon as it has had it.
setImmediate(saveCodeCache);
const parentLine = await readParentLine<WorkerConfiguration | SpareConfiguration>(() => process.exit(0));
dieWithParent();
process.title = "shoal worker";
const first = parentLine.configuration;
const configuration = "isSpare" in first ? ((await parentLine.next()) as WorkerConfiguration) : first;
const { packageFolder, foreignCode, runtimeEnv, remoteAddress, identity, workingDirectory, executionLease, ...settings } = configuration;
if (workingDirectory !== undefined) process.chdir(workingDirectory);
if (identity !== undefined) setTlsIdentity(identity);
if (foreignCode !== undefined) useForeignCode(foreignCode, { chosenFolder: packageFolder });
if (packageFolder !== undefined) resolvePackagesFrom(packageFolder, { except: ["shoal"] });
process.setSourceMapsEnabled(true);
// The signal that interrupts a task (runtime/worker/tasks/interruption-guard.ts) must not end the worker when it arrives late.
process.on("SIGINT", () => {});
process.on("unhandledRejection", (reason) => {
  // A promise that the task forgot: it is told, and does not take down the other tasks of this worker.
  console.error("Unhandled rejection in a task:", reason);
});

const extensions = await loadExtensions(configuration.extensions);
const lease = executionLease === undefined ? undefined : new WorkerExecutionLease({ path: executionLease, end: endAtOnce });
const allowed = (transport: Transport): Transport => (lease === undefined ? transport : leasedTransport(transport, lease));
lease?.watch();
// Callers may connect while the worker is being put together.
let accept: (transport: Transport) => void = () => {};
const listener = await listen(configuration.address, (transport) => accept(allowed(transport)));
const onUnauthenticated = (transport: Transport, problem: string | undefined): void => listenForJoin(transport, { problem });
const remote =
  remoteAddress === undefined ? undefined : await listen(remoteAddress, (transport) => accept(allowed(transport)), { onUnauthenticated });
const daemonTransport = allowed(await connectProven(configuration.daemonAddress, configuration));
const memory = outboxMemory(configuration.outbox);
// Before the daemon hears of this process, and looks for the file.
const observation = newObservationMemory(configuration.memoryDirectory, configuration.processId, OBSERVATION_LENGTH);
const host = startWorkerRuntime({
  ...settings,
  outboxes: memory === undefined ? undefined : new OutboxSlots(memory),
  remoteAddress: remote?.path,
  runtimeEnv: runtimeEnv as RuntimeEnvSpec | undefined,
  daemonTransport,
  busyPoll: newBusyPoll(),
  collectGarbage,
  collectYoungGarbage,
  showActor: (className) => {
    process.title = `shoal worker: ${className}`;
  },
  observers: CallObservers.of(extensions, configuration.jobId),
  recorder: observation === undefined ? undefined : new CallRecorder(observation, userStack),
  guard: new InterruptionGuard(new WorkerInterruptSlot(configuration.interruptSlot)),
  exit: () => {
    listener.close();
    remote?.close();
    // Two turns: the operating system has all answers by then.
    setImmediate(() => setImmediate(() => process.exit(0)));
  },
});
accept = (transport) => host.accept(transport);
// Without memory that outlives this process its answers leave at the ends that it hears of.
if (memory === undefined) process.on("exit", () => host.flush());
for (const stream of [process.stdout, process.stderr]) {
  // Node writes to these pipes without waiting, so a dying worker would lose printed lines (measured: 1,500 of 2,000 lines at a SIGKILL).
  (stream as unknown as { _handle?: { setBlocking?: (blocking: boolean) => void } })._handle?.setBlocking?.(true);
}
const idleSource = (): string => (host.actors.actorId === undefined ? "" : host.actors.className);
markOutput(process.stdout as never, configuration.jobId, idleSource);
markOutput(process.stderr as never, configuration.jobId, idleSource);
/** Ends the process without running any more user code, not even its exit handlers. */
function endAtOnce(reason: string): void {
  console.error(`The worker ends: ${reason}.`);
  process.kill(process.pid, "SIGKILL");
}
