/** The sizes of DreamerV3's networks, by the paper's names and Ray's smaller ones. */

export interface DreamerSize {
  /** Numbers of hidden layers. */
  readonly units: number;
  /** Hidden layers of each network. */
  readonly layers: number;
  /** Numbers of the recurrent state. */
  readonly recurrent: number;
  /** The stochastic state has so many variables, each with so many classes. */
  readonly variables: number;
}

export const MODEL_SIZES = ["nano", "micro", "mini", "XXS", "XS", "S"] as const;

export type ModelSize = (typeof MODEL_SIZES)[number];

export const DREAMER_SIZES: Readonly<Record<ModelSize, DreamerSize>> = {
  nano: { units: 16, layers: 1, recurrent: 16, variables: 4 },
  micro: { units: 32, layers: 1, recurrent: 32, variables: 8 },
  mini: { units: 64, layers: 1, recurrent: 64, variables: 16 },
  XXS: { units: 128, layers: 1, recurrent: 128, variables: 32 },
  XS: { units: 256, layers: 1, recurrent: 256, variables: 32 },
  S: { units: 512, layers: 2, recurrent: 512, variables: 32 },
};
