/** DuckDB, Polars and pyarrow of pinned versions, in a Python environment that the first run of any test installs. */
import { join } from "node:path";
import { installed } from "./installed.ts";

const LIBRARIES = ["duckdb==2.0.1", "polars==2.1.0", "pyarrow==26.0.1"];

/** The interpreter that has them. */
export function pythonOfTables(): string {
  const folder = installed(LIBRARIES.join("-").replaceAll("==", "-"), (place) => [
    ["python3", "-m", "venv", place],
    [join(place, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...LIBRARIES],
  ]);
  return join(folder, "bin", "python3");
}
