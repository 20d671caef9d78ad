import { isJsonObject } from '../../lib/json.ts';
import type { ConfiguredSource } from './open-source.ts';

/** The part of a stream's CSV dialect that files with its rows follow, which people get and give back. */
export interface StreamDialect {
  delimiter: string;
  quote: string;
  encoding: string;
}

const PLAIN: StreamDialect = { delimiter: ',', quote: '"', encoding: 'utf-8' };

/** The delimiter, the quote and the encoding of a stream's own files, or those of plain CSV where the files are of another format. */
export function dialectOf(source: ConfiguredSource, stream: string): StreamDialect {
  if (source.connector.id !== 'csv') return PLAIN;
  const own = source.streams.find(({ name }) => name === stream)?.options;
  const text = (name: keyof StreamDialect): string => {
    for (const options of [own, source.options]) {
      const value = isRecord(options) ? options[name] : undefined;
      if (typeof value === 'string') return value;
    }
    return PLAIN[name];
  };
  return { delimiter: text('delimiter'), quote: text('quote'), encoding: text('encoding') };
}

const isRecord = (value: unknown): value is Record<string, unknown> => isJsonObject(value as never);
