import { runCli } from './cli/run.ts';
import { keepHeapLean, limitHeapGrowth } from './lib/lean-heap.ts';

/**
 * Commands that read whole exports and keep little in memory. Commands that send keep more, and would be a seventh
 * slower with a lean heap.
 */
const READING = ['check', 'init', 'preview'];

const argv = process.argv.slice(2);
if (READING.some((command) => argv.includes(command))) keepHeapLean();
else limitHeapGrowth();
// The process ends by itself once everything is closed: setting the exit code loses no output that is still pending.
process.exitCode = await runCli(argv);

/** What a connector of another author has left open, such as a timer, may keep the process running for this long. */
const LEFT_OPEN_MS = 5_000;

// The timer alone does not keep the process running.
setInterval(() => {
  if (process.stdout.writableLength > 0) return;
  const open = [...new Set(process.getActiveResourcesInfo())].join(', ');
  process.stderr.write(
    `warning: Something is still open after the end of the command (${open}), so the process was ended. The \`close\` of a connector has to end what its \`open\` has begun.\n`,
  );
  process.exit();
}, LEFT_OPEN_MS).unref();
