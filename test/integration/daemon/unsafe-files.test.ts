import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { othersMayWrite } from '../../../src/daemon/unsafe-files.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { PRODUCTS, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

/** A program leaves a mark when it is run. */
const marking = (name: string, text = 'export default 1;') =>
  `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(name)}, '');\n${text}\n`;

let world: World;
let served: ServedWorld | null = null;
beforeEach(async () => {
  world = await createWorld({
    config: { web: { port: 0, token: '${file:./secrets/token}' }, sources: [PRODUCTS.source] },
    files: { ...PRODUCTS.files, 'secrets/token': WEB_TOKEN },
  });
});
afterEach(async () => {
  await (served ?? world).remove();
  served = null;
});

const at = (name: string) => join(world.folder, name);
function withSource(source: object, more: object): void {
  const config = parse(readFileSync(world.configFile, 'utf8')) as { sources: object[] };
  world.write('dpp-sync.yaml', stringify({ ...config, ...more, sources: [...config.sources, source] }));
}

describe('files of the config that others may change', () => {
  it('files that others may change, by their own rights or those of a folder or a link, are found', async () => {
    mkdirSync(at('a/b'), { recursive: true });
    world.write('a/b/file', '');
    const file = at('a/b/file');
    expect(await othersMayWrite(file)).toBeNull();
    chmodSync(file, 0o666);
    expect(await othersMayWrite(file)).toEqual({ who: 'everybody', place: file });
    chmodSync(file, 0o600);
    chmodSync(at('a'), 0o777);
    expect(await othersMayWrite(file)).toEqual({ who: 'everybody', place: at('a') });
    // In a sticky folder, nobody replaces the files of others.
    chmodSync(at('a'), 0o1777);
    expect(await othersMayWrite(file)).toBeNull();
    mkdirSync(at('links'));
    symlinkSync(file, at('links/link'));
    chmodSync(at('links'), 0o777);
    expect(await othersMayWrite(at('links/link'))).toEqual({ who: 'everybody', place: at('links') });
    expect(await othersMayWrite(at('missing'))).toBeNull();
  });

  it.skipIf(process.getuid?.() !== 0)('files that a shared group may change are found (needs root)', async () => {
    world.write('file', '');
    chmodSync(at('file'), 0o660);
    expect(await othersMayWrite(at('file'))).toBeNull();
    chownSync(at('file'), 0, 12_345);
    expect(await othersMayWrite(at('file'))).toEqual({ who: 'group', place: at('file') });
    // Most systems give each user a group with the same number and no other member.
    chownSync(at('file'), 12_345, 12_345);
    expect(await othersMayWrite(at('file'))).toBeNull();
  });

  it('files that others may change are warnings of `check`: the config and a secret', async () => {
    for (const name of ['dpp-sync.yaml', 'secrets/token']) chmodSync(at(name), 0o666);
    const { stdout } = await runHere(['check', '-c', world.configFile, '--json']);
    const { config } = JSON.parse(stdout) as { config: { warnings: { message: string; cure: string }[] } };
    expect(config.warnings).toEqual(
      ['dpp-sync.yaml', 'secrets/token'].map((name) => ({
        path: '',
        line: null,
        message: `Everybody on this machine may change ${at(name)}.`,
        cure: `Take the right away: chmod o-w ${at(name)}`,
      })),
    );
  });

  it('files that others may change are warnings of a reload, which uses them', async () => {
    served = await startDaemon(world);
    chmodSync(world.configFile, 0o666);
    expect(await served.daemon.reload('person')).toMatchObject({ ok: true });
    expect(served.log.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: expect.stringContaining(`Everybody on this machine may change ${world.configFile}.`),
      }),
    );
  });

  it.each([
    ['a mapping module', 'm.mjs', () => ({ mappings: [{ module: './m.mjs' }] }), {}],
    ['a file that a mapping module imports', 'part.mjs', () => ({ mappings: [{ module: './m.mjs' }] }), {}],
    ['a connector', 'c.mjs', () => ({ connector: './c.mjs' }), {}],
    [
      'a program for alerts',
      'notify',
      () => ({}),
      { alerts: { channels: [{ id: 'x', exec: { program: './notify' } }] } },
    ],
  ])('files that everybody may change are not run by a reload: %s', async (_what, name, source, more) => {
    served = await startDaemon(world);
    world.write('part.mjs', marking(at('mark'), 'export const part = 1;'));
    world.write('m.mjs', marking(at('mark'), 'import "./part.mjs"; export default { map: () => [] };'));
    world.write('c.mjs', marking(at('mark')));
    world.write('notify', '#!/bin/sh\n');
    chmodSync(at(name), 0o777);
    withSource({ ...PRODUCTS.source, id: 'other', ...source() }, more);
    const { ok, errors } = await served.daemon.reload('person');
    expect([ok, errors.join(' ')]).toEqual([
      false,
      expect.stringContaining(
        `Everybody on this machine may change ${at(name)}. So a daemon does not load it again. Take the right`,
      ),
    ]);
    expect(existsSync(at('mark'))).toBe(false);
    chmodSync(at(name), 0o755);
    await served.daemon.reload('person');
    expect(existsSync(at('mark'))).toBe(name !== 'notify');
  });
});
