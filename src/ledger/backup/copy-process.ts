// Copies the files of a ledger, in a process that has no ledger open: `copy-process.ts FROM TO`. Prints how it ended, as JSON.

import { messageOf, systemCodeOf } from '../../lib/errors.ts';
import { copyFiles } from '../store/copy-files.ts';
import type { CopyEnd } from './private-copy.ts';

function copy([from = '', to = '']: readonly string[]): CopyEnd {
  try {
    return { copied: copyFiles(from, to) };
  } catch (error) {
    return { copied: false, error: { code: systemCodeOf(error) ?? '', message: messageOf(error) } };
  }
}

process.stdout.write(JSON.stringify(copy(process.argv.slice(2))));
