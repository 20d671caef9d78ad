import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { interpolate } from '../../../src/config/interpolate.ts';
import { problemsOf } from '../../../src/config/problem.ts';
import { configFolder, faultOf, loadText, problemsIn, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

async function expand(value: unknown, env: Record<string, string> = {}, files: Record<string, string> = {}) {
  return interpolate(value, { env, folder: configFolder(files) });
}

describe('placeholders', () => {
  it('placeholders stand for environment variables, defaults and files, in any text and more than once', async () => {
    const { value, problems } = await expand(
      { a: ['x${A}y${B:-z}', { b: '${file:k/s}' }], c: 1, d: '${EMPTY:-filled}', e: '${EMPTY}', f: '${A:-}' },
      { A: '1', EMPTY: '' },
      { 'k/s': 'top secret\n\n' },
    );
    expect(problems).toEqual([]);
    expect(value).toEqual({ a: ['x1yz', { b: 'top secret\n' }], c: 1, d: 'filled', e: '', f: '1' });
  });

  it('placeholders of a file may have a default, for a value that is missing or empty and for no other reason', async () => {
    const { value, problems } = await expand(
      { a: '${file:none:-}', b: '${file:none:-x y}', c: '${file:empty:-z}', d: '${file:s:-z}', e: '${file:.:-z}' },
      {},
      { empty: '\n', s: 'top' },
    );
    expect(value).toEqual({ a: '', b: 'x y', c: 'z', d: 'top', e: '${file:.:-z}' });
    expect(problems.map(({ message }) => message)).toEqual([
      'found ${file:.}, which is a folder, expected a file that can be read',
    ]);
  });

  it('placeholders are not looked for in values of placeholders, nor in keys', async () => {
    const { value } = await expand({ '${A}': '${A}' }, { A: '${B}', B: 'x' });
    expect(value).toEqual({ '${A}': '${B}' });
  });

  it('placeholders are escaped with a second dollar sign', async () => {
    expect((await expand('$${A} costs $5 and $${B', { A: '1' })).value).toBe('${A} costs $5 and ${B');
  });

  it('a text without a placeholder is left as it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        if (JSON.stringify(value).includes('${')) return;
        expect((await interpolate(value, { env: {}, folder: '/' })).value).toEqual(value);
      }),
    );
  });

  it('placeholders are problems at their path when the variable or file is missing or the form is unknown', async () => {
    const text = SOUND_CONFIG.replace('products.csv', '${EXPORTS}/products.csv')
      .replace('dpp_0123456789abcdef', '${file:nowhere/key}')
      .replace('id: erp', 'id: erp\n    timezone: "${1}"');
    const problems = await problemsIn(text);
    expect(problems['sources[0].options.path']).toMatchObject({
      line: 8,
      message: 'found ${EXPORTS}, expected an environment variable of that name',
    });
    expect(problems['target.apiKey']?.message).toContain('${file:nowhere/key}, which does not exist');
    expect(problems['sources[0].timezone']?.message).toContain('begins no placeholder');
    expect(Object.keys(problems)).toHaveLength(3);
  });

  it.each(['${KEY:-${OTHER}}', '${file:${FOLDER}/key}', '${file:nowhere/key:-${OTHER}}', '${KEY:-$${x}}'])(
    'placeholders have no other one in them: %s',
    async (key) => {
      const problems = await problemsIn(SOUND_CONFIG.replace('dpp_0123456789abcdef', `'${key}'`));
      expect(problems['target.apiKey']?.message).toContain('expected a placeholder without another one in it');
      expect(Object.keys(problems)).toEqual(['target.apiKey']);
    },
  );

  it('placeholders are one problem, not two, where the place has a rule of its own too', async () => {
    const json = SOUND_CONFIG.replace('csv', 'json').replace('{ path', '{ at: "${NOPE}", path');
    expect(problemsOf(await faultOf(json))).toHaveLength(1);
  });

  it('placeholders take the type of their place', async () => {
    const text = SOUND_CONFIG.replace('{ path', '{ skipLines: "${SKIP}", header: ${HEADER:-false}, path');
    const config = await loadText(`web: { port: ${'${PORT}'}, token: ${'${TOKEN}'} }\n${text}`, {
      env: { PORT: '8080', SKIP: '2', TOKEN: '1234567890123456' },
    });
    expect(config.web?.port).toBe(8080);
    expect(config.sources[0]?.options).toMatchObject({ skipLines: 2, header: false });
    // A key of digits alone stays text.
    expect(await config.web?.token?.read()).toBe('1234567890123456');
  });

  it('placeholders give no type to a text that is no number', async () => {
    const fault = await faultOf(`web: { port: ${'${PORT}'}, token: 0123456789abcdefg }\n${SOUND_CONFIG}`, {
      env: { PORT: 'eighty' },
    });
    expect(fault.message).toContain('web.port (line 1): found "${PORT}" (its value is not shown), expected a number');
  });
});

describe('a secret', () => {
  it('a secret of the config is read again from its file and from its variable', async () => {
    const env: Record<string, string> = { PUBLISH: 'dpp_publish_one' };
    const text = SOUND_CONFIG.replace('dpp_0123456789abcdef', '${file:key}\n  publishKey: ${PUBLISH:-}');
    const config = await loadText(text, { env, files: { key: 'dpp_first_key_1\r\n' } });
    expect(config.target.apiKey.path).toBe('target.apiKey');
    expect(await config.target.apiKey.read()).toBe('dpp_first_key_1');
    writeFileSync(join(config.folder, 'key'), 'dpp_second_key_2');
    env['PUBLISH'] = 'dpp_publish_two';
    expect(await config.target.apiKey.read()).toBe('dpp_second_key_2');
    expect(await config.target.publishKey?.read()).toBe('dpp_publish_two');
  });

  it('a secret that is gone is an error with its path', async () => {
    const env: Record<string, string> = { KEY: 'dpp_0123456789' };
    const config = await loadText(SOUND_CONFIG.replace('dpp_0123456789abcdef', '${KEY}'), { env });
    delete env['KEY'];
    await expect(config.target.apiKey.read()).rejects.toMatchObject({ code: 'config.invalid', path: 'target.apiKey' });
  });
});
