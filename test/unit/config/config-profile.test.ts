import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProfile } from '../../../src/config/load-profile.ts';
import { Profile } from '../../../src/domain/profile.ts';
import {
  configFolder,
  faultOf,
  loadText,
  problemsIn,
  REPOSITORY,
  SOUND_CONFIG,
} from '../../support/worlds/config-folder.ts';

const profilesDir = join(REPOSITORY, 'config/profiles');

async function load(text: string, files: Record<string, string> = {}) {
  const folder = configFolder({ 'own.yaml': text, ...files });
  return loadProfile({ name: './own.yaml', folder, profilesDir });
}

describe('a profile', () => {
  it('the profile called default has all values that the schema assumes', async () => {
    const empty = await load('{}');
    const shipped = await loadProfile({ name: 'default', folder: '/', profilesDir });
    expect(shipped).toEqual(empty);
    expect(shipped).toEqual({ ok: true, value: Profile.parse({}) });
  });

  it('a profile is merged over the one that it extends', async () => {
    const profile = await load(
      'extends: ./base.yaml\nidempotency: honoured\nnaturalKeys: { material: [name] }\nwireNames: { product: { gtin: ean } }\n',
      {
        'base.yaml':
          'extends: default\nretry: { attemptsMax: 3 }\nwireNames: { product: { gtin: code, name: title } }\n',
      },
    );
    if (!profile.ok) throw new Error(profile.error.join('\n'));
    expect(profile.value).toMatchObject({
      idempotency: 'honoured',
      naturalKeys: { product: ['sku'], material: ['name'] },
      wireNames: { product: { gtin: 'ean', name: 'title', sku: 'sku' } },
      retry: { attemptsMax: 3, backoff: { baseMs: 500 } },
    });
  });

  it('a profile that extends itself is rejected', async () => {
    const profile = await load('extends: ./other.yaml', { 'other.yaml': 'extends: ./own.yaml' });
    expect(profile).toMatchObject({ ok: false, error: [expect.stringContaining('extends itself')] });
  });

  it.each([
    ['an unknown key', 'idempotncy: none', 'own.yaml, idempotncy (line 1): found an unknown key'],
    ['a value that is none', '\nidempotency: nun', 'own.yaml, idempotency (line 2): found "nun", expected one of'],
    ['two fields with one name', 'wireNames: { product: { name: sku } }', 'would both be sent as "sku"'],
    [
      'a field with the name of a ref',
      'wireNames: { bom_item: { unit: material } }',
      'would both be sent as "material"',
    ],
    ['a name for a field that is not allowed', 'wireNames: { product: { colour: c } }', 'extraFields.product'],
    ['a natural key that is no field', 'naturalKeys: { product: [ean] }', 'neither a canonical field'],
  ])('a profile with %s is rejected', async (_what, text, message) => {
    const profile = await load(text);
    expect(profile.ok).toBe(false);
    expect(profile.ok ? '' : profile.error.join('\n')).toContain(message);
  });

  it('a profile can allow more fields, with names of their own', async () => {
    const own = 'extends: default\nextraFields: { product: [colour] }\nwireNames: { product: { colour: color } }\n';
    const text = SOUND_CONFIG.replace('name: row.NAME', 'name: row.NAME, colour: row.C');
    expect(Object.keys(await problemsIn(text))).toEqual(['sources[0].mappings[0].fields.colour']);
    const config = await loadText(text.replace('target:', 'target:\n  profile: ./p/own.yaml'), {
      files: { 'p/own.yaml': own },
    });
    expect(config.profile.wireNames.product).toMatchObject({ colour: 'color', sku: 'sku' });
  });

  it('a profile that is not there is a problem of the config, with the likely name', async () => {
    const { message, path } = await faultOf(SOUND_CONFIG.replace('target:', 'target:\n  profile: defualt'));
    expect(path).toBe('target.profile');
    expect(message).toContain('the profile "defualt" does not exist');
    expect(message).toContain('Did you mean default?');
  });
});
