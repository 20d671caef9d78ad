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
