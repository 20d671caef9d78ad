// The parts of the pictures. Places across a picture are shares of its width, so it fits each screen and its texts keep their size.
// What a colour shows, a pattern, a letter or a word beside it shows too.

import { type Html, html } from '../../html.ts';

/** How a bar is filled. The patterns are in `patterns()`. */
export type Fill = 'solid' | 'stripes' | 'dots' | 'hatch' | 'cross' | 'empty';
export type Tone = 'good' | 'accent' | 'idle' | 'warn' | 'bad';

export interface Look {
  fill: Fill;
  tone: Tone;
}

const LINES: Record<Exclude<Fill, 'solid' | 'empty'>, string> = {
  stripes: 'M0 1.5H6',
  dots: 'M2 3H4',
  hatch: 'M-1 7L7 -1',
  cross: 'M-1 7L7 -1M-1 -1L7 7',
};
const TONES: readonly Tone[] = ['good', 'accent', 'idle', 'warn', 'bad'];

/** The patterns that the bars of a page use. A page has them once. */
export function patterns(): Html {
  const all = Object.entries(LINES).flatMap(([fill, path]) =>
    TONES.map(
      (tone) =>
        html`<pattern id="${fill}-${tone}" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="ground ${tone}" width="6" height="6" /><path class="line ${tone}" d="${path}" /></pattern>`,
    ),
  );
  return html`<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>${all}</defs></svg>`;
}

function share(part: number): string {
  return `${Math.round(part * 10_000) / 100}%`;
}

/** A bar. `x` and `width` are shares of the width of the picture, the other places are pixels. */
export function bar(look: Look, at: { x: number; width: number; y: number; height: number }): Html | null {
  if (!(at.height > 0 && at.width > 0)) return null;
  const place = html`x="${share(at.x)}" y="${pixels(at.y)}" width="${share(at.width)}" height="${pixels(at.height)}"`;
  if (look.fill === 'solid' || look.fill === 'empty') return html`<rect class="${look.fill} ${look.tone}" ${place} />`;
  return html`<rect class="patterned ${look.tone}" fill="url(#${look.fill}-${look.tone})" ${place} />`;
}

export function label(text: string, at: { x: number; y: number; anchor?: 'start' | 'middle' | 'end' }): Html {
  return html`<text x="${share(at.x)}" y="${pixels(at.y)}" text-anchor="${at.anchor ?? 'start'}">${text}</text>`;
}

/** The line on which bars stand. */
export function baseLine(y: number): Html {
  return html`<line x1="0" y1="${pixels(y)}" x2="100%" y2="${pixels(y)}" />`;
}

export function picture(options: {
  height: number;
  name: string;
  body: Html | readonly (Html | null)[];
  caption: Html;
}): Html {
  return html`<figure class="chart"><svg width="100%" height="${options.height}" role="img" aria-label="${options.name}">${options.body}</svg>
<figcaption class="quiet">${options.caption}</figcaption></figure>`;
}

/** Names of what a picture shows, each beside a sample of its filling. */
export function legend(entries: readonly { name: string; look: Look }[]): Html {
  const samples = entries.map(
    ({ name, look }) =>
      html`<span class="sample"><svg width="14" height="14" aria-hidden="true">${bar(look, { x: 0, width: 1, y: 0, height: 14 })}</svg> ${name}</span>`,
  );
  return html`<span class="samples">${samples}</span>`;
}

/** The figures behind a picture. */
export function figuresBehind(table: Html): Html {
  return html`<details><summary>The same figures as a table</summary>${table}</details>`;
}

/** How high a bar is. A bar that stands for something is never invisible. */
export function tall(count: number, highest: number, height: number): number {
  return count <= 0 || highest <= 0 ? 0 : Math.max(2, (count / highest) * height);
}

/** A day in UTC: `2026-11-29`. */
export function dayText(day: number): string {
  return new Date(day).toISOString().slice(0, 10);
}

function pixels(value: number): string {
  return String(Math.round(value * 10) / 10);
}
