// Runs a command in a terminal, and keeps what the terminal shows after each change.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import xterm from '@xterm/headless';

/** Characters side by side with the same look. */
export interface Run {
  column: number;
  text: string;
  /** One of the eight colours of a terminal, 8 more for the bright ones; null for the default one. */
  colour: number | null;
  isBold: boolean;
  isDim: boolean;
}

/** What the terminal shows from `at` on, in seconds since the start. One list of runs for each line. */
export interface Frame {
  at: number;
  lines: Run[][];
}

/** A frame is shown for this time at least, in seconds. Changes within it are one frame. */
const FRAME_SECONDS = 0.25;

/** @returns the frames in the order of time. The first one is empty. */
export async function recordTerminal(
  command: string,
  { folder, columns, rows }: { folder: string; columns: number; rows: number },
): Promise<Frame[]> {
  const temporary = mkdtempSync(join(tmpdir(), 'dpp-recording-'));
  try {
    const files = { out: join(temporary, 'out'), timing: join(temporary, 'timing') };
    // `script` of util-linux gives the command a terminal, and writes down when it has printed how many bytes.
    const inTerminal = `stty cols ${columns} rows ${rows}; ${command}`;
    const recorder = ['-qec', inTerminal, '--log-out', files.out, `--log-timing=${files.timing}`];
    execFileSync('script', recorder, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, TERM: 'xterm-256color', FORCE_COLOR: undefined, NO_COLOR: undefined, CI: undefined },
    });
    return await framesOf(chunksIn(readFileSync(files.out), readFileSync(files.timing, 'utf8')), { columns, rows });
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

/** The printed bytes, by the time at which they were printed. The first line of the file with the output is a header. */
function chunksIn(output: Buffer, timing: string): { at: number; bytes: Buffer }[] {
  let offset = output.indexOf('\n') + 1;
  let at = 0;
  return timing
    .trim()
    .split('\n')
    .map((line) => {
      const [seconds, length] = line.split(' ').slice(-2).map(Number) as [number, number];
      at += seconds;
      offset += length;
      return { at, bytes: output.subarray(offset - length, offset) };
    });
}

async function framesOf(
  chunks: readonly { at: number; bytes: Buffer }[],
  { columns, rows }: { columns: number; rows: number },
): Promise<Frame[]> {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 0, allowProposedApi: true });
  const frames: Frame[] = [{ at: 0, lines: [] }];
  for (const [index, { at, bytes }] of chunks.entries()) {
    await new Promise<void>((done) => terminal.write(bytes, done));
    const next = chunks[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const shownAt = frames.at(-1)?.at ?? 0;
    if (next - shownAt >= FRAME_SECONDS) frames.push({ at: Math.max(at, shownAt), lines: linesOf(terminal, columns) });
  }
  terminal.dispose();
  return frames;
}

function linesOf(terminal: xterm.Terminal, columns: number): Run[][] {
  const { active } = terminal.buffer;
  return Array.from({ length: terminal.rows }, (_, row) => {
    const line = active.getLine(active.baseY + row);
    const runs: Run[] = [];
    for (let column = 0; line !== undefined && column < columns; column += 1) {
      const cell = line.getCell(column);
      const text = cell?.getChars() ?? '';
      if (cell === undefined || text.trim() === '') continue;
      const look = {
        colour: cell.isFgDefault() ? null : cell.getFgColor(),
        isBold: cell.isBold() !== 0,
        isDim: cell.isDim() !== 0,
      };
      const last = runs.at(-1);
      const gap = last === undefined ? 0 : column - last.column - last.text.length;
      const isSame = last?.colour === look.colour && last.isBold === look.isBold && last.isDim === look.isDim;
      if (last !== undefined && isSame && gap <= 1) last.text += ' '.repeat(gap) + text;
      else runs.push({ column, text, ...look });
    }
    return runs;
  });
}
