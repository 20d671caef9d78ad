import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createOutput } from '../../../src/cli/text/output.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

function open() {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const ownStart = () => ({ command: 'dpp-sync', configFile: null });
  createOutput({ stdout, stderr, env: {}, secrets: createSecretStore(), json: false, quiet: false, ownStart });
  return { stdout, stderr };
}

const failure = (code: string) => Object.assign(new Error(`${code}: it failed, write`), { code });

it('a result that cannot be written is a failure with its reason', () => {
  const { stdout } = open();
  expect(() => stdout.emit('error', failure('ENOSPC'))).toThrow(
    expect.objectContaining({
      code: 'output.unwritable',
      exitCode: 1,
      message: 'The output cannot be written: the disk is full (ENOSPC).',
    }),
  );
});

it('a reader of the result that has gone away is no failure', () => {
  const { stdout } = open();
  expect(() => stdout.emit('error', failure('EPIPE'))).not.toThrow();
});

it.each(['ENOSPC', 'EDQUOT', 'EIO', 'EPIPE'])('a log that cannot be written (%s) stops no work', (code) => {
  const { stderr } = open();
  expect(() => stderr.emit('error', failure(code))).not.toThrow();
});
