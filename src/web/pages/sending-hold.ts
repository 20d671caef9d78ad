import type { Runtime } from '../../daemon/runtime.ts';
import { accessWord } from '../../domain/delivery/operation.ts';

/** What keeps everything from being sent at present, for the pages that promise that something will be sent; null if nothing does. */
export function sendingHold({ api }: Runtime): string | null {
  const authorization = api.authorization();
  if (!authorization.open) {
    const cure =
      authorization.by === 'key'
        ? 'Nothing is sent until the API accepts the key; everything stays due. Correct the key in the config.'
        : 'Nothing is sent until the plan of the workspace allows it; everything stays due.';
    return `${authorization.reason.message} ${cure}`;
  }
  if (api.unreachableSince() !== null) {
    return 'The API does not answer, so nothing is sent now. Everything stays due, and is sent by itself when the API answers again.';
  }
  const refused = Array.from(
    api.shownRefusals(),
    ([access, { message }]) =>
      `${message} The API refuses ${accessWord(access)}, so what needs it is not sent until the API accepts it.`,
  );
  return refused.length === 0 ? null : refused.join(' ');
}
