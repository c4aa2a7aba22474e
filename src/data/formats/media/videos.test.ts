/** Faults of the decoder, by programs that pretend to be ffmpeg, and bad options. What real ffmpeg gives is in `test/systems/data-films.test.ts`. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Block } from "../../blocks/block.ts";
import { readAudio, readVideos } from "../../reading/read.ts";
import { readAudioFile } from "./audio.ts";
import { readVideoFile, type VideoOptions } from "./videos.ts";

const folder = mkdtempSync(join(tmpdir(), "films "));
afterAll(() => rmSync(folder, { recursive: true }));
const film = join(folder, "film.mp4");
writeFileSync(film, "some bytes");

/** A program of the shell in place of ffmpeg. */
function pretended(body: string): string {
  const path = join(folder, "ffmpeg");
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function allOf(blocks: AsyncIterable<Block>): Promise<Block[]> {
  const all: Block[] = [];
  for await (const block of blocks) all.push(block);
  return all;
}

async function blocksOf(options: VideoOptions): Promise<Block[]> {
  return allOf(readVideoFile(film, options));
}

describe("a decoder that fails", () => {
  test("a program that is not installed is named with the command that installs it", async () => {
    await expect(blocksOf({ ffmpegPath: "no-such-ffmpeg" })).rejects.toMatchObject({
      message: 'Films and sound need the program ffmpeg, and "no-such-ffmpeg" cannot be started',
      hint: expect.stringContaining("apt install ffmpeg") as string,
    });
    await expect(allOf(readAudioFile(film, { ffmpegPath: "no-such-ffmpeg" }))).rejects.toThrow("Films and sound need the program");
  });

  test("a frame beyond the limit is refused before memory is taken", async () => {
    const ffmpegPath = pretended("printf 'P6\\n99999 99999\\n255\\nxxxxxxxxxxxxxxxxxx'");
    await expect(blocksOf({ ffmpegPath })).rejects.toThrow(
      "a frame of 99999 x 99999 has 29999400003 bytes, and at most 402653184 are read",
    );
  });

  test.each([
    ["another answer than pictures", "echo Hello from another program, of which nobody has heard", "ffmpeg gave no picture: received "],
    ["its death by a signal, within a frame", "printf 'P6\\n2 2\\n255\\nabc'; kill -9 $$", "ffmpeg was ended by SIGKILL, behind 0 frames"],
    [
      "a message without a bad exit code",
      "printf 'P5\\n2 1\\n255\\nab'; echo '[mov @ 0x1] file is cut' >&2",
      "to its end: ffmpeg says, behind 1 frames: file is cut",
    ],
    ["an exit code without a message", "printf 'P5\\n2 1\\n255\\nab'; exit 3", "behind 1 frames: it ended with code 3"],
    [
      "an option that it does not know",
      "echo \"Unrecognized option 'fps_mode'.\" >&2; exit 1",
      "ffmpeg says: Unrecognized option 'fps_mode'.",
    ],
  ])("%s is an error with the file", async (_, body, cause) => {
    const failure = blocksOf({ ffmpegPath: pretended(body) });
    await expect(failure).rejects.toThrow(`Cannot read ${film}`);
    await expect(failure).rejects.toThrow(cause);
  });

  test("frames without a time are an error, and none is waited for in vain", async () => {
    const ffmpegPath = pretended("printf 'P5\\n2 1\\n255\\nab'");
    await expect(blocksOf({ ffmpegPath, includeTimestamps: true })).rejects.toThrow("ffmpeg said no time of frame 0");
  });

  test("lines that strangers' files could make are cut short", async () => {
    const ffmpegPath = pretended("yes 'a message without an end' | head -c 100000 | tr -d '\\n' >&2; exit 1");
    const error = await blocksOf({ ffmpegPath }).catch((thrown: Error) => thrown);
    expect((error as Error).message.length).toBeLessThan(600);
  });
});

test.each([
  [{ size: [1, 2] }, "it is resize"],
  [{ resize: [0, 10] }, "[height, width] is needed, whole numbers from 1"],
  [{ mode: "CMYK" }, "one of L, RGB is needed"],
  [{ fps: 0 }, "a number above 0, at most 1000, is needed"],
  [{ fps: Number.NaN }, "a number above 0, at most 1000, is needed"],
  [{ startMs: -1 }, "a number from 0 is needed"],
  [{ startMs: 500, endMs: 500 }, "Cannot call readVideos: it takes an endMs behind startMs (500): received 500"],
  [{ damaged: "skip" }, "damaged"],
])("readVideos refuses %j", (options, message) => {
  expect(() => readVideos(film, options as never)).toThrow(message);
});

test("readAudio refuses what cannot be", () => {
  expect(() => readAudio(film, { sampleRate: 0 })).toThrow("sampleRate");
  expect(() => readAudio(film, { channels: 1.5 })).toThrow("channels");
});
