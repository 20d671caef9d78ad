// Follows a page of the docs as a reader does: writes its files, and runs its commands in order.

import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type CliProcess, startCli } from '../cli/cli.ts';
import { openShell, type ShellUser } from './shell.ts';

/** A file below a line that has only its path, or a block of commands and their output. */
const STEP = /^`(?<path>[\w./-]+)`:\n\n```\w*\n(?<content>.*?)^```$|^```console\n(?<dialogue>.*?)^```$/gms;
const SANDBOX = /^dpp-sync (sandbox .*)$/;
const SANDBOX_ADDRESS = '127.0.0.1:4290';
const START = 'dpp-sync start';
/** Runs the daemon in the background of the shell. Prints the daemon's output when the daemon is ready or has ended. */
const RUN_DAEMON = `dpp-sync start > "$HOME/.start" 2>&1 & daemon=$!
until grep -qs Ctrl-C "$HOME/.start" || ! kill -0 $daemon 2> /dev/null; do sleep 0.1; done
cat "$HOME/.start"`;
const END_DAEMON = 'kill $daemon; wait $daemon';
/** Where no terminal shows it, what the daemon says is a line of its log. */
const DASHBOARD_LINE = /"msg":"(The dashboard is at [^"]*)"/;
const DASHBOARD_PORT = 4280;
/** The folder in the examples of the page. */
const SHOWN_FOLDER = '/home/you/passports';

/** Texts that differ between runs. */
const VOLATILE: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+Z)?/g, 'TIME'],
  [/\b[\d.]+ m?s\b/g, 'DURATION'],
  [/\b\d+ requests?\b/g, 'REQUESTS'],
  [/\b[\d.]+ kB\b/g, 'SIZE'],
  [/\bdpp_[\w-]{43}/g, 'KEY'],
  [/\b[0-9a-f]{48}\b/g, 'TOKEN'],
];

export interface Session {
  /** An empty folder, in which the whole session takes place. */
  folder: string;
  /** The file behind the command `dpp-sync`. */
  launcher: string;
  user?: ShellUser;
}

/** A command of a page, with its output on the page and its present output. */
interface Exchange {
  command: string;
  before: string;
  now: string;
}

/**
 * Returns the page with the present output of its commands. The page keeps its own output if the present one differs
 * only in times, durations and similar texts.
 */
export async function followPage(page: string, { folder, launcher, user = {} }: Session): Promise<string> {
  const shell = openShell(folder, { ...user, path: programFolder(folder, launcher) });
  const sandboxes: CliProcess[] = [];
  let hasDaemon = false;
  let address = SANDBOX_ADDRESS;

  async function run(command: string): Promise<string> {
    if (command === START) {
      hasDaemon = true;
      const [, printed = ''] = DASHBOARD_LINE.exec(await shell.run(RUN_DAEMON)) ?? [];
      return printed.replace(/(?<=dashboard is at http:\/\/127\.0\.0\.1:)\d+/, String(DASHBOARD_PORT));
    }
    const [, args] = SANDBOX.exec(command) ?? [];
    // Another program on this machine may use the port that the page names.
    if (args === undefined) {
      return shell.run(command.replace(`port: ${DASHBOARD_PORT}`, 'port: 0').replaceAll(SANDBOX_ADDRESS, address));
    }
    const sandbox = startCli([...args.split(' '), '--port', '0']);
    sandboxes.push(sandbox);
    await sandbox.said('Ctrl-C');
    address = /127\.0\.0\.1:\d+/.exec(sandbox.output())?.[0] ?? address;
    return sandbox.output();
  }

  async function exchange(command: string, before: string): Promise<Exchange> {
    const printed = (await run(command)).replaceAll(folder, SHOWN_FOLDER).replaceAll(address, SANDBOX_ADDRESS);
    return { command, before, now: withoutBlankEnds(printed.replaceAll(/ +$/gm, '')) };
  }

  try {
    let followed = '';
    let end = 0;
    for (const { 0: block, index, groups = {} } of page.matchAll(STEP)) {
      const { path, content = '', dialogue } = groups;
      followed += page.slice(end, index);
      end = index + block.length;
      if (path !== undefined) await shell.write(path, content.replaceAll(SANDBOX_ADDRESS, address));
      if (dialogue === undefined) followed += block;
      else {
        const exchanges: Exchange[] = [];
        for (const part of dialogue.split(/^(?=\$ )/m)) {
          const [prompt = '', ...lines] = part.split('\n');
          exchanges.push(await exchange(prompt.slice(2), withoutBlankEnds(lines.join('\n'))));
        }
        followed += `\`\`\`console\n${exchanges.map(textOf).join('')}\`\`\``;
      }
    }
    return followed + page.slice(end);
  } finally {
    if (hasDaemon) await shell.run(END_DAEMON);
    await shell.end();
    for (const sandbox of sandboxes) {
      sandbox.signal('SIGKILL');
      await sandbox.ended;
    }
  }
}

/** Makes the command `dpp-sync` with a link, as npm does. It runs the launcher with the Node of the tests. */
function programFolder(folder: string, launcher: string): string {
  const bin = join(folder, '.bin');
  mkdirSync(bin);
  symlinkSync(launcher, join(bin, 'dpp-sync'));
  symlinkSync(process.execPath, join(bin, 'node'));
  return bin;
}

function textOf({ command, before, now }: Exchange): string {
  const output = masked(now) === masked(before) ? before : now;
  return `$ ${command}\n${output === '' ? '' : `${output}\n`}`;
}

/** The first line keeps its indentation. */
function withoutBlankEnds(text: string): string {
  return text.replace(/^\n+/, '').trimEnd();
}

function masked(text: string): string {
  return VOLATILE.reduce((masking, [volatile, name]) => masking.replaceAll(volatile, name), text);
}
