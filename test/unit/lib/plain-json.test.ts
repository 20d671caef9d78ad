import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOutput } from '../../../src/cli/text/output.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { plainJson } from '../../../src/lib/text/safe-text.ts';

/** Each character that is obeyed or hidden: C0, C1, DEL, line separators and all format characters. */
const HIDDEN = Array.from({ length: 0x11_00_00 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((character) => /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(character))
  .join('');
const ANY_HIDDEN = /[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/u;

describe('JSON for people and programs', () => {
  it('JSON has no character that a terminal obeys or hides, and means the same', () => {
    expect(plainJson(JSON.stringify('a\u202eb'))).toBe(String.raw`"a\u202eb"`);
    expect(JSON.parse(plainJson(JSON.stringify({ [HIDDEN]: HIDDEN })))).toEqual({ [HIDDEN]: HIDDEN });
    expect(plainJson(JSON.stringify(HIDDEN))).not.toMatch(ANY_HIDDEN);
    expect(plainJson(JSON.stringify('Größe 🦊 ’'))).toBe('"Größe 🦊 ’"');
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (json) => {
        expect(JSON.parse(plainJson(json))).toEqual(JSON.parse(json));
      }),
    );
  });

  it('JSON of commands and lines of the log have no such character', async () => {
    const [stdout, secrets] = [new PassThrough(), createSecretStore()];
    const settings = { stderr: new PassThrough(), env: {}, json: true, quiet: false };
    const output = createOutput({
      ...settings,
      stdout,
      secrets,
      ownStart: () => ({ words: [], isBin: true }) as never,
    });
    let text = '';
    stdout.on('data', (chunk) => (text += String(chunk)));
    output.document({ name: HIDDEN });
    output.document({ key: HIDDEN }, { reveal: true });
    await output.jsonLine({ [HIDDEN]: 1 });
    createLogger({ level: 'debug', secrets, write: (line) => (text += line) }).debug(
      { key: HIDDEN },
      `Read ${HIDDEN}.`,
    );
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(text).not.toMatch(ANY_HIDDEN);
    expect(lines.map((line) => JSON.stringify(JSON.parse(line)).length > HIDDEN.length)).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });
});
