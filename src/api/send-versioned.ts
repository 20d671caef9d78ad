import type { RemoteItem, SendResult } from '../domain/ports/target.ts';
import { unreadableAnswer } from './answers/classify.ts';
import { idInPath } from './answers/sent-identity.ts';
import { LIST_ENDPOINTS } from './endpoints.ts';
import { createEntityTags } from './entity-tags.ts';
import type { ListShape } from './listing/list-page.ts';
import { sendOnce } from './send-once.ts';
import type { Session } from './session.ts';
import type { AnswerHeaders } from './transport.ts';

type Outgoing = Parameters<typeof sendOnce>[1];

/** Precondition Failed and Precondition Required (RFC 9110, section 15.5.13; RFC 6585, section 3). */
const PRECONDITION_STATUSES: ReadonlySet<number | null> = new Set([412, 428]);

/** Sends creates and changes of materials, which are the only items that the API can change. */
export interface VersionedSender {
  /** The shape of the list of materials, from whose entries the versions are learnt. */
  shape: ListShape<RemoteItem>;
  /** Sends a write once. A change has the version that it replaces, if the profile says so. */
  send(outgoing: Outgoing): Promise<SendResult>;
}

export function createVersionedSender(session: Session, listShape: ListShape<RemoteItem>): VersionedSender {
  const { ifMatch } = session.profile.requests;
  const tags = createEntityTags(session.profile);
  const shape = tags.watched(listShape);
  const { material: endpoint } = LIST_ENDPOINTS;

  async function sendChange(outgoing: Outgoing): Promise<SendResult> {
    const id = idInPath(outgoing.path);
    const { signal } = outgoing;
    const readList = () => session.list({ endpoint, shape, onPage: () => Promise.resolve(), signal });
    const tag = await tags.ifMatch(id, readList);
    const result = await sendLearning({ ...outgoing, ...(tag !== null && { further: ['If-Match', tag] }) }, () => id);
    const { outcome } = result;
    if (outcome.kind !== 'refused' || !PRECONDITION_STATUSES.has(outcome.detail.status)) return result;
    const { status, message } = outcome.detail;
    if (ifMatch !== 'etag') {
      const cure = 'If the platform asks for the version of the material, set `requests.ifMatch` in the profile.';
      return { ...result, outcome: { ...outcome, detail: { ...outcome.detail, message: `${message} ${cure}` } } };
    }
    // The change was not done. It is sent again like an unconfirmed one: after a wait, and a bounded number of times.
    tags.outdated(id);
    const again =
      'The material has another version at the platform. dpp-sync reads its list and sends the change again.';
    return { ...result, outcome: unreadableAnswer(status, `${message} ${again}`) };
  }

  /** Learns the version from the answer to a write. */
  async function sendLearning(outgoing: Outgoing, idOf: (remoteId: unknown) => string): Promise<SendResult> {
    let headers: AnswerHeaders = {};
    const onHeaders = (given: AnswerHeaders): void => {
      headers = given;
    };
    const result = await sendOnce(session, { ...outgoing, onHeaders });
    if (result.outcome.kind === 'accepted') tags.written(idOf(result.outcome.remoteId), headers);
    return result;
  }

  return {
    shape,
    send: (outgoing) => (outgoing.method === 'PATCH' ? sendChange(outgoing) : sendLearning(outgoing, String)),
  };
}
