/**
 * Repaired defects, put back: each is a piece of text of `src` and what it was, or would be, before the repair.
 *
 * A seed is a regression test only as long as it still meets its defect, and what a seed means changes with every draw and every message. So `regressions.ts` names the
 * mutant with each seed, and the tests run the seed with it, which must fail. A text that is not found any more ends the run: whoever changes it finds out here.
 */
import type { Mutant } from "./hooks.ts";

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  grantAnswersQuestion: {
    file: "runtime/worker/executor.ts",
    text: "if (this.#slotAsked && !isAnswer) return;",
    becomes: "",
  },
  noCpusIsAnyShape: {
    file: "runtime/worker/executor.ts",
    text: 'const ANY_SHAPE = "any";',
    becomes: 'const ANY_SHAPE = "";',
  },
  takenFromConnectingOwner: {
    file: "runtime/worker/worker-host.ts",
    text: "if (caller.leaseId !== undefined && caller.leaseId <= reclaimed) this.#retire([server], [caller.processId, reclaimed]);",
    becomes: "",
  },
  handleCountedTwice: {
    file: "runtime/objects/object-table.ts",
    text: "if (entry.handles === 0 || !this.#unwatch(handle)) this.#addHandle(entry);",
    becomes: "this.#addHandle(entry);",
  },
  discardedWithoutRefs: {
    file: "runtime/objects/object-table.ts",
    text: "this.unpin(this.receiveStored(payload.stored, payload, refs));",
    becomes: "this.unpin(this.receiveStored(payload.stored, payload));",
  },
  unreadCallsForgotten: {
    file: "core/calls/links/worker-link.ts",
    text: "this.#held.close();",
    becomes: "",
  },
  lostAgainIsLate: {
    file: "core/objects/waiting.ts",
    text: "if (leftMs <= 0) throw",
    becomes: "if (leftMs <= Number.POSITIVE_INFINITY) throw",
  },
  parkedIsReport: {
    file: "runtime/node/leases/lease-manager.ts",
    text: "worker.isUnsure &&= !event.isReport;",
    becomes: "worker.isUnsure = false;",
  },
  aliasesOfDeadNodeStay: {
    file: "runtime/head/head.ts",
    text: "for (const id of this.#actors.aliasesOf(tag)) this.unheld(id);",
    becomes: "",
  },
  unreadOfRetiredCounted: {
    file: "runtime/worker/call-server.ts",
    text: "this.#connection.onFrame = () => {};",
    becomes:
      'this.#connection.onFrame = (frame) => void (frame.type === MESSAGE.TASK_CALL && (frame.flags & FRAME_FLAG.NUMBER) === 0 && this.received.readCall(readAs(MESSAGES_TO_WORKER, MESSAGE.TASK_CALL, frame), frame, ""));',
  },
  storedForgetsItsRefs: {
    file: "runtime/objects/object-table.ts",
    text: "for (const inner of refs) this.pin(inner);\n      this.contain(entry, refs.slice());",
    becomes: "",
  },
  waitedIsNotKept: {
    file: "core/objects/waiting.ts",
    text: "const { table } = this.#options;\n    table.pin(entry);\n    const waited",
    becomes: "const table = { unpin: (_: unknown): void => {} };\n    const waited",
  },
  exitBeforeLastMessages: {
    file: "runtime/node/workers/node-workers.ts",
    text: "if (connection === undefined || this.#isClosing) {",
    becomes: "if (connection !== undefined) connection.onClose = () => {};\n    connection?.drop('');\n    if (connection !== null) {",
  },
  givenUpInQueue: {
    file: "runtime/worker/executor.ts",
    text: "if (job.context.isFinished) {",
    becomes: "if (job.context === undefined) {",
  },
  parkedCountedTwice: {
    file: "runtime/node/leases/task-workers.ts",
    text: "counts.others += 1;",
    becomes: "counts.others += 2;",
  },
  parkedWithoutBound: {
    file: "runtime/node/leases/task-workers.ts",
    text: "Math.min(nested, Math.max(0, this.#nestedMax - others))",
    becomes: "nested",
  },
  groupSharesWorker: {
    file: "runtime/node/leases/task-workers.ts",
    text: "worker.environment !== environment || worker.group !== group",
    becomes: "worker.environment !== environment",
  },
  lastCallFailsUnnoticed: {
    file: "core/actors/actor-client.ts",
    text: "this.#options.failDependency(record, failed);\n      if (this.pendingCount === 0) this.#options.onIdle();",
    becomes: "this.#options.failDependency(record, failed);",
  },
  placedInGoneWorker: {
    file: "runtime/node/workers/node-workers.ts",
    text: "this.#ports.head().placed(actor, { id: worker, holderId, pid, address, remoteAddress }, accelerators);",
    becomes:
      "if (this.#ports.peers.local.has(worker)) this.#ports.head().placed(actor, { id: worker, holderId, pid, address, remoteAddress }, accelerators);",
  },
  parkedNotTold: {
    file: "runtime/worker/calls/result-sender.ts",
    text: "this.#connection.send(MESSAGE.TASK_PARKED, undefined, { callId });\n    this.#connection.flush();",
    becomes: "void callId;",
  },
  brokenRunsNext: {
    file: "core/calls/links/ended-links.ts",
    text: "if (ending === undefined) return { begun: unanswered, notBegun: [] };",
    becomes: "if (ending === undefined) return { begun: unanswered.slice(0, 1), notBegun: unanswered.slice(1) };",
  },
  onceIsAbuse: {
    file: "runtime/node/membership/message-validation.ts",
    text: "  MESSAGE.LEASE_RECLAIMED,\n",
    becomes: "  MESSAGE.LEASE_RECLAIMED,\n  MESSAGE.LEASE_ONCE,\n",
  },
  groupsOfDeadNodeStay: {
    file: "runtime/head/head.ts",
    text: ", ...this.#groups.ownersOf(tag)",
    becomes: "",
  },
  grantOfDeadKept: {
    file: "runtime/node/membership/cluster-router.ts",
    text: "if (!this.#ports.peers.local.has(to)) this.#returnUnwanted",
    becomes: "if (to === null) this.#returnUnwanted",
  },
  adopterIsAsked: {
    file: "runtime/objects/store/store-ledger.ts",
    text: "if (arena.maker !== process || object.isAdopted) continue;",
    becomes: "if (arena.maker !== process) continue;",
  },
  brokenCountsAsTaken: {
    file: "core/calls/links/ended-links.ts",
    text: "if (ending === undefined) return { begun: unanswered, notBegun: [] };",
    becomes: "if (ending === undefined) return { begun: [], notBegun: unanswered };",
  },
  storedOfBrokenStays: {
    file: "runtime/objects/references/in-flight-borrows.ts",
    text: "if (this.storedLink !== undefined && this.#hasStored)",
    becomes: "if (this.storedLink === -1)",
  },
  exitOfEarlierLife: {
    file: "runtime/head/actors/actor-table.ts",
    text: "actor.exit = exit;\n    actor.ending ??= ending;",
    becomes: "actor.ending ??= ending;",
  },
  lostArgumentsHoldTheLease: {
    file: "runtime/worker/tasks/argument-waits.ts",
    text: "if (dependencies.length > 0) throw new ArgumentsLost(dependencies);",
    becomes: "",
  },
  copiesOfFreedStay: {
    file: "runtime/node/objects/object-source.ts",
    text: 'if (state === "whole") this.#freedBefore(node, key);',
    becomes: "",
  },
  overtakenLosesSlot: {
    file: "runtime/worker/executor.ts",
    text: "if (this.#overtaken.size === 0 || this.#mayRun(shape) || !this.#returnToOvertaken()) return false;",
    becomes: "if (shape !== null) return false;",
  },
  sourcesOfUnkeptStay: {
    file: "core/calls/failures/lineage.ts",
    text: "if (row.uses === 0) for (const source of this.#forget(row)) this.#unuse(source);",
    becomes: "if (row.uses === 0) this.#forget(row);",
  },
  releasedGroupStaysPlaced: {
    file: "runtime/node/leases/lease-manager.ts",
    text: "for (const placement of this.#groups.release(group)) this.#demands.settle(placement);",
    becomes: "this.#groups.release(group);",
  },
  redirectedToDeadIsNeverIdle: {
    file: "core/actors/actor-client.ts",
    text: "if (existing.pendingCount === 0) existing.#options.onIdle();",
    becomes: "",
  },
  readsWithoutDaemon: {
    file: "core/runtime.ts",
    text: "this.serializer.endStore(error);",
    becomes: "",
  },
  outdatedHelloTaken: {
    file: "runtime/rpc/node-link.ts",
    text: "if (this.#ledger.isOutdated(hello))",
    becomes: "if (hello === null)",
  },
  knownOutlivesItsRef: {
    file: "runtime/node/references/ref-service.ts",
    text: "this.#known.forget(ref.id);",
    becomes: "",
  },
  ownTaskBeforeReport: {
    file: "runtime/worker/executor.ts",
    text: "if (this.#owesReport) {",
    becomes: "if (this.#owesReport && (this.#slot === undefined || this.#slot === ANY_SHAPE || !this.#slots.runOwn(this.#slot))) {",
  },
  watchesOutliveDaemon: {
    file: "core/runtime.ts",
    text: "this.table.endWatches(error);",
    becomes: "",
  },
  revokedLeaseSkipped: {
    file: "core/calls/submission/task-submitter.ts",
    text: "for (const lease of Array.from(group.leases)) if (lease.revoked",
    becomes: "for (const lease of group.leases) if (lease.revoked",
  },
  outboxReadTwice: {
    file: "runtime/rpc/connection.ts",
    text: "const rest = bytes.subarray(readTo - from);",
    becomes: "const rest = bytes;",
  },
  outboxNotRead: {
    file: "runtime/node/workers/node-workers.ts",
    text: "if (!this.#isClosing) this.#handOver(id, unread, connection);",
    becomes: "void [connection, unread];",
  },
  halfWrittenBelieved: {
    file: "runtime/wire/frame.ts",
    text: "this.#end = offset + size;\n    return offset + PREFIX_SIZE;",
    becomes: "this.#end = offset + size;\n    this.#words[this.#committedAt] = this.#end;\n    return offset + PREFIX_SIZE;",
  },
  retiringBecomesActor: {
    file: "runtime/worker/worker-host.ts",
    text: "if (this.#retiring?.isRetiring === true) {\n      daemon.send",
    becomes: "if (incarnation < 0) {\n      daemon.send",
  },
  firstCallHandedOnTwice: {
    file: "runtime/node/leases/demands/first-calls.ts",
    text: "const [call] = waiting.splice(index, 1) as [FirstCall];",
    becomes: "const call = waiting[index] as FirstCall;",
  },
  firstCallNeverGoneBegins: {
    file: "core/calls/submission/first-calls.ts",
    text: "record.hasParked || begun === undefined || begun.some(([madeFor]) => madeFor === mark)",
    becomes: "mark < 0",
  },
  firstCallLosesLease: {
    file: "core/calls/submission/task-submitter.ts",
    text: "if (this.#firsts?.runsUnder(worker, lease.id) === true) {",
    becomes: "if (lease.id < 0) {",
  },
  firstCallSentTwice: {
    file: "core/calls/submission/task-submitter.ts",
    text: "if (lease.inFlight === 1) this.#leaveNow(lease.link);",
    becomes:
      "if (lease.inFlight === 1) {\n          this.#leaveNow(lease.link);\n          lease.link.push(record, lease.accelerators);\n        }",
  },
};
