import type { StreamReads } from '../../domain/ports/source.ts';
import type { Connector } from '../../sdk/connector.ts';
import { sourceFault } from '../../sdk/faults.ts';

const READS: ReadonlySet<unknown> = new Set<StreamReads>(['snapshot', 'changes', 'changes-and-snapshot']);

/**
 * Checks the kind of reads that a stream names. An unknown kind is an error: if it were treated as `snapshot`, all
 * records that a connector does not give would count as missing.
 *
 * @throws a `sourceFault`
 */
export function streamReads(
  connector: Connector,
  options: unknown,
  stream: { name: string; options: unknown },
): StreamReads {
  const reads: unknown = connector.reads(options, stream.options);
  if (isStreamReads(reads)) return reads;
  const given = typeof reads === 'string' ? `"${reads.slice(0, 100)}"` : `no text (${typeof reads})`;
  throw sourceFault(`The connector ${connector.id} gives ${given} as the kind of read of the stream ${stream.name}.`, {
    suggestion: 'Correct the connector: `reads` is "snapshot", "changes" or "changes-and-snapshot".',
  });
}

function isStreamReads(value: unknown): value is StreamReads {
  return READS.has(value);
}
