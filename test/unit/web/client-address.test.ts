import { expect, it } from 'vitest';
import { createClientAddress } from '../../../src/web/web-server.ts';

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
  expect(createClientAddress(proxies)({ headers, socket: { remoteAddress } })).toBe(expected);
});
