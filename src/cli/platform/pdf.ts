import type { FileHandle } from 'node:fs/promises';
import cliProgress from 'cli-progress';
import type { Command } from 'commander';
import type { Admin } from '../../admin/local-admin.ts';
import { fault } from '../../domain/faults.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { ByteSink, RemoteId } from '../../domain/ports/target.ts';
import { stateWord } from '../../domain/words/states.ts';
import { findPastedItem, unknownItem } from '../../operations/named.ts';
import { outcomeFault } from '../../operations/outcome-fault.ts';
import { passportPdf, pdfName } from '../../operations/platform.ts';
import type { PlatformContext } from '../../operations/runtime.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { writeWholeFile } from '../files.ts';
import type { Output } from '../text/output.ts';
import { formatBytes, printable } from '../text/style.ts';

interface PdfOptions {
  out?: string;
}

const EXAMPLES = `
Examples:
  $ dpp-sync pdf TWZ-180-LS                    to passport-TWZ-180-LS.pdf
  $ dpp-sync pdf TWZ-180-LS --out passport.pdf
  $ dpp-sync pdf TWZ-180-LS --out - | lpr`;

const STDOUT = '-';

export function addPdfCommand(program: Command, run: RunAction): void {
  program
    .command('pdf')
    .argument('<sku>', 'the SKU of the product, or its key')
    .option('--out <file>', 'the file to write; `-` is stdout. The default is `passport-SKU.pdf` in the working folder')
    .addHelpText('after', EXAMPLES)
    .action((sku: string, options: PdfOptions) => run((context) => pdf(sku, options, context)));
}

async function pdf(key: string, { out }: PdfOptions, context: CommandContext): Promise<number> {
  const { output } = context;
  if (out === STDOUT && output.json) {
    throw fault('usage', 'With `--out -` the PDF takes stdout, where --json would put its document.', {
      suggestion: 'Use either `--out -` or `--json`.',
    });
  }
  const config = await context.loadConfig();
  const { productId, sku } = await context.withViews(config, (opened) => productOf(key, opened?.reads ?? null));
  return context.withPlatform(config, 'pdf', async (admin) => {
    const counter = createByteCounter(output);
    const request = { productId, sku, onBytes: counter.add };
    try {
      if (out === STDOUT) {
        await toStdout(admin, request, output);
        return 0;
      }
      const { file, written } = await writeWholeFile(out ?? pdfName(sku), 0o666, (handle) =>
        readInto(admin, request, sinkOf(handle)),
      );
      counter.stop();
      if (output.json) output.document({ ok: true, sku, productId, file, bytes: written });
      output.print(`The passport of ${printable(sku)} is in ${file} (${formatBytes(written)}).`);
      return 0;
    } finally {
      counter.stop();
    }
  });
}

/** The platform's id of a product that the ledger knows. */
async function productOf(key: string, reads: Reads | null): Promise<{ productId: RemoteId; sku: string }> {
  const item = reads && (await reads.item('product', await findPastedItem(key, reads, ['product'])));
  if (item === null) throw await unknownItem('product', key, reads);
  const { remoteId, naturalKey, state } = item;
  if (typeof remoteId !== 'string' && typeof remoteId !== 'number') {
    throw fault('item.unknown', `The platform does not have the product "${key}" yet: it is ${stateWord(state)}.`, {
      suggestion: `\`dpp-sync show product ${key}\` shows what the product waits for.`,
    });
  }
  return { productId: remoteId, sku: naturalKey ?? item.key };
}

interface PdfRequest {
  productId: RemoteId;
  sku: string;
  onBytes: (count: number) => void;
}

/** Reads the document into the sink. Returns its size in bytes. */
async function readInto(
  admin: Admin<PlatformContext>,
  { productId, sku, onBytes }: PdfRequest,
  sink: ByteSink,
): Promise<number> {
  const result = await admin.run(
    passportPdf,
    { productId },
    {
      async onBytes(chunk) {
        await sink.write(chunk);
        onBytes(chunk.length);
      },
    },
  );
  if (result.ok) return result.bytes;
  throw outcomeFault(result.outcome, {
    failure: `The passport of ${sku} could not be downloaded`,
    cure: `A passport has to be prepared first; \`dpp-sync show product ${sku}\` shows the state of the product.`,
  });
}

async function toStdout(admin: Admin<PlatformContext>, request: PdfRequest, output: Output): Promise<void> {
  let isGone = false;
  const sink: ByteSink = {
    async write(chunk) {
      isGone = !(await output.bytes(chunk));
      if (isGone) throw new Error('The reader of stdout has ended.');
    },
  };
  try {
    await readInto(admin, request, sink);
  } catch (error) {
    // It is not an error if the reader closes the pipe early.
    if (!isGone) throw error;
  }
}

function sinkOf(handle: FileHandle): ByteSink {
  return { write: (chunk) => handle.writeFile(chunk) };
}

/** Shows in a terminal how many bytes have been received. */
function createByteCounter(output: Output): { add: (count: number) => void; stop: () => void } {
  if (!output.watched || output.quiet || output.json) return { add: () => {}, stop: () => {} };
  const bar = new cliProgress.SingleBar({
    format: '  {received}',
    clearOnComplete: true,
    hideCursor: true,
    gracefulExit: false,
    stream: process.stderr,
  });
  let bytes = 0;
  bar.start(1, 0, { received: 'waiting for the API' });
  return {
    add(count) {
      bytes += count;
      bar.update(0, { received: `${formatBytes(bytes)} received` });
    },
    stop: () => bar.stop(),
  };
}
