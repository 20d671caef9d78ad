import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import { readBoundedFile } from '../../../src/lib/files.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { problemsOf, productWith } from '../../support/connectors/map-row.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-sync-files-'));
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  mkdirSync(join(folder, 'sub'));
});
afterEach(() => removeFolder(folder));

const at = (name: string) => (name.startsWith('/') ? name : join(folder, name));

/** Things at a path that are not a regular file: reading them would hang, never end, or fail. */
const ODD = ['fifo', '/dev/zero', '/dev/null', 'sub'];

describe('a file that is named to the program', () => {
  it.each(ODD)('a named file is refused where it is no regular file: %s', async (name) => {
    expect(await readBoundedFile(at(name), 1000)).toMatchObject({
      ok: false,
      error: { reason: name === 'sub' ? 'is a folder' : 'is not a regular file' },
    });
  });

  it('a named file is read where a link leads to it, up to its bound and to the byte', async () => {
    writeFileSync(at('a'), 'x'.repeat(1000));
    symlinkSync(at('a'), at('link'));
    expect(await readBoundedFile(at('link'), 1000)).toEqual({ ok: true, value: 'x'.repeat(1000) });
    expect(await readBoundedFile(at('a'), 999)).toMatchObject({ error: { reason: 'is larger than 999 bytes' } });
  });

  it('a named file is bounded by the bytes that are read of it, whatever its size says', async () => {
    // Files of this kind say that they have 0 bytes.
    expect(await readBoundedFile('/proc/self/status', 100)).toMatchObject({
      error: { reason: 'is larger than 100 bytes' },
    });
    expect(await readBoundedFile('/proc/self/status', 100_000)).toMatchObject({ ok: true });
  });

  it('a named file is distinguished from one that is missing, and from one that is no text', async () => {
    writeFileSync(at('latin'), Buffer.from([0xfc]));
    expect(await readBoundedFile(at('nowhere'), 10)).toMatchObject({ error: { kind: 'missing' } });
    expect(await readBoundedFile(at('latin/below'), 10)).toMatchObject({ error: { kind: 'missing' } });
    expect(await readBoundedFile(at('latin'), 10)).toMatchObject({ error: { reason: 'is not UTF-8 text' } });
  });
});

describe('what is no regular file is refused, and holds up nothing,', () => {
  const lookupFile = (name: string) => {
    symlinkSync(at(name), join(folder, 'table.csv'));
    return 'table.csv';
  };

  it.each(ODD)('what is no regular file is refused at once as a lookup file: %s', async (name) => {
    const [problem] = await problemsOf([productWith(`lookup("${lookupFile(name)}", row.A)`)], folder);
    expect(problem?.message).toMatch(/^The lookup file "table.csv" is (?:not a regular file|a folder)\.$/);
  });

  it.each(ODD)('what is no regular file is refused at once as a mapping module: %s', async (name) => {
    symlinkSync(at(name), at('m.mjs'));
    const [problem] = await problemsOf([{ module: at('m.mjs') }], folder);
    expect(problem?.message).toMatch(/^The module .+m\.mjs is (?:not a regular file|a folder)\.$/);
  });

  it.each(['fifo', '/dev/zero'])(
    'what is no regular file is refused at once as a file that a mapping module imports: %s',
    async (name) => {
      symlinkSync(at(name), at('part.mjs'));
      writeFileSync(at('m.mjs'), `import './part.mjs';\nexport default { map: () => [] };\n`);
      const [problem] = await problemsOf([{ module: at('m.mjs') }], folder);
      expect(problem?.message).toMatch(/^The module .+part\.mjs is not a regular file\.$/);
    },
  );

  const load = (path: string) => loadRuntimeConfig(path, createSecretStore()).then(() => 'loaded', messageOf);

  it.each(ODD)('what is no regular file is refused at once as the config: %s', async (name) => {
    expect(await load(at(name))).toMatch(/is (?:not a regular file|a folder)/);
  });

  it.each(ODD)('what is no regular file is refused at once as a profile: %s', async (name) => {
    writeFileSync(at('c.yaml'), SOUND_CONFIG.replace('apiKey', `profile: ${at(name)}\n  apiKey`));
    expect(await load(at('c.yaml'))).toMatch(/is (?:not a regular file|a folder)|does not exist/);
  });

  it.each(ODD)(
    'what is no regular file is refused at once as the file of a secret, which is named: %s',
    async (name) => {
      writeFileSync(at('c.yaml'), SOUND_CONFIG.replace('dpp_0123456789abcdef', `\${file:${at(name)}}`));
      expect(await load(at('c.yaml'))).toContain(`\${file:${at(name)}}, which is ${name === 'sub' ? 'a' : 'not a'}`);
    },
  );

  it.each(['--settings', '--faults'])(
    'what is no regular file is refused at once as the file of %s',
    async (option) => {
      for (const name of ODD) {
        const { exitCode, stderr } = await runHere(['sandbox', '--port', '0', option, at(name)]);
        expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/is (?:not a regular file|a folder)\./)]);
      }
    },
  );
});
