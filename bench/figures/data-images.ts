/** 20,000 JPEGs are read and brought to 224 x 224, the driver takes tensors of 64 pictures. */
import { dataFigure } from "../data-figures.ts";

import { type HarnessFigure, ratioAtLeast } from "../figure.ts";

export const figure: HarnessFigure = dataFigure({
  name: "data-images",
  title: "20,000 JPEGs resized",
  goal: ratioAtLeast(2),
  floor: ratioAtLeast(1.1),
  input: "images",
  beside: false,
});
