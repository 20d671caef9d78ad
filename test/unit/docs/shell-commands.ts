import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The programs that pages name. A function that records its arguments replaces each program, so nothing is run. */
const PROGRAMS =
  'dpp-sync npm npx node docker curl sqlite3 openssl cat cp mv rm ls df mkdir chmod cd date tr fuser redis-cli systemctl kubectl sed sh'.split(
    ' ',
  );

/**
 * The commands of a script, each with its arguments as bash reads them, with quotes, variables, comments and
 * substitutions. An unknown program or a mistake in the syntax is an error.
 */
export function commandsOf(script: string): string[][] {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-shell-'));
  try {
    mkdirSync(join(folder, 'secrets'));
    // One file for each process, because the programs of a pipeline run at the same time.
    const functions = PROGRAMS.map(
      (name) => `${name}() { { printf '%s\\x1f' ${name} "$@"; printf '\\n\\x1e'; } >> noted-$BASHPID; }`,
    );
    const text = ['set -e', 'PATH=', ...functions, script].join('\n');
    // The path is absolute because the script has no PATH.
    execFileSync('bash', ['--norc', '-c', text], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    const noted = globSync(join(folder, 'noted-*'))
      .map((file) => readFileSync(file, 'utf8'))
      .join('');
    return noted.split('\n\x1e').flatMap((command) => (command === '' ? [] : [command.split('\x1f').slice(0, -1)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
