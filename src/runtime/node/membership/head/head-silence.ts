/**
 * Judges a head's silence: either the node is cut off, or no head exists that could declare it dead.
 *
 * Pure. The witnesses are the head's address and other nodes. A refused connection comes from a machine without a listening head. A node with a later answer proves that
 * the head lives and does not hear this node. `fence-watch.ts` calls it; decision 0025 explains why each verdict is safe.
 */
import { ALL_DEAF_FACTOR, ANSWERS_NOBODY_MS, DEAF_PEERS_MIN, SAME_TIME_MS } from "../limits.ts";

/**
 * The answer of another node. `answered`: the time since it sent its last question that the head answered (`silentMs`), and by how much that is later than this node's
 * (`laterMs`). `refused`: the node has ended and refuses connections. `unheard`: no answer.
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
  // The head's machine is reachable and the head answers no node: it stands still, and does not count that time. It may have just continued, before its next answers.
  if (refuses === false && deaf * 2 >= there.length) return { kind: "headless", ageMs: SAME_TIME_MS };
  if (refuses === false)
    return { kind: "cutOff", reason: "the head does not answer, and most other nodes cannot be asked whether it answers them" };
  const isAllDeaf = deaf === there.length && deaf >= DEAF_PEERS_MIN;
  if (isAllDeaf && silentMs < deadAfterMs * ALL_DEAF_FACTOR) return { kind: "headless", ageMs: SAME_TIME_MS };
  return { kind: "cutOff", reason: "nothing is heard from the head's machine" };
}
