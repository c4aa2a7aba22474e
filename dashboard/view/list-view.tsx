/**
 * A page with one list: choices above, the table, and how old the shown rows are.
 *
 * The server filters and pages, and `polling.ts` reads the rows again. Rows stay while the server does not answer; the error stands above
 * them, and their age grows.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Column, isSortable, type ListPage } from "../model/pages.ts";
import { nextSort, type Place } from "../model/place.ts";
import { type List, readList } from "../model/server.ts";
import { visibleText } from "../model/visible-text.ts";
import { Cell, timeText } from "./cells.tsx";
import { isOldAt, useAge, usePolling } from "./polling.ts";

const TYPED_MS = 300;

interface ListViewProps {
  readonly page: ListPage;
  readonly place: Place;
  /** `isNew`: a step for the browser's back button. */
  readonly go: (place: Place, isNew: boolean) => void;
  readonly onLoginNeeded: (reason: string) => void;
}

interface Shown {
  readonly list: List | undefined;
  readonly readAtMs: number;
}

export function ListView({ page, place, go, onLoginNeeded }: ListViewProps): ComponentChildren {
  const [{ list, readAtMs }, setShown] = useState<Shown>({ list: undefined, readAtMs: performance.now() });
  const read = async (signal: AbortSignal): Promise<void> => {
    const next = await readList(page, place, signal);
    if (!signal.aborted) setShown({ list: next, readAtMs: performance.now() });
  };
  const problem = usePolling(read, [page, place], onLoginNeeded);
  const isOld = isOldAt(useAge(readAtMs));
  return (
    <main class={isOld ? "old" : ""}>
      <header class="choices">
        <h1>{page.title}</h1>
        <Choices page={page} place={place} go={go} />
        <p class="age">{list === undefined ? "" : `${countText(list)} · as of ${timeText(list.asOfMs)}${isOld ? " (old)" : ""}`}</p>
      </header>
      <div role="alert">{problem === "" ? null : <p class="problem">{visibleText(problem, 2_000)}</p>}</div>
      {list?.warnings.map((text) => (
        <p class="warning" key={text}>
          {visibleText(text, 2_000)}
        </p>
      ))}
      {list === undefined ? problem === "" && <p class="empty">Loading…</p> : <Table page={page} list={list} place={place} go={go} />}
      <nav class="pages" aria-label="Pages of rows">
        <button type="button" disabled={place.pageToken === ""} onClick={() => go({ ...place, pageToken: "" }, true)}>
          {place.sort === "" ? "Newest" : "First"}
        </button>
        <button
          type="button"
          disabled={(list?.nextPageToken ?? "") === ""}
          onClick={() => go({ ...place, pageToken: list?.nextPageToken ?? "" }, true)}
        >
          {place.sort === "" ? "Older" : "Next"}
        </button>
      </nav>
    </main>
  );
}

function countText({ rows, matching, total }: List): string {
  const [shown, match, all] = [rows.length, matching, total].map((count) => count.toLocaleString("en"));
  return matching === total ? `${shown} of ${all}` : `${shown} of ${match} that match, of ${all} in all`;
}

function Choices({ page, place, go }: Pick<ListViewProps, "page" | "place" | "go">): ComponentChildren {
  const [typed, setTyped] = useState(place.filter);
  useEffect(() => setTyped(place.filter), [place.filter]);
  useEffect(() => {
    if (typed === place.filter) return undefined;
    const timer = setTimeout(() => go({ ...place, filter: typed, pageToken: "" }, false), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed, place]);
  return (
    <form role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        State
        <select value={place.state} onChange={(event) => go({ ...place, state: event.currentTarget.value, pageToken: "" }, true)}>
          <option value="">all</option>
          {page.states.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label>
        Where
        <select
          value={place.by === "" ? page.filters[0]?.[0] : place.by}
          onChange={(event) => go({ ...place, by: event.currentTarget.value, pageToken: "" }, false)}
        >
          {page.filters.map(([field, title]) => (
            <option key={field} value={field}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label>
        contains
        <input type="search" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
    </form>
  );
}

interface TableProps extends Pick<ListViewProps, "page" | "place" | "go"> {
  readonly list: List;
}

/** A click sorts by the column, a second one the other way round, a third one not any more. */
function ColumnTitle({ column, place, go }: { column: Column } & Pick<ListViewProps, "place" | "go">): ComponentChildren {
  const { title, field } = column;
  if (!isSortable(column)) return <th scope="col">{title}</th>;
  const isUp = place.sort === field;
  const isDown = place.sort === `-${field}`;
  return (
    <th scope="col" aria-sort={isUp ? "ascending" : isDown ? "descending" : "none"}>
      <button type="button" class="sort" onClick={() => go({ ...place, sort: nextSort(place.sort, field), pageToken: "" }, true)}>
        {title}
        <span aria-hidden="true">{isUp ? " ▲" : isDown ? " ▼" : ""}</span>
      </button>
    </th>
  );
}

function Table({ page, list, place, go }: TableProps): ComponentChildren {
  if (list.rows.length === 0) return <p class="empty">{list.total === 0 ? "There is none." : "None matches."}</p>;
  return (
    <div class="table" role="region" aria-label={page.title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {page.columns.map((column) => (
              <ColumnTitle key={column.title} column={column} place={place} go={go} />
            ))}
          </tr>
        </thead>
        <tbody>
          {list.rows.map((row) => (
            <tr key={`${String(row[page.id])} ${String(row["attempt_number"])}`}>
              {page.columns.map((column) => (
                <td key={column.title} data-title={column.title}>
                  <Cell column={column} row={row} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
