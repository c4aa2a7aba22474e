/**
 * The head's part of jobs: keeps the records of `job-table.ts` and tells nodes what to start and stop.
 *
 * A changed record is kept before an answer leaves or a node is told: the head holds back both until the store has it.
 */
import { answering, type HeadContext, type HeadParts } from "../../runtime/extension/extension.ts";
import { headMessages, type JobRecord, jobRecord } from "./job-messages.ts";
import { type JobEffect, JobTable } from "./job-table.ts";
import { JOB_PAGE_CHARACTERS, JOBS_SWEPT_EVERY_MS } from "./limits.ts";

export function headJobs({ table, tellNode, every, reserve, release }: HeadContext): HeadParts {
  const kept = table("jobs", jobRecord);
  const jobs = new JobTable(
    Array.from(kept.entries(), ([, record]) => record),
    Date.now(),
  );
  const apply = (effects: readonly JobEffect[]): void => {
    for (const effect of effects) {
      if (effect.kind === "keep") kept.set(effect.record.id, effect.record);
      else if (effect.kind === "drop") kept.delete(effect.id);
      else if (effect.kind === "reserve") reserveFor(effect.record);
      else if (effect.kind === "release") release(effect.record.key);
      else {
        const { id, key, node, request } = effect.record;
        if (node !== undefined) tellNode(node, effect.kind, effect.kind === "start" ? { id, key, request } : { id, key });
      }
    }
  };
  const reserveFor = ({ key, request: { reservation } }: JobRecord): void => {
    const node = reservation === undefined ? undefined : reserve(key, reservation);
    if (node !== undefined) apply(jobs.reserved(key, node));
  };
  for (const record of jobs.waiting()) reserveFor(record);
  every(JOBS_SWEPT_EVERY_MS, () => apply(jobs.sweep(Date.now())));
  return {
    messages: answering(headMessages, {
      submit: (submission) => apply(jobs.submit({ ...submission, nowMs: Date.now() })) as undefined,
      get: ({ id }) => jobs.get(id),
      list: ({ after }) => page(jobs, after),
      stop: ({ id }) => {
        const effects = jobs.stop(id, Date.now());
        apply(effects);
        return { stopped: effects.length > 0 };
      },
      remove: ({ id }) => apply(jobs.remove(id)) as undefined,
      report: (report) => apply(jobs.reported(report, Date.now())) as undefined,
      driver: (driver) => apply(jobs.driverJoined(driver)) as undefined,
    }),
    reserved: (key, node) => apply(jobs.reserved(key, node)),
    nodeJoined: (node) => apply(jobs.nodeJoined(node)),
    nodeGone: (node, reason) => apply(jobs.nodeGone(node, reason, Date.now())),
  };
}

/** As many rows as an answer carries. Values of variables leave the head for a node alone. */
function page(jobs: JobTable, after: string | undefined): { rows: JobRecord[]; next?: string } {
  const rows: JobRecord[] = [];
  let characters = 0;
  for (const record of jobs.before(after)) {
    const row = record;
    characters += JSON.stringify(row).length;
    if (rows.length > 0 && characters > JOB_PAGE_CHARACTERS) return { rows, next: (rows.at(-1) as JobRecord).id };
    rows.push(row);
  }
  return { rows };
}
