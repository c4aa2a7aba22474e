/**
 * The place of the viewer: the page and the choices on it. All of them stand in the address.
 *
 * So a reload, a link that is sent to somebody and the browser's own buttons show the same list. Pure.
 */

export interface Place {
  /** The name of a page: `nodes`. */
  readonly page: string;
  /** The column that `filter` is for; empty for the page's first. */
  readonly by: string;
  readonly filter: string;
  readonly state: string;
  /** Names the page of rows; empty for the first. */
  readonly pageToken: string;
  /** The node of a log file; empty for any. */
  readonly node: string;
  /** The column that rows are sorted by, with a minus in front for the largest first; empty for the newest first. */
  readonly sort: string;
  /** The row whose details are shown; empty for the list. */
  readonly id: string;
}

export const JOBS_PAGE = "jobs";
export const LOGS_PAGE = "logs";
export const OVERVIEW_PAGE = "overview";
const FIRST_PAGE = OVERVIEW_PAGE;
/** The names of the choices in the address. */
const PARAMETERS = { by: "by", filter: "filter", state: "state", pageToken: "page_token", node: "node", sort: "sort", id: "id" } as const;

export function placeOf({ pathname, search }: { pathname: string; search: string }): Place {
  const query = new URLSearchParams(search);
  const part = (name: string): string => query.get(name) ?? "";
  return {
    page: pathname === "/" ? FIRST_PAGE : pathname.replace(/^\/ui\//, ""),
    by: part(PARAMETERS.by),
    filter: part(PARAMETERS.filter),
    state: part(PARAMETERS.state),
    pageToken: part(PARAMETERS.pageToken),
    node: part(PARAMETERS.node),
    sort: part(PARAMETERS.sort),
    id: part(PARAMETERS.id),
  };
}

export function addressOf({ page, ...choices }: Place): string {
  const query = new URLSearchParams();
  for (const [key, name] of Object.entries(PARAMETERS)) {
    const value = choices[key as keyof typeof PARAMETERS];
    if (value !== "") query.set(name, value);
  }
  return `/ui/${encodeURIComponent(page)}${query.size === 0 ? "" : `?${query}`}`;
}

/** The page on which the output of an actor, a task, a worker, or a file is shown. `by`: its parameter in the routes of logs. */
export function logPlaceOf(by: string, filter: string, node = ""): Place {
  return { ...firstRowsOf(LOGS_PAGE), by, filter, node };
}

export function firstRowsOf(page: string = FIRST_PAGE): Place {
  return { page, by: "", filter: "", state: "", pageToken: "", node: "", sort: "", id: "" };
}

/** The details of one row. */
export function detailsPlaceOf(page: string, id: string): Place {
  return { ...firstRowsOf(page), id };
}

/** The order after a click on a column: ascending, descending, then the newest first again. */
export function nextSort(sort: string, field: string): string {
  if (sort === field) return `-${field}`;
  return sort === `-${field}` ? "" : field;
}
