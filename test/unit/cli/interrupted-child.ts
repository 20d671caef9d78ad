// Continues after the first signal, like a program that waits for a request that gets no answer.
import { interruptible } from '../../../src/cli/context.ts';

const [drainMs = ''] = process.argv.slice(2);
const work = setInterval(() => {}, 1000);
const interruption = interruptible({
  onFirst: () => process.stdout.write('stopping\n'),
  onSecond: () => process.exit(2),
  drainMs: Number(drainMs),
  onLate: () => process.exit(3),
});
interruption.signal.addEventListener('abort', () => {
  if (drainMs !== '60000') return;
  clearInterval(work);
  interruption.dispose();
});
process.stdout.write('ready\n');
