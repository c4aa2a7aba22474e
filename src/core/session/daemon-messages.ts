/**
 * The handlers of the node daemon's messages: each message goes to the part of the runtime that it concerns.
 *
 * The handlers answer questions for the value of a ref that this process owns, and hand values and actors' states to those that wait for
 * them. They keep nothing themselves. The runtime gives them every frame of the daemon's connection, and they pass on frames about a
 * worker's own work.
 */
import { type NodeId, nodeTagOf, type ObjectId, type ProcessId } from "../../runtime/base/ids.ts";
import { OwnerDiedError } from "../../runtime/base/errors.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import { PayloadReader } from "../../runtime/objects/payload.ts";
import { setTlsIdentity } from "../../runtime/os/network/tls-identity.ts";
import type { Frame } from "../../runtime/wire/frame.ts";
import { handle, type Handlers, readHeader } from "../../runtime/wire/tables/message-table.ts";
import { MESSAGES_TO_PROCESS, type MessagesToProcess } from "../../runtime/wire/tables/messages-to-process.ts";
import { type ActorStateHeader, MESSAGE, type WorkerExitedHeader } from "../../runtime/wire/messages.ts";
import { selectPending } from "../calls/pending-calls.ts";
import type { Runtime } from "../runtime.ts";

type ProcessHandlers = Handlers<MessagesToProcess, [frame: Frame]>;

/** Why a value does not come, as REF_VALUE says. */
const WHY_LOST = {
  maker: "the process that made it ended before it had the value",
  bytes: "its bytes are lost, and the process that made it has ended or does not know how",
  node: "the node of the process that made it is gone",
};

export class DaemonMessages {
  readonly #runtime: Runtime;
  readonly #handlers: Partial<ProcessHandlers>;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#handlers = {
      ...this.#leaseHandlers(),
      ...this.#referenceHandlers(),
      ...this.#storeHandlers(),
      ...this.#callHandlers(),
      ...this.#sessionHandlers(),
    };
  }

  /** Which call of somebody else it ran says nothing of those of this process. */
  #workerExited({ running, ...exit }: WorkerExitedHeader): void {
    const isOwn = running?.[0] === this.#runtime.options.processId;
    this.#runtime.links.workerExited(exit.workerId);
    this.#runtime.calls.submitter.workerExited(isOwn ? { ...exit, running } : exit);
  }

  receive(frame: Frame): void {
    const header = readHeader(MESSAGES_TO_PROCESS, frame);
    if (!handle(this.#handlers, frame.type, header, frame)) this.#runtime.options.onWorkerMessage?.(frame, header);
  }

  #leaseHandlers(): Partial<ProcessHandlers> {
    const { calls, links } = this.#runtime;
    const { submitter } = calls;
    return {
      [MESSAGE.OUTBOX_REST]: ([worker, outbox, from], { body }) => links.addRest(worker, { outbox, from, bytes: Buffer.from(body) }),
      [MESSAGE.LEASE_GRANT]: (grant) => submitter.granted(grant),
      [MESSAGE.LEASE_REFUSED]: (refusal) => submitter.refused(refusal),
      [MESSAGE.FIRST_CALLS_BACK]: (numbers) => submitter.firstCallsBack(numbers),
      [MESSAGE.RELAYED]: (relayed, frame) => {
        const [, number] = relayed;
        // A caller speaks to the worker of this process.
        if (number < 0) this.#runtime.options.onWorkerMessage?.(frame, relayed);
        else submitter.relayed(number, frame.body);
      },
      [MESSAGE.LEASE_REVOKE]: (name) => submitter.revoked(...name),
      [MESSAGE.LEASE_TAKEN]: (reclaimed) => submitter.taken(...reclaimed),
      [MESSAGE.WORKER_EXITED]: (exit) => this.#workerExited(exit),
      [MESSAGE.NODE_GONE]: (gone) => this.#nodeGone(...gone),
      [MESSAGE.GROUP_STATE]: (state) => calls.groupRemoved(state),
    };
  }

  #referenceHandlers(): Partial<ProcessHandlers> {
    const { objects, options, recovery, links } = this.#runtime;
    const { table, lineage, channel } = objects;
    return {
      [MESSAGE.REF_FREE]: (ids) => {
        for (const id of ids) {
          table.free(id);
          lineage.freedAbroad(id);
        }
      },
      // Somebody holds a ref that this driver owns and asks for its value.
      [MESSAGE.REF_WATCH]: ([id, receiver]) => this.#answerWith(table.lookup(id), id, receiver),
      [MESSAGE.REF_VALUE]: (value, { body }) => this.#valueArrived(value, body),
      [MESSAGE.REF_LOST]: ([id, receiver, location]) => {
        const entry = recovery.reported(id, location);
        // The daemon, as the owner of record, gets each value that is made here at once.
        if (receiver === options.daemonId && entry.sequence !== 0) return;
        // Held meanwhile: where all others have let go of the object, its daemon forgets the value with it.
        const held = { id, owner: receiver, holder: options.processId };
        if (receiver === options.daemonId) channel.hold(held);
        this.#answerWith(entry, id, receiver);
        if (receiver === options.daemonId) channel.release(held, 1);
      },
      [MESSAGE.HELD_ENDED]: (ended, frame) => {
        const [sender, link, asker] = ended;
        // How far calls were read is for the worker to say.
        if (link < 0) this.#runtime.options.onWorkerMessage?.(frame, ended);
        else void links.readOver(sender, link).then((number) => channel.heldRead({ sender, link, number, asker }));
      },
    };
  }

  #storeHandlers(): Partial<ProcessHandlers> {
    const { store, links } = this.#runtime;
    return {
      ...store.handlers,
      [MESSAGE.ARENA_LOST]: (location) => store.abandon(location),
      [MESSAGE.STORE_CLAIM]: ([writer, locations, link]) => {
        const isRead: Promise<unknown> = link === undefined ? links.ended(writer) : links.readOver(writer, link);
        void isRead.then(() => store.writerEnded(locations, link));
      },
    };
  }

  #callHandlers(): Partial<ProcessHandlers> {
    const { cancellation, table, why, actors, calls, daemon, options } = this.#runtime;
    const { ids, jobId } = options;
    return {
      [MESSAGE.ACTOR_STATE]: (state, { body }) => this.#actorState(state, body),
      [MESSAGE.ACTOR_REDIRECT]: ([from, to, owner]) => {
        actors.owners.set(to, owner);
        const client = actors.known(from);
        client?.redirectTo(actors.client(to, client.className, { watch: true }));
      },
      [MESSAGE.CANCEL_REF]: ({ id, force, recursive }) => cancellation.cancelForOther(table.lookup(id), { force, recursive }),
      [MESSAGE.WHY_REF]: (asked, { callId }) => why.answer(callId, asked),
      [MESSAGE.OPEN_CALLS]: (asked, { callId }) => daemon.reply(callId, selectPending({ ids, jobId, calls }, asked)),
    };
  }

  #sessionHandlers(): Partial<ProcessHandlers> {
    const { options, daemon, preemption } = this.#runtime;
    return {
      [MESSAGE.NODE_DRAINING]: (notice) => preemption.told(notice),
      [MESSAGE.LOG]: (entry) => options.onLog(entry),
      [MESSAGE.WARNING]: (text) => options.onWarning(text),
      [MESSAGE.CERTIFICATE]: (identity) => setTlsIdentity(identity),
      [MESSAGE.MESSAGE_REFUSED]: (fault) => daemon.drop(`it refused what this process sent: ${fault}`),
    };
  }

  /** A node is dead: its workers have ended, and values that its processes owed do not come. */
  #nodeGone(nodeId: NodeId, reason: string): void {
    const tag = nodeTagOf(nodeId);
    this.#runtime.objects.store.nodeGone(tag);
    this.#runtime.links.nodeGone(tag);
    this.#runtime.calls.submitter.nodeGone(tag, reason);
    for (const entry of this.#runtime.table.ownedBy(tag)) {
      entry.fail(ownerDied(`its node died: ${reason}`, `node ${nodeId} died: ${reason}`));
    }
  }

  #answerWith(entry: ObjectEntry | undefined, id: ObjectId, receiver: ProcessId): void {
    if (entry === undefined) {
      this.#runtime.daemon.send(MESSAGE.REF_VALUE, [id, receiver, undefined]);
      return;
    }
    const answer = (): void => {
      entry.failureSeen = true;
      this.#runtime.objects.channel.answer(id, receiver, this.#runtime.table.payloadFor(entry));
    };
    if (entry.isSettled) answer();
    else entry.addWaiter({ entrySettled: answer });
  }

  #valueArrived([id, header, lost = "maker"]: MessagesToProcess[typeof MESSAGE.REF_VALUE], body: Uint8Array): void {
    if (header !== undefined) {
      this.#runtime.table.receiveValue(id, new PayloadReader(body, { copy: true }).next(header));
      return;
    }
    const entry = this.#runtime.table.lookup(id);
    // Own objects get their values from their calls.
    if (entry?.sequence === 0) entry.fail(ownerDied(WHY_LOST[lost]));
  }

  #actorState(state: ActorStateHeader, body: Uint8Array): void {
    const client = this.#runtime.actors.known(state.actorId);
    if (client === undefined) return;
    if (state.phase === "dead" && state.error !== undefined) {
      const payload = new PayloadReader(body, { copy: true }).next(state.error);
      void this.#runtime.serializer.decode(payload).then(({ value }) => {
        client.constructorError = value;
        client.stateChanged(state);
      });
      return;
    }
    client.stateChanged(state);
  }
}

function ownerDied(why: string, reason: string = why): OwnerDiedError {
  return new OwnerDiedError(`Cannot get an object: ${why}`, {
    reason,
    hint: "Submit the task again, or make the object where it outlives its maker (in the driver or a longer-lived actor).",
  });
}
