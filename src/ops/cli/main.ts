#!/usr/bin/env node
/** The program `shoal`: its commands, and the exit code of the requested one. */
import { processTerminal } from "../../runtime/os/terminal.ts";
import type { Command } from "./command.ts";
import { clusterCommands } from "./cluster/cluster-commands.ts";
import { dashboardCommands } from "./libraries/dashboard-commands.ts";
import { drainCommand } from "./cluster/drain-command.ts";
import { inspectCommands } from "./state/inspect-commands.ts";
import { jobCommands } from "./job-commands.ts";
import { logCommands } from "./state/log-commands.ts";
import { metricsCommands } from "./state/metrics-commands.ts";
import { natsInstallCommand } from "./cluster/nats-install-command.ts";
import { runCommandLine } from "./run-command-line.ts";
import { serveCommands } from "./libraries/serve-commands.ts";
import { statusCommand } from "./state/status-command.ts";
import { stateCommands } from "./state/state-commands.ts";
import { startCommand } from "./cluster/start-command.ts";
import { stopCommand } from "./cluster/stop-command.ts";
import { timelineCommand } from "./state/timeline-command.ts";
import { tokenCreateCommand, tokenListCommand, tokenRevokeCommand } from "./cluster/token-commands.ts";
import { tuneListTrialsCommand, tuneShowCommand } from "./libraries/tune-commands.ts";
import { versionCommand } from "./version-command.ts";

const COMMANDS: readonly Command[] = [
  startCommand,
  statusCommand,
  drainCommand,
  stopCommand,
  ...clusterCommands,
  ...dashboardCommands,
  tokenCreateCommand,
  tokenListCommand,
  tokenRevokeCommand,
  natsInstallCommand,
  tuneListTrialsCommand,
  tuneShowCommand,
  ...stateCommands,
  timelineCommand,
  ...logCommands,
  ...inspectCommands,
  ...metricsCommands,
  ...jobCommands,
  ...serveCommands,
  versionCommand,
];

// The words of a command line are seen by every user of the machine, and a join token may be among them: they are overwritten.
process.title = "shoal";
// Not `process.exit`, which would cut off output to a pipe.
process.exitCode = await runCommandLine(process.argv.slice(2), COMMANDS, processTerminal());
