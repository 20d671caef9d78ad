import type { ChangedValue } from '../daemon/demo/demo-changes.ts';
import { formatPlace } from '../domain/issue.ts';
import type { QuarantinedRecord, StuckDelivery } from '../domain/ports/ledger/ledger-views.ts';
import { shellValue } from '../lib/text/safe-text.ts';
import type { SyncReport } from '../operations/runtime.ts';
import { runLines } from './source/sync-report.ts';
import type { Output } from './text/output.ts';
import { itemLines, passportLines } from './text/standing.ts';
import { formatCount, formatDuration, plural, printable } from './text/style.ts';
import { countKind, formatIssue } from './text/words.ts';

/** The report of a sync that has finished. */
export type FinishedReport = SyncReport & { fault: null };

/** The addresses of the sandbox and, if there is one, of the dashboard. */
interface Access {
  url: string | null;
  token: string;
  baseUrl: string;
  apiKey: string;
}

/** @param command the command that starts this program in the reader's folder */
export function createDemoStory(output: Output, command: string) {
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
        `  ${plural(requests.sent, 'request')} in ${formatDuration(durationMs)}. Before the first item was created, the platform's lists were read:`,
        '  dpp-sync adopts items that are there already, and never creates them again. Here the lists were empty.',
      );
      if (quarantined > 0) {
        heading(`What is wrong with the export (on purpose)`);
        say(
          `${plural(quarantined, 'row')} could not be used. Nothing is guessed: the rows are quarantined, for example`,
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
        `${paint('green', '✓')} ${plural(passports.published ?? 0, 'passport', 'passports')} of complete products published, in ${formatDuration(durationMs)}.`,
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

export type DemoStory = ReturnType<typeof createDemoStory>;

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
