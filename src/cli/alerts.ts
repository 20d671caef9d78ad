import { type Command, Option } from 'commander';
import { fault } from '../domain/faults.ts';
import type { AlertView, ChannelView } from '../domain/ports/alerts.ts';
import { counted, parsePeriod } from '../lib/text/amounts.ts';
import { listAlerts, muteAlert } from '../operations/alerts.ts';
import { answered } from './answers.ts';
import type { CommandContext, RunAction } from './context.ts';
import { formatTime, printable } from './text/style.ts';
import { type Column, formatTable, type TableStyle } from './text/table.ts';

const LIST_EXAMPLES = `
Examples:
  $ dpp-sync alerts list
  $ dpp-sync alerts list --json | jq '.alerts[] | select(.firing)'

The daemon checks for alerts and stores them; this command reads what the daemon stored last.`;

const MUTE_EXAMPLES = `
Examples:
  $ dpp-sync alerts mute quarantine/erp --for 8h
  $ dpp-sync alerts mute api_down --for 2d

An alert that still fires when the time is over is reported then.`;

const TEST_EXAMPLES = `
Examples:
  $ dpp-sync alerts test

Each channel of the config gets one message that says that it is a test. Exit code 3: at least one channel failed.`;

export function addAlertsCommands(program: Command, run: RunAction): void {
  const alerts = program.command('alerts');
  alerts
    .command('list')
    .description('list the alerts that fire and those that are over')
    .addHelpText('after', LIST_EXAMPLES)
    .action(() => run(list));
  alerts
    .command('mute')
    .description('send no notices of an alert for a time')
    .argument('<alert>', 'its id, as `alerts list` shows it')
    .addOption(
      new Option('--for <time>', 'for how long: `30m`, `8h`, `2d`; at most 90 days')
        .argParser(period)
        .default(period('8h'), '8h'),
    )
    .addHelpText('after', MUTE_EXAMPLES)
    .action((id: string, options: { for: number }) => run((context) => mute(id, options.for, context)));
  alerts
    .command('unmute')
    .description('send notices of a muted alert again')
    .argument('<alert>', 'its id, as `alerts list` shows it')
    .addHelpText('after', '\nExamples:\n  $ dpp-sync alerts unmute quarantine/erp')
    .action((id: string) => run((context) => mute(id, null, context)));
  alerts
    .command('test')
    .description('send one message to each channel')
    .addHelpText('after', TEST_EXAMPLES)
    .action(() => run(test));
}

function period(text: string): number {
  const ms = parsePeriod(text);
  if (ms !== null) return ms;
  throw fault('usage', `"${text}" is not a time.`, { suggestion: 'Write a time such as 30m, 8h or 2d.' });
}

async function list(context: CommandContext): Promise<number> {
  const { output, clock } = context;
  const config = await context.loadConfig();
  return context.withViews(config, async (opened) => {
    const runtime = opened ?? { config, reads: null, alerts: null };
    const result = await listAlerts.run({}, { runtime, clock });
    return answered(output, { operation: listAlerts, result }, alertLines(result, output));
  });
}

function alertLines(
  { channels, alerts }: { channels: readonly ChannelView[]; alerts: readonly AlertView[] },
  style: TableStyle,
): string[] {
  const names =
    channels.length === 0 ? 'none; nobody gets a notice' : channels.map(({ id, type }) => `${id} (${type})`).join(', ');
  return [
    `Channels: ${names}.`,
    ...(alerts.length === 0
      ? ['No alert fires now, and none has fired before.']
      : [...tableOf(alerts, style), ...alerts.flatMap(failuresOf)]),
    ...alerts.flatMap(({ id, message, firing }) => (firing ? ['', printable(`${id}: ${message}`)] : [])),
  ];
}

function tableOf(alerts: readonly AlertView[], style: TableStyle): string[] {
  const columns: Column[] = [
    { title: 'alert', cut: 'middle' },
    { title: 'status' },
    { title: 'since' },
    { title: 'notices' },
  ];
  const rows = alerts.map(({ id, firing, since, mutedUntil, notices }) => {
    const noticed = notices
      .filter(({ state }) => state !== 'none')
      .map(({ channel, state }) => `${channel} ${state.replace('_', ' ')}`);
    const muted = mutedUntil === null ? [] : [`muted until ${formatTime(mutedUntil)}`];
    return [printable(id), firing ? 'fires' : 'over', formatTime(since), [...muted, ...noticed].join(', ')];
  });
  return formatTable(columns, rows, style);
}

function failuresOf({ id, notices }: AlertView): string[] {
  return notices.flatMap(({ channel, state, error }) =>
    error === null || (state !== 'waiting' && state !== 'given_up')
      ? []
      : [printable(`  ${channel} did not get the notice of ${id}: ${error}`)],
  );
}

async function mute(id: string, forMs: number | null, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  const asked = { id, forMs };
  const result = await context.withAdmin(config, 'alerts', (admin) => admin.run(muteAlert, asked));
  const { mutedUntil } = result;
  const name = printable(id);
  return answered(output, { operation: muteAlert, result }, [
    mutedUntil === null
      ? `Notices of ${name} are sent again.`
      : `No notices of ${name} are sent until ${formatTime(mutedUntil)}.`,
  ]);
}

async function test(context: CommandContext): Promise<number> {
  const { output, clock } = context;
  const config = await context.loadConfig();
  if (config.alerts.channels.length === 0) {
    throw fault('usage', 'The config has no channels for alerts.', {
      path: 'alerts.channels',
      suggestion: 'Name at least one: docs/alerts.md shows how.',
    });
  }
  const { tryChannels } = await import('../daemon/alerts.ts');
  const tests = await tryChannels(config, 'send', { clock, signal: context.interruption() });
  const failed = tests.filter(({ ok }) => !ok);
  if (output.json) output.document({ ok: failed.length === 0, channels: tests });
  for (const { channel, type, ok, error } of tests) {
    const line = ok ? `${channel} (${type}): a message was sent.` : `${channel} (${type}): ${error ?? ''}`;
    output.print(output.paint(ok ? 'green' : 'red', printable(line)));
  }
  if (failed.length > 0) output.note(`${counted(failed.length, 'channel')} failed.`);
  return failed.length === 0 ? 0 : 3;
}
