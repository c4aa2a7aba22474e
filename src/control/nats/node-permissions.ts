/**
 * What a node may do in the NATS of its cluster: say what is its own, hear what is said to it and to all, and nothing else.
 *
 * Pure. The tables are not among it: a node that was taken over must not be able to write what the head believes, nor to read other nodes' addresses and names of actors
 * from the stream's interface. Heads have no limits; who has their keys has the cluster.
 */
import type { NatsPermissions } from "../../platform/nats/nats-jwt.ts";
import { BUS_SUBJECT } from "../bus/bus-subjects.ts";
import { busPrefix } from "./nats-subjects.ts";

/** What can stand in a subject as one word without meaning more than itself. */
const SUBJECT_WORD = /^[A-Za-z0-9_-]{1,64}$/;
/** Answers to what a head asked a node over the bus are quick; what takes longer goes over the link. */
const REPLIES_WITHIN_MS = 30_000;

export function nodePermissions(cluster: string, nodeId: string): NatsPermissions {
  checkNodeId(nodeId);
  const prefix = busPrefix(cluster);
  return {
    publish: [prefix + BUS_SUBJECT.heartbeat(nodeId), prefix + BUS_SUBJECT.request(nodeId, ">")],
    subscribe: [prefix + BUS_SUBJECT.commands(nodeId), prefix + BUS_SUBJECT.announcements, `${nodeInbox(nodeId)}.>`],
    repliesWithinMs: REPLIES_WITHIN_MS,
  };
}

/** Where answers to a node's questions arrive: not where all can listen. */
export function nodeInbox(nodeId: string): string {
  checkNodeId(nodeId);
  return `_INBOX.${nodeId}`;
}

function checkNodeId(nodeId: string): void {
  if (SUBJECT_WORD.test(nodeId)) return;
  throw new RangeError(
    `Cannot give a node its rights: its id has 1 to 64 letters, digits, "_" and "-": received ${JSON.stringify(nodeId)}`,
  );
}
