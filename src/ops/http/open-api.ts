/** The OpenAPI document of the server's routes, made from the table that the server matches requests with. */
import type { Route } from "./router.ts";

const ERRORS: Readonly<Record<string, { description: string }>> = {
  "400": { description: "The request is malformed; the text says what is wrong." },
  "401": { description: "A token is needed." },
  "403": { description: "The token, the session, the Host or the Origin is refused." },
};

export function openApiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const methods = (paths[route.path] ??= {});
    methods[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Shoal", version, description: "The HTTP interface of a Shoal cluster." },
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" }, session: { type: "apiKey", in: "cookie", name: "shoal-session" } },
    },
  };
}

function operationOf({ path, role, summary, query = {}, body, answers }: Route): object {
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({ name, in: "path", required: true, schema: { type: "string" } }));
  const inQuery = Object.entries(query).map(([name, description]) => ({ name, in: "query", description, schema: { type: "string" } }));
  return {
    summary,
    security: role === "free" ? [] : [{ token: [] }, { session: [] }],
    "x-role": role,
    parameters: [...inPath, ...inQuery],
    ...(body === undefined ? {} : { requestBody: { description: body, content: { "application/json": {} } } }),
    responses: { "200": { description: answers }, ...(role === "free" ? {} : ERRORS) },
  };
}
