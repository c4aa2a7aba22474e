/**
 * What a process makes of the node daemon's messages: each goes to the part of the runtime that it concerns.
 *
 * Answers those who ask for the value of a ref that this process owns, and hands values and actors' states that arrive to whoever waits for them. It keeps nothing
 * itself. The runtime gives it every frame of the daemon's connection; what concerns a worker's own work it passes on.
 */
import { type ActorId, type NodeId, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import { OwnerDiedError } from "../../base/errors.ts";
import type { ObjectEntry } from "../../object/object-entry.ts";
import { PayloadReader } from "../../object/payload.ts";
import { setTlsIdentity, type TlsIdentity } from "../../platform/network/tls-identity.ts";
import type { Frame } from "../../wire/frame.ts";
import { decodeHeader } from "../../wire/header.ts";
import {
  type ActorStateHeader,
  type CancelRefHeader,
  type GroupStateHeader,
  type HeldEndedHeader,
  type LeaseGrantHeader,
  type LeaseNameHeader,
  type LeaseRefusedHeader,
  type LogHeader,
  MESSAGE,
  type PayloadHeader,
  type ReclaimedHeader,
  type WireLocation,
  type WorkerExitedHeader,
} from "../../wire/messages.ts";
import type { WhyRefHeader } from "../../wire/why-messages.ts";
import type { ActorClient } from "../actors/actor-client.ts";
import type { OpenLinks } from "../calls/open-links.ts";
import type { Recovery } from "../calls/recovery.ts";
import type { Runtime } from "../runtime.ts";

export interface DaemonMessagesOptions {
  runtime: Runtime;
  recovery: Recovery;
  links: OpenLinks;
  /** The client of an actor, if this process has one. */
  actor: (id: ActorId) => ActorClient | undefined;
  onWorkerFrame: ((frame: Frame) => void) | undefined;
}

/** Why a value does not come, by what REF_VALUE says of it. */
const WHY_LOST: Readonly<Record<string, string>> = {
  maker: "the process that made it ended before it had the value",
  bytes: "its bytes are lost, and the process that knew how it was made has ended",
  node: "the node of the process that made it is gone",
};

export class DaemonMessages {
  readonly #options: DaemonMessagesOptions;
  readonly #runtime: Runtime;

  constructor(options: DaemonMessagesOptions) {
    this.#options = options;
    this.#runtime = options.runtime;
  }

  /** Which call of somebody else it ran says nothing of those of this process. */
  #workerExited({ running, ...exit }: WorkerExitedHeader): void {
    const isOwn = running?.[0] === this.#runtime.options.processId;
    this.#runtime.submitter.workerExited(isOwn ? { ...exit, running } : exit);
  }

  receive(frame: Frame): void {
    const header = frame.header.length === 0 ? undefined : decodeHeader(frame.header);
    switch (frame.type) {
      case MESSAGE.LEASE_GRANT:
        this.#runtime.submitter.granted(header as LeaseGrantHeader);
        return;
      case MESSAGE.LEASE_REFUSED:
        this.#runtime.submitter.refused(header as LeaseRefusedHeader);
        return;
      case MESSAGE.GROUP_STATE:
        this.#runtime.calls.groupRemoved(header as GroupStateHeader);
        return;
      case MESSAGE.LEASE_REVOKE:
        this.#runtime.submitter.revoked(...(header as LeaseNameHeader));
        return;
      case MESSAGE.LEASE_TAKEN:
        this.#runtime.submitter.taken(...(header as ReclaimedHeader));
        return;
      case MESSAGE.WORKER_EXITED:
        this.#workerExited(header as WorkerExitedHeader);
        return;
      case MESSAGE.NODE_GONE:
        this.#nodeGone(...(header as [NodeId, string]));
        return;
      case MESSAGE.REF_FREE:
        for (const id of header as ObjectId[]) {
          this.#runtime.table.free(id);
          this.#runtime.lineage.freedAbroad(id);
        }
        return;
      case MESSAGE.REF_WATCH:
        this.#answerWatch(header as [ObjectId, ProcessId]);
        return;
      case MESSAGE.REF_VALUE:
        this.#valueArrived(header as [ObjectId, PayloadHeader | undefined, string?], frame.body);
        return;
      case MESSAGE.REF_LOST: {
        const [id, receiver, location] = header as [ObjectId, ProcessId, WireLocation];
        const entry = this.#options.recovery.reported(id, location);
        // The daemon gets the new value without asking: it is its owner of record.
        if (receiver !== this.#runtime.options.daemonId || entry === undefined) this.#answerWith(entry, id, receiver);
        return;
      }
      case MESSAGE.STORE_CLAIM: {
        const [writer, locations, link] = header as [ProcessId, WireLocation[], number?];
        const { links } = this.#options;
        const isRead: Promise<unknown> = link === undefined ? links.ended(writer) : links.readOver(writer, link);
        void isRead.then(() => this.#runtime.store.writerEnded(locations, link));
        return;
      }
      case MESSAGE.HELD_ENDED: {
        const [sender, link, asker] = header as Required<HeldEndedHeader>;
        // How far calls were read is for the worker to say.
        if (link < 0) this.#options.onWorkerFrame?.(frame);
        else
          void this.#options.links.readOver(sender, link).then((number) => this.#runtime.channel.heldRead({ sender, link, number, asker }));
        return;
      }
      case MESSAGE.ARENA_LOST:
        this.#runtime.store.abandon(header as WireLocation);
        return;
      case MESSAGE.ACTOR_STATE:
        this.#actorState(header as ActorStateHeader & { error: PayloadHeader | undefined }, frame.body);
        return;
      case MESSAGE.ACTOR_REDIRECT: {
        const [from, to, owner] = header as [ActorId, ActorId, ProcessId];
        this.#runtime.actorOwners.set(to, owner);
        const client = this.#options.actor(from);
        client?.redirectTo(this.#runtime.actor(to, client.className, { watch: true }));
        return;
      }
      case MESSAGE.CANCEL_REF: {
        const { id, force, recursive } = header as CancelRefHeader;
        this.#runtime.cancellation.cancelForOther(this.#runtime.table.lookup(id), { force, recursive });
        return;
      }
      case MESSAGE.WHY_REF:
        this.#runtime.why.answer(frame.callId, header as WhyRefHeader);
        return;
      case MESSAGE.LOG:
        this.#runtime.options.onLog(header as LogHeader);
        return;
      case MESSAGE.CERTIFICATE:
        setTlsIdentity(header as TlsIdentity);
        return;
      case MESSAGE.MESSAGE_REFUSED:
        this.#runtime.daemon.drop(`it refused what this process sent: ${String(header)}`);
        return;
      case MESSAGE.WARNING:
        this.#runtime.options.onWarning(header as string);
        return;
      default:
        if (!this.#runtime.store.receive(frame.type, header)) this.#options.onWorkerFrame?.(frame);
    }
  }

  /** A node is dead: its workers have ended, and values that its processes owed do not come. */
  #nodeGone(nodeId: NodeId, reason: string): void {
    const tag = nodeTagOf(nodeId);
    this.#runtime.submitter.nodeGone(tag, reason);
    for (const entry of this.#runtime.table.ownedBy(tag)) {
      entry.fail(
        new OwnerDiedError(`Cannot get an object: its node died: ${reason}`, {
          reason: `node ${nodeId} died: ${reason}`,
          hint: "Submit the task again, or make the object where it outlives its maker (in the driver or a longer-lived actor).",
        }),
      );
    }
  }

  /** Somebody holds a ref that this driver owns and asks for its value. */
  #answerWatch([id, receiver]: [ObjectId, ProcessId]): void {
    this.#answerWith(this.#runtime.table.lookup(id), id, receiver);
  }

  #answerWith(entry: ObjectEntry | undefined, id: ObjectId, receiver: ProcessId): void {
    if (entry === undefined) {
      this.#runtime.daemon.send(MESSAGE.REF_VALUE, [id, receiver, undefined]);
      return;
    }
    const answer = (): void => {
      entry.failureSeen = true;
      this.#runtime.channel.answer(id, receiver, this.#runtime.table.payloadFor(entry));
    };
    if (entry.isSettled) answer();
    else entry.addWaiter({ entrySettled: answer });
  }

  #valueArrived([id, header, lost]: [ObjectId, PayloadHeader | undefined, string?], body: Uint8Array): void {
    if (header !== undefined) {
      this.#runtime.table.receiveValue(id, new PayloadReader(body, { copy: true }).next(header));
      return;
    }
    const reason = WHY_LOST[lost ?? "maker"] ?? "it is lost";
    this.#runtime.table.lookup(id)?.fail(
      new OwnerDiedError(`Cannot get an object: ${reason}`, {
        reason,
        hint: "Submit the task again, or make the object where it outlives its maker (in the driver or a longer-lived actor).",
      }),
    );
  }

  #actorState(state: ActorStateHeader & { error: PayloadHeader | undefined }, body: Uint8Array): void {
    const client = this.#options.actor(state.actorId);
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
