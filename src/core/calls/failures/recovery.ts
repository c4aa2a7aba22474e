/**
 * Brings lost objects back: decides which process is asked, which calls run again, and why an object cannot come back.
 *
 * A read that finds an object's bytes gone ends here, in the process of the reader. The owner runs its calls again
 * under the ids that they had, and first the calls that made freed or lost arguments. For an object of another
 * process the reader asks the owner, and all waiters wait until the object has come back. Many
 * readers cause one run, because the entry is pending from the first report on. An object that cannot come back fails for
 * good, with one reason of RECONSTRUCTION_REASON.
 */
import { ObjectReconstructionFailedError } from "../../../runtime/base/errors.ts";
import { isPutId, type ObjectId, type ProcessId } from "../../../runtime/base/ids.ts";
import { isSameLocation, lostObjectOf } from "../../../runtime/objects/lost-object.ts";
import { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import type { WireLocation } from "../../../runtime/wire/messages.ts";
import { ARGUMENTS_LABEL } from "../call-arguments.ts";
import type { CallRecord } from "../call-record.ts";
import type { ProcessObjects } from "../../objects/values/process-objects.ts";

/** Why an object cannot be made again: the `reason` of an ObjectReconstructionFailedError. */
export const RECONSTRUCTION_REASON = {
  PUT: "it was made by put, not by a task",
  RETRIES_DISABLED: "its task must not run again (maxRetries is 0)",
  RETRIES_EXHAUSTED: "its task has used up its maxRetries",
  LINEAGE_EVICTED: "how it was made was forgotten: the lineage of this process exceeds its limit",
  ACTOR_DIED: "the actor that made it is dead",
  ACTOR_RETRIES_DISABLED: "the actor's method must not run again (maxTaskRetries is 0)",
  ARGUMENT_GONE: "an argument of its task is gone, too, and cannot be made again",
  ITEM_NOT_GIVEN: "its generator ended before it when it ran again",
  NOT_OWNED: "the process that made it keeps no record of its task",
} as const;

type Reason = (typeof RECONSTRUCTION_REASON)[keyof typeof RECONSTRUCTION_REASON];

const HINT: Partial<Record<Reason, string>> = {
  [RECONSTRUCTION_REASON.PUT]: "Return the value from a task instead: what a task made can be made again.",
  [RECONSTRUCTION_REASON.RETRIES_DISABLED]: "Set maxRetries on the task if it may run twice.",
  [RECONSTRUCTION_REASON.RETRIES_EXHAUSTED]: "Find out why the objects get lost, or raise maxRetries.",
  [RECONSTRUCTION_REASON.ACTOR_RETRIES_DISABLED]: "Set maxTaskRetries on the actor if its methods may run twice.",
  [RECONSTRUCTION_REASON.ARGUMENT_GONE]: "Keep the refs of arguments that no task has made for as long as the result is needed.",
};

const ACTOR_INDEX = "ffffffff";

interface RecoveryOptions {
  processId: ProcessId;
  objects: Pick<ProcessObjects, "table" | "lineage"> & {
    readonly store: Pick<ProcessObjects["store"], "canRead" | "lost">;
    readonly channel: Pick<ProcessObjects["channel"], "lost">;
  };
  isActorDead: (record: CallRecord) => boolean;
  rerun: (record: CallRecord) => void;
}

export class Recovery {
  readonly #options: RecoveryOptions;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /**
   * Handles the error of a read. @returns the entry to wait for before the read is tried again; undefined when the
   * error is about something else
   */
  begin(error: unknown): ObjectEntry | undefined {
    const lost = lostObjectOf(error);
    if (lost === undefined) return undefined;
    // The files of an ended session are gone with it.
    this.#options.objects.table.requireOfSession(lost.entry);
    this.lost(lost.entry, lost.location, error);
    return lost.entry;
  }

  /**
   * Handles the report that an object of this process is gone from a place. The report comes from another process, or
   * from the daemon. As owner of record the daemon asks once it has no value any more, and names the last place that
   * it was told. When this process has told another place since, the answer is in transit.
   *
   * @returns the entry under which the value comes; a failed entry of no call (sequence 0) when nothing is known of how
   * it was made
   */
  reported(id: ObjectId, location: WireLocation): ObjectEntry {
    const { table, lineage } = this.#options.objects;
    const known = table.lookup(id);
    // When this process had let go of the object, a ref that came back is an entry like those of other processes.
    const made = known === undefined || known.sequence === 0 ? lineage.abroad(id) : known;
    if (made === undefined) return unknown(id);
    if (made.state !== "freed") this.lost(made, location);
    else if (isSameLocation(lineage.locationAbroad(made), location)) this.#remake(made);
    return made;
  }

  /** `cause`: the error of the read, if this process read. */
  lost(entry: ObjectEntry, location: WireLocation, cause?: unknown): void {
    // The loss was reported by another reader, or the object has a new place already.
    if (entry.state !== "ready" && entry.state !== "failed") return;
    if (!isSameLocation(entry.payload?.stored?.location, location)) return;
    if (entry.sequence === 0) this.#askOwner(entry, location);
    else this.#remake(entry, cause);
  }

  #askOwner(entry: ObjectEntry, location: WireLocation): void {
    const { table, channel } = this.#options.objects;
    table.reopen(entry);
    channel.lost(entry.id as ObjectId, entry.owner as ProcessId, location);
  }

  /**
   * Runs the call of a lost or freed object again, and before it the calls of arguments that were freed. One run
   * serves all lost results of the call, such as those that lay on the same dead node. A loop instead of recursion: a
   * chain of calls may be long.
   */
  #remake(first: ObjectEntry, cause?: unknown): void {
    const { rerun, objects } = this.#options;
    const { table } = objects;
    const wanted = [first];
    const calls = new Set<CallRecord>();
    const opened: ObjectEntry[] = [];
    for (let entry = wanted.pop(); entry !== undefined; entry = wanted.pop()) {
      if (entry.state === "pending") continue;
      const call = this.#callFor(entry);
      if (typeof call === "string") {
        this.#open(entry, opened);
        const failure = reconstructionFailed(entry, call, cause);
        // Both were made while somebody reads. Until a stack is text it keeps what its functions were called with, the ref that is read among it: the entry would
        // keep its own ref, and never end.
        void failure.stack;
        if (cause instanceof Error) void cause.stack;
        entry.fail(failure);
        continue;
      }
      for (const result of call.results) if (result === entry || this.#isLost(result)) this.#open(result, opened);
      if (!call.isEnded) {
        // The call runs again already, and gives all lost results.
        for (const result of call.results) if (!result.isSettled) result.maker = call;
        continue;
      }
      // A single run makes all results.
      if (calls.has(call)) continue;
      calls.add(call);
      if (call.retriesLeft > 0) call.retriesLeft -= 1;
      for (const argument of call.pinned) {
        table.pinAgain(argument);
        if (argument.state === "freed" && argument.sequence !== 0) wanted.push(argument);
      }
    }
    for (const call of Array.from(calls).reverse()) rerun(call);
    for (const entry of opened) table.unpin(entry);
  }

  /** Makes the entry wait for a value again, and pins it. */
  #open(entry: ObjectEntry, opened: ObjectEntry[]): void {
    const { processId, objects } = this.#options;
    const { table, lineage, store, channel } = objects;
    opened.push(entry);
    if (entry.state === "freed") {
      lineage.revived(entry);
      table.revive(entry);
      return;
    }
    const location = entry.payload?.stored?.location;
    if (location !== undefined) {
      // The daemon gives up its own objects by itself: it is told, and waits for the new value from here.
      if (entry.owner === undefined || entry.owner === processId) store.lost(location);
      else channel.lost(entry.id as ObjectId, entry.owner, location);
    }
    table.pin(entry);
    table.reopen(entry);
  }

  /**
   * Results that the daemon keeps for others count, too. The daemon then has both values, and decides which of them
   * readers get.
   */
  #isLost(entry: ObjectEntry): boolean {
    const { lineage, store } = this.#options.objects;
    if (entry.state !== "ready" && entry.state !== "freed") return false;
    const location = entry.state === "ready" ? entry.payload?.stored?.location : lineage.locationAbroad(entry);
    return location !== undefined && !store.canRead(location, entry);
  }

  #callFor(entry: ObjectEntry): CallRecord | Reason {
    if (entry.index < 0) return entry.label === ARGUMENTS_LABEL ? RECONSTRUCTION_REASON.ARGUMENT_GONE : RECONSTRUCTION_REASON.PUT;
    const call = this.#options.objects.lineage.callOf(entry);
    if (call === "evicted") return RECONSTRUCTION_REASON.LINEAGE_EVICTED;
    if (call === undefined) return RECONSTRUCTION_REASON.NOT_OWNED;
    if (!call.isEnded) return call;
    if (call.actor !== undefined && this.#options.isActorDead(call)) return RECONSTRUCTION_REASON.ACTOR_DIED;
    if (call.retriesLeft === 0) return noRetryLeft(call);
    return call.pinned.some((argument) => isGone(argument, call)) ? RECONSTRUCTION_REASON.ARGUMENT_GONE : call;
  }
}

/**
 * Whether an argument was freed and no call of this process made it. Actors are no values: a call to a dead one
 * says so itself.
 */
function isGone(argument: ObjectEntry, call: CallRecord): boolean {
  if (argument.state !== "freed") return false;
  if (argument.id !== undefined && argument.id === call.args?.stored?.id) return true;
  return argument.sequence === 0 && argument.id?.endsWith(ACTOR_INDEX) !== true;
}

function noRetryLeft(call: CallRecord): Reason {
  if (call.retry.maxRetries !== 0) return RECONSTRUCTION_REASON.RETRIES_EXHAUSTED;
  return call.actor === undefined ? RECONSTRUCTION_REASON.RETRIES_DISABLED : RECONSTRUCTION_REASON.ACTOR_RETRIES_DISABLED;
}

/** Error of an object that this process made and released, and of which it keeps no record. */
function unknown(id: ObjectId): ObjectEntry {
  const entry = new ObjectEntry(0, 0);
  entry.id = id;
  entry.fail(reconstructionFailed(entry, isPutId(id) ? RECONSTRUCTION_REASON.PUT : RECONSTRUCTION_REASON.NOT_OWNED, undefined));
  return entry;
}

/** Why an item of a stream was not made again although its generator ran again. */
export function notGivenError(item: ObjectEntry): ObjectReconstructionFailedError {
  const reason = RECONSTRUCTION_REASON.ITEM_NOT_GIVEN;
  return new ObjectReconstructionFailedError(
    `Cannot get item ${item.index - 1} of ${item.label}: its bytes are lost, and it cannot be made again: ${reason}`,
    { reason, hint: "Write the generator so that it yields the same items each time, or read its items as values." },
  );
}

function reconstructionFailed(entry: ObjectEntry, reason: Reason, cause: unknown): ObjectReconstructionFailedError {
  const isResult = entry.label !== "" && entry.label !== ARGUMENTS_LABEL;
  const what = isResult ? `the result of ${entry.label}` : entry.label || "an object";
  return new ObjectReconstructionFailedError(`Cannot get ${what}: its bytes are lost, and it cannot be made again: ${reason}`, {
    reason,
    hint: HINT[reason] ?? "Submit the task again.",
    ...(cause === undefined ? {} : { cause }),
  });
}
