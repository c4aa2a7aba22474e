/**
 * Decides which task runs on this worker: one at a time, and by default nothing beside a task that has begun.
 *
 * A task that waits for an unresolved ref is parked, and the worker is reserved for that task. Tasks queued behind it go back to their callers. The
 * slot (the resources of one shape, under which the worker runs) goes back to the daemon until the task may go on. A daemon leases a parked worker
 * only when too many processes are parked. The worker is then shared: further tasks start on the same event loop, its own nested ones too. A parked
 * task goes on there when nothing else runs, before anything new starts. A task that awaits something else for long (a timer, a socket) is overtaken
 * on a shared worker by parked tasks that could go on.
 *
 * Invariants: at most one task is running; nothing runs without a slot; nothing begins on a reserved worker.
 */
import { Fifo } from "../base/collections/fifo.ts";
import type { AcceleratorIds } from "../wire/messages.ts";
import { PARK_AFTER_MS } from "./limits.ts";
import type { TaskContext, WaitParking } from "./tasks/task-context.ts";

export interface Job {
  readonly context: TaskContext;
  readonly shape: string;
  /** Runs the task; calls `executor.finished(context)` when it has ended. */
  run(): void;
  /** Sends a task back to its caller, as it does not run here. */
  decline(): void;
}

/** Under which resources the worker may run from now on. */
interface SlotGrant {
  readonly shape: string;
  /** To the question for it; otherwise somebody leased the parked worker. */
  readonly isAnswer: boolean;
  /** A lease of this shape exists: the slot ends with it. */
  readonly isLeased: boolean;
}

export interface SlotChannel {
  /** Nothing runs here; `left` tasks wait. `isReport`: said as the last lease ended, and not before that was heard of. */
  park(left: number, isReport: boolean): void;
  unpark(shape: string): void;
  /**
   * The worker is idle with its slot and not reserved. Returns whether a nested task of this process runs under the slot now, which saves the
   * way to the daemon.
   */
  runOwn(shape: string): boolean;
  /** Whether calls of this process wait for a lease. */
  hasQueued(): boolean;
  /** The task that runs while others wait in this process; undefined once none does. */
  runsBeside(running: TaskContext | undefined): void;
  /** Shows these accelerators, or none, to the tasks that run from now on. */
  useAccelerators(accelerators: AcceleratorIds | undefined): void;
}

/** A parked task that may go on, with its waits that have ended since: all waits resume together. */
interface Resumable {
  context: TaskContext;
  resumes: (() => void)[];
}

/** A slot for the first task, of any shape. The empty text is the shape of a task without CPUs. */
const ANY_SHAPE = "any";

/** How long a parked task that may go on waits behind one that awaits no ref. Either goes on at once whenever the other waits for a ref or ends. */
const OVERTAKE_AFTER_MS = 100;

export class Executor implements WaitParking {
  readonly #slots: SlotChannel;
  readonly #queue = new Fifo<Job>();
  readonly #resumable = new Fifo<Resumable>();
  readonly #resumableOf = new Map<TaskContext, Resumable>();
  readonly #parked = new Set<TaskContext>();
  #running: TaskContext | undefined;
  #runningShape = "";
  #accelerators: AcceleratorIds | undefined;
  /** The shape under which this worker may run; undefined while the slot is with the daemon. */
  #slot: string | undefined = ANY_SHAPE;
  #slotAsked = false;
  /** The slot came by asking: it is given back when idle, whether anything is parked or not. */
  #slotIsBorrowed = false;
  /** The last lease has ended: the daemon is to learn when nothing runs here. */
  #owesReport = false;
  #stepScheduled = false;
  #parkTimer: NodeJS.Timeout | undefined;
  #declineTimer: NodeJS.Timeout | undefined;
  /** Further tasks begin here while others are parked. */
  #isShared = false;
  /** The daemon has leased this worker while a task was parked here, and has not said yet that processes may be had again. */
  #isCrowded = false;
  /** The last task that was parked. Until it ends, only a shared worker begins another. */
  #holder: TaskContext | undefined;
  #overtakeTimer: NodeJS.Timeout | undefined;
  /** Overtaken: set aside although they wait for no ref. One of them counts as the running one when nothing else does. */
  readonly #overtaken = new Set<TaskContext>();
  readonly #shapes = new Map<TaskContext, string>();
  /** `runsBeside` has named a task. */
  #isNamed = false;

  constructor(slots: SlotChannel) {
    this.#slots = slots;
  }

  get isIdle(): boolean {
    return this.#running === undefined && this.#queue.size === 0 && this.#resumable.size === 0;
  }

  /** Whether other tasks than this one are on their way here. */
  othersHaveBegun(context: TaskContext): boolean {
    if (this.#running !== undefined && this.#running !== context) return true;
    return this.#parked.size > (this.#parked.has(context) ? 1 : 0);
  }

  /** Whether a job could start now, without waiting behind anything. */
  canRunNow(shape: string): boolean {
    return this.isIdle && !this.#isReserved && this.#mayRun(shape);
  }

  /** Whether a parked task has this worker for itself. */
  get #isReserved(): boolean {
    return this.#parked.size > 0 && !this.#isShared;
  }

  /** For jobs run directly after `canRunNow`: marks the task as the running one. */
  begin(context: TaskContext, shape: string): void {
    this.#setRunning(context, shape);
    this.#slot = shape;
  }

  #setRunning(context: TaskContext, shape: string): void {
    this.#running = context;
    this.#runningShape = shape;
    if (this.#parked.size > 0 || this.#isNamed) this.#nameRunning(this.#parked.size > 0 ? context : undefined);
    const { accelerators } = context.place;
    if (accelerators === this.#accelerators) return;
    this.#accelerators = accelerators;
    this.#slots.useAccelerators(accelerators);
  }

  #nameRunning(running: TaskContext | undefined): void {
    this.#isNamed = running !== undefined;
    this.#slots.runsBeside(running);
  }

  enqueue(job: Job): void {
    this.#queue.push(job);
    if (this.#holder !== undefined && !this.#isShared) this.#declineLater();
    if (this.#running === undefined) this.#step();
  }

  /** Nothing more is to begin here. */
  declineQueued(): void {
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) job.decline();
  }

  finished(context: TaskContext): void {
    context.isFinished = true;
    if (context.onFinished !== undefined) for (const callback of context.onFinished) callback();
    this.#parked.delete(context);
    if (this.#overtaken.size > 0) this.#overtaken.delete(context);
    this.#shapes.delete(context);
    if (this.#holder === context) this.#holder = undefined;
    if (this.#parked.size === 0) this.#isShared = this.#isCrowded;
    if (this.#running !== context) return;
    this.#running = undefined;
    if (this.#isNamed) this.#nameRunning(undefined);
    // On a worker that only runs plain tasks there is nothing to decide; the turn of the loop would cost each of them.
    if (this.#queue.size > 0 || this.#resumable.size > 0 || this.#parked.size > 0 || this.#slotIsBorrowed || this.#owesReport)
      this.#scheduleStep();
  }

  /** The running task begins to wait for a ref. */
  waitBegins(context: TaskContext): void {
    context.waits += 1;
    this.#scheduleStep();
  }

  /** Lets other tasks run while an abandoned task awaits anything: a task without a reader must not hold up the queue. */
  letGo(context: TaskContext): void {
    this.#overtaken.delete(context);
    if (this.#running !== context) return;
    this.#setAside(context);
    if (this.#holder === context) this.#holder = undefined;
    this.#isShared = true;
    this.#scheduleStep();
  }

  /** A ref that `context` waits for has settled: `resume` is called when the task may go on. */
  waitEnds(context: TaskContext, resume: () => void): void {
    context.waits -= 1;
    if (!this.#parked.has(context)) {
      resume();
      return;
    }
    const known = this.#resumableOf.get(context);
    if (known !== undefined) {
      known.resumes.push(resume);
      return;
    }
    const resumable = { context, resumes: [resume] };
    this.#resumableOf.set(context, resumable);
    this.#resumable.push(resumable);
    this.#scheduleStep();
  }

  /** The daemon gave the slot back, or leased the parked worker to somebody (then a job is on its way). */
  slotGranted({ shape, isAnswer, isLeased }: SlotGrant): void {
    // The grant crossed with this worker's question, which gives the slot back and gets its own answer.
    if (this.#slotAsked && !isAnswer) return;
    this.#slotAsked = false;
    this.#owesReport = false;
    this.#slotIsBorrowed = !isLeased;
    this.#slot = shape;
    if (!isAnswer && this.#parked.size > 0) {
      this.#isShared = true;
      this.#isCrowded = true;
    }
    this.#step();
    if (isAnswer) this.#parkIfIdle();
  }

  /** Processes may be had again: a task that waits from now on has this one for itself. */
  keepApart(): void {
    this.#isCrowded = false;
    if (this.#parked.size === 0) this.#isShared = false;
  }

  /** The submitter knows now whether a nested task may run here. */
  wake(): void {
    this.#scheduleStep();
  }

  /** A lease on this worker ended, so perhaps no further task comes. After the last lease the daemon waits for the report of the tasks that are left here. */
  leaseEnded({ isLast }: { isLast: boolean }): void {
    if (isLast) this.#owesReport = true;
    // In a later turn: the daemon knows the tasks that were submitted here by then.
    this.#scheduleStep();
  }

  #mayRun(shape: string): boolean {
    // Before the first job the slot has the shape of the first task. After that the daemon may hold another slot, of another lease.
    return this.#slot === shape || this.#slot === ANY_SHAPE;
  }

  #scheduleStep(): void {
    if (this.#stepScheduled) return;
    this.#stepScheduled = true;
    // After the microtasks: the synchronous part of the task, and awaits that settle at once, are over by then.
    setImmediate(() => {
      this.#stepScheduled = false;
      this.#step();
    });
  }

  #step(): void {
    const running = this.#running;
    if (running !== undefined) {
      if (running.waits === 0) {
        if (this.#resumable.size > 0) this.#overtakeLater(running);
        return;
      }
      this.#setAside(running);
    }
    while (this.#running === undefined) {
      const resumable = this.#resumable.peek();
      if (resumable !== undefined) {
        const { context, resumes } = resumable;
        const shape = this.#shapes.get(context) ?? "";
        if (!context.isFinished && (this.#isSlotInUse(shape) || !this.#takeSlot(shape))) return;
        this.#resumable.shift();
        this.#resumableOf.delete(context);
        if (context.isFinished) {
          for (const resume of resumes) resume();
          continue;
        }
        this.#parked.delete(context);
        if (this.#overtaken.size > 0) this.#overtaken.delete(context);
        if (context.sharedSinceMs !== undefined) leaveOutWait(context, context.sharedSinceMs);
        this.#setRunning(context, shape);
        for (const resume of resumes) resume();
        // The task may wait for further refs already, as in Promise.all, so this looks again after the microtasks.
        this.#scheduleStep();
        return;
      }
      const job = this.#queue.peek();
      if (job === undefined) {
        if (this.#overtaken.size === 0 || !this.#returnToOvertaken()) this.#parkIfIdle();
        return;
      }
      if (job.context.isFinished) {
        // The job was abandoned while it was queued, and answered. Only its arguments are left to be released.
        this.#queue.shift();
        job.run();
        continue;
      }
      if (this.#isReserved) {
        this.#parkIfIdle();
        return;
      }
      if (this.#isSlotInUse(job.shape) || !this.#takeSlot(job.shape)) return;
      this.#queue.shift();
      this.#setRunning(job.context, job.shape);
      job.run();
    }
  }

  /** The timer fires only while no code runs: the running task then awaits something that is no ref. */
  #overtakeLater(running: TaskContext): void {
    if (this.#overtakeTimer !== undefined) return;
    this.#overtakeTimer = setTimeout(() => {
      this.#overtakeTimer = undefined;
      const next = this.#resumable.peek();
      if (next === undefined || this.#running === undefined) return;
      // The worker holds the resources of one shape, and other shapes have other resources.
      const fits = this.#shapes.get(next.context) === this.#runningShape;
      if (this.#running === running && running.waits === 0 && fits) {
        this.#overtaken.add(running);
        this.#setAside(running);
      }
      this.#step();
    }, OVERTAKE_AFTER_MS);
  }

  /** A task of another shape waits behind an overtaken one that waits for no ref: that one would go on without the slot. It is the running one again. */
  #isSlotInUse(shape: string): boolean {
    if (this.#overtaken.size === 0 || this.#mayRun(shape) || !this.#returnToOvertaken()) return false;
    // A step decides when it is overtaken again.
    this.#scheduleStep();
    return true;
  }

  /** @returns whether one of them is the running one again */
  #returnToOvertaken(): boolean {
    for (const context of this.#overtaken) {
      this.#overtaken.delete(context);
      const shape = this.#shapes.get(context) ?? "";
      if (context.waits > 0 || !this.#mayRun(shape)) continue;
      this.#parked.delete(context);
      this.#slot = shape;
      this.#setRunning(context, shape);
      return true;
    }
    return false;
  }

  #setAside(running: TaskContext): void {
    this.#parked.add(running);
    this.#shapes.set(running, this.#runningShape);
    this.#running = undefined;
    if (this.#isNamed) this.#nameRunning(undefined);
    if (this.#isShared) running.sharedSinceMs = performance.now();
    else {
      this.#holder = running;
      if (this.#queue.size > 0) this.#declineLater();
    }
    running.onParked?.();
    running.onParked = undefined;
  }

  /** After a moment, as the lease by which the daemon shares this worker may be on its way with the job, and a short wait may be over. */
  #declineLater(): void {
    if (this.#declineTimer !== undefined) return;
    this.#declineTimer = setTimeout(() => {
      this.#declineTimer = undefined;
      if (this.#holder !== undefined && !this.#isShared) this.declineQueued();
    }, PARK_AFTER_MS);
  }

  #takeSlot(shape: string): boolean {
    if (this.#mayRun(shape)) {
      this.#slot = shape;
      return true;
    }
    if (!this.#slotAsked) {
      this.#slotAsked = true;
      this.#slot = undefined;
      this.#slots.unpark(shape);
    }
    return false;
  }

  #parkIfIdle(): void {
    if (!this.#shouldPark()) return;
    // After the last lease the daemon may hold another shape than the slot says, of a lease that brought no task here. So own tasks wait for a lease.
    if (this.#owesReport) {
      this.#park();
      return;
    }
    if (this.#isReserved) {
      // The children run elsewhere, and may need this CPU.
      if (this.#slots.hasQueued()) {
        this.#park();
        return;
      }
    } else if (this.#slot !== undefined && this.#slot !== ANY_SHAPE && this.#slots.runOwn(this.#slot)) return;
    if (this.#parkTimer !== undefined) return;
    this.#parkTimer = setTimeout(() => {
      this.#parkTimer = undefined;
      if (this.#shouldPark()) this.#park();
    }, PARK_AFTER_MS);
  }

  #park(): void {
    if (this.#isReserved) this.declineQueued();
    if (this.#parked.size <= 1 && !this.#isCrowded) {
      this.#isShared = false;
      this.#holder = this.#parked.values().next().value;
    }
    // Without a lease and without tasks the worker is as at its start: the daemon holds the resources for the next lease.
    this.#slot = this.#owesReport && this.#parked.size === 0 ? ANY_SHAPE : undefined;
    this.#slotIsBorrowed = false;
    const isReport = this.#owesReport;
    this.#owesReport = false;
    this.#slots.park(this.#parked.size, isReport);
  }

  #shouldPark(): boolean {
    // A task that has asked for the slot is about to run.
    if (this.#running !== undefined || this.#resumable.size > 0 || this.#slotAsked) return false;
    if (this.#queue.size > 0 && !this.#isReserved) return false;
    return this.#owesReport || (this.#slot !== undefined && (this.#parked.size > 0 || this.#slotIsBorrowed));
  }
}

/** A task that waits on a shared worker keeps no other from beginning there, so its caller may send more ahead. */
function leaveOutWait(context: TaskContext, sinceMs: number): void {
  context.sharedSinceMs = undefined;
  if (context.startedMs !== undefined) context.startedMs += performance.now() - sinceMs;
}
