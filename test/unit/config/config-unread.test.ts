import { describe, expect, it } from 'vitest';
import { loadLedgerText, loadText, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

const MISSING = '${file:/nowhere/secret}';
const WITHOUT_KEY = SOUND_CONFIG.replace('dpp_0123456789abcdef', `"${MISSING}"`);

/** Each with a secret that a command which only looks into the ledger does not use. */
const UNUSED: Record<string, string> = {
  'the token of the dashboard': `${SOUND_CONFIG}web: { token: "${MISSING}" }\n`,
  'a port of the dashboard': `${SOUND_CONFIG}web: { token: abcdefghijklmnop, port: "\${PORT}" }\n`,
  'the API key': WITHOUT_KEY,
  'the key for publishing': SOUND_CONFIG.replace('apiKey:', `publishKey: "${MISSING}"\n  apiKey:`),
  'the password of a source': SOUND_CONFIG.replace(
    'options: { path: products.csv,',
    'options: { access: { sftp: { user: erp, password: "${ERP_PASSWORD}", hostKey: "SHA256:uNiVztksCsDhcc0u9e8BrT3YQ8Qxj1kE2NnG3b2m6Xk" } }, path: "sftp://files.example.com/products.csv",',
  ),
};

describe('a command that only reads the sources', () => {
  it('a command that only reads the sources needs no key, no dashboard and no password of the queue, but those of the sources', async () => {
    const needs = 'sources';
    const { 'the password of a source': ofSource = '', ...others } = UNUSED;
    const queue = `queue: redis://127.0.0.1:1\nqueuePassword: "${MISSING}"\n${SOUND_CONFIG}`;
    for (const text of [...Object.values(others), queue]) {
      expect(await loadText(text, { needs })).toMatchObject({ sources: [{ id: 'erp' }] });
    }
    await expect(loadText(ofSource, { needs })).rejects.toMatchObject({ code: 'config.invalid' });
  });
});

describe("a command that writes rows in the form of the sources' files", () => {
  it.each(Object.entries(UNUSED))(
    "a command that writes rows in the form of the sources' files needs no %s",
    async (_, text) => {
      expect(await loadText(text, { needs: 'dialects' })).toMatchObject({ sources: [{ connector: { id: 'csv' } }] });
    },
  );
});

describe('a command that only looks into the ledger', () => {
  it.each(Object.entries(UNUSED))('a command that only looks into the ledger needs no %s', async (_, text) => {
    await expect(loadText(text)).rejects.toMatchObject({ code: 'config.invalid' });
    for (const needs of ['ledger', 'ledger_and_queue'] as const) {
      expect(await loadLedgerText(text, needs)).toMatchObject({ sources: [{ id: 'erp' }], web: null });
    }
  });

  it('a command that only looks into the ledger does without the password of the queue, unless it asks the queue', async () => {
    const text = `queue: redis://127.0.0.1:1\nqueuePassword: "${MISSING}"\n${SOUND_CONFIG}`;
    expect((await loadLedgerText(text, 'ledger')).queue).toMatchObject({ kind: 'redis' });
    await expect(loadLedgerText(text, 'ledger_and_queue')).rejects.toMatchObject({ path: 'queuePassword' });
  });

  it('a command that only looks into the ledger needs the name of the ledger, and a sound config', async () => {
    await expect(loadLedgerText(`ledger: "\${LEDGER}"\n${SOUND_CONFIG}`, 'ledger')).rejects.toMatchObject({
      path: 'ledger',
    });
    await expect(loadLedgerText(`colour: red\n${WITHOUT_KEY}`, 'ledger')).rejects.toMatchObject({
      code: 'config.invalid',
    });
  });

  it('a command that only looks into the ledger loads no connector and checks no options of sources', async () => {
    const text = SOUND_CONFIG.replace('connector: csv', 'connector: a-package-that-is-not-installed');
    expect(text).not.toBe(SOUND_CONFIG);
    await expect(loadText(text)).rejects.toMatchObject({ code: 'config.invalid' });
    const { sources } = await loadLedgerText(text, 'ledger');
    expect(sources).toMatchObject([{ id: 'erp' }]);
    expect(sources[0]).not.toHaveProperty('options');
  });

  it('a command that only looks into the ledger gives the fault of a secret that is read after all', async () => {
    const { target } = await loadLedgerText(WITHOUT_KEY, 'ledger');
    await expect(target.apiKey.read()).rejects.toMatchObject({ code: 'config.invalid', path: 'target.apiKey' });
  });
});
