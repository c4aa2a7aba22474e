/**
 * Films and sound: what `readVideos` and `readAudio` give is what PyAV gives, frame by frame and sample by sample, for files of many formats. Damaged files, files that name others,
 * and options are tried as well. ffmpeg comes from PyPI, installed below `.test-cache/` by the first run.
 */
import { execFileSync } from "node:child_process";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";
import { beforeAll, describe, expect, test } from "vitest";
import { useFolder, useSession } from "../integration/session.ts";
import { installed } from "./installed.ts";

const PACKAGES = ["av==18.1.0", "imageio-ffmpeg==0.8.1", "numpy==2.4.6"];
const PROGRAM = fileURLToPath(new URL("python/decode_film.py", import.meta.url));
const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 256 * 2 ** 20 });

let python = "";
let ffmpegPath = "";
beforeAll(() => {
  const place = installed(PACKAGES.join("-").replaceAll("==", "-"), (target) => [
    ["python3", "-m", "venv", target],
    [join(target, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...PACKAGES],
  ]);
  python = join(place, "bin", "python3");
  ffmpegPath = execFileSync(python, ["-c", "import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())"], { encoding: "utf8" }).trim();
}, 300_000);

/** Makes a file with ffmpeg: 100 frames of 64 x 48, unless the arguments say otherwise. */
function make(name: string, ...args: readonly string[]): string {
  const path = join(folder, name);
  const pattern = args.includes("-i") ? [] : ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=4"];
  execFileSync(ffmpegPath, ["-v", "error", "-y", ...pattern, ...args, path]);
  return path;
}

interface Shown {
  readonly ms: number;
  readonly mean: number;
  readonly width: number;
  readonly height: number;
}

function shownByPyAv(path: string): Shown[] {
  return JSON.parse(execFileSync(python, [PROGRAM, "frames", path], { encoding: "utf8", maxBuffer: 2 ** 28 })) as Shown[];
}

async function shownByShoal(path: string, options: data.ReadVideosOptions = {}): Promise<Shown[]> {
  const rows = await data.readVideos(path, { ffmpegPath, includeTimestamps: true, ...options }).takeAll();
  expect(rows.map(({ frameIndex }) => frameIndex)).toEqual(rows.map((_, i) => i));
  return rows.map(({ frame, timestampMs }) => ({
    ms: timestampMs as number,
    mean: frame.data.reduce((sum, value) => sum + value, 0) / frame.data.length,
    width: frame.shape[1] as number,
    height: frame.shape[0] as number,
  }));
}

function expectSame(ours: readonly Shown[], theirs: readonly Shown[]): void {
  expect(ours.length).toBe(theirs.length);
  for (const [i, { ms, mean, width, height }] of theirs.entries()) {
    const own = ours[i] as Shown;
    expect(Math.abs(own.ms - ms), `time of frame ${i}`).toBeLessThan(0.001);
    // Two programs turn YUV into RGB with roundings of their own.
    expect(Math.abs(own.mean - mean), `mean of frame ${i}`).toBeLessThan(1.5);
    expect([own.width, own.height]).toEqual([width, height]);
  }
}

describe("frames and times are those of PyAV", () => {
  test.each([
    ["H.264 with frames out of order", "a.mp4", ["-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p"]],
    [
      "VP9 at 29.97 frames a second",
      "b.webm",
      ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=30000/1001:duration=2", "-c:v", "libvpx-vp9"],
    ],
    ["MPEG-4 in AVI", "c.avi", ["-c:v", "mpeg4", "-q:v", "2"]],
    ["a transport stream, whose times begin late", "d.ts", ["-c:v", "libx264", "-pix_fmt", "yuv420p"]],
    ["frames of uneven lengths", "e.mkv", ["-vf", "select='not(mod(n\\,7))+not(mod(n\\,3))'", "-fps_mode", "vfr", "-c:v", "libx264"]],
    ["MPEG-2", "f.mpg", ["-c:v", "mpeg2video", "-q:v", "2"]],
    ["MJPEG", "g.mov", ["-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj420p"]],
    ["FLV", "h.flv", ["-c:v", "flv1", "-q:v", "2"]],
  ])("%s", async (_, name, args) => {
    const path = make(name, ...args);
    expectSame(await shownByShoal(path), shownByPyAv(path));
  });

  test("a film with sound and a cover gives its frames", async () => {
    const cover = make("cover.png", "-f", "lavfi", "-i", "color=red:size=32x32", "-frames:v", "1");
    const plain = make("plain.mp4", "-c:v", "libx264", "-pix_fmt", "yuv420p");
    const inputs = ["-i", cover, "-i", plain, "-f", "lavfi", "-i", "sine=duration=4"];
    const path = make(
      "cover.mp4",
      ...inputs,
      ..."-map 0 -map 1:v -map 2 -c:v:0 png -disposition:v:0 attached_pic -c:v:1 copy -c:a aac".split(" "),
    );
    expectSame(await shownByShoal(path), shownByPyAv(plain));
  });
});

describe("options", () => {
  let path = "";
  beforeAll(() => {
    path = make(
      "long.mp4",
      "-f",
      "lavfi",
      "-i",
      "testsrc=size=64x48:rate=25:duration=20",
      "-c:v",
      "libx264",
      "-g",
      "50",
      "-pix_fmt",
      "yuv420p",
    );
  }, 60_000);

  test("resize and mode give frames of one type", async () => {
    const frames = data.readVideos(path, { ffmpegPath, resize: [10, 20], mode: "L", endMs: 400 });
    expect(String(await frames.schema())).toContain("tensor<uint8, 10x20x1>");
    expect((await frames.takeAll()).map(({ frame }) => frame.shape.join("x"))).toEqual(new Array(10).fill("10x20x1"));
  });

  test("startMs and endMs cut out the frames that begin between them", async () => {
    const all = await shownByShoal(path);
    const part = await shownByShoal(path, { startMs: 7400, endMs: 9000 });
    expect(part).toEqual(all.filter(({ ms }) => ms >= 7400 && ms < 9000));
    expect(part).toHaveLength(40);
  });

  test("fps gives so many frames a second", async () => {
    expect((await shownByShoal(path, { fps: 2 })).map(({ ms }) => ms)).toEqual(Array.from({ length: 40 }, (_, i) => i * 500));
  });

  test("keyFramesOnly gives one frame in fifty", async () => {
    const times = (await shownByShoal(path, { keyFramesOnly: true })).map(({ ms }) => ms);
    expect(times).toEqual(Array.from({ length: 10 }, (_, i) => i * 2000));
  });

  test("a consumer that leaves early ends the decoder", async () => {
    const before = decoders();
    expect(await data.readVideos(path, { ffmpegPath, resize: [720, 1280] }).take(3)).toHaveLength(3);
    await expect.poll(decoders, { timeout: 20_000 }).toBe(before);
  });

  test("several films are one dataset, with the path of each", async () => {
    const small = make("k-small.mp4", "-f", "lavfi", "-i", "testsrc=size=32x24:rate=5:duration=2", "-c:v", "libx264");
    const rows = await data.readVideos([small, path], { ffmpegPath, includePaths: true, fps: 5, endMs: 2000 }).takeAll();
    expect(rows.map((row) => `${row.path?.split("/").at(-1)} ${row.frame.shape.join("x")}`)).toEqual([
      ...new Array<string>(10).fill("k-small.mp4 24x32x3"),
      ...new Array<string>(10).fill("long.mp4 48x64x3"),
    ]);
  });

  test("a film behind HTTP is fetched", async () => {
    const server = createServer((_, response) => void createReadStream(path).pipe(response)).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as AddressInfo;
      expect(await shownByShoal(`http://127.0.0.1:${port}/film.mp4`, { fps: 1 })).toEqual(await shownByShoal(path, { fps: 1 }));
    } finally {
      server.close();
    }
  });
});

/** How many programs of the name ffmpeg run. */
function decoders(): number {
  return execFileSync("sh", ["-c", "ps -eo args | grep -c '[f]fmpeg-.*long.mp4' || true"], {
    encoding: "utf8",
  }).trim() as unknown as number;
}

describe("files that are no whole films", () => {
  const failure = (path: string, options: data.ReadVideosOptions = {}): Promise<string> =>
    data
      .readVideos(path, { ffmpegPath, ...options })
      .count()
      .then(
        (count) => `${count} frames`,
        (error: Error) => error.message,
      );

  test.each([
    ["a.mp4", "moov atom not found"],
    ["b.webm", "ended prematurely"],
    ["c.avi", "corrupt input packet"],
    ["f.mpg", "."],
  ])("%s that is cut off is an error with its name", async (name, cause) => {
    const whole = readFileSync(join(folder, name));
    const path = join(folder, `cut ${name}`);
    writeFileSync(path, whole.subarray(0, Math.floor(whole.length * 0.6) + 1));
    expect(await failure(path)).toMatch(new RegExp(`^Cannot read ${path}.*ffmpeg says.*${cause}`));
  });

  test("the frames of a damaged file are kept where that is asked for", async () => {
    expect(await failure(join(folder, "cut c.avi"), { damaged: "keep" })).toMatch(/^[4-9]\d frames$/);
  });

  test.each([
    ["a text", "hello"],
    ["nothing", ""],
    ["a playlist that names another file", `#EXTM3U\n#EXTINF:4,\nd.ts\n#EXT-X-ENDLIST\n`],
    ["a list of files to join", "ffconcat version 1.0\nfile d.ts\n"],
  ])("%s is an error with its name", async (_, text) => {
    for (const name of ["stranger.mp4", "stranger.m3u8"]) {
      const path = join(folder, name);
      writeFileSync(path, text);
      expect(await failure(path)).toContain(`Cannot read ${path}: ffmpeg says`);
    }
  });

  test("sound is no film", async () => {
    expect(await failure(make("tone.wav", "-f", "lavfi", "-i", "sine=duration=1"))).toContain("tone.wav: ffmpeg says: ");
  });
});

describe("sound", () => {
  interface Sound {
    readonly rate: number;
    readonly channels: readonly (readonly number[])[];
  }
  const TWO_TONES = ["-f", "lavfi", "-i", "aevalsrc='sin(440*2*PI*t)|0.5*cos(660*2*PI*t)':s=22050:d=1"];

  test.each([
    ["tones.wav", []],
    ["tones.flac", []],
    ["tones.ogg", ["-c:a", "libvorbis"]],
    ["tones.mp3", ["-c:a", "libmp3lame"]],
    ["tones.mka", ["-c:a", "pcm_s24le"]],
  ])("%s has the samples that PyAV gives", async (name, args) => {
    const path = make(name, ...TWO_TONES, ...args);
    const theirs = JSON.parse(execFileSync(python, [PROGRAM, "sound", path], { encoding: "utf8", maxBuffer: 2 ** 28 })) as Sound;
    const [row] = await data.readAudio(path, { ffmpegPath }).takeAll();
    const { amplitude, sampleRate } = row as { amplitude: { shape: readonly number[]; data: Float32Array }; sampleRate: number };
    expect([sampleRate, amplitude.shape[0]]).toEqual([theirs.rate, theirs.channels.length]);
    const samples = amplitude.shape[1] as number;
    const [first = []] = theirs.channels;
    expect(samples).toBe(first.length);
    for (const [channel, values] of theirs.channels.entries())
      for (const [i, value] of values.entries())
        if (Math.abs((amplitude.data[channel * samples + i] as number) - value) > 1e-4)
          throw new Error(`${name}: sample ${i} of channel ${channel} is ${amplitude.data[channel * samples + i]}, and ${value} in PyAV`);
  });

  test("sampleRate and channels are options", async () => {
    const path = make("mixed.wav", ...TWO_TONES);
    const [row] = await data.readAudio(path, { ffmpegPath, sampleRate: 8000, channels: 1 }).takeAll();
    expect([row?.sampleRate, row?.amplitude.shape]).toEqual([8000, [1, 8000]]);
  });
});
