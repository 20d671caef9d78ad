import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeDecimal } from '../../../src/lib/decimal.ts';
import { COUNTRIES, COUNTRY_ALIASES, country } from '../../../src/pipeline/mapping/functions/country.ts';
import { date } from '../../../src/pipeline/mapping/functions/date.ts';
import { decimal } from '../../../src/pipeline/mapping/functions/decimal.ts';
import { gtin } from '../../../src/pipeline/mapping/functions/gtin.ts';
import {
  REC20_CODES,
  REC21_CODES,
  UNIT_ALIASES,
  unit,
  unitTable,
} from '../../../src/pipeline/mapping/functions/unit.ts';
import { createLookupTables, lookup } from '../../../src/pipeline/mapping/lookups.ts';
import { MappingError } from '../../../src/pipeline/mapping/mapping-error.ts';

function failureOf(call: () => unknown): MappingError {
  try {
    call();
  } catch (error) {
    if (error instanceof MappingError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

const COUNTRY_ROWS = COUNTRIES.trim()
  .split('\n')
  .map((line) => {
    const [alpha2 = '', alpha3 = '', numeric = ''] = line.split(' ', 3);
    return { alpha2, alpha3, numeric, names: line.slice(11).split('|') };
  });

describe('country', () => {
  it('country() knows all 249 countries by every code and name, in any case', () => {
    expect(COUNTRY_ROWS).toHaveLength(249);
    expect(new Set(COUNTRY_ROWS.map((row) => row.alpha3)).size).toBe(249);
    expect(new Set(COUNTRY_ROWS.map((row) => row.numeric)).size).toBe(249);
    for (const { alpha2, alpha3, numeric, names } of COUNTRY_ROWS) {
      for (const spelling of [alpha2, alpha3, numeric, ...names]) {
        expect(country(spelling)).toBe(alpha2);
        expect(country(` ${spelling.toLowerCase()} `)).toBe(alpha2);
      }
      expect(country(Number(numeric))).toBe(alpha2);
      expect(country(`${alpha2.toLowerCase()}-x1`)).toBe(alpha2);
    }
  });

  it.each([
    ['USA', 'US'],
    ['u.s.a.', 'US'],
    ['The Netherlands', 'NL'],
    ['Great Britain', 'GB'],
    ['South Korea', 'KR'],
    ['vietnam', 'VN'],
    ['Viet Nam', 'VN'],
    ['Czech Republic', 'CZ'],
    ['Turkey', 'TR'],
    ['Türkiye', 'TR'],
    ['turkiye', 'TR'],
    ["Cote d'Ivoire", 'CI'],
    ['Côte d’Ivoire', 'CI'],
    ['St. Lucia', 'LC'],
    ['ST', 'ST'],
    ['Trinidad & Tobago', 'TT'],
    ['Congo, The Democratic Republic of the', 'CD'],
    ['DE-BY', 'DE'],
    [40, 'AT'],
    ['840', 'US'],
  ])('country() reads %j as %s', (given, expected) => {
    expect(country(given)).toBe(expected);
  });

  it.each([
    ['Deutschland', 'DE'],
    ['ÖSTERREICH', 'AT'],
    ['Allemagne', 'DE'],
    ['Royaume-Uni', 'GB'],
    ['Niemcy', 'DE'],
    ['Wlochy', 'IT'],
    ['Włochy', 'IT'],
    ['Ελλάδα', 'GR'],
    ['ελλαδα', 'GR'],
    ['България', 'BG'],
    ['Ghearmáin', 'DE'],
    ['il-Ġermanja', 'DE'],
    ['Magyarország', 'HU'],
    ['Češka', 'CZ'],
    ['RU', 'RU'],
  ])('country() knows %j, in whatever language of the EU, as %s', (given, expected) => {
    expect(country(given)).toBe(expected);
  });

  it.each([
    ['République tchèque', 'CZ'],
    ['TSCHECHISCHE REPUBLIK', 'CZ'],
    ['Ceska republika', 'CZ'],
    ['Großbritannien', 'GB'],
    ['Gran Bretaña', 'GB'],
    ['Great Britain', 'GB'],
    ['Holland', 'NL'],
    ['Pays-Bas', 'NL'],
    ['Olanda', 'NL'],
    ['Vereinigte Staaten', 'US'],
    ['EE.UU.', 'US'],
    ['Etats-Unis', 'US'],
    ['Südkorea', 'KR'],
    ['Corée du Sud', 'KR'],
    ['Türkei', 'TR'],
    ['Mazedonien', 'MK'],
  ])('country() knows the usual name %j as %s', (given, expected) => {
    expect(country(given)).toBe(expected);
  });

  it('country() knows no alias of two countries', () => {
    for (const [code, aliases] of Object.entries(COUNTRY_ALIASES)) {
      for (const alias of aliases.split('|')) expect(country(alias), alias).toBe(code);
    }
  });

  it.each(['Korea', 'Virgin Islands', 'Guineas', 'XX', 'ZZ-1', '40', '999', 'Saint', 'E', 'unknown', '-'])(
    'country() does not guess at %j',
    (given) => {
      expect(failureOf(() => country(given)).code).toBe('country.unknown');
    },
  );

  it.each(['1.00', '4.00', '40.0', '.276', '276.', "1'00", '10⁰', '-276'])(
    'country() takes the number %j for no numeric code',
    (given) => {
      expect(failureOf(() => country(given)).code).toBe('country.unknown');
    },
  );
});

describe('unit', () => {
  it.each([
    ['ST', 'C62'],
    ['KG', 'KGM'],
    ['g', 'GRM'],
    ['PAA', 'PR'],
    ['PAK', 'XPK'],
    ['EA', 'EA'],
    ['each', 'EA'],
    ['GRAM', 'GRM'],
    ['KILOGRAM', 'KGM'],
    ['SQUARE_METER', 'MTK'],
    ['Stück', 'C62'],
    ['Stk.', 'C62'],
    ['pcs', 'C62'],
    ['pièce', 'C62'],
    ['m²', 'MTK'],
    ['m2', 'MTK'],
    ['m^3', 'MTQ'],
    ['ml', 'MLT'],
    ['µm', '4H'],
    ['μm', '4H'],
    ['Units', 'C62'],
    ['Nos', 'C62'],
    ['set', 'SET'],
    ['c62', 'C62'],
    [' KGM ', 'KGM'],
    ['H87', 'H87'],
    ['%', 'P1'],
  ])('unit() reads %j as %s', (given, expected) => {
    expect(unit(given)).toBe(expected);
  });

  it.each(['PAL', 'pal', 'ton', 'MT', 'gal', 'gr', 'ct', 'fl. oz.'])('unit() says %j is ambiguous', (given) => {
    const failure = failureOf(() => unit(given));
    expect(failure.code).toBe('unit.ambiguous');
    expect(failure.cure).toContain(`"${given}"`);
  });

  it.each(['furlong', 'ZZZ', 'Eimerchen', 'constructor', '__proto__'])('unit() does not know %j', (given) => {
    expect(failureOf(() => unit(given)).code).toBe('unit.unknown');
  });

  it.each(['1.5', '1.0', '.15', '15.', '-15', '2⁰', '5^8'])('unit() takes the number %j for no code', (given) => {
    expect(failureOf(() => unit(given)).code).toBe('unit.unknown');
  });

  it('unit() maps every alias to a code of its list, and no alias to two codes', () => {
    const codes = new Set(`${REC20_CODES}${REC21_CODES}`.split(/\s+/));
    const seen = new Map<string, string>();
    for (const [code, aliases] of Object.entries(UNIT_ALIASES)) {
      expect(codes).toContain(code);
      for (const alias of aliases.split(',').map((part) => part.trim())) {
        expect(seen.get(alias) ?? code).toBe(code);
        seen.set(alias, code);
        expect(unit(alias)).toBe(code);
      }
    }
  });

  it('unit() leaves a Rec 20 code as it is, but for those that an ERP uses otherwise', () => {
    const changed = `${REC20_CODES}${REC21_CODES}`
      .trim()
      .split(/\s+/)
      .filter((code) => {
        try {
          return unit(code) !== code;
        } catch (error) {
          return error instanceof MappingError;
        }
      });
    expect(changed).toEqual(['AH', 'CTN', 'FL', 'KGS', 'KW', 'OZ', 'PAL', 'STK']);
  });

  it.each(['DG', 'D41', '4N', '28', 'C62', 'XBX', 'X8A', 'd41'])('unit() knows %j of Rec 20 and Rec 21', (code) => {
    expect(unit(code)).toBe(code.toUpperCase());
  });

  it('unit() has the whole of both recommendations', () => {
    expect(new Set(REC20_CODES.trim().split(/\s+/)).size).toBe(1827);
    expect(new Set(REC21_CODES.trim().split(/\s+/)).size).toBe(405);
  });

  it('unit() takes the table of the source first, whatever else a name means', () => {
    const table = unitTable({ ST: 'ST', 'Eimer.': 'XPL', PAL: 'XPX', KG: 'GRM' });
    expect(['st', 'eimer', 'PAL', 'kg', 'm'].map((name) => unit(name, table))).toEqual([
      'ST',
      'XPL',
      'XPX',
      'GRM',
      'MTR',
    ]);
  });
});

/** The rows of the table about `decimal()` in docs/mapping-reference.md, without the signs of code. */
function decimalsOnPage(): string[][] {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/mapping-reference.md'), 'utf8');
  const [, section = ''] = /^### `decimal\(x\)`.*?\n(.*?)^### /ms.exec(page) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

describe('decimal', () => {
  it.each(decimalsOnPage())('decimal() reads %s as the mapping reference says', (value, plain, comma, point) => {
    const read = (mark?: string) => {
      try {
        return decimal(value, mark);
      } catch {
        return 'issue';
      }
    };
    expect([read(), read(','), read('.')]).toEqual([plain, comma, point]);
  });

  it.each([
    ['1234.56', undefined, '1234.56'],
    ['302.35-', undefined, '-302.35'],
    ['  7 ', undefined, '7'],
    ['-0.50', undefined, '-0.5'],
    ['.5', undefined, '0.5'],
    ['1.5E+2', undefined, '150'],
    [0.1, undefined, '0.1'],
    [5, ',', '5'],
    ['1.234,56', ',', '1234.56'],
    ['1234,56', ',', '1234.56'],
    ['1,5', ',', '1.5'],
    ['1.234', ',', '1234'],
    ['12.345.678,9-', ',', '-12345678.9'],
    ['1 234,5', ',', '1234.5'],
    ['1\u00a0234,5', ',', '1234.5'],
    ["1'234.50", '.', '1234.5'],
    ['1,234.56', '.', '1234.56'],
    ['1,234,567', '.', '1234567'],
  ])('decimal() reads %j with mark %j as %s', (given, mark, expected) => {
    expect(decimal(given, mark)).toBe(expected);
  });

  it.each([
    ['1,5', 'decimal(x, ",")'],
    ['1.234,56', 'decimal(x, ",")'],
    ['1,234.56', 'decimal(x, ".")'],
    ['1,234', 'decimal(x, ",") or decimal(x, ".")'],
  ])('decimal() does not guess at %j, and names the way to say it', (given, cure) => {
    const failure = failureOf(() => decimal(given));
    expect(failure.code).toBe('decimal.ambiguous');
    expect(failure.cure).toMatch(cure === 'decimal(x, ",") or decimal(x, ".")' ? /decimal\(x/ : cure);
  });

  it.each([
    ['1.23', ','],
    ['1.2345,6', ','],
    ['1,23.4', '.'],
    ['1.234 567,8', ','],
    ['12.5 kg', undefined],
    ['--5', undefined],
    ['-5-', undefined],
    ['-', undefined],
    ['NaN', undefined],
    ['0x10', undefined],
    ['١٢', undefined],
    ['1'.repeat(101), undefined],
  ])('decimal() refuses %j with mark %j', (given, mark) => {
    expect(failureOf(() => decimal(given, mark)).code).toMatch(/^decimal\.(format|ambiguous)$/);
  });

  it.each<[string, ',' | '.' | undefined, string]>([
    ['1,4 kg', ',', 'decimal(x.split("kg")[0], ",")'],
    ['1,4 kg', undefined, 'decimal(x.split("kg")[0], ",")'],
    ['1.4kg', undefined, 'decimal(x.split("kg")[0])'],
    ['1.234,5 m²', ',', 'decimal(x.split("m²")[0], ",")'],
    ['28 %', undefined, 'decimal(x.split("%")[0])'],
  ])('decimal() says how to cut the unit off %j with mark %j', (given, mark, call) => {
    const { code, cure } = failureOf(() => decimal(given, mark));
    expect(code).toBe('decimal.format');
    expect(cure).toBe(`Correct the value in the source, or cut the unit off in the mapping: ${call}.`);
    const [, separator = ''] = /split\("(.+?)"\)/.exec(call) ?? [];
    const chosen = call.endsWith(', ",")') ? ',' : undefined;
    expect(decimal(given.split(separator)[0], chosen)).not.toBeNull();
  });

  it.each(['kg', 'A4 paper', '1.4 kg', '12 x 5', '1 "', 'about 4'])(
    'decimal() with a comma as mark cuts nothing off %j',
    (given) => {
      expect(failureOf(() => decimal(given, ',')).cure).not.toContain('split');
    },
  );

  it('decimal() takes the whole numbers of expressions', () => {
    expect(decimal(12n)).toBe('12');
  });

  it('decimal() brings every decimal through every notation unchanged', () => {
    const digits = fc.stringMatching(/^[0-9]{1,18}$/);
    fc.assert(
      fc.property(fc.boolean(), digits, fc.option(digits), (negative, whole, fraction) => {
        const plain = `${whole}${fraction === null ? '' : `.${fraction}`}`;
        const expected = normalizeDecimal(negative ? `-${plain}` : plain);
        const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '.');
        const german = `${grouped}${fraction === null ? '' : `,${fraction}`}`;
        const english = `${grouped.replaceAll('.', ',')}${fraction === null ? '' : `.${fraction}`}`;
        for (const [text, mark] of [
          [plain, undefined],
          [german, ','],
          [english, '.'],
        ] as const) {
          expect(decimal(negative ? `-${text}` : text, mark)).toBe(expected);
          expect(decimal(negative ? `${text}-` : text, mark)).toBe(expected);
        }
        if (expected !== null) expect(decimal(expected)).toBe(expected);
      }),
    );
  });
});

describe('gtin', () => {
  it.each([
    ['4006381333931', '04006381333931'],
    ['4 006381 333931', '04006381333931'],
    ['4006381-333931', '04006381333931'],
    [4006381333931, '04006381333931'],
    ['96385074', '00000096385074'],
    ['036000291452', '00036000291452'],
    ['00012345600012', '00012345600012'],
  ])('gtin() reads %j as %s', (given, expected) => {
    expect(gtin(given)).toBe(expected);
  });

  it.each([
    ['4006381333932', 'gtin.check'],
    ['4.0E+12', 'gtin.rounded'],
    ['4,00638E+12', 'gtin.rounded'],
    ['36000291452', 'gtin.format'],
    ['00000000', 'gtin.format'],
    ['ABC', 'gtin.format'],
    ['123456789012345', 'gtin.format'],
  ])('gtin() refuses %j with %s', (given, code) => {
    expect(failureOf(() => gtin(given)).code).toBe(code);
  });

  it('gtin() accepts exactly one check digit for any number', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[1-9][0-9]{11}$/), (body) => {
        const accepted = Array.from('0123456789').filter((digit) => {
          try {
            return gtin(body + digit) === `0${body}${digit}`;
          } catch (error) {
            expect(error).toMatchObject({ code: 'gtin.check' });
            return false;
          }
        });
        expect(accepted).toHaveLength(1);
      }),
    );
  });

  it('gtin() notices any single wrong digit', () => {
    fc.assert(
      fc.property(fc.nat(12), fc.integer({ min: 1, max: 9 }), (place, shift) => {
        const good = '4006381333931';
        const digit = (Number(good[place]) + shift) % 10;
        const bad = good.slice(0, place) + String(digit) + good.slice(place + 1);
        expect(failureOf(() => gtin(bad)).code).toBe('gtin.check');
      }),
    );
  });
});

describe('date', () => {
  it.each([
    ['2021-05-11', undefined, '2021-05-11'],
    ['2021-05-11 00:00:00.000', undefined, '2021-05-11'],
    ['2021-05-11T23:30:00Z', undefined, '2021-05-11'],
    ['2021-05-11T23:30:00+02:00', undefined, '2021-05-11'],
    ['20210511', undefined, '2021-05-11'],
    [20210511, undefined, '2021-05-11'],
    ['/Date(1620691200000)/', undefined, '2021-05-11'],
    ['/Date(1620691200000+0000)/', undefined, '2021-05-11'],
    ['11.05.2021', 'DD.MM.YYYY', '2021-05-11'],
    ['1.5.2021', 'D.M.YYYY', '2021-05-01'],
    ['5/11/2021', 'M/D/YYYY', '2021-05-11'],
    ['11.05.2021 14:30:59', 'DD.MM.YYYY HH:mm:ss', '2021-05-11'],
    ['2020-02-29', undefined, '2020-02-29'],
    ['2000-02-29', undefined, '2000-02-29'],
    ['0001-01-02', undefined, '0001-01-02'],
    ['1970-01-01', undefined, '1970-01-01'],
    ['2999-12-31', undefined, '2999-12-31'],
  ])('date() reads %j (%j) as %s', (given, format, expected) => {
    expect(date(given, format)).toBe(expected);
  });

  it.each([
    ['00000000', undefined],
    ['0000-00-00', undefined],
    ['0000-00-00T00:00:00', undefined],
    ['00.00.0000', 'DD.MM.YYYY'],
    ['0/0/0000 0:00:00', 'D/M/YYYY H:mm:ss'],
    ['0001-01-01T00:00:00', undefined],
    ['01.01.0001', 'DD.MM.YYYY'],
    ['/Date(-62135596800000)/', undefined],
    ['1753-01-01 00:00:00.000', undefined],
    ['1899-12-30', undefined],
    ['1900-01-01T00:00:00Z', undefined],
    ['1/1/1900', 'M/D/YYYY'],
    ['2154-12-31', undefined],
    ['9999-12-31', undefined],
    ['99991231', undefined],
    ['9999-12-31T23:59:59.9999999', undefined],
    ['31.12.9999', 'DD.MM.YYYY'],
    ['/Date(253402214400000)/', undefined],
  ])('date() takes %j (%j) for no date', (given, format) => {
    expect(date(given, format)).toBeNull();
  });

  it.each([
    ['2021-02-29', undefined, 'date.invalid'],
    ['1900-02-29', undefined, 'date.invalid'],
    ['00.00.2021', 'DD.MM.YYYY', 'date.invalid'],
    ['0000-01-01', undefined, 'date.invalid'],
    ['20211301', undefined, 'date.invalid'],
    ['31.04.2021', 'DD.MM.YYYY', 'date.invalid'],
    ['11.05.2021', undefined, 'date.format'],
    ['44327', undefined, 'date.format'],
    ['1.5.2021', 'DD.MM.YYYY', 'date.format'],
    ['11x05x2021', 'DD.MM.YYYY', 'date.format'],
    ['/Date(999999999999999)/', undefined, 'date.invalid'],
    ['2021-05-11', 'DD.MM.YY', 'date.pattern'],
    ['2021-05-11', '(a+)+$', 'date.pattern'],
  ])('date() refuses %j (%j) with %s', (given, format, code) => {
    expect(failureOf(() => date(given, format)).code).toBe(code);
  });

  it('date() agrees with the calendar', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-30'), noInvalidDate: true }),
        (moment) => {
          const iso = moment.toISOString().slice(0, 10);
          const [year, month, day] = iso.split('-');
          expect(date(iso)).toBe(iso);
          expect(date(iso.replaceAll('-', ''))).toBe(iso);
          expect(date(`/Date(${moment.getTime()})/`)).toBe(iso);
          expect(date(`${day}.${month}.${year}`, 'DD.MM.YYYY')).toBe(iso);
        },
      ),
    );
  });
});

describe('lookup', () => {
  const tables = createLookupTables();
  tables.add('colours.csv', {
    table: { id: 'colours', name: 'colours.csv', stream: null, entries: new Map([['01', 'red']]) },
    title: 'lookup file "colours.csv"',
  });

  it('lookup() finds a trimmed key, a number by its digits, and gives the fallback for a key that is not listed', () => {
    expect(lookup(tables, 'colours.csv', ' 01 ')).toBe('red');
    expect(lookup(tables, 'colours.csv', '02', 'none')).toBe('none');
    expect(lookup(tables, 'colours.csv', '')).toBeNull();
    expect(lookup(tables, 'colours.csv', '', 'none')).toBe('none');
  });

  it('lookup() names table and key of an entry that is not listed', () => {
    const failure = failureOf(() => lookup(tables, 'colours.csv', 1));
    expect(failure.code).toBe('lookup.unknown');
    expect(failure.message).toContain('"colours.csv" has no entry for "1"');
    expect(failureOf(() => lookup(tables, 'other.csv', 1)).code).toBe('lookup.table');
  });
});

describe('every function', () => {
  const functions = { country, unit: (value: unknown) => unit(value), decimal, gtin, date };

  it('every mapping function gives null for an empty value', () => {
    for (const call of Object.values(functions)) {
      for (const empty of ['', '   ', null, undefined]) expect(call(empty)).toBeNull();
    }
  });

  it('every mapping function throws nothing but a MappingError, whatever value it is given', () => {
    const odd = fc.oneof(
      fc.anything(),
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^[-+]?[0-9.,' ]{0,30}[-]?$/),
      fc.constantFrom('/Date(9999999999999999)/', '9'.repeat(400), '1e999', Number.NaN, 2 ** 60, Symbol('x')),
    );
    fc.assert(
      fc.property(odd, fc.option(odd, { nil: undefined }), (value, second) => {
        for (const call of [
          ...Object.values(functions),
          (x: unknown, y: unknown) => lookup(createLookupTables(), x, y),
        ]) {
          try {
            const result = call(value, second);
            expect(result === null || typeof result === 'string').toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(MappingError);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });
});
