import { runCli } from './cli/run.ts';
import { keepHeapLean } from './lib/lean-heap.ts';

/** These read whole exports and keep nothing. Commands that send keep more, and a lean heap would cost them a seventh of their speed. */
const READING = ['check', 'init', 'preview'];

const argv = process.argv.slice(2);
if (READING.some((command) => argv.includes(command))) keepHeapLean();
// The process ends by itself once everything is closed: an exit code that is set loses no output that is still pending.
process.exitCode = await runCli(argv);
