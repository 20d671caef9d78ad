import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { createFileDecoder } from '../../../src/sdk/text-decoder.ts';

function decoded(chunks: readonly string[], encoding = 'utf-8'): string {
  const bytes = chunks.map((chunk) => Buffer.from(chunk, encoding === 'utf-16le' ? 'utf16le' : 'utf8'));
  const decoder = createFileDecoder(encoding, bytes[0] ?? Buffer.alloc(0));
  return bytes.map((chunk) => decoder.write(chunk)).join('') + decoder.end();
}

describe('Ctrl-Z', () => {
  it.each(['utf-8', 'windows-1252', 'utf-16le'])('Ctrl-Z at the end of a file in %s is left out', (encoding) => {
    expect(decoded(['a\r\n\x1a'], encoding)).toBe('a\r\n');
    expect(decoded(['a\r\n', '\x1a\x1a', '\r\n'], encoding)).toBe('a\r\n');
    expect(decoded(['\x1a'], encoding)).toBe('');
  });

  it('Ctrl-Z within a file stays', () => {
    expect(decoded(['a\x1ab\x1a', 'c\x1a \n', ' d'])).toBe('a\x1ab\x1ac\x1a \n d');
  });

  it('many Ctrl-Z in a row are no end, and take no memory and no time', () => {
    const many = Array.from({ length: 200 }, () => '\x1a'.repeat(10_000));
    expect(decoded(many)).toHaveLength(2_000_000);
  });
});

it('white space at the end of a file stays', () => {
  expect(decoded(['a \r\n', '\r\n \t'])).toBe('a \r\n\r\n \t');
});

it.each(['utf-16le', 'utf-16be'])('half a character at the end of a file in %s is invalid', (encoding) => {
  const decoder = createFileDecoder(encoding, Buffer.alloc(0));
  const pieces = [Buffer.of(0x61), Buffer.of(0x62, 0x63), Buffer.of(0x64, 0x65)];
  const text = pieces.map((piece) => decoder.write(piece)).join('') + decoder.end();
  expect(text).toHaveLength(3);
  expect(text.at(-1)).toBe('\u{fffd}');
});

it.each(['utf-16le', 'utf-16be'])('a pair of surrogates in %s may be divided between two pieces', (encoding) => {
  const bytes = iconv.encode('a\u{1F600}b\ud83d', encoding, { addBOM: false });
  for (let cut = 0; cut <= bytes.length; cut++) {
    const decoder = createFileDecoder(encoding, bytes);
    const text = decoder.write(bytes.subarray(0, cut)) + decoder.write(bytes.subarray(cut)) + decoder.end();
    expect(text).toBe('a\u{1F600}b\u{fffd}');
  }
});
