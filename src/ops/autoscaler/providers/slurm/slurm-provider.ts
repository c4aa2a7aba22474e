/**
 * The provider `slurm`: a batch job for each node, named after its instance.
 *
 * Slurm's own list is the memory: jobs are found by their names and comments. A launch under a known name submits nothing. Tokens lie in a
 * private folder that the machines share, one file a launch; files of jobs that are gone are removed.
 */
import { messageOf } from "../../../../runtime/base/texts/describe.ts";
import { makePrivateFolder, writePrivateFile } from "../../../../runtime/os/files/private-files.ts";
import { joinPath } from "../../../../runtime/os/files/paths.ts";
import { removeFilesNamed } from "../../../../runtime/os/files/store/store-file.ts";
import { type CommandRun, runCommand } from "../../../../runtime/os/processes/command-run.ts";
import type { SetupConfig } from "../../config/cluster-config.ts";
import type { LaunchAnswer, LaunchRequest, NodeProvider, ProviderNode } from "../../provider.ts";
import { JOB_FORMAT, readJobs } from "./job-list.ts";
import { jobScript, sbatchOptions } from "./job-script.ts";
import { CANCELS_MAX, SLURM_ANSWERS_WITHIN_MS, SUBMISSIONS_MAX } from "./limits.ts";

interface SlurmProviderOptions {
  readonly clusterName: string;
  /** Folder of tokens and of jobs' output, which the machines share. */
  readonly folder: string;
  readonly setup: SetupConfig;
  /** Runs a program of Slurm. */
  readonly run?: (program: string, args: readonly string[], input: string) => Promise<CommandRun>;
}

const OWN_FILE = /^[A-Za-z0-9-]+$/;

export class SlurmProvider implements NodeProvider {
  readonly #options: SlurmProviderOptions;
  readonly #run: NonNullable<SlurmProviderOptions["run"]>;
  /** Instances that were ended here: an end by a signal is no failure. */
  readonly #ended = new Set<string>();

  /** @throws OpenSecretError for a folder that others may use */
  constructor(options: SlurmProviderOptions) {
    this.#options = options;
    this.#run = options.run ?? ((program, args, input) => runCommand(program, args, { input, timeoutMs: SLURM_ANSWERS_WITHIN_MS }));
    makePrivateFolder(options.folder);
  }

  check(): void {
    // The table of keys has said all.
  }

  async list(): Promise<ProviderNode[]> {
    const jobs = await this.#jobs();
    const listed = new Set(jobs.map(({ instanceId }) => instanceId));
    for (const id of this.#ended) if (!listed.has(id)) this.#ended.delete(id);
    return jobs.filter(({ instanceId, state }) => !this.#ended.has(instanceId) || state !== "failed");
  }

  async launch(wanted: readonly LaunchRequest[]): Promise<LaunchAnswer[]> {
    const known = new Map((await this.#jobs()).map((job) => [job.instanceId, job]));
    const answers: LaunchAnswer[] = [];
    const left = [...wanted];
    const work = async (): Promise<void> => {
      for (let request = left.shift(); request !== undefined; request = left.shift()) {
        const { instanceId } = request;
        const job = known.get(instanceId);
        answers.push(job === undefined ? await this.#submit(request) : { instanceId, providerId: job.providerId });
      }
    };
    await Promise.all(Array.from({ length: SUBMISSIONS_MAX }, work));
    return answers;
  }

  async terminate(instanceIds: readonly string[]): Promise<void> {
    const wanted = new Set(instanceIds);
    const jobs = (await this.#jobs()).filter(({ instanceId }) => wanted.has(instanceId));
    for (const id of instanceIds) this.#removeToken(id);
    for (const { instanceId } of jobs) this.#ended.add(instanceId);
    const ids = jobs.filter(({ state }) => state !== "failed").map(({ providerId }) => providerId);
    for (let at = 0; at < ids.length; at += CANCELS_MAX)
      this.#require(await this.#run("scancel", ids.slice(at, at + CANCELS_MAX), ""), "scancel");
  }

  async close(): Promise<void> {
    // Nothing is held open.
  }

  async #jobs(): Promise<ProviderNode[]> {
    const args = ["--noheader", "--states=all", "--me", `--format=${JOB_FORMAT}`];
    return readJobs(this.#require(await this.#run("squeue", args, ""), "squeue"), this.#options.clusterName);
  }

  async #submit(request: LaunchRequest): Promise<LaunchAnswer> {
    const { clusterName, folder, setup } = this.#options;
    const { instanceId, joinToken } = request;
    try {
      const tokenFile = joinPath(folder, this.#tokenName(instanceId));
      writePrivateFile(tokenFile, joinToken);
      const options = sbatchOptions(request, clusterName, folder);
      const run = await this.#run("sbatch", options, jobScript(request, tokenFile, setup));
      // With several clusters of Slurm the answer is "number;cluster".
      const [jobId = ""] = run.stdout.trim().split(";");
      if (run.exitCode !== undefined && run.exitCode !== 0) {
        this.#removeToken(instanceId);
        return { instanceId, cause: "other", message: run.stderr.trim() === "" ? `sbatch ended with ${run.exitCode}` : run.stderr.trim() };
      }
      this.#require(run, "sbatch");
      return { instanceId, providerId: jobId };
    } catch (error) {
      return { instanceId, cause: "other", message: messageOf(error) };
    }
  }

  #tokenName(instanceId: string): string {
    if (!OWN_FILE.test(instanceId)) throw new RangeError(`an instance's name has letters, digits and hyphens: received ${instanceId}`);
    return `${instanceId}.token`;
  }

  #removeToken(instanceId: string): void {
    if (OWN_FILE.test(instanceId)) removeFilesNamed(this.#options.folder, `${instanceId}.token`);
  }

  /** @throws Error with the program's own words */
  #require({ exitCode, stdout, stderr, problem }: CommandRun, program: string): string {
    if (exitCode === 0) return stdout;
    const said = stderr.trim();
    throw new Error(`${program} failed: ${problem ?? `exit code ${exitCode}`}${said === "" ? "" : `: ${said}`}`);
  }
}
