import { runCli } from './cli/run.ts';
import { keepHeapLean } from './lib/lean-heap.ts';

keepHeapLean();
// The process ends by itself once everything is closed: an exit code that is set loses no output that is still pending.
process.exitCode = await runCli(process.argv.slice(2));
