/**
 * What it means that the head does not answer a node: that the node is cut off, or that there is no head that could declare it dead.
 *
 * Pure. The witnesses are the head's address (a refusal comes from a machine on which no head listens) and other nodes: one that the head has answered since proves that the
 * head lives and only this node is not heard. Called by `fence-watch.ts`; why each verdict is safe is in decision 0025.
 */

/** Another node was asked: `laterMs`, by how much later than this node it has sent the last question that the head answered; it `refused` connections, as it has ended; or it is not heard of. */
export type PeerWord = { kind: "answered"; laterMs: number } | { kind: "refused" } | { kind: "unheard" };

export interface SilenceWitnesses {
  /** Whether the head's address refuses connections; undefined when nothing is heard from there. */
  readonly refuses: boolean | undefined;
  readonly peers: readonly PeerWord[];
  /** Since the sending of this node's last question that the head answered. */
  readonly silentMs: number;
  readonly deadAfterMs: number;
}

/** `ageMs`: how much of the time after which a node fences itself is to be taken for over already. */
export type SilenceVerdict = { kind: "cutOff"; reason: string } | { kind: "headless"; ageMs: number };

/** Heartbeats are a second apart, and answers take their time. */
const SAME_TIME_MS = 2_000;
/** In `deadAfterMs`: seven tenths of the five for which a head that has lost most of at least three nodes takes none of them for dead. */
const ALL_DEAF_FACTOR = 3.5;
/** With this node the three of which a head notices that it has lost most. */
const DEAF_PEERS_MIN = 2;

export function judgeSilence({ refuses, peers, silentMs, deadAfterMs }: SilenceWitnesses): SilenceVerdict {
  if (peers.some((word) => word.kind === "answered" && word.laterMs > SAME_TIME_MS)) {
    return { kind: "cutOff", reason: "the head answers another node" };
  }
  // A head that starts there later gives all nodes their time anew.
  if (refuses === true) return { kind: "headless", ageMs: 0 };
  const there = peers.filter(({ kind }) => kind !== "refused");
  const deaf = there.filter(({ kind }) => kind === "answered").length;
  // Its machine is reached and the head answers nobody: it stands still, which it takes out of its time. It may have gone on just now, with those who were asked not yet answered.
  if (refuses === false && deaf * 2 >= there.length) return { kind: "headless", ageMs: SAME_TIME_MS };
  if (refuses === false)
    return { kind: "cutOff", reason: "the head does not answer, and most other nodes cannot be asked whether it answers them" };
  const isAllDeaf = deaf === there.length && deaf >= DEAF_PEERS_MIN;
  if (isAllDeaf && silentMs < deadAfterMs * ALL_DEAF_FACTOR) return { kind: "headless", ageMs: SAME_TIME_MS };
  return { kind: "cutOff", reason: "nothing is heard from the head's machine" };
}
