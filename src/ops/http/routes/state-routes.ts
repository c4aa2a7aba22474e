/**
 * Lists of the cluster's state in the shape of Ray 2.60, so that Ray's state client reads them.
 *
 * Reads the parameters of a query, asks the `StateReader`, and wraps the page. A wrong filter or limit is a 400 that names the parameter.
 * Parameters that are not known are ignored, as Ray's client sends some.
 */
import { type ListAnswer, type ListQuery, RESOURCES, type StateFilter, type StateReader } from "../../state/state-reader.ts";
import type { OverviewReader } from "../../state/overview.ts";
import { timelineTexts } from "../../state/timeline.ts";
import { HttpError, type HttpAnswer, jsonAnswer, rayAnswer } from "../http-answers.ts";
import { CLUSTER_ANSWERS_WITHIN_MS, SHARED_ANSWER_MS, SHARED_ANSWERS_MAX } from "../limits.ts";
import type { Route } from "../router.ts";

const PARAMETERS: Readonly<Record<string, string>> = {
  filter_keys: "A column to filter by; may be given several times.",
  filter_predicates: "For each key: `=`, `!=`, `contains`, `<` or `>`.",
  filter_values: "For each key: the value.",
  limit: "Rows of the page, from 1 to 10,000 (default: 100).",
  timeout: "Seconds in which nodes answer (default: 30).",
  sort_by: "A column to sort by, instead of the newest first.",
  descending: "1 with `sort_by`: largest values first.",
  detail: "1 shows all columns.",
  page_token: "`next_page_token` of the page before.",
};

export function stateRoutes(reader: StateReader, overview: OverviewReader): Route[] {
  const shared = new SharedAnswers();
  const lists = RESOURCES.map(
    (resource): Route => ({
      method: "GET",
      path: `/api/v0/${resource}`,
      role: "view",
      summary: `Lists ${resource.replaceAll("_", " ")}, newest first.`,
      query: PARAMETERS,
      answers:
        "Ray's envelope; `data.result` has `total`, `num_after_truncation`, `num_filtered`, `result` (the rows), `partial_failure_warning`, `warnings`, `next_page_token`, `num_dropped` and `as_of_ms`.",
      isQuery: true,
      handle: ({ query }) => {
        const asked = queryOf(query);
        return shared.get(`${resource} ${JSON.stringify(asked)}`, async () => listAnswer(await reader.list(resource, asked)));
      },
    }),
  );
  const summaries = (["actors", "tasks"] as const).map(
    (resource): Route => ({
      method: "GET",
      path: `/api/v0/${resource}/summarize`,
      role: "view",
      summary: resource === "actors" ? "Counts actors by class and state." : "Counts calls by name and state.",
      answers: "Ray's envelope; the counts are in `data.result.result.node_id_to_summary.cluster`.",
      isQuery: true,
      handle: () => shared.get(`summary ${resource}`, async () => summaryAnswer(resource, await reader.summarize(resource))),
    }),
  );
  const timeline: Route = {
    method: "GET",
    path: "/api/v0/tasks/timeline",
    role: "view",
    summary: "All calls that have begun, as a Chrome trace for Perfetto.",
    query: {
      job_id: "Only calls of this program.",
      since_ms: "Only calls that began later, in milliseconds since 1970.",
      download: "1 names the file.",
    },
    answers: "A JSON array of trace events, which comes in pieces. Metadata events named `warning` say what is missing.",
    isQuery: true,
    handle: ({ query }) => timelineAnswer(reader, query),
  };
  const first: Route = {
    method: "GET",
    path: "/api/shoal/overview",
    role: "view",
    summary: "Nodes with their use, calls and actors by state, what waits, and the newest failures.",
    answers:
      "`nodes`, `nodes_gone`, `tasks` and `actors` (counts by state), `waiting`, `failures`, `longest`, `dead_actors`, `warnings` and `as_of_ms`.",
    isQuery: true,
    handle: () => shared.get("overview", async () => jsonAnswer(await overview.read())),
  };
  return [...lists, ...summaries, timeline, first];
}

function timelineAnswer(reader: StateReader, query: URLSearchParams): HttpAnswer {
  const filters: StateFilter[] = [];
  const job = query.get("job_id");
  if (job !== null && job !== "") filters.push(["job_id", "=", job]);
  const sinceMs = numberOf(query, "since_ms");
  if (sinceMs !== undefined) filters.push(["start_time_ms", ">", sinceMs]);
  const headers = isSet(query, "download") ? { "content-disposition": 'attachment; filename="timeline.json"' } : {};
  return { status: 200, body: timelineTexts(reader.spans({ filters })), type: "application/json; charset=utf-8", headers };
}

function listAnswer({ rows, ...counts }: ListAnswer): HttpAnswer {
  const { total, num_filtered, num_dropped, next_page_token, partial_failure_warning, warnings, as_of_ms } = counts;
  const result = {
    total,
    num_after_truncation: rows.length,
    num_filtered,
    result: rows,
    partial_failure_warning: partial_failure_warning ?? "",
    warnings: warnings.length === 0 ? null : warnings,
    next_page_token,
    num_dropped,
    as_of_ms,
  };
  return rayAnswer({ result });
}

function summaryAnswer(
  resource: "actors" | "tasks",
  { total, rows, warnings, as_of_ms }: Awaited<ReturnType<StateReader["summarize"]>>,
): HttpAnswer {
  const summary = Object.fromEntries(
    rows.map(({ name, type, state_counts }) =>
      resource === "actors"
        ? [name, { class_name: name, state_counts }]
        : // Ray has one entry a name: a method and a function of one name are rare.
          [name, { func_or_class_name: name, type, state_counts }],
    ),
  );
  const ofType = (type: string): number =>
    rows.reduce((sum, row) => sum + (row.type === type ? Object.values(row.state_counts).reduce((all, count) => all + count, 0) : 0), 0);
  const totals =
    resource === "actors"
      ? { total_actors: total, summary_by: "class" }
      : {
          total_tasks: ofType("NORMAL_TASK"),
          total_actor_tasks: ofType("ACTOR_TASK"),
          total_actor_scheduled: 0,
          summary_by: "func_name",
        };
  const cluster = { summary, ...totals };
  const result = {
    total,
    num_after_truncation: rows.length,
    num_filtered: total,
    result: { node_id_to_summary: { cluster } },
    partial_failure_warning: "",
    warnings: warnings.length === 0 ? null : warnings,
    as_of_ms,
  };
  return rayAnswer({ result });
}

/** @throws HttpError 400 with the parameter */
function queryOf(query: URLSearchParams): ListQuery {
  const keys = query.getAll("filter_keys");
  const predicates = query.getAll("filter_predicates");
  const values = query.getAll("filter_values");
  if (keys.length !== predicates.length || keys.length !== values.length)
    throw new HttpError(
      400,
      `Cannot list: filter_keys, filter_predicates and filter_values belong together: received ${keys.length}, ${predicates.length} and ${values.length}`,
    );
  // The reader checks columns and operators.
  const filters = keys.map((key, at) => [key, predicates[at], values[at]] as unknown as StateFilter);
  const seconds = numberOf(query, "timeout");
  if (seconds !== undefined && !(seconds > 0)) throw new HttpError(400, `Cannot list: timeout takes seconds above 0: received ${seconds}`);
  return {
    filters,
    limit: numberOf(query, "limit"),
    timeoutMs: Math.min(CLUSTER_ANSWERS_WITHIN_MS, (seconds ?? Number.POSITIVE_INFINITY) * 1_000),
    sortBy: query.get("sort_by") ?? undefined,
    isDescending: isSet(query, "descending"),
    detail: isSet(query, "detail"),
    pageToken: query.get("page_token") ?? undefined,
  };
}

function isSet(query: URLSearchParams, name: string): boolean {
  return ["1", "true"].includes((query.get(name) ?? "").toLowerCase());
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new HttpError(400, `Cannot list: ${name} takes a number: received ${JSON.stringify(text.slice(0, 100))}`);
}

/** Several viewers of one page ask the cluster once. */
class SharedAnswers {
  readonly #answers = new Map<string, { readonly atMs: number; readonly answer: Promise<HttpAnswer> }>();

  get(key: string, make: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    const nowMs = performance.now();
    const known = this.#answers.get(key);
    if (known !== undefined && nowMs - known.atMs < SHARED_ANSWER_MS) return known.answer;
    if (this.#answers.size >= SHARED_ANSWERS_MAX) this.#answers.clear();
    const answer = make();
    this.#answers.set(key, { atMs: nowMs, answer });
    // Later callers ask again after a failure.
    answer.catch(() => this.#answers.delete(key));
    return answer;
  }
}
