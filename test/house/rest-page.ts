/**
 * Writes docs/rest.md from the table of routes of the HTTP server.
 *
 * The handlers are never called, so the table is made without a cluster. Called by `test/rest-page.test.ts`.
 */
import { routeTable } from "../../src/ops/http/routes/route-table.ts";
import type { Route } from "../../src/ops/http/router.ts";

const HEAD = `# The HTTP interface

<!-- Made from the table of routes by test/rest-page.test.ts; \`-u\` writes it anew. -->

The server beside the head answers these routes ([cluster.md](cluster.md) has its start and its tokens). Paths and
JSON are those of Ray 2.60 where Ray has them.

| role | who may call |
|---|---|
| free | everybody |
| view | callers with any token of the cluster |
| admin | callers with the cluster's token, or one of the role admin |

A wrong request is a 400 whose text says what is wrong. Without a token the answer is 401, with a wrong one 403. Other answers are
404 and 405, 413 for a large body, 429 and 503 for too many requests at once, and 503 while the head is away.

| route | role | |
|---|---|---|
`;

export function restPage(): string {
  const nobody = {} as never;
  const routes = routeTable({
    codes: nobody,
    session: nobody,
    link: nobody,
    clusterName: "",
    reader: nobody,
    logs: nobody,
    inspector: nobody,
    metrics: nobody,
    series: nobody,
    overview: nobody,
    jobs: nobody,
    packages: nobody,
    page: nobody,
  });
  const rows = routes.map(({ method, path, role, summary }) => `| \`${method} ${path}\` | ${role} | ${summary} |`);
  return `${HEAD}${rows.join("\n")}\n${detailsOf(routes)}`;
}

/** Routes with equal parameters and answers are one section. */
function detailsOf(routes: readonly Route[]): string {
  const groups = Map.groupBy(routes, ({ query, body, answers }) => JSON.stringify([query, body, answers]));
  const sections = Array.from(groups.values(), (group) => {
    const [{ query = {}, body, answers } = {} as Route] = group;
    const parameters = Object.entries(query).map(([name, text]) => `| \`${name}\` | ${text} |`);
    return [
      "",
      `## ${group.map(({ method, path }) => `${method} ${path}`).join(", ")}`,
      "",
      ...(parameters.length === 0 ? [] : ["| parameter | |", "|---|---|", ...parameters, ""]),
      ...(body === undefined ? [] : [`Body: ${wrapped(body)}`, ""]),
      `Answer: ${wrapped(answers)}`,
      "",
    ].join("\n");
  });
  return sections.join("");
}

const LINE_MAX = 118;

function wrapped(text: string): string {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) as string;
    if (last.length + word.length > LINE_MAX - 10) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.join("\n");
}
