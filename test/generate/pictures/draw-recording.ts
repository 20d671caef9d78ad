// Draws a recording of a terminal as one SVG that moves by itself: the frames lie side by side, and an animation shows one
// after the other. An image in a page needs no script for that.

import { escapeUTF8 } from 'entities';
import type { Frame, Run } from './record-terminal.ts';

const CELL = { width: 8.4, height: 19 };
const MARGIN = 14;
/** The last frame stays for this time, in seconds, before the recording begins again. */
const LAST_SECONDS = 6;
const BACKGROUND = '#0d1117';
const TEXT = '#e6edf3';
/** The eight colours of a terminal, then the bright ones. */
const COLOURS = [
  ['#484f58', '#ff7b72', '#3fb950', '#d29922', '#58a6ff', '#bc8cff', '#39c5cf', '#b1bac4'],
  ['#6e7681', '#ffa198', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#ffffff'],
].flat();

export function drawRecording(
  frames: readonly Frame[],
  { columns, rows, title }: { columns: number; rows: number; title: string },
): string {
  const width = Math.ceil(columns * CELL.width + 2 * MARGIN);
  const height = rows * CELL.height + 2 * MARGIN;
  const seconds = (frames.at(-1)?.at ?? 0) + LAST_SECONDS;
  const drawn = new Map<string, string>();
  const strip = frames.map(({ lines }, index) => {
    const used = lines.map((runs, row) => {
      if (runs.length === 0) return '';
      const line = runs.map(drawRun).join('');
      if (!drawn.has(line)) drawn.set(line, `l${drawn.size}`);
      return `<use href="#${drawn.get(line)}" y="${row * CELL.height}"/>`;
    });
    return `<g transform="translate(${index * width} 0)">${used.join('')}</g>`;
  });
  const steps = frames.map(
    ({ at }, index) => `${((100 * at) / seconds).toFixed(2)}%{transform:translateX(${-index * width}px)}`,
  );
  const end = -(frames.length - 1) * width;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeUTF8(title)}</title>`,
    '<style>',
    `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${TEXT};white-space:pre}`,
    '.b{font-weight:700}.d{opacity:.65}',
    ...COLOURS.map((colour, index) => `.c${index}{fill:${colour}}`),
    `#strip{animation:play ${seconds.toFixed(2)}s steps(1,end) infinite}`,
    `@keyframes play{${steps.join('')}100%{transform:translateX(${end}px)}}`,
    `@media (prefers-reduced-motion:reduce){#strip{animation:none;transform:translateX(${end}px)}}`,
    '</style>',
    `<defs>${[...drawn].map(([line, id]) => `<g id="${id}">${line}</g>`).join('\n')}</defs>`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    `<svg x="${MARGIN}" y="${MARGIN}" width="${width - MARGIN}" height="${height - MARGIN}"><g id="strip">`,
    ...strip,
    '</g></svg>',
    '</svg>',
    '',
  ].join('\n');
}

/** A width is stated, so that columns stay columns with the font of any machine. */
function drawRun({ column, text, colour, isBold, isDim }: Run): string {
  const looks = [colour === null ? '' : `c${colour}`, isBold ? 'b' : '', isDim ? 'd' : ''].filter(Boolean);
  const look = looks.length > 0 ? ` class="${looks.join(' ')}"` : '';
  const wide = (text.length * CELL.width).toFixed(1);
  const x = (column * CELL.width).toFixed(1);
  return `<text x="${x}" y="14" textLength="${wide}" lengthAdjust="spacingAndGlyphs"${look}>${escapeUTF8(text)}</text>`;
}
