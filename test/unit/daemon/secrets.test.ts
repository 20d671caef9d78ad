import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCleanText } from '../../../src/api/answers/answer-text.ts';
import { createSecretStore, maskSecret, SECRET_LENGTH_MIN } from '../../../src/lib/logging/secrets.ts';
import { faultOf, loadText, problemsIn, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

const KEY = 'dpp_9fK2mQ7xVb41LtZ8rWc0Yh3N';

function scrubber(...secrets: string[]): (text: string) => string {
  const store = createSecretStore();
  for (const secret of secrets) store.add(secret);
  return (text) => store.scrub(text);
}

/** Characters of a random key, as platforms make them. */
const randomKey = fc
  .string({
    unit: fc.constantFrom(...'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789_-'.split('')),
    minLength: 20,
    maxLength: 60,
  })
  .map((text) => `dpp_${text}`);

/** True for 6 characters that may be in any text: a word, a repeated character, or a sequence of characters. */
function isOrdinary(text: string): boolean {
  const steps = new Set(Array.from(text.slice(1), (sign, at) => sign.charCodeAt(0) - text.charCodeAt(at)));
  return (
    /^(?:[A-Z]?[a-z]+|[A-Z]+)$/.test(text) || (steps.size === 1 && [...steps].every((step) => Math.abs(step) <= 1))
  );
}

/** The runs of a secret that may not be seen, in a text from which nothing but white space was taken. */
function seenIn(text: string, secret: string): string[] {
  const plain = text.replace(/\s/g, '');
  const runs = Array.from({ length: secret.length - 13 }, (_, at) => secret.slice(8 + at, 14 + at));
  return runs.filter((run) => plain.includes(run) && !isOrdinary(run));
}

describe('scrubbing', () => {
  it('scrubbing leaves of a whole key what the platform shows of it as well', () => {
    const scrub = scrubber(KEY);
    expect(scrub(`The key ${KEY} may not.`)).toBe('The key dpp_9fK2… may not.');
    expect(scrub(`${KEY}${KEY}`)).toBe('dpp_9fK2…dpp_9fK2…');
    expect(maskSecret(KEY)).toBe('dpp_9fK2…');
  });

  it.each([
    ['its end', KEY.slice(8)],
    ['its middle', `… ${KEY.slice(10, 20)} …`],
    ['6 characters of it', KEY.slice(14, 20)],
    ['halves with a space between', `${KEY.slice(0, 15)} ${KEY.slice(15)}`],
    ['halves with a line break between', `${KEY.slice(0, 18)}\r\n  ${KEY.slice(18)}`],
    ['spaced characters', KEY.split('').join(' ')],
    ['JSON escapes', `{"key":"${KEY.replaceAll('V', '\\u0056').replaceAll('m', '\\u006D')}"}`],
    ['an escaped line break', `"${KEY.slice(0, 16)}\\n${KEY.slice(16)}"`],
    [
      'percent-encoding',
      KEY.split('')
        .map((sign) => `%${sign.charCodeAt(0).toString(16)}`)
        .join(''),
    ],
    ['percent-encoding of a part', `?q=${KEY.slice(0, 12)}%4c%74${KEY.slice(KEY.indexOf('Lt') + 2)}`],
    ['base64', Buffer.from(KEY).toString('base64')],
    ['base64 of what it is a part of', Buffer.from(`user:${KEY}!`).toString('base64')],
    ['base64 for URLs', Buffer.from(`x${KEY}>>>???`).toString('base64url')],
  ])('scrubbing takes out what a server echoes: %s', (_what, echo) => {
    const clean = scrubber(KEY)(`before ${echo} after`);
    expect(clean).toMatch(/^before .*… ?.*after$/s);
    expect(
      seenIn(
        decodeURIComponent(
          clean.replace(/\\u(....)/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        ),
        KEY,
      ),
    ).toEqual([]);
    for (const part of clean.match(/[A-Za-z0-9+/_-]{8,}/g) ?? []) {
      expect(seenIn(Buffer.from(part, 'base64').toString('latin1'), KEY)).toEqual([]);
    }
  });

  it('scrubbing takes out every run of 6 characters beyond the prefix, wherever a text has been cut and split', () => {
    fc.assert(
      fc.property(
        randomKey,
        fc.nat(),
        fc.nat(),
        fc.string(),
        fc.constantFrom('', ' ', '\n', '\t '),
        (key, a, b, around, gap) => {
          const [from, to] = [a % key.length, b % (key.length + 1)].sort((x, y) => x - y) as [number, number];
          const part = key.slice(from, to);
          const middle = Math.floor(part.length / 2);
          const text = `${around}|${part.slice(0, middle)}${gap}${part.slice(middle)}|${around}`;
          expect(seenIn(scrubber(key)(text), key)).toEqual(seenIn(around, key));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('scrubbing finds several secrets that overlap, and those that look encoded themselves', () => {
    expect(scrubber('abcX1234567890', '7890YZ-more-of-it')('<abcX1234567890YZ-more-of-it>')).toBe('<abcX1234…YZ-m…>');
    for (const secret of ['50%41-and-%zz-more', 'with\\nback\\slash', 'quote"and\\u0041more']) {
      for (const shown of [secret, JSON.stringify(secret), encodeURIComponent(secret)]) {
        expect(scrubber(secret)(`a ${shown} b`), shown).toContain('…');
        expect(scrubber(secret)(`a ${shown} b`), shown).not.toContain(secret.slice(8));
      }
    }
  });

  it('scrubbing leaves ordinary text as it is, though a secret is made of ordinary words and numbers', () => {
    const scrub = scrubber('my-secret-password-123456', 'secret', '1234', 'change-me');
    const text = 'The secret is that 1234 pumps, number 123456 and password, are my own: aaaaaa ABCDEF.';
    expect(scrub(text)).toBe(text);
    expect(scrub('it is my-secret-password-123456!')).toBe('it is my-secre…!');
    expect(scrub('please change-me now')).toBe('please … now');
    expect(SECRET_LENGTH_MIN).toBe(8);
  });

  it('scrubbing does not change a text without a secret', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(scrubber(KEY)(text)).toBe(text);
      }),
    );
  });

  it('scrubbing takes time in proportion to the text, whatever it is made of and however many secrets there are', () => {
    const secrets = Array.from({ length: 50 }, (_, index) => `${KEY}${'q7'.repeat(20)}${index}`);
    const scrub = scrubber(...secrets);
    const timeOf = (text: string) => {
      const times = Array.from({ length: 3 }, () => {
        // Time of the processor, so that a busy machine makes no difference.
        const before = process.cpuUsage();
        scrub(text);
        return process.cpuUsage(before).user / 1000;
      });
      return Math.min(...times);
    };
    const samples = ['plain text of an answer, ', ' ', '%25', '\\u0041', KEY.slice(0, 12), 'q7', KEY.slice(8)];
    for (const sample of samples) {
      const [small, large] = [1 << 16, 1 << 20].map((length) => timeOf(sample.repeat(length / sample.length)));
      // Sixteen times the text; a square would be 256 times.
      expect(large, sample).toBeLessThan(100 * Math.max(small ?? 0, 10));
    }
  });

  it('scrubbing takes about as long after the next rotation of a key as before, however many keys there have been', () => {
    const store = createSecretStore();
    const timeOfNext = (count: number) => {
      for (let at = 0; at < count; at += 1) store.add(`dpp_${randomBytes(24).toString('hex')}`);
      const before = process.cpuUsage();
      store.scrub('The key was read.');
      return process.cpuUsage(before).user;
    };
    const ofAll = timeOfNext(1000);
    const ofOne = Math.min(timeOfNext(1), timeOfNext(1), timeOfNext(1));
    expect(ofOne).toBeLessThan(ofAll / 10);
  });
});

describe('a line made of an answer', () => {
  it('a line made of an answer has no secret, where the secret lies across the end of what is read of the answer', () => {
    const store = createSecretStore();
    store.add(KEY);
    const clean = createCleanText(store);
    for (let shift = 0; shift < KEY.length + 4; shift += 1) {
      const line = clean(`${'x'.repeat(16_384 - shift)}${KEY}`, 20_000);
      expect(seenIn(line, KEY), String(shift)).toEqual([]);
    }
  });
});

describe('values that came into a config by a placeholder', () => {
  const secret = 'hX7-quite-Long_9Zk';
  const withQuote = (placeholder: string) => SOUND_CONFIG.replace('{ path', `{ quote: "${placeholder}", path`);

  it.each(['${file:quote}', '${DPP_KEY}', '${my_token}', '${CLIENT_SECRET_2}', '${DB_PASSWORD:-x}'])(
    'values that came into a config by a placeholder are shown nowhere where they are secrets: %s',
    async (placeholder) => {
      const env = { DPP_KEY: secret, my_token: secret, CLIENT_SECRET_2: secret, DB_PASSWORD: secret };
      const fault = await faultOf(withQuote(placeholder), { env, files: { quote: secret } });
      expect(fault.message).toContain('sources[0].options.quote');
      expect(fault.message).not.toContain(secret.slice(0, 8));
    },
  );

  it.each(['${file:name}', '${NAME_TOKEN}'])(
    'values of a placeholder are scrubbed from later texts: %s',
    async (placeholder) => {
      const secrets = createSecretStore();
      const text = SOUND_CONFIG.replace('products.csv', `./${placeholder}.csv`);
      await loadText(text, { secrets, env: { NAME_TOKEN: secret }, files: { name: secret } });
      expect(secrets.scrub(`./${secret}.csv cannot be read`)).toBe(`./${secret.slice(0, 8)}….csv cannot be read`);
      const plain = createSecretStore();
      await loadText(SOUND_CONFIG.replace('products.csv', './${NAME}.csv'), { secrets: plain, env: { NAME: secret } });
      expect(plain.scrub(secret)).toBe(secret);
    },
  );

  it('a secret field does not hide the path of its file that is missing', async () => {
    const secrets = createSecretStore();
    const text = SOUND_CONFIG.replace('dpp_0123456789abcdef', '${file:/run/secrets/dpp_api_key}');
    const { message } = await faultOf(text, { secrets });
    expect(secrets.scrub(message)).toContain('${file:/run/secrets/dpp_api_key}, which does not exist');
  });

  it('secrets that are too short to be taken out of texts are warned of', async () => {
    const { warnings } = await loadText(SOUND_CONFIG.replace('dpp_0123456789abcdef', 'secret'));
    expect(warnings).toEqual([
      expect.objectContaining({ path: 'target.apiKey', message: expect.stringContaining('fewer than 8 characters') }),
    ]);
    expect(Object.keys(await problemsIn(`${SOUND_CONFIG}web: { token: 1234 }\n`))).toEqual(['web.token']);
  });
});
