import { describe, expect, it } from 'vitest';
import { hasTitle, titleOfIssue, titleOfReason } from '../../../src/ledger/dashboard/cause-text.ts';
import { issueCodes } from '../../generate/issue-codes.ts';

/** Codes of mistakes in a mapping, whose message is the best title. */
const TITLED_BY_MESSAGE =
  /^(?:each\.(?!key)|when\.|value\.|split\.|pairs\.|number\.|matches\.|text\.|key\.(?:type|characters)|lookup\.(?:table|many)|decimal\.mark|date\.(?:pattern|invalid)|duration\.|expression\.costly)/;

describe('the title of a cause', () => {
  it('the title of a cause is written for each code that an issue can have', () => {
    const codes = issueCodes().filter((code) => !TITLED_BY_MESSAGE.test(code));
    expect(codes.length).toBeGreaterThan(25);
    expect(codes.filter((code) => !hasTitle(code))).toEqual([]);
  });

  it('the title of a cause names the field, and no value of a single row', () => {
    const issue = { code: 'country.unknown', field: 'country_of_origin', message: 'The country "EU" is not known.' };
    expect(titleOfIssue(issue)).toBe('Unknown country in country_of_origin.');
  });

  it('the title of a cause about a whole row is a sentence without a field', () => {
    const issue = { code: 'claim.conflict', field: 'key', message: 'Another row makes the product "1".' };
    expect(titleOfIssue(issue)).toBe('Two rows make the same item with different values.');
  });

  it('the title of a cause of an unknown code is the message without values and numbers', () => {
    const issue = { code: 'own.rule', message: 'Line 141 holds "x", but 17 columns are expected. Correct it.' };
    expect(titleOfIssue(issue)).toBe('Line … holds …, but … columns are expected.');
  });

  it('the title of a cause of a business rule is what the platform says', () => {
    const message = 'The passport cannot be published: review is missing. missing: review.';
    expect(titleOfReason({ code: 'gate', message, fields: { missing: 'review' } })).toBe(
      'The passport cannot be published: review is missing.',
    );
  });
});
