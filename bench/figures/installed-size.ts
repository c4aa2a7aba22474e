/**
 * Disk space of an installation: the package and its production dependencies, without the interpreter, and on Ray's side without pip and
 * without numpy, which only this benchmark needs.
 */
import { type HarnessFigure, valueAtMost } from "../figure.ts";

export const figure: HarnessFigure = {
  where: "harness",
  name: "installed-size",
  title: "installed size",
  unit: "MB",
  higherIsBetter: false,
  goal: valueAtMost(20),
  floor: valueAtMost(40),
  roundsMax: 1,
  async observe(subject) {
    const size = await subject.installedSize();
    return { samples: [size.megabytes], details: { packagesCount: size.packagesCount } };
  },
};
