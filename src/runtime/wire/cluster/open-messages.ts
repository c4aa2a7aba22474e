/**
 * The first words of a connection, with which its ends prove to each other that they are of one session (`runtime/rpc/handshake.ts`).
 *
 * The listener reads them before it knows the caller, so all are small and of plain fields. Versions are compared before anything else is
 * read, as another version may have other fields.
 */
import { fields, leaf, nodeId, number, type Of, processId, text, unchecked } from "../header-shape.ts";
import { anyProcess } from "../messages.ts";

export const versioned = leaf<{ version: unknown }>("an object", (value) => typeof value === "object" && value !== null);

/** The first frame of every connection. It proves nothing and reveals nothing: the caller does not know the listener yet. */
export const opening = fields({
  version: number,
  /** Always empty. Version 1 has its token here; where the field is, its listeners answer with their version. */
  token: unchecked<"">(),
  processId: anyProcess,
  /** 64 random hex digits, for this connection alone. */
  nonce: text,
});
export type OpenHeader = Of<typeof opening>;

export const opened = fields({
  nodeId,
  processId,
  nonce: text,
  /** Proves that the listener knows the token; see `runtime/rpc/proof.ts`. The caller's proof is the header of the PROOF that follows. */
  proof: text,
});
export type OpenReply = Of<typeof opened>;

/** A hello names its sender. */
export const named = fields({ processId: anyProcess });
