// Measures the time from the start of the process to its end, for commands with little work: `npm run bench:startup`.
// `npm run bench:startup -- FOLDER` compares this checkout with another one, which must have its node_modules. Both checkouts
// are built into their `dist`. Each runs from its sources and from its build, in the same folders as in the image, with a
// separate cache folder that an unmeasured run has filled. All of them take turns, so that the ratios are right on a machine
// with other work as well. At the end the embedded queue is opened in separate processes. With another checkout, the figures
// are written to docs/performance.md.

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { holdAgainstBudget } from './support/budget.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';
import { median } from './support/measure.ts';

const ROUNDS = 15;
/** The limit for the time of this checkout, as a share of the other's time. */
const SHARE_MAX = 0.6;
const HERE = join(import.meta.dirname, '../..');
const QUEUE_PROCESS = join(import.meta.dirname, 'support/queue-opening-process.ts');
const COMMANDS = [['--version'], ['--help'], ['status', '-c', 'demo-data/dpp-sync.yaml']];

const [other] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));

interface Contender {
  form: string;
  launcher: string;
  /** The folder in which the commands run. It has a ledger of the demo, written by the same checkout. */
  cwd: string;
}

/** The contenders of a checkout: one runs its sources, the other one its build. */
function contendersOf(checkout: string): Contender[] {
  const own = mkdtempSync(join(folder, 'checkout-'));
  const build = join(own, 'build');
  mkdirSync(join(build, 'src'), { recursive: true });
  execFileSync('npm', ['run', '-s', 'build'], { cwd: checkout, stdio: ['ignore', 'ignore', 'inherit'] });
  cpSync(join(checkout, 'dist'), join(build, 'dist'), { recursive: true });
  for (const file of globSync('src/*.mjs', { cwd: checkout })) cpSync(join(checkout, file), join(build, file));
  cpSync(join(checkout, 'package.json'), join(build, 'package.json'));
  cpSync(join(checkout, 'config'), join(build, 'config'), { recursive: true });
  symlinkSync(join(checkout, 'node_modules'), join(build, 'node_modules'));
  const source = { form: 'sources', launcher: join(checkout, 'src/launcher.mjs'), cwd: own };
  run(source, ['demo', '--json']);
  return [source, { form: 'build', launcher: join(build, 'src/launcher.mjs'), cwd: own }];
}

/** Runs a command. Returns its time in milliseconds. */
function run({ launcher, cwd }: Contender, args: readonly string[]): number {
  const env = { PATH: process.env['PATH'], XDG_CACHE_HOME: join(cwd, 'cache') };
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [launcher, ...args], { cwd, env, encoding: 'utf8' });
  const ms = performance.now() - begun;
  // The demo leaves work for a person, so `status` ends with exit code 4.
  if (status !== 0 && status !== 4) throw new Error(`${basename(launcher)} ${args.join(' ')} has failed: ${stderr}`);
  return ms;
}

interface Measured {
  what: string;
  ms: number[];
  /** The times of the other checkout; empty if there is none. */
  otherMs: number[];
}

try {
  const here = contendersOf(HERE);
  const others = other === undefined ? [] : contendersOf(resolve(other));
  const measured = here.flatMap((contender, at) =>
    COMMANDS.map((args) => ({ contender, rival: others[at], args, what: `${args[0]}, ${contender.form}` })),
  );
  const results: Measured[] = measured.map(({ what }) => ({ what, ms: [], otherMs: [] }));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [at, { contender, rival, args }] of measured.entries()) {
      const otherMs = rival && run(rival, args);
      const ms = run(contender, args);
      if (round === 0) continue;
      results[at]?.ms.push(ms);
      if (otherMs !== undefined) results[at]?.otherMs.push(otherMs);
    }
  }

  const shareOf = ({ ms, otherMs }: Measured): number => median(ms) / median(otherMs);
  const opening = Array.from({ length: ROUNDS }, () =>
    Number(execFileSync(process.execPath, [QUEUE_PROCESS], { encoding: 'utf8' })),
  );
  const queue = `The embedded queue takes its first job ${median(opening).toFixed(0)} ms after it begins to load.`;

  const rows = table(
    ['command', 'before, ms', 'now, ms', 'now / before'],
    results.map((result) => [
      result.what,
      other === undefined ? '–' : median(result.otherMs).toFixed(0),
      median(result.ms).toFixed(0),
      other === undefined ? '–' : shareOf(result).toFixed(2),
    ]),
  );
  const text = `${rows}\n\n${queue}`;
  process.stdout.write(`${text}\n`);
  if (other !== undefined) {
    writeBetween('bench:startup', `${machine()}.\n\n${text}`);
    const ratios = results.map((result) => [
      `${result.what}: ${SHARE_MAX} / now of before`,
      SHARE_MAX / shareOf(result),
    ]);
    holdAgainstBudget('startup', Object.fromEntries(ratios) as Record<string, number>, { isWhole: true });
  }
} finally {
  rmSync(folder, { recursive: true });
}
