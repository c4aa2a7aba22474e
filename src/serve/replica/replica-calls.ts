/** Metadata that handles send with a call, and the error of a replica that cannot begin the call: shared by both ends. */
import { ShoalError } from "../../core/index.ts";
import { registerErrorClass } from "../../core/internal.ts";

/** The facts of a call, as a flat list because every call carries it. Names and values of headers for trace and session may follow. */
export type CallMeta = readonly [method: string, requestId: string, modelId: string, leftMs: number, ...headers: string[]];

/** The replica has as many requests as it may, and has not begun this one: it goes elsewhere, and a call of every replica leaves this one out, which is to end. Users never see it. */
export class ReplicaBusyError extends ShoalError {
  static override readonly code = "REPLICA_BUSY";

  static with(ongoing: number): ReplicaBusyError {
    return new this("The replica is at its limit", { reason: "maxOngoingRequests", details: { ongoing } });
  }

  get ongoing(): number {
    return Number(this.details?.["ongoing"] ?? 0);
  }
}

registerErrorClass(ReplicaBusyError);
