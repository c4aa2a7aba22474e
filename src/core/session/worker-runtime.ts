/**
 * Makes this process a worker: joins its runtime (which submits tasks) and its host (which runs the tasks of others).
 *
 * Nested tasks of this worker can run on it when no task has it for itself. The host then offers its slot to the runtime's own queue, over
 * an in-process connection, before it gives the slot back to the daemon.
 */
import { tellMetrics } from "../telemetry/metrics-source.ts";
import { IdSource } from "../../runtime/base/ids.ts";
import { setVisibleGpus } from "../../runtime/os/machine/accelerators.ts";
import { randomHex } from "../../runtime/os/random.ts";
import { loopbackPair } from "../../runtime/os/network/transport.ts";
import { Connection } from "../../runtime/rpc/connection.ts";
import { proven } from "../../runtime/rpc/handshake.ts";
import { type HelloHeader, MESSAGE } from "../../runtime/wire/messages.ts";
import type { CallRecorder } from "../../runtime/observe/call-recorder.ts";
import type { CallObservers } from "../../runtime/worker/calls/call-observers.ts";
import type { InterruptionGuard } from "../../runtime/worker/tasks/interruption-guard.ts";
import { WorkerHost, type WorkerOutboxes } from "../../runtime/worker/worker-host.ts";
import { setCurrentRuntime } from "../current-runtime.ts";
import type { RuntimeOptions } from "../runtime-options.ts";
import type { Runtime } from "../runtime.ts";
import { WorkerLink, type WorkerLinkEvents } from "../calls/links/worker-link.ts";
import { createRuntime } from "./create-runtime.ts";

/** The options of a runtime that this file decides. */
type DecidedHere =
  | "role"
  | "mode"
  | "ids"
  | "runsLocally"
  | "checkLocal"
  | "ownWorker"
  | "onWorkerMessage"
  | "onLog"
  | "onWarning"
  | "onDaemonLost";

interface WorkerRuntimeOptions extends Omit<RuntimeOptions, DecidedHere> {
  /** Shows whose process this is, once it is an actor's; absent where it is not the actor's alone. */
  showActor?: ((className: string) => void) | undefined;
  /** Absent where code cannot be stopped. */
  guard?: InterruptionGuard | undefined;
  /** The memory in which sent frames outlive this process; absent where they do not. */
  outboxes?: WorkerOutboxes | undefined;
  /** Extensions that want to hear of calls. */
  observers?: CallObservers | undefined;
  /** The record of calls, which the daemon reads. */
  recorder?: CallRecorder | undefined;
  /** Functions of other processes, where all share one heap. */
  localFunction?: ((id: string) => ((...args: unknown[]) => unknown) | undefined) | undefined;
  exit: () => void;
}

export function startWorkerRuntime(options: WorkerRuntimeOptions): WorkerHost {
  const { processId, token, jobId } = options;
  const ids = new IdSource(randomHex, jobId);
  let own: WorkerLink | undefined;
  const ownLink = (events: WorkerLinkEvents): WorkerLink => {
    const [near, far] = loopbackPair();
    host.accept(far);
    const connection = new Connection(proven(near, { token, processId, action: "connect a worker to itself" }), { trusted: true });
    const hello: HelloHeader = {
      processId,
      holderId: processId,
      kind: "worker",
      pid: process.pid,
      address: "",
      taskIdPrefix: ids.prefix,
      jobId,
    };
    void connection.request(MESSAGE.HELLO, hello);
    own = new WorkerLink({ processId, holderId: processId, incarnation: 0, connection, table: runtime.table, events });
    return own;
  };
  const runtime: Runtime = createRuntime({
    ...options,
    role: "worker",
    mode: "process",
    runsLocally: options.localFunction !== undefined,
    ids,
    ownWorker: { id: processId, link: ownLink, isFree: (shape) => host.executor.canRunNow(shape), wake: () => host.executor.wake() },
    onWorkerMessage: (frame, header) => host.receive(frame, header),
    onLog: () => {},
    onWarning: (text) => console.warn(text),
    onDaemonLost: () => process.exit(0),
  });
  const outbox = options.outboxes?.open(options.daemonId, { isElsewhere: false });
  if (outbox !== undefined) runtime.daemon.keepIn(outbox);
  const host: WorkerHost = new WorkerHost({
    processId,
    nodeId: options.nodeId,
    token,
    daemon: runtime.daemon,
    codec: runtime.serializer,
    definitions: runtime.values.definitions,
    table: runtime.table,
    runOwn: (shape) => runtime.calls.submitter.runOwn(shape),
    hasQueued: () => runtime.calls.submitter.hasQueued,
    localFunction: options.localFunction ?? (() => undefined),
    cancelChildren: (parent) => runtime.cancellation.cancelChildren(parent),
    parentOf: (callId) => own?.recordOf(callId)?.parent,
    explain: (context, begun, trail) => runtime.why.received(context, begun, trail),
    useAccelerators: (accelerators) => setVisibleGpus(accelerators?.["GPU"]),
    showActor: options.showActor,
    isNeeded: () => runtime.hasOpenCalls || runtime.actors.hasOwnLiving,
    busyPoll: options.busyPoll,
    outboxes: options.outboxes,
    observers: options.observers,
    recorder: options.recorder,
    ...(options.guard === undefined ? {} : { guard: options.guard }),
    exit: () => {
      runtime.telemetry.flush();
      tellMetrics(runtime.daemon);
      options.exit();
    },
  });
  setCurrentRuntime(runtime);
  return host;
}
