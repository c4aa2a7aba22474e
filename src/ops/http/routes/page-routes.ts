/**
 * Routes of the dashboard's page, which are free: the page holds no data, and asks the other routes for it.
 *
 * A policy lets the browser run and load the page's own files alone, so a name of the cluster never becomes code.
 */
import type { PageFiles } from "../page-files.ts";
import type { Route } from "../router.ts";

const PAGE_POLICY = [
  "default-src 'none'",
  ...["script", "style", "img", "connect"].map((kind) => `${kind}-src 'self'`),
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

export function pageRoutes(files: PageFiles): Route[] {
  const page = (path: string, summary: string): Route => ({
    method: "GET",
    path,
    role: "free",
    summary,
    answers: "The page as HTML, without data.",
    handle: () => ({ status: 200, ...files.html(), headers: { "content-security-policy": PAGE_POLICY } }),
  });
  return [
    page("/", "The dashboard, in a browser."),
    page("/ui/{page}", "A page of the dashboard."),
    {
      method: "GET",
      path: "/assets/{file}",
      role: "free",
      summary: "A file of the dashboard. Its name holds a hash of its content.",
      answers: "The file, which browsers keep for ever.",
      handle: ({ params }) => ({
        status: 200,
        ...files.asset(params["file"] ?? ""),
        headers: { "cache-control": "public, max-age=31536000, immutable" },
      }),
    },
    {
      method: "GET",
      path: "/favicon.ico",
      role: "free",
      summary: "The picture of the dashboard.",
      answers: "A picture.",
      handle: () => ({ status: 200, ...files.icon(), headers: { "cache-control": "public, max-age=86400" } }),
    },
  ];
}
