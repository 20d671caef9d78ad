import type { Command } from 'commander';
import type { Daemon, DaemonOptions } from '../daemon/daemon.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import type { CommandContext, RunAction } from './context.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync start
  $ dpp-sync start -c /etc/dpp-sync/dpp-sync.yaml --log-level debug

Pulls by the schedules of the sources, maps and delivers, and serves the dashboard of the config's web section.
While it runs, it does the work of commands that write to the ledger.
SIGTERM or Ctrl-C finishes work in progress and ends the daemon; everything else stays due in the ledger. A changed config, mapping or
lookup file is used without a restart, and SIGHUP reads everything again; in a terminal SIGHUP ends the daemon.`;

export function addStartCommand(program: Command, run: RunAction): void {
  program
    .command('start')
    .addHelpText('after', EXAMPLES)
    .action(() =>
      run(async (context) => {
        const { output } = context;
        output.toLog(await context.log());
        const config = await context.loadConfig();
        return serveDaemon(context, config, (url) => {
          if (output.json) output.document({ ok: true, pid: process.pid, url });
          if (url !== null) output.note(`The dashboard is at ${url}. Ctrl-C ends the daemon.`);
        });
      }),
    );
}

/** Runs the daemon until a signal stops it. */
export async function serveDaemon(
  context: CommandContext,
  config: RuntimeConfig,
  onReady: (url: string | null) => void,
  load?: DaemonOptions['load'],
): Promise<number> {
  const { secrets, clock } = context;
  const log = await context.log();
  const { version } = context.package;
  // Only this command loads the web server. The other commands start faster without it.
  const { openWeb } = await import('../web/web-server.ts');
  const { openAdminChannel: openAdmin } = await import('../admin/channel-server.ts');
  const { runDaemon } = await import('../daemon/daemon.ts');
  let daemon: Daemon | null = null;
  const signal = context.interruption(() => {
    // While the daemon is still starting, the signal has no effect: the daemon reads the config anyway.
    daemon?.reload('signal').catch((error: unknown) => log.error({ err: error }, 'The config could not be reloaded.'));
  });
  const exitCode = await runDaemon({
    config,
    secrets,
    clock,
    log,
    version,
    openWeb,
    openAdmin,
    signal,
    load,
    onReady(started) {
      daemon = started;
      onReady(started.url);
    },
  });
  // A request that did not end in time keeps the process open. The process may end nevertheless, because the ledger has
  // the request's delivery as unconfirmed.
  if (exitCode !== 0) process.exit(exitCode);
  return exitCode;
}
