/**
 * Who says what where on the bus of a cluster.
 *
 * Decides the subjects so that they can be permissions, too (`nats/node-permissions.ts`): whatever a node says has its id as a word of the subject, so its server
 * knows that it was this node, and no message has to be believed about its sender.
 */
export const BUS_SUBJECT = {
  /** Node to heads: its report, at least every second. */
  heartbeat: (nodeId: string): string => `hb.${nodeId}`,
  /** What heads subscribe to for the reports of all nodes. */
  heartbeats: "hb.*",
  /** Node to heads: a question, by its kind. Heads answer `req.*.<kind>`. */
  request: (nodeId: string, kind: string): string => `req.${nodeId}.${kind}`,
  requests: (kind: string): string => `req.*.${kind}`,
  /** Head to one node. */
  command: (nodeId: string, kind: string): string => `node.${nodeId}.${kind}`,
  commands: (nodeId: string): string => `node.${nodeId}.>`,
  /** The leading head to all: its term and where it is reached. */
  leader: "ctl.leader",
  announcements: "ctl.>",
} as const;
