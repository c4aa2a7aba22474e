/**
 * Seeds that meet a repaired defect, with a description, and the mutant that puts the defect back.
 *
 * Each seed runs twice in every test run. With the code as it is, the run must find nothing. With the mutant, this seed or one of the next
 * must find the defect: a change of programs, faults or messages changes the meaning of a seed. `npm run sim -- --mutant NAME` searches for
 * another.
 */
interface Regression {
  readonly seed: number;
  readonly steps: number;
  /** Parts of the programs; none at first. */
  readonly parts?: "drawn" | readonly string[];
  /** How many machines; one at first. */
  readonly nodes?: number;
  readonly mutant: string;
  readonly found: string;
}

export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 153,
    steps: 40,
    mutant: "noCpusIsAnyShape",
    found: "a slot without CPUs was taken for one of any shape",
  },
  {
    seed: 157,
    steps: 40,
    mutant: "takenFromConnectingOwner",
    found: "a lease was taken back while its owner was still connecting, and its tasks ran all the same",
  },
  {
    seed: 3,
    steps: 40,
    mutant: "handleCountedTwice",
    found: "a failed ref that was handed on and disposed of was never let go of",
  },
  {
    seed: 46,
    steps: 40,
    mutant: "unreadOfRetiredCounted",
    found: "refs in arguments that were under way to a worker when it closed the connection were held for it for ever",
  },
  {
    seed: 7361,
    steps: 20,
    parts: "drawn",
    mutant: "unreadCallsForgotten",
    found: "refs in arguments of a call that a worker never read, as the connection to it had broken, were held for it until it ended",
  },
  {
    seed: 138,
    steps: 40,
    mutant: "waitedIsNotKept",
    found: "a borrowed ref that was disposed of while a task waited for it: the task waited for ever",
  },
  {
    seed: 105,
    steps: 40,
    parts: ["groups", "environments", "memory"],
    mutant: "lastCallFailsUnnoticed",
    found: "an actor whose handle was disposed of before its last call, which failed by its argument, was kept for ever",
  },
  {
    seed: 1283,
    steps: 40,
    nodes: 3,
    mutant: "placedInGoneWorker",
    found: "an actor that was placed in a worker which had just closed its connection was never heard of again",
  },
  {
    seed: 183,
    steps: 40,
    mutant: "storedForgetsItsRefs",
    found: "a large value with refs inside could not be read through a ref once it had been an argument",
  },
  {
    seed: 4,
    steps: 20,
    nodes: 3,
    mutant: "onceIsAbuse",
    found:
      "the word that a lease has tasks which may not run twice was taken for an abuse by the node of the lease's worker, which ended the link",
  },
  {
    seed: 92,
    steps: 20,
    parts: ["groups"],
    nodes: 3,
    mutant: "groupsOfDeadNodeStay",
    found: "placement groups of a driver that died with its node kept their resources on the others",
  },
  {
    seed: 5090,
    steps: 20,
    nodes: 3,
    mutant: "brokenCountsAsTaken",
    found:
      "a worker to which the connection had broken said that it had given up an idle lease, and the caller took what ran there for never begun: it ran twice",
  },
  {
    seed: 3021,
    steps: 40,
    parts: ["scarce"],
    nodes: 3,
    mutant: "lostArgumentsHoldTheLease",
    found: "a task waited for a lost argument with the GPU, memory or custom resource that the task which makes it again needed",
  },
  {
    seed: 1,
    steps: 20,
    mutant: "knownOutlivesItsRef",
    found: "a daemon kept the value that an owner had told when nobody held the ref any more",
  },
  {
    seed: 134,
    steps: 30,
    parts: ["actors"],
    nodes: 3,
    mutant: "aliasesOfDeadNodeStay",
    found: "an actor that getIfExists had found for a driver whose node died then was held for it for ever",
  },
  {
    seed: 3016,
    steps: 40,
    parts: ["retirements"],
    mutant: "revokedLeaseSkipped",
    found: "of two revoked leases whose last answers arrived together one was not given back, and the retiring worker kept the only CPU",
  },
  {
    seed: 2,
    steps: 4,
    parts: ["outbox"],
    mutant: "outboxNotRead",
    found: "what a worker had answered and not sent when it died was lost, and its calls failed",
  },
  {
    seed: 5,
    steps: 6,
    parts: ["outbox"],
    mutant: "outboxReadTwice",
    found: "what a worker had sent just before it died was read again from its outbox, and its holds were counted twice",
  },
  {
    seed: 1,
    steps: 6,
    parts: ["outbox"],
    mutant: "halfWrittenBelieved",
    found: "a frame that a worker was writing when it died was taken for whole",
  },
  {
    seed: 8,
    steps: 6,
    mutant: "firstCallSentTwice",
    found: "a first call that leaves at once was sent once more at the end of the turn, and ran twice",
  },
  {
    seed: 3,
    steps: 6,
    parts: ["outbox"],
    mutant: "exitBeforeLastMessages",
    found:
      "the node heard of a worker's exit before it had read all that the worker wrote, and dropped the holds of an answer that had arrived",
  },
  {
    seed: 2779,
    steps: 20,
    nodes: 3,
    mutant: "discardedWithoutRefs",
    found: "a task waited for a ref while a call with the object itself was dropped unread, and read the object without its refs",
  },
  {
    seed: 1,
    steps: 40,
    mutant: "firstCallHandedOnTwice",
    found: "a call that travelled with the demand for its lease was handed to two workers, and ran twice",
  },
  {
    seed: 56,
    steps: 40,
    mutant: "firstCallNeverGoneBegins",
    found: "a call that had begun on a worker which died was taken for one that had not, and ran again for free",
  },
  {
    seed: 496,
    steps: 40,
    parts: ["groups"],
    mutant: "firstCallLosesLease",
    found:
      "the connection to a worker broke while a first call ran there over the daemon: its lease was returned, and its CPU was given away",
  },
  {
    seed: 1700286,
    steps: 40,
    parts: ["outbox", "retirements"],
    mutant: "retiringBecomesActor",
    found: "a worker became an actor after the interruption of a task, as the task's lease ended before the daemon heard of that",
  },
];
