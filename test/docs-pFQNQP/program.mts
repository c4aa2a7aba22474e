import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shutdown } from "shoal";
import * as data from "shoal/data";

const folder = mkdtempSync(join(tmpdir(), "numpy "));
await data.rangeTensor(6, { shape: [2], dtype: "float32" }).writeNumpy(folder, { column: "data" });
const read = data.readNumpy(folder);
console.log(await read.count(), String(await read.schema()));
rmSync(folder, { recursive: true });
await shutdown();
