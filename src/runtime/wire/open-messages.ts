/**
 * The first words of a connection, with which its ends prove to each other that they are of one session (`runtime/rpc/handshake.ts`).
 *
 * Read by whoever comes, before anything is known of him: both are small and of plain fields.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";

/** The first frame of every connection. It proves nothing and gives nothing away: the caller does not know yet who listens. */
export interface OpenHeader {
  version: number;
  /** Always empty. Version 1 has its token here; where the field is, its listeners answer with their version. */
  token: "";
  processId: ProcessId;
  /** 64 random hex digits, for this connection alone. */
  nonce: string;
}

export interface OpenReply {
  nodeId: NodeId;
  processId: ProcessId;
  nonce: string;
  /** That the listener knows the token; see `runtime/rpc/proof.ts`. The caller's own is the header of the PROOF that follows. */
  proof: string;
}
