/**
 * Parts of the protocol in `fencing-world.ts` that a run can leave out, so that it has to break the invariant, and proofs that its node
 * accepts.
 *
 * A row for each part. A mutant that no seed finds is a part that is not needed, or a model that is too kind.
 */
export type FencingMutation =
  | "none"
  /** A node accepts "nobody answers" without asking the store. */
  | "headlessWithoutStore"
  /** A suspicion counts before it is committed. */
  | "markAtOnce"
  /** A head answers for ever, however long ago it proved that it leads. */
  | "unprovenAnswers"
  /** A new head gives the nodes of the tables no longer than its own. */
  | "noGrace"
  /** Workers wait for their daemon to kill them. */
  | "workersTrustDaemon"
  /** A node never stops its workers while its connections are closed. */
  | "noPause"
  /** Where addresses are the proof: a node does not ask how long ago it was proven that no later head had begun. */
  | "laterHeadsForgotten"
  /** There, too: a head does not say how old its proof is, so that each answer counts as one. */
  | "answersAreProofs"
  /** Where the store may be away: a head counts on with the time in which it could not prove that it leads. */
  | "lapsesForgotten"
  /** There, too: a node takes the store for away at its first look. */
  | "awayAtOnce"
  /** There, too: a node believes refusals of servers that it has never reached. */
  | "unprovenRefuse";

/** How a node knows that no head can have declared it dead: from the store, or, as it is wired where several heads may lead, from the address of the head that it met last. */
export type FencingProof = "store" | "addresses";
