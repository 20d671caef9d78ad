import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

let world: World;
let daemon: Daemon;
let web: WebForms;

beforeAll(async () => {
  const [always, never] = [{ from: '00:00', to: '00:00' }, []];
  // Today, and also tomorrow and yesterday, because midnight may pass during the test.
  const day = new Date().getUTCDay();
  const today = { ...always, timezone: 'UTC', days: [day, (day + 1) % 7, (day + 6) % 7].map((of) => DAYS[of]) };
  const options = { ...PRODUCTS.source.options, path: './other.csv' };
  world = await createWorld({
    config: {
      web: { port: 0, token: WEB_TOKEN },
      sources: [
        { ...PRODUCTS.source, pause: [always] },
        { ...PRODUCTS.source, id: 'plm', options, pause: [today] },
        { ...PRODUCTS.source, id: 'pim', options, pause: never },
      ],
    },
    files: { ...PRODUCTS.files, 'other.csv': 'SKU,NAME,STATE\n' },
  });
  const started = await startDaemon(world);
  daemon = started.daemon;
  web = webForms(started.url);
});
afterAll(async () => {
  await daemon.stop();
  await world.remove();
});

it('the overview shows which sources are in a pause', async () => {
  const { text } = await web.get('/');
  const rowOf = (source: string) => new RegExp(`>${source}</a></th>.*?</tr>`, 's').exec(text)?.[0];
  expect(rowOf('erp')).toContain('<span class="badge warn">paused</span> without an end');
  expect(rowOf('plm')).toContain('<span class="badge warn">paused</span> until <time');
  expect(rowOf('pim')).not.toContain('paused');
});
