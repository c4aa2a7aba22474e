/**
 * Gets leases from other nodes for demands that this node cannot grant to its own processes. Other nodes are named by their tags, like workers' ids.
 *
 * A pure state machine between the lease manager and the head. After each change the shell passes the overflow (`review`). The machine asks the head for places, sends
 * demands to the named nodes, and takes their outcomes: a grant, a drop, the end of the node. Everything is level-triggered: it asks for the overflow less the leases
 * already sought. So nothing is lost with a question, a node or a head, and an owner returns duplicate leases. Local leases continue without the head. Tasks that are
 * spread, prefer another node, or have their arguments there, are kept from this node until the head has answered. Without room there they are admitted here.
 *
 * Invariant: at most one question for an owner and shape is open; a node that dropped a demand is not asked again at once.
 */
import { type NodeId, nodeTagOf, type NodeTag, type ProcessId } from "../../../base/ids.ts";
import { isFallbackNode } from "../../../scheduling/fallbacks.ts";
import type { Labels } from "../../../scheduling/label-selector.ts";
import type { LeaseSpec } from "../../../scheduling/lease-spec.ts";
import { REFUSED_WAIT_MAX_MS, REFUSED_WAIT_MIN_MS } from "../../../scheduling/limits.ts";
import type { RemotePlacement } from "../lease-events.ts";
import type { Refusal } from "../demands/lease-obstacles.ts";
import type { Overflow } from "./lease-overflow.ts";
import { keyOf } from "../demands/demand-table.ts";

/** Numbers of a backlog's tasks that have most of their arguments' bytes on a node. */
export type NearTasks = readonly (readonly [node: NodeTag, tasks: number, bytes: number])[];

interface SpillQuestion {
  readonly number: number;
  readonly owner: ProcessId;
  readonly spec: LeaseSpec;
  readonly count: number;
  /** Whether this node has no room for the demand. */
  readonly isFromFull: boolean;
  readonly argumentBytes: readonly (readonly [node: NodeTag, bytes: number])[] | undefined;
  /** The head answers only when there is something else to say. */
  readonly knows: "wait" | "infeasible" | undefined;
}

export type SpillAnswer =
  | { kind: "nodes"; nodes: readonly ({ nodeId: NodeId; count: number } & RemotePlacement)[] }
  | { kind: "wait" }
  | { kind: "infeasible"; text: string }
  | { kind: "refused"; refusal: Refusal };

export type SpillEvent =
  /** An owner's demand, before the lease manager gets it. */
  | { kind: "demand"; owner: ProcessId; spec: LeaseSpec; backlog: number; near: NearTasks; nowMs: number }
  /** The demands without room here, after each change and by the clock. */
  | { kind: "review"; overflows: readonly Overflow[]; nowMs: number }
  | { kind: "answered"; question: number; answer: SpillAnswer; nowMs: number }
  | { kind: "granted"; nodeId: NodeTag; owner: ProcessId; spec: LeaseSpec }
  | { kind: "dropped"; nodeId: NodeTag; owner: ProcessId; spec: LeaseSpec; count: number; nowMs: number }
  /** The other node says that it can never be. */
  | { kind: "refusedElsewhere"; owner: ProcessId; spec: LeaseSpec }
  | { kind: "ownerGone"; owner: ProcessId }
  | { kind: "nodeGone"; nodeId: NodeTag }
  /** A head that may not know what was asked. */
  | { kind: "headUp" };

export type SpillEffect =
  | { kind: "ask"; question: SpillQuestion }
  /** A count of 0 withdraws. */
  | ({ kind: "demand"; nodeId: NodeTag; owner: ProcessId; spec: LeaseSpec; nested: boolean; count: number } & RemotePlacement)
  /** For the lease manager: so many are not for this node. */
  | { kind: "elsewhere"; owner: ProcessId; spec: LeaseSpec; count: number }
  /** For the lease manager: another node granted one. */
  | { kind: "grantedElsewhere"; owner: ProcessId; spec: LeaseSpec }
  /** For the lease manager: this node has granted, or now grants, a demand that the head placed here. */
  | { kind: "settled"; owner: ProcessId; spec: LeaseSpec; placement: number }
  /** For the owner, and the lease manager forgets the demand. */
  | { kind: "refused"; owner: ProcessId; spec: LeaseSpec; refusal: Refusal | undefined }
  | { kind: "infeasible"; owner: ProcessId; spec: LeaseSpec; text: string };

interface Want {
  readonly owner: ProcessId;
  readonly spec: LeaseSpec;
  nested: boolean;
  near: NearTasks;
  /** Not yet: the head had no room where the arguments are. */
  nearAgainMs: number;
  /** Number of spread or near tasks that the head assigned to this node after all. */
  allowedHere: number;
  /** Time since which tasks that the head assigned to this node find no room. */
  stuckSinceMs: number | undefined;
  backlog: number;
  elsewhere: number;
  /** Since when there is an overflow. */
  sinceMs: number | undefined;
  readonly there: Map<NodeTag, number>;
  question: { number: number; count: number; askedMs: number; knows: SpillQuestion["knows"] } | undefined;
  knows: SpillQuestion["knows"];
  hasWarned: boolean;
  backOffMs: number;
  notBeforeMs: number;
  /** When it is to be asked for, where only that is missing. */
  askAtMs: number | undefined;
}

/** Small bursts of short tasks end on this node before another could have begun. */
const SPILL_AFTER_MS = 5;
/** A question without an answer is asked again: its head may have been replaced. */
const ASK_AGAIN_MS = 15_000;
const NEAR_AGAIN_MS = 1000;
/** How long tasks that are apart wait for this node when the head had thought it free. */
const STUCK_MS = 100;

export class Spillback {
  readonly #nodeId: NodeId;
  readonly #labels: Labels;
  readonly #wants = new Map<string, Want>();
  #nextQuestion = 1;
  #effects: SpillEffect[] = [];

  constructor(nodeId: NodeId, labels: Labels = {}) {
    this.#nodeId = nodeId;
    this.#labels = labels;
  }

  handle(event: SpillEvent): SpillEffect[] {
    this.#effects = [];
    this.#apply(event);
    return this.#effects;
  }

  /** When `review` should come next, if not for another reason; undefined when nothing is waited for by the clock. */
  get wakeAtMs(): number | undefined {
    let wake: number | undefined;
    for (const { askAtMs } of this.#wants.values()) if (askAtMs !== undefined) wake = Math.min(wake ?? askAtMs, askAtMs);
    return wake;
  }

  /** How many of a demand the lease manager may not grant. */
  elsewhereOf(owner: ProcessId, spec: LeaseSpec): number {
    return this.#wants.get(keyOf(owner, spec))?.elsewhere ?? 0;
  }

  #apply(event: SpillEvent): void {
    switch (event.kind) {
      case "demand":
        this.#demand(event);
        return;
      case "review":
        this.#review(event.overflows, event.nowMs);
        return;
      case "answered":
        this.#answered(event);
        return;
      case "granted": {
        const { owner, spec, nodeId } = event;
        const want = this.#wants.get(keyOf(owner, spec));
        if (want !== undefined) {
          this.#lessThere(want, nodeId, 1);
          want.backlog = Math.max(0, want.backlog - 1);
          want.backOffMs = 0;
        }
        this.#effects.push({ kind: "grantedElsewhere", owner, spec });
        return;
      }
      case "dropped": {
        const want = this.#wants.get(keyOf(event.owner, event.spec));
        if (want === undefined) return;
        this.#lessThere(want, event.nodeId, event.count);
        this.#backOff(want, event.nowMs);
        this.#letInFromNear(want, event.nowMs);
        return;
      }
      case "refusedElsewhere":
        this.#refused(event.owner, event.spec, undefined);
        return;
      case "ownerGone":
        for (const want of Array.from(this.#wants.values())) if (want.owner === event.owner) this.#end(want);
        return;
      case "nodeGone":
        for (const want of this.#wants.values()) want.there.delete(event.nodeId);
        return;
      case "headUp":
        for (const want of this.#wants.values()) want.question = undefined;
        return;
    }
  }

  #demand({ owner, spec, backlog, near, nowMs }: Extract<SpillEvent, { kind: "demand" }>): void {
    const isPlain = !this.#isApart(spec) && near.length === 0;
    const key = keyOf(owner, spec);
    if (isPlain && !this.#wants.has(key)) return;
    if (backlog === 0) {
      const want = this.#wants.get(key);
      if (want !== undefined) this.#end(want);
      return;
    }
    const want = this.#want(owner, spec);
    want.near = near.filter(([node]) => node !== nodeTagOf(this.#nodeId));
    want.backlog = backlog;
    this.#keepFromHere(want, nowMs);
  }

  /** Tells whether only the head may assign a spec to this node, because it is spread or prefers another. A spec that needs another node is hopeless here. */
  #isApart(spec: LeaseSpec): boolean {
    const { spread, node } = spec;
    return spread === true || (node?.soft === true && node.id !== this.#nodeId) || isFallbackNode(spec, this.#labels);
  }

  #want(owner: ProcessId, spec: LeaseSpec): Want {
    const key = keyOf(owner, spec);
    let want = this.#wants.get(key);
    if (want === undefined) {
      want = {
        owner,
        spec,
        nested: false,
        near: [],
        nearAgainMs: 0,
        allowedHere: 0,
        stuckSinceMs: undefined,
        backlog: 0,
        elsewhere: 0,
        sinceMs: undefined,
        there: new Map(),
        question: undefined,
        knows: undefined,
        hasWarned: false,
        backOffMs: 0,
        notBeforeMs: 0,
        askAtMs: undefined,
      };
      this.#wants.set(key, want);
    }
    return want;
  }

  /** How many of the backlog the lease manager may not grant, now that something has changed. */
  #keepFromHere(want: Want, nowMs: number): void {
    const { spec, backlog, near, allowedHere } = want;
    const isApart = this.#isApart(spec);
    const isNearWanted = !isApart && nowMs >= want.nearAgainMs;
    const apart = isApart ? backlog : isNearWanted ? Math.min(backlog, sumOf(near)) : 0;
    want.elsewhere = Math.max(0, apart - allowedHere);
    this.#effects.push({ kind: "elsewhere", owner: want.owner, spec, count: want.elsewhere });
  }

  #letInFromNear(want: Want, nowMs: number): void {
    if (want.near.length === 0 || this.#isApart(want.spec)) return;
    want.nearAgainMs = nowMs + NEAR_AGAIN_MS;
    this.#keepFromHere(want, nowMs);
  }

  #review(overflows: readonly Overflow[], nowMs: number): void {
    const known = new Set<string>();
    for (const overflow of overflows) {
      const { owner, spec, nested, backlog, elsewhere, excess, isHopeless } = overflow;
      known.add(keyOf(owner, spec));
      if (elsewhere + excess === 0 && !this.#wants.has(keyOf(owner, spec))) continue;
      const want = this.#want(owner, spec);
      // Leases granted here no longer count as allowed.
      if (want.allowedHere > 0 && backlog < want.backlog) want.allowedHere = Math.max(0, want.allowedHere - (want.backlog - backlog));
      want.nested = nested;
      want.backlog = backlog;
      want.elsewhere = elsewhere;
      this.#unstick(want, excess, nowMs);
      const count = this.#isApart(spec) ? want.elsewhere : want.elsewhere + excess;
      want.askAtMs = undefined;
      if (count === 0) want.sinceMs = undefined;
      else this.#seek(want, { count, isUrgent: isHopeless || want.elsewhere > 0, nowMs });
    }
    for (const [key, want] of this.#wants) if (!known.has(key)) this.#end(want);
  }

  /** The head had thought this node free for tasks that are apart: now it is to know better. */
  #unstick(want: Want, excess: number, nowMs: number): void {
    if (!this.#isApart(want.spec) || want.allowedHere === 0 || excess === 0) {
      want.stuckSinceMs = undefined;
      return;
    }
    want.stuckSinceMs ??= nowMs;
    if (nowMs - want.stuckSinceMs < STUCK_MS) return;
    want.allowedHere = 0;
    this.#keepFromHere(want, nowMs);
  }

  #seek(want: Want, { count, isUrgent, nowMs }: { count: number; isUrgent: boolean; nowMs: number }): void {
    want.sinceMs ??= nowMs;
    const { question } = want;
    if (question !== undefined && nowMs - question.askedMs >= ASK_AGAIN_MS) want.question = undefined;
    const sought = soughtBy(want);
    const isApart = this.#isApart(want.spec);
    const isForNear = !isApart && want.near.length > 0 && want.elsewhere > sought;
    const missing = (isForNear ? want.elsewhere : count) - sought;
    // A question that waits for room is asked again only for much more.
    const isAsked = want.question !== undefined && (want.question.knows === undefined || missing < 2 * want.question.count);
    if (missing <= 0 || isAsked) return;
    const askAtMs = Math.max(want.notBeforeMs, isUrgent ? 0 : want.sinceMs + SPILL_AFTER_MS);
    if (nowMs < askAtMs) {
      want.askAtMs = askAtMs;
      return;
    }
    const number = this.#nextQuestion;
    this.#nextQuestion += 1;
    want.question = { number, count: missing, askedMs: nowMs, knows: want.knows };
    this.#effects.push({
      kind: "ask",
      question: {
        number,
        owner: want.owner,
        spec: want.spec,
        count: missing,
        isFromFull: !isForNear && (!isApart || want.stuckSinceMs !== undefined),
        argumentBytes: isForNear ? want.near.map(([node, , bytes]) => [node, bytes] as const) : undefined,
        knows: isForNear ? undefined : want.knows,
      },
    });
  }

  #answered({ question, answer, nowMs }: Extract<SpillEvent, { kind: "answered" }>): void {
    const want = Array.from(this.#wants.values()).find((candidate) => candidate.question?.number === question);
    if (want === undefined) return;
    want.question = undefined;
    const { owner, spec, nested } = want;
    switch (answer.kind) {
      case "nodes": {
        want.knows = undefined;
        want.stuckSinceMs = undefined;
        let here = 0;
        const placements: number[] = [];
        for (const { nodeId, count, placement, waitMs } of answer.nodes) {
          if (nodeId === this.#nodeId) {
            here += count;
            placements.push(placement);
            continue;
          }
          const tag = nodeTagOf(nodeId);
          want.there.set(tag, (want.there.get(tag) ?? 0) + count);
          this.#effects.push({ kind: "demand", nodeId: tag, owner, spec, nested, count, placement, waitMs });
        }
        if (here === 0) return;
        if (want.elsewhere > 0) {
          want.allowedHere += here;
          this.#keepFromHere(want, nowMs);
        } else {
          this.#backOff(want, nowMs);
        }
        for (const placement of placements) this.#effects.push({ kind: "settled", owner, spec, placement });
        return;
      }
      case "wait":
        want.knows = "wait";
        this.#letInFromNear(want, nowMs);
        return;
      case "infeasible":
        want.knows = "infeasible";
        this.#letInFromNear(want, nowMs);
        if (want.hasWarned) return;
        want.hasWarned = true;
        this.#effects.push({ kind: "infeasible", owner, spec, text: answer.text });
        return;
      case "refused":
        this.#refused(owner, spec, answer.refusal);
        return;
    }
  }

  #refused(owner: ProcessId, spec: LeaseSpec, refusal: Refusal | undefined): void {
    const want = this.#wants.get(keyOf(owner, spec));
    if (want !== undefined) this.#end(want);
    this.#effects.push({ kind: "refused", owner, spec, refusal });
  }

  #backOff(want: Want, nowMs: number): void {
    want.backOffMs = Math.min(REFUSED_WAIT_MAX_MS, Math.max(REFUSED_WAIT_MIN_MS, want.backOffMs * 2));
    want.notBeforeMs = nowMs + want.backOffMs;
  }

  #lessThere(want: Want, nodeId: NodeTag, count: number): void {
    const left = (want.there.get(nodeId) ?? 0) - count;
    if (left > 0) want.there.set(nodeId, left);
    else want.there.delete(nodeId);
  }

  /** Ends a want, and withdraws demands that other nodes have not granted yet. */
  #end(want: Want): void {
    const { owner, spec, nested, there, question, knows } = want;
    this.#wants.delete(keyOf(owner, spec));
    for (const nodeId of there.keys())
      this.#effects.push({ kind: "demand", nodeId, owner, spec, nested, count: 0, placement: 0, waitMs: undefined });
    if (question?.knows === undefined) return;
    const withdrawal = { number: 0, owner, spec, count: 0, isFromFull: false, argumentBytes: undefined, knows };
    this.#effects.push({ kind: "ask", question: withdrawal });
  }
}

function soughtBy(want: Want): number {
  let count = 0;
  for (const there of want.there.values()) count += there;
  return count;
}

function sumOf(near: NearTasks): number {
  let sum = 0;
  for (const [, tasks] of near) sum += tasks;
  return sum;
}
