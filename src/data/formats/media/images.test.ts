/** The error where the package `sharp` is missing. `test/integration/data-images.test.ts` reads and writes images. */
import { expect, test } from "vitest";
import { loadSharp } from "./images.ts";

test("a missing package is named with the command that installs it", async () => {
  const missing = Object.assign(new Error("Cannot find package 'sharp'"), { code: "ERR_MODULE_NOT_FOUND" });
  await expect(loadSharp(() => Promise.reject(missing))).rejects.toMatchObject({
    message: "Images need the package sharp, which cannot be loaded",
    hint: 'install it: npm install "sharp@>=0.33 <1"',
    cause: missing,
  });
});
