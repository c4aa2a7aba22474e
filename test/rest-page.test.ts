/** Holds docs/rest.md to the table of routes of the HTTP server; `-u` writes it anew. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { restPage } from "./house/rest-page.ts";
import { REPOSITORY } from "./house/source-files.ts";

test("docs/rest.md lists the routes of the table", async () => {
  await expect(restPage()).toMatchFileSnapshot(join(REPOSITORY, "docs", "rest.md"));
});
