import { describe, expect, it } from 'vitest';
import type { WaitingRun } from '../../../src/domain/approval.ts';
import type { PassportCounts } from '../../../src/domain/passport.ts';
import type { GuardedRead } from '../../../src/domain/ports/guarded-intake.ts';
import type { Cause } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import type { RunView } from '../../../src/domain/ports/ledger/ledger-views.ts';
import { entriesOf } from '../../../src/web/pages/attention/cause-entries.ts';
import { answersCard, headline } from '../../../src/web/pages/overview/answers-card.ts';
import { overviewPage } from '../../../src/web/pages/overview/overview-page.ts';
import type { OverviewView } from '../../../src/web/pages/overview/overview-view.ts';

const NOTHING_LEFT = { due: 0, sending: 0, following: 0, requested: 0, waiting: 0, incomplete: 0, unconfirmed: 0 };
const NOW = Date.UTC(2026, 2, 1, 6);
const HOSTILE = '<img src=x onerror=alert(1)>';
const text = (markup: string): string =>
  markup
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .trim();

const run: RunView = {
  id: 7,
  askedBy: null,
  source: 'erp',
  trigger: 'schedule',
  startedAt: NOW - 3_600_000,
  endedAt: NOW - 3_540_000,
  result: 'complete',
  error: null,
  streams: [
    {
      source: 'erp',
      stream: 'products',
      read: 1204,
      unchanged: 1190,
      changed: 9,
      quarantined: 3,
      excluded: 2,
      missing: 1,
      guarded: null,
      missedByChanges: null,
      warnings: [],
    },
  ],
};
const cause: Cause = {
  id: 'c0ffee',
  type: 'quarantine',
  source: 'erp',
  stream: 'products',
  title: `Unknown country ${HOSTILE}`,
  meaning: 'It is none.',
  cure: 'Correct it.',
  command: null,
  code: 'country.unknown',
  field: 'country_of_origin',
  count: 9,
  passportsHeld: 4,
  firstSeenAt: NOW - 86_400_000,
  lastSeenAt: NOW - 86_400_000,
  note: null,
  example: null,
  values: [],
  otherValues: 0,
};
const view: OverviewView = {
  health: { status: 'ok', ledger: 'ok', queue: 'ok', api: 'ok' },
  standing: {
    otherForms: [],
    renewableInMs: 0,
    items: { product: { delivered: 1_000, due: 90, rejected: 3 }, material: {}, bom_item: { waiting: 10 } },
    passports: { published: 331, initialized: 4, incomplete: 7, blocked: 2, none: 0 },
    unconfirmedPassports: 0,
    quarantined: 3,
    guarded: [],
    held: [],
    failedRuns: [],
    suspended: [],
    refused: [],
    missing: { product: 1 },
    paddedKeys: [],
    formerSources: [],
    missingOutcomes: [{ kind: 'product', outcome: 'kept', count: 1 }],
    queues: null,
    api: 'ok',
    apiWait: null,
    refusedScopes: [],
    sources: [{ source: 'erp', lastRun: run, lastEnded: run, completeAt: run.endedAt, nextRunAt: NOW + 3_600_000 }],
  },
  running: [],
  pausedQueues: [],
  trouble: null,
  lost: null,
  refusal: null,
  refusedScopes: [],
  refusedOperations: [],
  causes: entriesOf([cause]),
  passportBlocker: null,
  unproven: [],
  unmapped: [],
  inQuarantine: new Map([['erp', 5]]),
  stuck: [],
  causeCount: 12,
  rate: { now: 4.24, allowed: 50 },
  pauses: new Map(),
  left: { ...NOTHING_LEFT, due: 90, waiting: 10 },
  secondsLeft: 45,
  productsInQuarantine: 0,
  down: [],
  refused: 3,
  latency: { operation: 'product.create', now: 412, usual: 35 },
  passportsWanted: true,
  operates: true,
  configRefusedAt: null,
  baseUrl: 'https://dpp.example.com',
  version: '1.2.3',
  startedAt: NOW - 60_000,
  now: NOW,
};

it('each part of the overview has a name of its own, so that a screen reader tells them apart', () => {
  const { markup } = overviewPage({ ...view, stuck: [] });
  const names = Array.from(
    markup.matchAll(/<(?:section|div)[^>]* (aria-label(?:ledby)?="[^"]+")/g),
    ([, name]) => name,
  );
  expect(names.length).toBeGreaterThan(5);
  expect(new Set(names).size).toBe(names.length);
});

describe('the headline', () => {
  it('the headline says how many passports are published, and in one sentence what stops the rest', () => {
    expect(text(headline(view).markup)).toBe(
      '331 of 344 passports public' +
        'Of the rest, 2 need a person, 7 wait for a complete product and 4 are prepared, not public.',
    );
  });

  it('the headline says what keeps all passports from being published', () => {
    const said = text(headline({ ...view, passportBlocker: 'The guard holds the source erp.' }).markup);
    expect(said).toContain('7 wait for a complete product and 4 are prepared, not public.');
    expect(said).toContain('No passport can be published now: The guard holds the source erp.');
  });

  it('the headline does not count products without a passport where the config wants none', () => {
    const unwanted = (passports: PassportCounts) =>
      text(headline({ ...view, passportsWanted: false, standing: { ...view.standing, passports } }).markup);
    expect(unwanted({ published: 1, none: 500 })).toContain('1 of 1 passport public');
    expect(unwanted({ none: 500 })).toContain('The config has no section “passports”');
  });

  describe('where all passports of the ledger are published', () => {
    const standing = { ...view.standing, passports: { published: 11 }, quarantined: 0 };
    const [source] = standing.sources;
    const guard = { source: 'erp', stream: 'boms', runId: 7, since: NOW, message: 'Too few rows.' } as GuardedRead;
    const said = (present: Partial<OverviewView['standing']>, unmapped: string[] = []) =>
      text(headline({ ...view, left: NOTHING_LEFT, standing: { ...standing, ...present }, unmapped }).markup);
    const MAY_LACK =
      '11 of 11 passports publicEvery passport of the ledger is public. Products may be missing from the ledger:';

    it('the headline says that every passport is published if no source can have more', () => {
      expect(said({})).toBe('11 of 11 passports publicEvery passport is public.');
    });

    it('the headline says that public passports have changes that are not sent yet', () => {
      const left = { ...NOTHING_LEFT, due: 11, sending: 1 };
      expect(text(headline({ ...view, standing, left }).markup)).toBe(
        '11 of 11 passports publicEvery passport is public. 12 changes are not sent yet.',
      );
    });

    it.each<[string, Partial<OverviewView['standing']>, string[]]>([
      ['1 row has an error.', { quarantined: 1 }, []],
      ['1,200 rows have an error.', { quarantined: 1200 }, []],
      ['the last run of pim failed.', { failedRuns: [{ source: 'pim', error: 'No file.' }] }, []],
      ['the guard holds erp/boms.', { guarded: [guard] }, []],
      ['pim was never read completely.', { sources: [{ ...source, source: 'pim', completeAt: null } as never] }, []],
      [
        'the last run of erp was interrupted.',
        { sources: [{ ...source, lastRun: { ...run, result: 'interrupted' } } as never] },
        [],
      ],
      ['rows of erp are not mapped yet.', {}, ['erp']],
      ['1 row has an error and rows of erp are not mapped yet.', { quarantined: 1 }, ['erp']],
    ])('the headline names what may bring further products: %s', (named, present, unmapped) => {
      expect(said(present, unmapped)).toBe(`${MAY_LACK} ${named}`);
    });
  });
});

describe('the answers at the head of the first page', () => {
  const said = (changed: Partial<OverviewView>) => {
    const { markup } = answersCard({ ...view, ...changed });
    const tiles = [...markup.matchAll(/<div class="(\w+)"><dt>(.*?)<\/dt><dd>(.*?)<\/dd><\/div>/gs)];
    return Object.fromEntries(
      tiles.map(([, tone, question = '', answer = '']) => [question, `${tone}: ${text(answer)}`]),
    );
  };
  const LAST = 'Did the last runs work?';
  const DOWN = 'Is anything down?';
  const PEOPLE = 'What needs a person?';
  const DONE = 'When is everything sent?';
  const standingWith = (changed: Partial<OverviewView['standing']>) => ({ standing: { ...view.standing, ...changed } });
  const [source] = view.standing.sources;
  const pim = (result: RunView['result']) => ({ ...source, source: 'pim', lastRun: { ...run, result } }) as never;

  it('what the card below lists is not nothing, also without a cause', () => {
    const none = { causes: [], causeCount: 0 };
    const missing = standingWith({ passports: { published: 9 } });
    expect(said({ ...none, ...missing })[PEOPLE]).toBe('warn: 1 thingNo passport waits.');
    const guarded = [{ source: 'erp', stream: 'boms', runId: 7, since: NOW, message: 'Too few.' } as GuardedRead];
    const held = standingWith({ passports: { published: 9 }, missingOutcomes: [], guarded });
    const causes = entriesOf([{ ...cause, type: 'guard' as const, title: 'The export of erp is broken.' }]);
    expect(said({ ...none, ...held, causes, causeCount: 1 })[PEOPLE]).toBe(
      'bad: 1 thingNo passport waits. First: The export of erp is broken. Correct it.',
    );
  });

  it('a run that waits for an approval is not complete, and its export is not in', () => {
    const lastRun = { ...run, result: 'held' as const, streams: [] };
    const sources = [{ ...view.standing.sources[0], lastRun } as OverviewView['standing']['sources'][number]];
    const waits: WaitingRun = {
      source: 'erp',
      runId: 7,
      at: NOW,
      excesses: [{ source: 'erp', effect: 'unpublish', count: 2, limit: 0 }],
      effects: {},
      writes: { count: 2, digest: 'd' },
    };
    const held = { ...standingWith({ sources, held: [waits], passports: { published: 9 } }), left: NOTHING_LEFT };
    expect(said(held)[LAST]).toMatch(
      /^bad: 0 of 1 source complete.*held, because it would do more than is allowed: erp\./,
    );
    expect(said(held)[DONE]).toBe('warn: Everything so far is sentThe last export is not in: erp.');
    expect(text(headline({ ...view, ...held }).markup)).toContain('a run of erp waits for an approval');
    const note = (operates: boolean) => overviewPage({ ...view, ...held, operates }).markup;
    expect(note(true)).toContain('href="/runs/accept?source=erp"');
    expect(note(false)).not.toContain('/runs/accept');
    expect(text(note(false))).toContain('2 passports to withdraw (erp allows 0)');
    // Nobody has to be asked any more.
    const decided = { ...standingWith({ sources, passports: { published: 9 } }), left: NOTHING_LEFT };
    expect(said(decided)[LAST]).toMatch(/^warn: 0 of 1 source complete.*held, and a person has decided: erp\./);
    expect(said(decided)[DONE]).toContain('The last export is not in: erp.');
  });

  it('no passport waits for a row in quarantine where the config wants no passports', () => {
    const unwanted = { ...standingWith({ passports: {} }), passportsWanted: false, productsInQuarantine: 5 };
    expect(said(unwanted)[PEOPLE]).toMatch(/^warn: 13 thingsNo passport waits\./);
  });

  it('a good night is green', () => {
    const nothingLeft = { passports: { published: 9 }, missing: {}, missingOutcomes: [] };
    const good = { ...standingWith(nothingLeft), causes: [], causeCount: 0 };
    expect(said({ ...good, left: NOTHING_LEFT })).toEqual({
      [LAST]:
        'good: 1 of 1 source complete9 rows changed, 3 rows have an error, the last run ended 2026-03-01 05:01 UTC, 59 min ago.',
      [DOWN]: 'good: NothingPlatform, ledger and queue work.',
      [PEOPLE]: 'good: NothingNo passport waits.',
      [DONE]: 'good: Everything is sent',
    });
  });

  it('a run that failed, that the guard held or that did not end is never green', () => {
    const sources = [...view.standing.sources, pim('failed')];
    const failed = said(standingWith({ sources, failedRuns: [{ source: 'pim', error: 'No file.' }] }));
    expect(failed[LAST]).toMatch(/^bad: 1 of 2 sources completefailed: pim\. /);
    const guarded = [{ source: 'erp', stream: 'boms', runId: 7, since: NOW, message: 'Too few.' } as GuardedRead];
    expect(said(standingWith({ guarded }))[LAST]).toMatch(/^bad: 0 of 1 source completeheld as broken: erp\. /);
    const interrupted = standingWith({ sources: [...view.standing.sources, pim('interrupted')] });
    expect(said(interrupted)[LAST]).toMatch(/^warn: 1 of 2 sources completeinterrupted: pim\. /);
    const never = standingWith({ sources: [{ ...source, lastRun: null } as never] });
    expect(said(never)[LAST]).toMatch(/^warn: 0 of 1 source completenot read yet: erp\. /);
  });

  it('what is down is red, with its time, and no time is promised meanwhile', () => {
    const down = [{ what: 'The platform does not answer', since: NOW - 60_000, until: null, stopsAll: true }];
    const answers = said({ down });
    expect(answers[DOWN]).toMatch(/^bad: The platform does not answer since 2026-03-01 05:59 UTC, for 60 s/);
    expect(answers[DONE]).toMatch(
      /^warn: 90 writes left, nothing is sent while something is down10 wait for other items\.$/,
    );
    expect(
      said({ down: [...down, { what: 'The queue is out of reach', since: null, until: null, stopsAll: true }] })[DOWN],
    ).toContain('Also: The queue is out of reach.');
    expect(said({ down, pausedQueues: ['deliver'] })[DOWN]).toContain('Also: paused by a person: deliver.');
    const asked = { what: 'The platform asks to wait', since: NOW - 5_000, until: NOW + 3_600_000, stopsAll: true };
    expect(said({ down: [asked] })[DOWN]).toMatch(
      /^bad: The platform asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d(?: UTC)?Everything/,
    );
  });

  it('a refused scope stops nothing else, so the time of the rest is known', () => {
    const answers = said({
      down: [{ what: 'The platform refuses a scope of the key', since: null, until: null, stopsAll: false }],
    });
    expect(answers[DOWN]).toBe(
      'bad: The platform refuses a scope of the keyWhat needs it stays due; everything else is sent.',
    );
    expect(answers[DONE]).toBe('plain: 90 writes left, about 45 s10 wait for other items.');
  });

  it('no time is promised while a person has paused the queue', () => {
    expect(said({ pausedQueues: ['deliver'] })[DONE]).toMatch(/^warn: 90 writes left, not while the queue is paused/);
    expect(said({})[DONE]).toBe('plain: 90 writes left, about 45 s10 wait for other items.');
  });

  it('what a failed run or a held export would bring is not known', () => {
    const failedRuns = [{ source: 'pim', error: 'No file.' }];
    const advice = { title: 'The last run of pim failed.', cure: 'Correct it. Then run it.' };
    const failed = { ...cause, ...advice, type: 'run' as const, passportsHeld: null };
    const asked = { ...standingWith({ passports: { published: 9 }, failedRuns }), left: NOTHING_LEFT };
    const answers = said({ ...asked, causes: entriesOf([{ ...failed, example: 'No file.' }]), causeCount: 1 });
    expect(answers[PEOPLE]).toBe(
      'bad: 2 thingsHow many passports wait is not known. First: The last run of pim failed. No file. Correct it.',
    );
    expect(answers[DONE]).toBe('warn: Everything so far is sentThe last export is not in: pim.');
    expect(said({ causes: entriesOf([cause, failed]) })[PEOPLE]).toMatch(/^bad: 13 things9 passports wait, or more\./);
  });

  it('what was sent and has no answer is not done', () => {
    const left = { ...NOTHING_LEFT, unconfirmed: 859 };
    expect(said({ left })[DONE]).toBe('warn: Nothing can be sent now859 were sent and have no answer yet.');
  });

  it('what is asked for and not staged yet is left to send', () => {
    const left = { ...NOTHING_LEFT, following: 3, requested: 3_264, incomplete: 2 };
    expect(said({ left })[DONE]).toBe('plain: 3,267 writes left, about 45 s2 passports wait for a complete product.');
    expect(said({ left, secondsLeft: null })[DONE]).toMatch(/^plain: 3,267 writes left2 passports/);
    expect(text(overviewPage({ ...view, left }).markup)).toContain(
      'Left to send0, 3 publications to follow and 3,264 publications asked for, about 45 s and 2 passports wait for a complete product',
    );
  });

  it('products that only rows in quarantine have are among the passports that wait, and among all passports', () => {
    expect(said({ productsInQuarantine: 61 })[PEOPLE]).toMatch(/^bad: 13 things70 passports wait\. First: /);
    expect(text(headline({ ...view, productsInQuarantine: 61 }).markup)).toMatch(
      /^331 of 405 passports public.* and 61 have only rows with an error\.$/,
    );
  });
});

describe('the overview', () => {
  const { markup } = overviewPage(view);

  it('the overview links each figure to the list behind it', () => {
    for (const to of [
      '/passports?state=published',
      '/passports?state=incomplete',
      '/runs/7',
      '/items?kind=product&amp;state=rejected',
      '/items?state=due',
      '/items?state=waiting',
      '/attention/c0ffee',
    ]) {
      expect(markup, to).toContain(`href="${to}"`);
    }
  });

  it('the overview shows items that were sent in another form than the profile has now', () => {
    const otherForms = [{ kind: 'bom_item' as const, items: 412, fields: ['quantity', 'unit'] }];
    expect(text(overviewPage({ ...view, standing: { ...view.standing, otherForms } }).markup)).toContain(
      '412 BOM items were sent in another form than the profile has now: quantity, unit. How many can be sent again: dpp-sync replay --form --dry-run',
    );
    expect(markup).not.toContain('in another form');
  });

  it('the overview shows the rows that a run has put into quarantine, and all that are there now', () => {
    expect(markup).toMatch(/data-label="with an error"><span class="">3<\/span>/);
    expect(markup).toMatch(/data-label="with an error now"><a [^>]*>5<\/a>/);
  });

  it('the overview shows the rate against what the API allows, what is left and for how long', () => {
    const shown = text(markup);
    expect(shown).toContain('Requests now4.2 per second');
    expect(shown).toContain('The API allows50 per second');
    expect(shown).toContain('Left to send90, about 45 s and 10 wait for other items');
  });

  it('the overview escapes text from outside', () => {
    expect(markup).not.toContain('<img');
    expect(markup).toContain('&lt;img src=x');
  });

  it('the overview offers an operator to accept a guarded export, and nobody else', () => {
    const guarded = [
      {
        source: 'erp',
        stream: 'products',
        runId: 7,
        since: NOW,
        missing: 90,
        read: 10,
        released: 0,
        creates: 0,
        gone: [],
        isLeft: false,
        isOlder: false,
        message: '90 of 100 are gone.',
      },
    ];
    const held = { ...view, standing: { ...view.standing, guarded } };
    expect(overviewPage(held).markup).toContain('href="/runs/accept?source=erp"');
    expect(overviewPage({ ...held, operates: false }).markup).not.toContain('/runs/accept');
  });

  it('the overview reports a lost ledger, trouble, a refused key and scope, paused queues and a wait', () => {
    const shown = text(
      overviewPage({
        ...view,
        causes: null,
        lost: 'The ledger was removed.',
        trouble: 'The disk is full.',
        refusal: 'The API refuses the key.',
        refusedScopes: [{ scope: 'publish', message: 'No publishing.' }],
        pausedQueues: ['deliver'],
        standing: {
          ...view.standing,
          apiWait: { since: NOW, until: NOW + 3_600_000, askAgainAt: NOW + 60_000, message: 'Slow down.' },
        },
      }).markup,
    );
    expect(shown).toContain('The ledger was removed. dpp-sync sends nothing more, and the daemon ends.');
    expect(shown).toContain('The disk is full. Everything stays due');
    expect(shown).toContain('The API refuses the key.');
    expect(shown).toContain('No publishing. Deliveries that need the scope publish stay due');
    expect(shown).toContain('Paused: deliver');
    expect(shown).toContain('The API has asked to wait until 2026-03-01 07:00 UTC (429): Slow down.');
    expect(shown).toContain('The causes could not be read at the moment.');
  });

  it('the overview says how long the platform takes to answer, and whether it or dpp-sync is slow', () => {
    const said = (latency: OverviewView['latency']) => text(overviewPage({ ...view, latency }).markup);
    expect(said(view.latency)).toContain(
      'The platform answers in 410 ms, usually 35 ms. The platform is slow, not dpp-sync.',
    );
    const quick = said({ operation: 'product.create', now: 61, usual: 35.2 });
    expect(quick).toContain('The platform answers in 61 ms, usually 35 ms. (product.create');
    expect(quick).not.toContain('is slow');
    expect(said({ operation: 'product.create', now: 1234, usual: null })).toContain('The platform answers in 1.2 s. (');
    expect(said(null)).not.toContain('The platform answers');
    const down = { ...view, health: { ...view.health, api: 'unreachable' as const } };
    expect(text(overviewPage(down).markup)).not.toContain('The platform answers');
  });

  it('the overview has the refused requests of the last 24 hours, and says where they are not known', () => {
    const refused = /<dt>Refused with 429, last 24 hours<\/dt><dd>(.*?)<\/dd>/;
    expect(refused.exec(markup)?.[1]).toBe('<a href="/history">3</a>');
    expect(refused.exec(overviewPage({ ...view, refused: null }).markup)?.[1]).toBe('not known');
  });
});
