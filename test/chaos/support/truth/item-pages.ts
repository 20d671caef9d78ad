// The pages of some items, each figure beside what the tables of the ledger have of the item.

import { stateWord } from '../../../../src/domain/words/states.ts';
import type { ItemBook } from './books.ts';
import type { Moment } from './moment.ts';
import type { Claim } from './page.ts';

const textOf = (markup: string): string =>
  markup
    .replace(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .trim();

/** The values of a page by their names, as the facts of an item and of its passport are shown. */
function valuesIn(markup: string): Map<string, string> {
  const entries = markup.matchAll(/<dt>([^<]*)<\/dt><dd>([\s\S]*?)<\/dd>/g);
  return new Map(Array.from(entries, ([, name = '', value = '']) => [name, textOf(value)]));
}

/** The card of a page with this title; empty if the page has none. */
function cardOf(body: string, title: string): string {
  return body.split('<section class="card"').find((card) => textOf(card.split('</h2>')[0] ?? '').endsWith(title)) ?? '';
}

/** How many items the list of users has, with those that are only counted. */
function usersIn(body: string): number {
  const [, list = ''] = cardOf(body, 'Refers to, and used by').split('<h3>Used by</h3>');
  const [, more = '0'] = /and ([\d,]+) more item/.exec(list) ?? [];
  return list.split('<li>').length - 1 + Number(more.replaceAll(',', ''));
}

function claimsOf(
  { kind, key, state, revision, attempts, remoteId, users, passport }: ItemBook,
  body: string,
): Claim[] {
  const where = `/items/${kind}/${key}`;
  const facts = valuesIn(cardOf(body, 'State'));
  const claims: Claim[] = [
    {
      where,
      what: 'state',
      shown: (facts.get('state') ?? '').startsWith(stateWord(state)) ? state : 'another',
      is: state,
    },
    { where, what: 'key', shown: facts.get('key') ?? '', is: key },
    { where, what: 'revision', shown: Number(facts.get('revision') ?? -1), is: revision },
    { where, what: 'attempts', shown: Number(facts.get('attempts') ?? 0), is: attempts },
    {
      where,
      what: 'id',
      shown: facts.get('id at the platform') ?? '',
      is: remoteId === null ? '' : String(JSON.parse(remoteId)),
    },
    { where, what: 'users', shown: usersIn(body), is: users },
  ];
  if (passport === null) return claims;
  const shown = valuesIn(cardOf(body, 'Passport')).get('state') ?? '';
  return [...claims, { where, what: 'passport', shown, is: stateWord(passport) }];
}

export async function itemClaims({ books, visitor }: Moment): Promise<Claim[]> {
  const claims: Claim[] = [];
  for (const item of books.items) {
    const path = `/items/${item.kind}/${encodeURIComponent(item.key)}`;
    const { status, body } = await visitor.get(path);
    if (status !== 200) throw new Error(`${path} was answered with ${status}.`);
    claims.push(...claimsOf(item, body));
  }
  return claims;
}
