/** The image classifier among the examples: a real model of scikit-learn on onnxruntime, with pictures that it has not seen, as PNG and JPEG. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { expect, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { installed } from "./installed.ts";

const EXAMPLES = join(REPOSITORY, "examples");

test("serve-image-classifier: digits are told apart, several at a time, and what is no picture is refused", {
  timeout: 600_000,
}, async () => {
  const packages = installed("onnxruntime-node-1.30.0", (folder) => [
    // The package's script would download libraries for GPUs; those for processors are in the package. Without a package.json the program
    // finds `shoal` and `sharp` further up.
    ["npm", "install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "onnxruntime-node@1.30.0"],
  ]);
  const venv = installed("skl2onnx-1.20.0", (folder) => [
    ["python3", "-m", "venv", folder],
    [join(folder, "bin/pip"), "install", "--quiet", "--disable-pip-version-check", "scikit-learn==1.9.1", "skl2onnx==1.20.0"],
  ]);
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-classifier-"));
  try {
    const [model, samples] = [join(folder, "digits.onnx"), join(folder, "samples.json")];
    execFileSync(join(venv, "bin/python3"), [join(EXAMPLES, "digits_model.py"), model, samples]);
    const pictures = JSON.parse(readFileSync(samples, "utf8")) as { digit: number; pixels: number[] }[];
    const files = await Promise.all(pictures.map((picture, index) => draw(picture, join(folder, `${index}`), index % 2 === 0)));
    const wrong = join(folder, "wrong.png");
    writeFileSync(wrong, "no picture");
    const program = join(packages, "serve-image-classifier.ts");
    copyFileSync(join(EXAMPLES, "serve-image-classifier.ts"), program);

    const { stdout, stderr, exitCode } = await runProgram([program, model, ...files, wrong], { timeoutMs: 120_000 });
    expect([stderr, exitCode]).toEqual(["", 0]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(pictures.length + 1);
    expect(lines.at(-1)).toMatch(/^wrong\.png: 415 \{"error":"a picture as JPEG or PNG is needed: /);
    const answers = lines.slice(0, -1).map((line, index) => {
      const [, name, status, body] = /^(\S+): (\d+) (.*)$/.exec(line) ?? [];
      expect([name, status]).toEqual([`${index}.${index % 2 === 0 ? "png" : "jpg"}`, "200"]);
      return JSON.parse(body as string) as { digit: number; confidence: number; batchSize: number };
    });
    const right = answers.filter(({ digit }, index) => digit === pictures[index]?.digit);
    expect(right.length / pictures.length).toBeGreaterThan(0.9);
    expect(Math.max(...answers.map(({ batchSize }) => batchSize))).toBeGreaterThan(1);
    expect(Math.max(...answers.map(({ batchSize }) => batchSize))).toBeLessThanOrEqual(16);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** A picture of 64 x 64 points with the sample's squares. @returns its file */
async function draw({ pixels }: { pixels: readonly number[] }, path: string, isPng: boolean): Promise<string> {
  const grey = Uint8Array.from(pixels, (value) => Math.round((value / 16) * 255));
  const picture = sharp(grey, { raw: { width: 8, height: 8, channels: 1 } }).resize(64, 64, { kernel: "nearest" });
  if (isPng) await picture.png().toFile(`${path}.png`);
  else await picture.jpeg({ quality: 90 }).toFile(`${path}.jpg`);
  return `${path}.${isPng ? "png" : "jpg"}`;
}
