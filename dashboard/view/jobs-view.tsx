/**
 * The page of jobs: submitted commands, and programs that nobody submitted, with their output and the buttons that end them.
 *
 * A job is stopped, or forgotten once it has ended. The server refuses both to a token that only reads. `polling.ts` reads the list again.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { addressOf, logPlaceOf, type Place } from "../model/place.ts";
import { changeJob, type Job, readJobs } from "../model/server.ts";
import { visibleText } from "../model/visible-text.ts";
import { durationText, Lines, State, Time, timeText } from "./cells.tsx";
import { isOldAt, useAge, usePolling } from "./polling.ts";
import { RowTable } from "./row-table.tsx";

const JOBS_SHOWN_MAX = 500;
const STATES = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"];
const TITLES = ["State", "Job", "Command", "Started", "Took", "Message", "Output", "Do"];

interface JobsViewProps {
  readonly place: Place;
  readonly go: (place: Place, isNew: boolean) => void;
  readonly onLoginNeeded: (reason: string) => void;
}

interface Shown {
  readonly jobs: readonly Job[] | undefined;
  readonly readAtMs: number;
  readonly asOfMs: number;
}

export function JobsView({ place, go, onLoginNeeded }: JobsViewProps): ComponentChildren {
  const [{ jobs, readAtMs, asOfMs }, setShown] = useState<Shown>({ jobs: undefined, readAtMs: performance.now(), asOfMs: 0 });
  const [refusal, setRefusal] = useState("");
  const read = async (signal: AbortSignal): Promise<void> => {
    const asked = Date.now();
    const next = await readJobs(signal);
    if (!signal.aborted) setShown({ jobs: next, readAtMs: performance.now(), asOfMs: asked });
  };
  const problem = usePolling(read, [], onLoginNeeded);
  const change = (id: string, action: "stop" | "delete"): void => {
    setRefusal("");
    changeJob(id, action).then(
      () => {},
      (error: Error) => setRefusal(error.message),
    );
  };
  const isOld = isOldAt(useAge(readAtMs));
  const matching = jobs?.filter((job) => matches(job, place)) ?? [];
  const text = [refusal, problem].find((one) => one !== "");
  return (
    <main class={isOld ? "old" : ""}>
      <header class="choices">
        <h1>Jobs</h1>
        <Choices place={place} go={go} />
        <p class="age">
          {jobs === undefined ? "" : `${matching.length} of ${jobs.length} · as of ${timeText(asOfMs)}${isOld ? " (old)" : ""}`}
        </p>
      </header>
      <div role="alert">{text === undefined ? null : <p class="problem">{visibleText(text, 2_000)}</p>}</div>
      {jobs === undefined ? (
        problem === "" && <p class="empty">Loading…</p>
      ) : (
        <Table jobs={matching.slice(0, JOBS_SHOWN_MAX)} total={jobs.length} change={change} />
      )}
      {matching.length > JOBS_SHOWN_MAX && <p class="warning">The newest {JOBS_SHOWN_MAX} are shown.</p>}
    </main>
  );
}

function matches({ id, entrypoint, status }: Job, { filter, state }: Place): boolean {
  return (state === "" || status === state) && (id.includes(filter) || entrypoint.includes(filter));
}

function Choices({ place, go }: Pick<JobsViewProps, "place" | "go">): ComponentChildren {
  return (
    <form role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        State
        <select value={place.state} onChange={(event) => go({ ...place, state: event.currentTarget.value }, true)}>
          <option value="">all</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {state}
            </option>
          ))}
        </select>
      </label>
      <label>
        Id or command contains
        <input
          type="search"
          spellcheck={false}
          value={place.filter}
          onInput={(event) => go({ ...place, filter: event.currentTarget.value }, false)}
        />
      </label>
    </form>
  );
}

interface TableProps {
  readonly jobs: readonly Job[];
  readonly total: number;
  readonly change: (id: string, action: "stop" | "delete") => void;
}

function Table({ jobs, total, change }: TableProps): ComponentChildren {
  if (jobs.length === 0)
    return <p class="empty">{total === 0 ? "There is none. `shoal job submit -- COMMAND` runs one." : "None matches."}</p>;
  const rows = jobs.map((job) => ({ key: `${job.type} ${job.id}`, cells: cellsOf(job, change) }));
  return <RowTable label="Jobs" titles={TITLES} rows={rows} />;
}

function cellsOf(job: Job, change: TableProps["change"]): ComponentChildren[] {
  const { id, status, entrypoint, startMs, endMs, message } = job;
  const isSubmitted = job.type === "SUBMISSION";
  return [
    <State name={status} />,
    <code>{visibleText(id)}</code>,
    isSubmitted ? <Lines text={entrypoint} /> : <span class="faint">a program that nobody submitted</span>,
    <Time ms={startMs} />,
    <span class="number">{startMs === null ? "" : durationText((endMs ?? Date.now()) - startMs)}</span>,
    message === null ? null : <Lines text={message} />,
    isSubmitted ? <a href={addressOf(logPlaceOf("submission_id", id))}>show</a> : null,
    isSubmitted ? <Action job={job} change={change} /> : null,
  ];
}

function Action({ job: { id, endMs }, change }: { job: Job; change: TableProps["change"] }): ComponentChildren {
  const action = endMs === null ? "stop" : "delete";
  return (
    <button type="button" aria-label={`${action} ${visibleText(id)}`} onClick={() => change(id, action)}>
      {action}
    </button>
  );
}
