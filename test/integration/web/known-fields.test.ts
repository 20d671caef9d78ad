// The fields of addresses and forms, over a real daemon: a name that a list does not have is refused, and no page makes a link
// or a form with such a name.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import type { ServedWorld } from '../../support/worlds/daemon-world.ts';
import { serveDashboardWorld } from '../../support/worlds/dashboard-world.ts';

const REFUSED = /The (?:parameter|field) “[^”]*” is (?:unknown|given more than once)\./;
/** More pages than the links of this world lead to. */
const PAGES_MAX = 1000;

interface Form {
  action: string;
  fields: [name: string, value: string][];
}

let served: ServedWorld;
let web: WebForms;
beforeAll(async () => {
  served = await serveDashboardWorld();
  web = webForms(served.url);
});
afterAll(() => served.remove());

function plain(text: string): string {
  const signs: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => signs[name] ?? '');
}

function attribute(tag: string, name: string): string | null {
  const [, value = null] = new RegExp(`\\s${name}="([^"]*)"`).exec(tag) ?? [];
  return value === null ? null : plain(value);
}

/** The forms of a page with the values that a person finds in them, once for each value of a list or a group of buttons. */
function formsOf(markup: string, method: 'get' | 'post'): Form[] {
  const forms = [...markup.matchAll(/<form[^>]*>.*?<\/form>/gs)].filter(
    ([text]) => attribute(text, 'method') === method,
  );
  return forms.flatMap(([text]) => {
    const [begin = ''] = /<form[^>]*>/.exec(text) ?? [];
    const action = attribute(begin, 'action') ?? '';
    const tags = [...text.matchAll(/<(?:input|textarea|button)[^>]*\sname="[^>]*>/g)].map(([tag]) => tag);
    // A browser sends one value of all buttons, or radio buttons, with the same name.
    const isButton = (tag: string): boolean => tag.startsWith('<button') || attribute(tag, 'type') === 'radio';
    const inputs = tags.filter((tag) => !isButton(tag)).map(nameAndValue);
    const buttons = Map.groupBy(tags.filter(isButton).map(nameAndValue), ([name]) => name);
    const lists = [...text.matchAll(/<select[^>]*\sname="([^"]*)"[^>]*>(.*?)<\/select>/gs)].map(
      ([, name = '', list = '']) => ({
        name,
        options: [...list.matchAll(/<option[^>]*>/g)].map(([tag]) => attribute(tag, 'value') ?? ''),
      }),
    );
    const choices = [
      ...lists,
      ...[...buttons].map(([name, tags]) => ({ name, options: tags.map(([, value]) => value) })),
    ];
    const firsts = choices.map(({ name, options }): [string, string] => [name, options[0] ?? '']);
    const chosen = choices.flatMap(({ name, options }, at) =>
      options.slice(1).map((option) => firsts.with(at, [name, option])),
    );
    return [firsts, ...chosen].map((values) => ({ action, fields: [...inputs, ...values] }));
  });
}

function nameAndValue(tag: string): [string, string] {
  return [attribute(tag, 'name') ?? '', attribute(tag, 'value') ?? ''];
}

function linksOf(markup: string): string[] {
  const links = [...markup.matchAll(/<a [^>]*>/g)].map(([tag]) => attribute(tag, 'href') ?? '');
  const addresses = formsOf(markup, 'get').map(
    ({ action, fields }) => `${action}?${new URLSearchParams(fields).toString()}`,
  );
  return [...links, ...addresses].flatMap((link) => (link.startsWith('/') ? [link.split('#')[0] ?? ''] : []));
}

/** All pages to which the links and the filters of pages lead, besides the board of the queues. */
async function walkPages(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const open = ['/'];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (pages.has(path) || path.startsWith('/queues/board')) continue;
    const { status, text } = await web.get(path);
    expect([path, status]).toEqual([path, 200]);
    pages.set(path, text);
    expect(pages.size).toBeLessThan(PAGES_MAX);
    open.push(...linksOf(text));
  }
  return pages;
}

describe('the fields of an address or a form', () => {
  it.each([
    ['/items?stat=rejected', 'stat', 'kind, state, source, search, cause, run, after', 'All items'],
    ['/items?state=rejected&sorce=erp', 'sorce', 'kind, state, source, search, cause, run, after', 'All items'],
    ['/passports?stat=published', 'stat', 'state, source, search, after', 'All passports'],
    ['/runs?results=failed', 'results', 'source, stream, result, after', 'All runs'],
    ['/attention?kind=quarantine', 'kind', 'type, source', 'Everything that needs attention'],
    ['/audit?who=token', 'who', 'after', 'The whole audit log'],
  ])(
    'the list %s is refused, with the names that it has and a link to the whole list',
    async (path, name, names, all) => {
      const { status, text } = await web.get(path);
      expect(status).toBe(400);
      expect(text).toContain(`The parameter “${name}” is unknown. Allowed is: ${names}.`);
      expect(text).toContain(`<a href="${path.split('?')[0]}">${all}</a>`);
    },
  );

  it.each(['/tasks?state=running', '/queues?name=deliver', '/attention/lookup-values?lookup=states'])(
    'the list %s is refused, because the list has no filter',
    async (path) => {
      const { status, text } = await web.get(path);
      expect(status).toBe(400);
      expect(text).toMatch(/The parameter “(?:state|name|lookup)” is unknown\. No name is allowed here\./);
    },
  );

  it('a filter that is given twice is refused by a list and by an action', async () => {
    const link = '<a href="/passports">All passports</a>';
    const listed = await web.get('/passports?state=published&state=unpublished');
    expect(listed.status).toBe(400);
    expect(listed.text).toContain('The parameter “state” is given more than once. Give it once.');
    expect(listed.text).toContain(link);
    const fields: [string, string][] = ['of', 'source', 'source'].map((name) => [name, 'filter']);
    const acted = await web.post('/passports/confirm', [['status', 'published'], ...fields], '/passports');
    expect(acted.status).toBe(400);
    expect(acted.text).toContain('The field “source” is given more than once. Give it once.');
  });

  it('a cause and its files refuse a filter, because they always have all rows of the cause', async () => {
    const [cause] = await served.daemon.runtime.reads.causes({ type: 'quarantine' });
    for (const path of ['', '/rows.csv', '/rows.xlsx']) {
      const { status, text } = await web.get(`/attention/${cause?.id}${path}?field=country_of_origin`);
      expect([path, status]).toEqual([path, 400]);
      expect(text).toContain('The parameter “field” is unknown.');
    }
  });

  it('no page has a link or a form with a name that the server refuses', async () => {
    const pages = await walkPages();
    expect(pages.size).toBeGreaterThan(60);
    const forms = new Map<string, Form & { from: string }>();
    for (const [from, markup] of pages) {
      for (const form of formsOf(markup, 'post')) {
        forms.set([form.action, ...form.fields.map(([name]) => name)].join(' '), { ...form, from });
      }
    }
    const actions = [...forms.values()].map(({ action }) => action);
    for (const action of [/^\/passports\/confirm$/, /\/replay$/, /\/replay\/try$/, /\/settle$/, /\/retry$/]) {
      expect(actions).toContainEqual(expect.stringMatching(action));
    }
    for (const { action, fields, from } of forms.values()) {
      const { text } = await web.post(action, fields, from);
      expect(text, `${action} ${from}`).not.toMatch(REFUSED);
    }
  });
});
