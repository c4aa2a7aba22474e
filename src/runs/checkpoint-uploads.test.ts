import { expect, test } from "vitest";
import { CheckpointUploads } from "./checkpoint-uploads.ts";

/** Turns of the loop enough for promises that stand behind each other. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

test("uploads run two at a time and are told in order, whichever ends first", async () => {
  const uploads = new CheckpointUploads();
  const told: string[] = [];
  const began: string[] = [];
  const parts = ["a", "b", "c"].map((name) => ({ name, ...Promise.withResolvers<string>() }));
  const all = (async () => {
    for (const { name, promise } of parts) {
      const { done } = await uploads.begin(() => {
        began.push(name);
        return promise;
      });
      void done.then((value) => told.push(value)).catch(() => told.push("failed"));
    }
  })();
  await turns();
  expect(began).toEqual(["a", "b"]);
  parts[1]?.resolve("b");
  await turns();
  expect([began, told]).toEqual([["a", "b", "c"], []]);
  parts[0]?.reject(new Error("disk"));
  await turns();
  expect(told).toEqual(["failed", "b"]);
  parts[2]?.resolve("c");
  await all;
  await uploads.drain();
  await turns();
  expect(told).toEqual(["failed", "b", "c"]);
});

test("aborting ends those under way, and begins no more", async () => {
  const uploads = new CheckpointUploads();
  const { done } = await uploads.begin(
    (signal) => new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  );
  const reason = new Error("the run ends");
  await uploads.abort(reason);
  await expect(done).rejects.toBe(reason);
  await expect(uploads.begin(() => Promise.resolve())).rejects.toBe(reason);
});
