import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import type { Command } from 'commander';
import { watchWork } from '../admin/work-progress.ts';
import { processEnvironment } from '../config/environment.ts';
import {
  type ChangedValue,
  changeMaterial,
  type DemoFolder,
  fixBomLine,
  openDemoFolder,
} from '../daemon/demo/demo-folder.ts';
import { loadRuntimeConfig } from '../daemon/load.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { sync } from '../daemon/sync.ts';
import { fault } from '../domain/faults.ts';
import { formatPlace } from '../domain/issue.ts';
import type { StuckDelivery } from '../domain/ports/ledger/ledger-standing.ts';
import type { QuarantinedRecord } from '../domain/ports/ledger/ledger-views.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
import { shellValue } from '../lib/text/safe-text.ts';
import { syncDocument } from '../operations/results.ts';
import type { SyncReport } from '../operations/runtime.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { CommandContext, RunAction } from './context.ts';
import { commandHere } from './own-command.ts';
import { runLines } from './source/sync.ts';
import { serveDaemon } from './start.ts';
import type { Output } from './text/output.ts';
import { createProgress } from './text/progress.ts';
import { itemLines, passportLines } from './text/standing.ts';
import { formatDuration, printable } from './text/style.ts';
import { countKind, formatIssue } from './text/words.ts';

interface DemoOptions {
  serve?: boolean;
  dir: string;
}

const EXAMPLES = `
Examples:
  $ dpp-sync demo
  $ dpp-sync demo --serve              and stays, with the sandbox, the daemon and its dashboard
  $ dpp-sync demo --dir /tmp/try-it

The demo needs no platform, no Redis and no config. It works in a folder of its own, where the example
export may be edited and the demo run again. The export has rows that are wrong on purpose.`;

const ORGANIZATION = 'Tannwerk';
const WAIT_MS = 15_000;
const EXAMPLES_SHOWN = 4;
/** Adds a gate to the usual ones: a person has to review some products at the platform. */
const GATES = { review: { enabled: true, match: 'TWZ-180-*' } };

export function addDemoCommand(program: Command, run: RunAction): void {
  program
    .command('demo')
    .option('--serve', 'keep the sandbox, the daemon and the dashboard running, and read edited files within a minute')
    .option('--dir <folder>', 'the folder of the demo', './demo-data')
    .addHelpText('after', EXAMPLES)
    .action((options: DemoOptions) => run((context) => demo(options, context)));
}

async function demo({ serve = false, dir }: DemoOptions, context: CommandContext): Promise<number> {
  const { output, clock, secrets } = context;
  const abort = context.interruption();
  const story = createDemoStory(output, commandHere(context.package.root, processEnvironment()));
  const demoFolder = await openDemoFolder(dir, join(context.package.root, 'config', 'demo'));
  const shown = relative(process.cwd(), demoFolder.folder) || '.';
  story.folder(shown.startsWith('..') ? demoFolder.folder : shown);

  const { createSandbox } = await import('../sandbox/sandbox.ts');
  const sandbox = await createSandbox({ storage: demoFolder.sandboxFile, gates: GATES }, { clock });
  try {
    const baseUrl = await serveSandbox(sandbox, demoFolder);
    story.sandbox(baseUrl);
    const config = await loadRuntimeConfig(demoFolder.configFile, secrets);
    const syncs = await runSyncs(context, config, { demoFolder, sandbox, story, abort });
    const [first] = syncs;
    if (output.json) {
      const steps = syncs.map(({ name, report }) => {
        const rest = syncDocument(report);
        return { name, ...rest };
      });
      output.document({ ok: true, folder: demoFolder.folder, config: demoFolder.configFile, baseUrl, steps });
    }
    if (!serve || first === undefined) {
      story.goOn(new URL(baseUrl).port);
      return 0;
    }
    const port = config.web === null || (await isFree(config.web.port)) ? config.web?.port : 0;
    const served = (loaded: RuntimeConfig): RuntimeConfig => ({
      ...loaded,
      web: loaded.web && { ...loaded.web, port: port ?? 0 },
      sources: loaded.sources.map((source) => ({ ...source, schedule: '* * * * *' })),
    });
    const onReady = (url: string | null) =>
      story.serving({ url, token: demoFolder.webToken, baseUrl, apiKey: demoFolder.apiKey });
    return await serveDaemon(context, served(config), onReady, async () =>
      served(await loadRuntimeConfig(demoFolder.configFile, secrets)),
    );
  } finally {
    await sandbox.close();
  }
}

async function serveSandbox(sandbox: Sandbox, demoFolder: DemoFolder): Promise<string> {
  const scopes = ['read', 'write', 'publish'] as const;
  sandbox.ensureKey({ organization: ORGANIZATION, name: 'demo', scopes: [...scopes], key: demoFolder.apiKey });
  const baseUrl = await sandbox.listen();
  await demoFolder.setBaseUrl(baseUrl);
  return baseUrl;
}

interface Stage {
  demoFolder: DemoFolder;
  sandbox: Sandbox;
  story: DemoStory;
  abort: AbortSignal;
}

interface NamedSync {
  name: 'first' | 'unchanged' | 'one change' | 'passports';
  report: FinishedReport;
}

/**
 * Runs four syncs: the first one, one without changes, one with a single change, and one that publishes the passports.
 */
async function runSyncs(context: CommandContext, config: RuntimeConfig, stage: Stage): Promise<NamedSync[]> {
  const { clock } = context;
  const { demoFolder, sandbox, story, abort } = stage;
  const runtime = await context.openRuntime(config, 'demo');
  const request = { sources: [], waitMs: WAIT_MS, abort };
  try {
    const progress = createProgress(context);
    const watching = progress.show === null ? null : watchWork({ runtime, clock }, progress.show);
    let first: SyncReport;
    try {
      first = await sync(runtime, request, clock);
    } finally {
      await watching?.stop();
      progress.stop();
    }
    assertFinished(first);
    story.firstSync(first, examplesOf(await runtime.reads.quarantined({ afterId: 0, limit: 200 })));

    const second = await sync(runtime, request, clock);
    assertFinished(second);
    if (second.requests.sent !== 0) throw unexpected(`the second sync made ${second.requests.sent} requests, not none`);
    story.secondSync(second);

    const change = await changeMaterial(demoFolder.folder);
    if (change === null)
      throw unexpected('exports/materials.csv has no raw material whose recycled content can be raised');
    const before = updatesOf(sandbox);
    const third = await sync(runtime, request, clock);
    assertFinished(third);
    const updates = updatesOf(sandbox) - before;
    if (third.requests.sent !== 1 || updates !== 1) {
      throw unexpected(`one changed value led to ${third.requests.sent} requests, not one`);
    }
    story.oneChange(change, third);

    const corrected = await fixBomLine(demoFolder.folder);
    const fourth = await sync(runtime, request, clock);
    assertFinished(fourth);
    const gated = (await runtime.reads.stuckCauses(EXAMPLES_SHOWN)).filter(({ kind }) => kind === 'passport');
    story.passports(corrected, fourth, gated);
    return [
      { name: 'first', report: first },
      { name: 'unchanged', report: second },
      { name: 'one change', report: third },
      { name: 'passports', report: fourth },
    ];
  } finally {
    await runtime.close();
  }
}

function updatesOf(sandbox: Sandbox): number {
  const counts = sandbox.inspect().requests['material.update'] ?? {};
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function assertFinished(report: SyncReport): asserts report is FinishedReport {
  if (report.fault !== null) throw report.fault;
}

function unexpected(what: string): Error {
  return fault('internal', `The demo failed: ${what}.`, {
    suggestion: 'If you have edited the export, name a fresh folder with --dir.',
  });
}

/** The first record of each kind of mistake. */
function examplesOf(records: readonly QuarantinedRecord[]): QuarantinedRecord[] {
  const byCode = new Map<string, QuarantinedRecord>();
  for (const record of records) {
    const code = record.issues[0]?.code ?? '';
    if (!byCode.has(code)) byCode.set(code, record);
  }
  return [...byCode.values()].slice(0, EXAMPLES_SHOWN);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** The report of a sync that has finished. */
type FinishedReport = SyncReport & { fault: null };

/** The addresses of the sandbox and, if there is one, of the dashboard. */
interface Access {
  url: string | null;
  token: string;
  baseUrl: string;
  apiKey: string;
}

/** @param command the command that starts this program in the reader's folder */
function createDemoStory(output: Output, command: string) {
  const { paint } = output;
  const { print, heading, say, commands } = createNarration(output);
  // The lines of a table are indented by one more character.
  const table = { paint, width: output.width === null ? null : output.width - 1 };
  let folder = '';

  return {
    folder(path: string): void {
      folder = path;
      heading('An export');
      say(
        'Tannwerk Lufttechnik GmbH, an invented maker of ventilation units, has its ERP write three files every night:',
        `products, materials and bills of materials. They are in ${path}/exports, and`,
        `${path}/dpp-sync.yaml says how they map onto a Digital Product Passport platform.`,
      );
    },
    sandbox(baseUrl: string): void {
      heading('A platform');
      say(`A sandbox of the platform's API serves at ${baseUrl}. It is empty.`);
    },
    firstSync(report: FinishedReport, examples: readonly QuarantinedRecord[]): void {
      const { items, requests, durationMs, quarantined } = report;
      heading('The first sync');
      print(...runLines(report, table).map((line) => ` ${line}`), '');
      print(...itemLines(items, table).map((line) => ` ${line}`), '');
      const delivered = (['product', 'material', 'bom_item'] as const).map((kind) =>
        countKind(items[kind].delivered ?? 0, kind),
      );
      say(
        `${paint('green', '✓')} ${delivered[0]}, ${delivered[1]} and ${delivered[2]} are on the platform:`,
        `  ${counted(requests.sent, 'request')} in ${formatDuration(durationMs)}. Before the first item was created, the platform's lists were read:`,
        '  dpp-sync adopts items that are there already, and never creates them again. Here the lists were empty.',
      );
      if (quarantined > 0) {
        heading(`What is wrong with the export (on purpose)`);
        say(
          `${counted(quarantined, 'row')} could not be used. Nothing is guessed, and none of them was sent, for example`,
        );
        for (const { place, issues } of examples) {
          const [issue] = issues;
          say(
            `${paint('yellow', '✗')} ${printable(formatPlace(place))}  ${issue === undefined ? '' : formatIssue(issue)}`,
          );
        }
      }
      const waiting = items.bom_item.waiting ?? 0;
      if (waiting > 0) {
        say(
          `${countKind(waiting, 'bom_item')} wait for products or materials of such rows. dpp-sync sends them once`,
          'those rows are fixed.',
        );
      }
    },
    secondSync({ runs, durationMs }: FinishedReport): void {
      const read = runs.reduce((sum, account) => sum + account.read, 0);
      heading('The same export again');
      say(
        `${paint('green', '✓')} ${formatCount(read)} rows read, nothing changed: 0 requests, ${formatDuration(durationMs)}.`,
      );
    },
    oneChange({ key, name, column, line, from, to }: ChangedValue, { durationMs }: FinishedReport): void {
      heading('One value changes');
      say(
        `exports/materials.csv, line ${line}: the recycled content (${column}) of ${printable(name)} is ${to} % now, not ${from} %.`,
        `${paint('green', '✓')} Exactly one request, in ${formatDuration(durationMs)}: a PATCH of material ${printable(key)} with that one field.`,
      );
    },
    /**
     * @param corrected null if every line of the export names its product
     * @param gated one passport for each reason of the platform, and how many have this reason
     */
    passports(
      corrected: ChangedValue | null,
      { passports, durationMs }: FinishedReport,
      gated: readonly (StuckDelivery & { count: number })[],
    ): void {
      heading('Passports');
      if (corrected !== null) {
        say(
          `No passport has been published so far: ${corrected.file}, line ${corrected.line}, named no product for its`,
          `${printable(corrected.name)}, which might have been a part of any product. Now the line names`,
          `${corrected.to}, as the line above it does.`,
          '',
        );
      }
      say(
        `${paint('green', '✓')} ${counted(passports.published ?? 0, 'passport', 'passports')} of complete products published, in ${formatDuration(durationMs)}.`,
        '',
      );
      print(...passportLines(passports, table).map((line) => ` ${line}`));
      if (gated.length > 0) {
        say('', 'The platform refuses other passports, and names what is missing:');
        for (const { key, naturalKey, reason, count } of gated) {
          const others = count === 1 ? '' : ` and ${formatCount(count - 1)} more`;
          say(`${paint('yellow', '✗')} ${printable(naturalKey ?? key)}${others}  ${printable(reason.message)}`);
        }
      }
    },
    /** @param port the port of the sandbox, so that it can be started there again */
    goOn(port: string): void {
      heading('What to do next');
      const config = `-c ${shellValue(`${folder}/dpp-sync.yaml`)}`;
      say(`The demo and its sandbox have ended. The results are in ${folder}. Look at them:`);
      commands([
        [`${command} quarantine ${config}`, 'every wrong row, and how to correct it'],
        [`${command} show product TWZ-180-LS ${config}`, 'the history of one item'],
        [`${command} preview erp ${config}`, 'rows beside the items that they map to'],
      ]);
      say('', 'Bring the sandbox back, edit a file in exports, and sync:');
      commands([
        [
          `${command} sandbox --port ${port} --data ${shellValue(`${folder}/data/sandbox.db`)}`,
          'in a terminal of its own',
        ],
        [`${command} sync ${config}`, 'sends the changes, and nothing else'],
      ]);
      say('', 'Or stay, with the daemon and its dashboard:');
      commands([
        [`${command} demo --serve${folder === 'demo-data' ? '' : ` --dir ${shellValue(folder)}`}`, 'until Ctrl-C'],
      ]);
      print('');
    },
    serving(access: Access): void {
      heading('The demo continues');
      const lines = accessLines(access, paint);
      lines.push('', `Edit a file in ${folder}/exports: the daemon reads it within a minute. Ctrl-C ends everything.`);
      // The token and the key may be shown, because they were made for this demo and this reader.
      output.reveal(...lines.map((line) => (line === '' ? '' : `   ${line}`)), '');
    },
  };
}

type DemoStory = ReturnType<typeof createDemoStory>;

function accessLines({ url, token, baseUrl, apiKey }: Access, paint: Output['paint']): string[] {
  return [
    ...(url === null ? [] : [`dashboard  ${paint('bold', url)}`, `log in     ${token}`]),
    `sandbox    ${baseUrl}`,
    `its key    ${apiKey}`,
  ];
}

/** Prints numbered headings, and indented lines below them. */
function createNarration(output: Output) {
  const { paint } = output;
  const print = (...lines: string[]): void => output.print(...lines);
  let step = 0;
  const heading = (title: string): void => {
    step += 1;
    print('', `${paint('cyan', `${step}`)}  ${paint('bold', title)}`);
  };
  const say = (...lines: string[]): void => print(...lines.map((line) => (line === '' ? '' : `   ${line}`)));
  const commands = (entries: readonly [command: string, what: string][]): void => {
    const width = Math.max(...entries.map(([text]) => text.length));
    for (const [text, what] of entries)
      say(`${paint('cyan', text)}${' '.repeat(width - text.length)}  ${paint('dim', what)}`);
  };
  return { print, heading, say, commands };
}
