import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/run.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

const run = promisify(execFile);

describe('completion in bash', () => {
  let folder: string;
  let script: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dpp-completion-'));
    script = join(folder, 'dpp-sync.bash');
    const { exitCode, stdout } = await runHere(['completion', 'bash']);
    expect(exitCode).toBe(0);
    await writeFile(script, stdout);
  });
  afterAll(() => removeFolder(folder));

  /** The words that bash offers after these words. The last word is still being typed. */
  async function offered(...words: string[]): Promise<string[]> {
    const typed = ['dpp-sync', ...words].map((word) => `'${word}'`).join(' ');
    const program = `source '${script}'; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _dpp_sync; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['--norc', '-c', program], { cwd: folder });
    return stdout.split('\n').filter((line) => line !== '');
  }

  it('completion in bash offers the commands that begin as the word does', async () => {
    expect(await offered('qu')).toEqual(['quarantine']);
  });

  it('completion in bash offers the commands below a command', async () => {
    expect(await offered('ledger', 'ba')).toEqual(['backup']);
  });

  it('completion in bash offers options of the command and those of every command', async () => {
    expect(await offered('report', 'create', '--ty')).toEqual(['--type']);
    expect(await offered('report', 'create', '--conf')).toEqual(['--config']);
  });

  it('completion in bash offers the values of an option, whether a space or an equals sign comes before them', async () => {
    expect(await offered('items', '--state', 'bl')).toEqual(['blocked']);
    expect(await offered('items', '--state', '=', 'bl')).toEqual(['blocked']);
    expect(await offered('items', '--state', '=')).toContain('rejected');
  });

  it('completion in bash offers files where nothing else fits', async () => {
    expect(await offered('check', 'dpp-sync.b')).toEqual(['dpp-sync.bash']);
    await writeFile(join(folder, 'my shop.yaml'), '');
    expect(await offered('-c', 'my')).toEqual(['my shop.yaml']);
    await rm(join(folder, 'my shop.yaml'));
  });

  it('completion in bash offers only files for an option that takes another value', async () => {
    for (const option of ['-c', '--config']) expect(await offered(option, '')).toEqual(['dpp-sync.bash']);
    expect(await offered('init', '--from', '')).toEqual(['dpp-sync.bash']);
    expect(await offered('init', '--force', '')).toContain('--from');
  });

  it('completion has the same script in a terminal', async () => {
    const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 40 });
    expect(await runCli(['completion', 'bash'], { stdout, stderr: new PassThrough() })).toBe(0);
    expect(String(stdout.read())).toBe(await readFile(script, 'utf8'));
  });

  it('completion refuses another shell, and names those that it knows', async () => {
    const { exitCode, stderr } = await runHere(['completion', 'tcsh']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('bash, zsh, fish');
  });
});
