// The errors of the sandbox's own process. It shares no registry of errors with dpp-sync.

import { Fault, type FaultDetails } from '../../lib/errors.ts';

export const SANDBOX_FAULTS = {
  'sandbox.key': {
    exit: 2,
    title: 'The sandbox cannot use the key that `--key` gives.',
    cure: 'Choose another key, or leave `--key` out.',
  },
  'sandbox.listen': {
    exit: 3,
    title: 'The sandbox cannot listen on its port.',
    cure: 'Choose another port with `--port`; 0 takes a free one.',
  },
  'sandbox.storage': {
    exit: 3,
    title: 'The sandbox cannot use the file of `--data`.',
    cure: 'Stop the other sandbox that uses it, or name another file.',
  },
} as const;

/** Makes an error of the sandbox. The caller throws it. */
export function sandboxFault(code: keyof typeof SANDBOX_FAULTS, message: string, details: FaultDetails): Fault {
  return new Fault(code, SANDBOX_FAULTS[code].exit, message, details);
}
