// Which members of an answer and which parameters of a request are about people, or are secrets.

import { endsOfName, isSecretName, isSecretParameter, wordsOfName } from '../../lib/text/secret-names.ts';

/** Words with which the names of such members end. Words of one name are joined: `first_name` and `firstName` are `firstname`. */
const PERSONAL = wordsIn(`
  email mail phone telephone tel mobile fax phonenumber mobilenumber faxnumber firstname lastname middlename fullname
  givenname familyname surname nickname maidenname contact contactname contactperson person personname salutation
  signature address addressline street streetname housenumber postcode postalcode zip zipcode birthday birthdate
  dateofbirth iban bic ssn passportnumber taxnumber user username login author createdby updatedby modifiedby
  changedby createdbyuser lastmodifiedby lastchangedby owner responsible employee salesperson purchaser customername
  lastchangedbyuser ernam aenam bearbeiter sachbearbeiter
  vorname nachname ansprechpartner telefon handy adresse anschrift strasse straße hausnummer plz geburtsdatum benutzer
`);
function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Words after which the word before them still says what the member is, such as `ownerName` and `phone_work`. */
const QUALIFIER = wordsIn('name info work home office private business mobile value text');

export type Privacy = 'personal' | 'secret';

/** Recognises private members and parameters by their names, and by the names that a person adds. */
export function createPrivateNames(added: readonly string[]) {
  const own = new Set(added.map((name) => name.toLowerCase()));
  const known = new Map<string, Privacy | null>();
  const ofMember = (name: string): Privacy | null => {
    let privacy = known.get(name);
    if (privacy === undefined) {
      privacy = own.has(name.toLowerCase()) ? 'personal' : privacyOf(name);
      known.set(name, privacy);
    }
    return privacy;
  };
  return {
    ofMember,
    ofParameter: (name: string): Privacy | null => ofMember(name) ?? (isSecretParameter(name) ? 'secret' : null),
  };
}

function privacyOf(name: string): Privacy | null {
  const words = wordsOfName(name);
  for (;;) {
    if (isSecretName(words.join('_'))) return 'secret';
    if (endsOfName(words).some((end) => PERSONAL.has(end))) return 'personal';
    if (words.length < 2 || !QUALIFIER.has(words.at(-1) ?? '')) return null;
    words.pop();
  }
}

/** Shorter tokens are no secrets, such as the tokens of pages `0` and `2`. */
const TOKEN_LENGTH_MIN = 6;

/** True for a value that must not be in a recording, by the name of its member or parameter. */
export function isPrivate(privacy: Privacy | null, name: string, value: string): boolean {
  if (privacy !== 'secret') return privacy === 'personal';
  return value.length >= TOKEN_LENGTH_MIN || !['token', 'tokens'].includes(wordsOfName(name).at(-1) ?? '');
}

/** Texts that look like addresses of people or like secrets, wherever they stand. */
export const PRIVATE_TEXTS: readonly { what: string; pattern: RegExp }[] = [
  { what: 'addresses of e-mail in texts', pattern: /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu },
  { what: 'tokens in texts', pattern: /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g },
  {
    what: 'tokens in texts',
    pattern: /\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abps]|shpat|shpss|AKIA|dpp)[_-]?[A-Za-z0-9_-]{12,}/g,
  },
  { what: 'tokens in texts', pattern: /(?<=\b(?:Bearer|Basic) )[A-Za-z0-9+/._~-]{8,}=*/g },
  {
    what: 'tokens in texts',
    pattern: /(?<![\w-])(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{40,}(?![\w-])/g,
  },
];
