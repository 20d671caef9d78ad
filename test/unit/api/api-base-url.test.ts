import { describe, expect, it } from 'vitest';
import { parseBaseUrl } from '../../../src/api/transport.ts';

describe('parseBaseUrl', () => {
  it.each([
    ['https://dpp.example.com', { origin: 'https://dpp.example.com', prefix: '' }],
    ['https://dpp.example.com:8443/gateway/dpp//', { origin: 'https://dpp.example.com:8443', prefix: '/gateway/dpp' }],
    ['http://127.0.0.1:8000/', { origin: 'http://127.0.0.1:8000', prefix: '' }],
    ['http://127.8.9.1:1', { origin: 'http://127.8.9.1:1', prefix: '' }],
    ['http://localhost:8000', { origin: 'http://localhost:8000', prefix: '' }],
    ['http://[::1]:8000', { origin: 'http://[::1]:8000', prefix: '' }],
  ])('parseBaseUrl reads %s', (text, expected) => {
    expect(parseBaseUrl(text)).toEqual(expected);
  });

  it.each([
    'http://dpp.example.com',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'http://10.0.0.1',
    'http://0.0.0.0',
    'ftp://127.0.0.1',
    'file:///etc/passwd',
    'https://user:secret@dpp.example.com',
    'https://dpp.example.com/?key=1',
    'https://dpp.example.com/#x',
    'dpp.example.com',
    '',
  ])('parseBaseUrl refuses %s without repeating it', (text) => {
    expect(() => parseBaseUrl(text)).toThrow(
      expect.objectContaining({ code: 'config.invalid', path: 'target.baseUrl' }) as Error,
    );
    expect(() => parseBaseUrl(text)).not.toThrow(/secret/);
  });
});
