/**
 * The shapes of what comes before a connection is open: its first words, the hello of a process or of a node link, the request to join.
 *
 * Versions are compared before anything else is looked at, as another version may have other fields. Whether the ids in them may be there is decided in
 * `runtime/rpc/handshake.ts`, `runtime/rpc/node-link.ts` and `runtime/rpc/join-listener.ts`.
 */
import type { ProcessId } from "../base/ids.ts";
import { owner as anyProcess } from "./header-parts.ts";
import * as shape from "./header-shape.ts";
import type { HelloHeader, JoinHeader, LinkHelloHeader } from "./messages.ts";
import type { OpenHeader, OpenReply } from "./open-messages.ts";

const { count, exactly, fields, leaf, nodeId, number, optional, text, unchecked } = shape;

export const versioned: shape.Shape<{ version: unknown }> = leaf("an object", (value) => typeof value === "object" && value !== null);

export const opening: shape.Shape<OpenHeader> = fields<OpenHeader>({
  version: number,
  token: unchecked(),
  processId: anyProcess,
  nonce: text,
});

export const opened: shape.Shape<OpenReply> = fields<OpenReply>({ nodeId, processId: shape.processId, nonce: text, proof: text });

/** Whoever says hello says who it is. */
export const named: shape.Shape<{ processId: ProcessId }> = fields({ processId: anyProcess });

export const hello: shape.Shape<HelloHeader> = fields<HelloHeader>({
  processId: anyProcess,
  holderId: anyProcess,
  kind: exactly("driver", "worker", "daemon", "head", "transfer"),
  pid: number,
  address: text,
  remoteAddress: optional(text),
  taskIdPrefix: text,
  jobId: shape.jobId,
  leaseId: optional(number),
  link: optional(number),
});

export const linkHello: shape.Shape<LinkHelloHeader> = fields<LinkHelloHeader>({
  nodeId,
  processId: anyProcess,
  kind: exactly("daemon", "head"),
  term: optional(number),
  incarnation: text,
  to: optional(nodeId),
  peerIncarnation: optional(text),
  delivered: count,
  oldest: count,
});

export const joining: shape.Shape<JoinHeader> = fields<JoinHeader>({ version: number, secret: text, nodeId, publicKey: text });
