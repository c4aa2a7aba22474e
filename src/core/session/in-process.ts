/**
 * The node inside this process (`init({ mode: "inProcess" })`): the same daemon, hosts and messages, over in-process connections.
 *
 * No process is started and breakpoints hold. Functions and classes run as they are; arguments, results and errors still go through the codec, so
 * programs behave as they will on processes. The death of a worker is simulated by dropping its connections, and `process.exit` inside a task
 * is refused, as it would end the driver.
 */
import { newProcessId, type ProcessId } from "../../runtime/base/ids.ts";
import { Head } from "../../runtime/head/head.ts";
import { registeredExtensions } from "../../runtime/extension/load-extensions.ts";
import { NodeDaemon } from "../../runtime/node/daemon.ts";
import { onlyNode } from "../../runtime/node/membership/only-node.ts";
import type { WorkerLauncher } from "../../runtime/node/workers/worker-pool.ts";
import { createSpillDisk } from "../../runtime/objects/spilling/spill-disk.ts";
import { listen, newInProcessAddress } from "../../runtime/os/network/endpoint.ts";
import { machineName } from "../../runtime/os/machine/machine.ts";
import { randomHex } from "../../runtime/os/random.ts";
import { createSessionDirectories, removeArenaFile, removeSessionDirectories } from "../../runtime/os/files/sessions/session-directory.ts";
import { sessionRoots, sweepStaleSessions } from "../../runtime/os/files/sessions/session-sweep.ts";
import { loopbackPair } from "../../runtime/os/network/transport.ts";
import { Connection } from "../../runtime/rpc/connection.ts";
import { proven } from "../../runtime/rpc/handshake.ts";
import { type HelloHeader, MESSAGE } from "../../runtime/wire/messages.ts";
import { CallRecorder } from "../../runtime/observe/call-recorder.ts";
import { ObservationMemory } from "../../runtime/observe/observation-memory.ts";
import { CallObservers } from "../../runtime/worker/calls/call-observers.ts";
import { taskContext } from "../../runtime/worker/tasks/task-context.ts";
import { WorkerHost } from "../../runtime/worker/worker-host.ts";
import type { LocalNode, LocalNodeOptions } from "../daemon-process.ts";
import type { Runtime } from "../runtime.ts";
import { userStack } from "../user-stacks.ts";

interface InProcessNodeOptions extends LocalNodeOptions {
  driverId: ProcessId;
  /** The driver's runtime, which all workers share. */
  runtime: () => Runtime;
}

export function startInProcessNode(options: InProcessNodeOptions): LocalNode {
  const directories = createSessionDirectories(randomHex(6), options.spillRoot);
  // A signal that nobody listens to leaves no time for folders, and no daemon outlives this process: the next session removes them.
  sweepStaleSessions(options.spillRoot === undefined ? sessionRoots() : [...sessionRoots(), options.spillRoot]);
  const [near, far] = loopbackPair();
  const restoreExit = refuseExitInTasks();
  const { extensions } = registeredExtensions();
  const daemon = new NodeDaemon({
    nodeId: options.nodeId,
    processId: options.daemonId,
    token: options.token,
    hostname: machineName(),
    address: "in this process",
    resources: options.resources,
    labels: options.labels,
    accelerators: options.accelerators,
    objectStoreMemoryBytes: options.objectStoreMemoryBytes,
    newProcessId: () => newProcessId(randomHex, options.nodeId),
    nowMs: () => performance.now(),
    launcher: createInProcessLauncher(options, (transport) => daemon.accept(transport)),
    spillDisk: createSpillDisk(directories),
    buildEnvironment: undefined,
    // Workers in one process cannot be told apart by their memory, nor ended for it.
    memory: undefined,
    waitingProcessesPerCpu: options.waitingProcessesPerCpu,
    unlinkArena: (arena, kind) => removeArenaFile(directories, arena, kind),
    observe: (worker) => observations.get(worker),
    createHead: (node) => Head.hostedBy(node, { nowMs: () => performance.now(), extensions }),
    extensions,
    onAbandoned: () => {},
    cluster: onlyNode({ memoryDirectory: directories.memory, spillDirectory: directories.spill }),
    isOfDriver: true,
  });
  daemon.accept(far);
  // Not before the caller has its runtime: workers use it.
  queueMicrotask(() => daemon.start());
  return {
    transport: proven(near, { token: options.token, processId: options.driverId, action: "start Shoal" }),
    memoryDirectory: directories.memory,
    spillDirectory: directories.spill,
    ended: async () => {
      await daemon.close();
      restoreExit();
      removeSessionDirectories(directories);
    },
    abandon: () => removeSessionDirectories(directories),
  };
}

/** The records of this process's workers, which the daemon reads from memory. */
const observations = new Map<ProcessId, ObservationMemory>();

function createInProcessLauncher(
  options: InProcessNodeOptions,
  connectDaemon: (transport: ReturnType<typeof loopbackPair>[0]) => void,
): WorkerLauncher {
  return {
    launch: ({ workerId, onExit }) => {
      const address = newInProcessAddress();
      const [near, far] = loopbackPair();
      const connection = new Connection(proven(near, { token: options.token, processId: workerId, action: "start a worker" }), {
        trusted: true,
      });
      const runtime = options.runtime();
      let isEnded = false;
      const end = (): void => {
        if (isEnded) return;
        isEnded = true;
        void listening.then((listener) => listener.close());
        host.close();
        // The daemon reads all that a process wrote, and then believes its end.
        connection.close();
        // In a later turn, as the exit of a process would be noticed.
        setImmediate(() => onExit({ exitCode: 0, signal: undefined }));
      };
      const observation = new ObservationMemory(() => observations.delete(workerId));
      observations.set(workerId, observation);
      const host = new WorkerHost({
        recorder: new CallRecorder(observation.memory, userStack),
        processId: workerId,
        nodeId: options.nodeId,
        token: options.token,
        daemon: connection,
        observers: CallObservers.of(registeredExtensions().extensions, options.jobId),
        codec: runtime.serializer,
        definitions: runtime.values.definitions,
        table: runtime.table,
        runOwn: () => false,
        hasQueued: () => runtime.calls.submitter.hasQueued,
        localFunction: (id) => runtime.values.functions.localFunction(id),
        cancelChildren: (parent) => runtime.cancellation.cancelChildren(parent),
        // Nested calls have workers of their own here.
        parentOf: () => undefined,
        explain: (context, begun, trail) => runtime.why.received(context, begun, trail),
        // All tasks share the driver's environment: they ask for their ids.
        useAccelerators: () => {},
        exit: () => setImmediate(end),
      });
      connection.onFrame = (frame) => host.receive(frame);
      connectDaemon(far);
      const listening = listen(address, (transport) => host.accept(transport));
      void connection
        .request(MESSAGE.HELLO, {
          processId: workerId,
          holderId: options.driverId,
          kind: "worker",
          pid: process.pid,
          address,
          taskIdPrefix: "",
          jobId: options.jobId,
        } satisfies HelloHeader)
        .catch(end);
      return { pid: process.pid, kill: end };
    },
  };
}

/** @returns what undoes it */
function refuseExitInTasks(): () => void {
  const exit = process.exit;
  process.exit = (code?: number) => {
    if (taskContext.current === undefined) return exit(code);
    throw new Error("Cannot call process.exit in a task: in-process mode runs tasks in the driver's own process");
  };
  return () => {
    process.exit = exit;
  };
}
