import { expect, it } from 'vitest';
import { accessFault } from '../../../src/ledger/file/file.ts';

it('a fault says that the disk fails where a file of the ledger meets an error of the disk', () => {
  const error = Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' });
  expect(accessFault('/data/ledger.db.mark', error)).toMatchObject({
    code: 'ledger.unwritable',
    path: 'ledger',
    message: 'The disk reports an error for the ledger: /data/ledger.db.mark cannot be used: EIO: i/o error, write.',
    suggestion: 'Check whether the disk is failing, or is a network share that is no longer there.',
  });
});
