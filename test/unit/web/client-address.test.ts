import { describe, expect, it } from 'vitest';
import { createProxies } from '../../../src/web/server/guard.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const PROXIES = ['10.1.0.0/16', '192.0.2.7', '2001:db8:1::/48'];

it.each([
  ['of the connection where no proxy is trusted', [], '10.1.0.1', '203.0.113.9', '10.1.0.1'],
  ['of the connection where a client writes the header itself', PROXIES, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['that a trusted proxy reports', PROXIES, '10.1.0.1', '203.0.113.9', '203.0.113.9'],
  [
    'that the outermost trusted proxy reports',
    PROXIES,
    '10.1.0.1',
    '198.51.100.1, 203.0.113.9, 192.0.2.7',
    '203.0.113.9',
  ],
  ['of the proxy where the client is a proxy', PROXIES, '10.1.0.1', '10.1.2.3,192.0.2.7', '10.1.2.3'],
  ['of the proxy without a header', PROXIES, '10.1.0.1', undefined, '10.1.0.1'],
  ['of the proxy that reports no address', PROXIES, '10.1.0.1', '203.0.113.9, unknown', '10.1.0.1'],
  ['without its port', PROXIES, '10.1.0.1', '203.0.113.9:51234', '203.0.113.9'],
  ['without its port, in IPv6', PROXIES, '2001:DB8:1::5', '[2001:DB8:2::9]:443', '2001:db8:2::9'],
  ['of IPv4 within IPv6', PROXIES, '::ffff:10.1.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
  ['without its zone', PROXIES, 'fe80::1%eth0', '203.0.113.9', 'fe80::1'],
])('the address of a client is the one %s', (_what, proxies, remoteAddress, header, expected) => {
  const headers = header === undefined ? {} : { 'x-forwarded-for': header };
  const visitorOf = createProxies({ trustedProxies: proxies, userHeader: null }, createRecordingLog());
  expect(visitorOf({ headers, headersDistinct: {}, socket: { remoteAddress } }).ip).toBe(expected);
});

describe('the name of a person in a header', () => {
  const header = (...values: string[]) => ({ headers: {}, headersDistinct: { 'remote-user': values } });
  const from = (remoteAddress: string) => ({ socket: { remoteAddress } });

  it('is believed only from a trusted proxy, and from elsewhere it is ignored and logged once', () => {
    const log = createRecordingLog();
    const visitorOf = createProxies({ trustedProxies: PROXIES, userHeader: 'Remote-User' }, log);
    expect(visitorOf({ ...header('anna'), ...from('10.1.0.1') }).named).toBe('anna');
    expect(visitorOf({ headers: {}, headersDistinct: {}, ...from('10.1.0.1') }).named).toBeNull();
    expect(log.lines).toEqual([]);
    // The address that a trusted proxy reports is not the one that has sent the request.
    const forwarded = { headers: { 'x-forwarded-for': '10.1.0.1' }, headersDistinct: { 'remote-user': ['anna'] } };
    for (const request of [header('anna'), header(''), forwarded]) {
      expect(visitorOf({ ...request, ...from('203.0.113.9') }).named).toBeNull();
    }
    expect(log.lines).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: expect.stringMatching(/203\.0\.113\.9 has the header Remote-User/),
      }),
    ]);
  });

  it('is no name where the header comes twice, and nothing without `userHeader`', () => {
    const named = (userHeader: string | null) =>
      createProxies(
        { trustedProxies: PROXIES, userHeader },
        createRecordingLog(),
      )({
        ...header('anna', 'ben'),
        ...from('192.0.2.7'),
      }).named;
    expect([named('REMOTE-USER'), named(null)]).toEqual(['anna, ben', null]);
  });
});
