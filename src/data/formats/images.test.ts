/** What is said where the package of images is missing. How images are read and written is in `test/integration/data-images.test.ts`. */
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
