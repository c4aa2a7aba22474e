/** Holds docs/options.md to the declarations in `src`; `-u` writes it anew. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { optionsPage } from "./house/options-page.ts";
import { REPOSITORY } from "./house/source-files.ts";

test("docs/options.md says what the declarations say", async () => {
  const page = await optionsPage((file) => readFile(join(REPOSITORY, "src", file), "utf8"));
  await expect(page).toMatchFileSnapshot(join(REPOSITORY, "docs", "options.md"));
});
