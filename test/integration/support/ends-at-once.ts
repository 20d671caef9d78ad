import { setImmediate } from 'node:timers/promises';

/** Far more turns of the event loop than work without a wait takes, and far fewer than there are in a second. */
const TURNS_MAX = 2_000;

/** Whether the work ends without a wait. The time that a busy machine takes for the work does not count. */
export async function endsAtOnce(work: Promise<unknown>): Promise<boolean> {
  let ended = false;
  const noted = work.then(() => {
    ended = true;
  });
  for (let turn = 0; turn < TURNS_MAX && !ended; turn += 1) await setImmediate();
  const isAtOnce = ended;
  await noted;
  return isAtOnce;
}
