/**
 * Where objects are: which nodes have their bytes, and whether those lie on disk.
 *
 * Decides which daemon to ask. An object's home knows all copies and its own disk; once the home is dead, the owner's node knows the copies. A process asks its own
 * daemon, which asks at most one other per object; a question of another daemon is answered from local state. A node that does not answer counts as one without
 * a copy.
 */
import { nodeTagOf, type NodeTag } from "../../base/ids.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import type { WireLocation } from "../../wire/messages.ts";
import type { CopyKey, ObjectLocateHeader, ObjectPlaceHeader } from "../../wire/objects/transfer-messages.ts";
import { isCopyKey } from "./copy-key.ts";

export interface LocatingNode {
  readonly nodeTag: NodeTag;
  /** Tells whether an object of this node is on disk. */
  readonly isOnDisk: (location: WireLocation) => boolean;
  /** Nodes with a copy, as far as this one knows. */
  readonly copiesOf: (of: CopyKey) => NodeTag[];
  readonly isDead: (node: NodeTag) => boolean;
  /** Asks the daemon of another node. */
  readonly ask: (node: NodeTag, objects: ObjectLocateHeader) => Promise<ObjectPlaceHeader[]>;
}

const UNKNOWN: ObjectPlaceHeader = [[], false];

/** Answers OBJECT_LOCATE of a process of this node, or of another node's daemon. */
export function answerLocate(
  node: LocatingNode,
  objects: ObjectLocateHeader,
  { peer: { id, connection }, callId }: { peer: HeadPeer; callId: number },
): void {
  const isOwn = nodeTagOf(id) === node.nodeTag;
  locateObjects(node, objects, isOwn).then(
    (places) => connection.reply(callId, places),
    (error: Error) => connection.replyError(callId, error),
  );
}

/** @param asksOtherNodes false for what another daemon has asked */
async function locateObjects(node: LocatingNode, objects: ObjectLocateHeader, asksOtherNodes: boolean): Promise<ObjectPlaceHeader[]> {
  const places: ObjectPlaceHeader[] = objects.map(([id, location]) => knownHere(node, [id, location]));
  if (!asksOtherNodes) return places;
  const elsewhere = new Map<NodeTag, number[]>();
  for (const [index, [, location, owner]] of objects.entries()) {
    const home = nodeTagOf(location[0]);
    if (home === node.nodeTag) continue;
    // The home, or the owner's node, which replaces a dead home.
    const asked = node.isDead(home) ? nodeTagOf(owner) : home;
    if (asked === node.nodeTag || node.isDead(asked)) continue;
    const indices = elsewhere.get(asked);
    if (indices === undefined) elsewhere.set(asked, [index]);
    else indices.push(index);
  }
  const answered = Array.from(elsewhere, async ([asked, indices]) => {
    const answer = node.ask(
      asked,
      indices.map((index) => objects[index] as ObjectLocateHeader[0]),
    );
    const found = await answer.catch((): ObjectPlaceHeader[] => []);
    for (const [at, index] of indices.entries()) {
      const [nodes, isOnDisk] = found[at] ?? UNKNOWN;
      const [here] = places[index] ?? UNKNOWN;
      places[index] = [Array.from(new Set([...nodes, ...here])), isOnDisk];
    }
  });
  await Promise.all(answered);
  return places;
}

function knownHere(node: LocatingNode, of: CopyKey): ObjectPlaceHeader {
  if (!isCopyKey(of)) return UNKNOWN;
  const copies = node.copiesOf(of);
  const isHome = nodeTagOf(of[1][0]) === node.nodeTag;
  return isHome ? [[node.nodeTag, ...copies.filter((tag) => tag !== node.nodeTag)], node.isOnDisk(of[1])] : [copies, false];
}
