/**
 * The details of one row: all its columns, its output, and the lists that belong to it.
 *
 * Ids lead to the details of what they name. A row that is gone keeps its last values, with their age.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Column, LISTS_OF_ROW, type ListPage, PAGE_OF_ID, WITH_LOG } from "../model/pages.ts";
import { addressOf, firstRowsOf, logPlaceOf, type Place } from "../model/place.ts";
import { type Row, readRow } from "../model/server.ts";
import { visibleText } from "../model/visible-text.ts";
import { Cell, timeText } from "./cells.tsx";
import { ChartsView } from "./charts-view.tsx";
import { InspectPanel, processOf } from "./inspect-panel.tsx";
import { isOldAt, useAge, usePolling } from "./polling.ts";

interface DetailsViewProps {
  readonly page: ListPage;
  readonly place: Place;
  readonly onLoginNeeded: (reason: string) => void;
}

interface Shown {
  readonly row: Row | undefined;
  readonly asOfMs: number;
  readonly readAtMs: number;
}

export function DetailsView({ page, place, onLoginNeeded }: DetailsViewProps): ComponentChildren {
  const [shown, setShown] = useState<Shown>();
  const [isGone, setGone] = useState(false);
  const read = async (signal: AbortSignal): Promise<void> => {
    const { row, asOfMs } = await readRow(page, place.id, signal);
    if (signal.aborted) return;
    setGone(row === undefined);
    setShown((before) => (row === undefined && before?.row !== undefined ? before : { row, asOfMs, readAtMs: performance.now() }));
  };
  const problem = usePolling(read, [page, place.id], onLoginNeeded);
  const isOld = isOldAt(useAge(shown?.readAtMs ?? performance.now()));
  return (
    <main class={isOld ? "old" : ""}>
      <header class="choices">
        <h1>
          {page.single} <code>{visibleText(place.id)}</code>
        </h1>
        <a href={addressOf(firstRowsOf(page.name))}>All {page.title.toLowerCase()}</a>
        <p class="age">{shown === undefined ? "" : `as of ${timeText(shown.asOfMs)}${isOld ? " (old)" : ""}`}</p>
      </header>
      <div role="alert">{problem === "" ? null : <p class="problem">{visibleText(problem, 2_000)}</p>}</div>
      {isGone && <p class="warning">The cluster has no such row, or does not keep it any more.</p>}
      {shown?.row !== undefined && <Facts page={page} row={shown.row} />}
      {page.name === "nodes" && shown?.row?.["state"] === "ALIVE" && <ChartsView nodeId={place.id} onLoginNeeded={onLoginNeeded} />}
    </main>
  );
}

function Facts({ page, row }: { page: ListPage; row: Row }): ComponentChildren {
  const id = String(row[page.id]);
  const process = processOf(page, row);
  return (
    <>
      <dl class="facts">
        {Object.entries(row)
          .filter(([, value]) => value !== null && value !== "")
          .map(([field]) => (
            <div key={field}>
              <dt>{field.replace(/_ms$/, "").replaceAll("_", " ")}</dt>
              <dd>
                <Cell column={columnOf(page, field)} row={row} />
              </dd>
            </div>
          ))}
      </dl>
      {process !== undefined && <InspectPanel process={process} />}
      <ul class="links">
        {WITH_LOG.has(page.id) && (
          <li>
            <a href={addressOf(logPlaceOf(page.id, id))}>Output</a>
          </li>
        )}
        {(LISTS_OF_ROW[page.name] ?? []).map(([title, name, by]) => (
          <li key={title}>
            <a href={addressOf({ ...firstRowsOf(name), by, filter: id })}>{title}</a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** A column as its list shows it, or by its name. */
function columnOf({ columns, id }: ListPage, field: string): Column {
  if (field === id) return { title: field, field, kind: "text" };
  const known = columns.find((column) => column.field === field && !["log", "why", "shortId"].includes(column.kind));
  if (known !== undefined) return known;
  if (PAGE_OF_ID[field] !== undefined) return { title: field, field, kind: "id" };
  if (field.endsWith("_time_ms")) return { title: field, field, kind: "time" };
  if (field === "error_message") return { title: field, field, kind: "lines" };
  return { title: field, field, kind: field.startsWith("resources") ? "resources" : "text" };
}
