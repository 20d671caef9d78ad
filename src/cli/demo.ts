import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import type { Command } from 'commander';
import { watchWork } from '../admin/work-progress.ts';
import { processEnvironment } from '../config/environment.ts';
import { changeMaterial, fixBomLine } from '../daemon/demo/demo-changes.ts';
import { type DemoFolder, openDemoFolder } from '../daemon/demo/demo-folder.ts';
import { loadRuntimeConfig } from '../daemon/load.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { sync } from '../daemon/sync.ts';
import { fault } from '../domain/faults.ts';
import type { QuarantinedRecord } from '../domain/ports/ledger/ledger-views.ts';
import { syncDocument } from '../operations/result-documents.ts';
import type { SyncReport } from '../operations/runtime.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { CommandContext, RunAction } from './context.ts';
import { createDemoStory, type DemoStory, type FinishedReport } from './demo-story.ts';
import { commandHere } from './own-command.ts';
import { serveDaemon } from './start.ts';
import { createProgress } from './text/progress.ts';

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
    .option('--serve', 'keep the sandbox, the daemon and the dashboard up afterwards')
    .option('--dir <folder>', 'the folder to work in', './demo-data')
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
