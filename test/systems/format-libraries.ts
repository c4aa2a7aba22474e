/** The packages of Python that write and read the formats of other programs, of pinned versions, in an environment that the first run of any test installs. */
import { join } from "node:path";
import { installed } from "./installed.ts";

const LIBRARIES = [
  "numpy==2.4.6",
  "tfrecord==1.14.6",
  "webdataset==1.0.2",
  "fastavro==1.13.1",
  "cramjam==2.14.0",
  "backports.zstd==1.8.0",
  "openpyxl==3.1.5",
];

/** The interpreter that has them. */
export function pythonOfFormats(): string {
  const folder = installed(LIBRARIES.join("-").replaceAll("==", "-"), (place) => [
    ["python3", "-m", "venv", place],
    [join(place, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...LIBRARIES],
  ]);
  return join(folder, "bin", "python3");
}
