/**
 * What it means that the head does not answer a node: that the node is cut off, or that there is no head that could declare it dead.
 *
 * Pure. The witnesses are the head's address (a refusal comes from a machine on which no head listens) and other nodes: one that the head has answered since proves that the
 * head lives and only this node is not heard. Called by `fence-watch.ts`; why each verdict is safe is in decision 0025.
 */
import { ALL_DEAF_FACTOR, ANSWERS_NOBODY_MS, DEAF_PEERS_MIN, SAME_TIME_MS } from "./limits.ts";

/**
 * Another node was asked. It answered with the time since the sending of its last question that the head answered (`silentMs`), which is by `laterMs` later than
 * that of this node; it `refused` connections, as it has ended; or it is not heard of.
 */
export type PeerWord = { kind: "answered"; laterMs: number; silentMs: number } | { kind: "refused" } | { kind: "unheard" };

export interface SilenceWitnesses {
  /** Whether the head's address refuses connections; undefined when nothing is heard from there. */
  readonly refuses: boolean | undefined;
  readonly peers: readonly PeerWord[];
  /** Since the sending of this node's last question that the head answered. */
  readonly silentMs: number;
  /** The same, or less: since it was last known that the head answers this node or nobody. */
  readonly unknownMs: number;
  readonly deadAfterMs: number;
}

/** `ageMs`: how much of the time after which a node fences itself is to be taken for over already. */
type SilenceVerdict = { kind: "cutOff"; reason: string } | { kind: "headless"; ageMs: number };

export function judgeSilence({ refuses, peers, silentMs, unknownMs, deadAfterMs }: SilenceWitnesses): SilenceVerdict {
  const heard = peers.filter((word) => word.kind === "answered");
  if (heard.some(({ laterMs }) => laterMs > SAME_TIME_MS)) {
    // A head that stood still and was killed when it had begun to answer has answered some nodes later than others.
    const hasEnded = refuses === true && heard.every((word) => word.silentMs > ANSWERS_NOBODY_MS);
    if (!hasEnded) return { kind: "cutOff", reason: "the head answers another node" };
    // Were it to live behind something that refuses in its place, it would have begun to count when it last answered this node or nobody.
    const countedMs = Math.max(...heard.map((word) => unknownMs - word.silentMs));
    return { kind: "headless", ageMs: countedMs > 0 ? countedMs + SAME_TIME_MS : 0 };
  }
  // A head that starts there later gives all nodes their time anew.
  if (refuses === true) return { kind: "headless", ageMs: 0 };
  const there = peers.filter(({ kind }) => kind !== "refused");
  const deaf = heard.length;
  // Its machine is reached and the head answers nobody: it stands still, which it takes out of its time. It may have gone on just now, with those who were asked not yet answered.
  if (refuses === false && deaf * 2 >= there.length) return { kind: "headless", ageMs: SAME_TIME_MS };
  if (refuses === false)
    return { kind: "cutOff", reason: "the head does not answer, and most other nodes cannot be asked whether it answers them" };
  const isAllDeaf = deaf === there.length && deaf >= DEAF_PEERS_MIN;
  if (isAllDeaf && silentMs < deadAfterMs * ALL_DEAF_FACTOR) return { kind: "headless", ageMs: SAME_TIME_MS };
  return { kind: "cutOff", reason: "nothing is heard from the head's machine" };
}
