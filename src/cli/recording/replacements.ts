import { createHmac, randomBytes } from 'node:crypto';

/**
 * Replaces texts so that their form and their equality stay: a letter becomes a letter of the same case, a digit a digit, and all else
 * stays. The same text always gets the same replacement, and different texts get different ones, so keys and joins still fit. The
 * replacements follow from a random key that is not kept, so nobody can find the texts by trying.
 */
export function createReplacements() {
  const key = randomBytes(32);
  const made = new Map<string, string>();
  const taken = new Set<string>();

  function replaced(text: string, attempt: number): string {
    let bytes = createHmac('sha256', key).update(`${attempt}\n${text}`).digest();
    let at = 0;
    const next = (): number => {
      if (at === bytes.length) {
        bytes = createHmac('sha256', key).update(bytes).digest();
        at = 0;
      }
      at += 1;
      return bytes[at - 1] ?? 0;
    };
    return Array.from(text, (character, index) => replacedCharacter(character, next(), index === 0)).join('');
  }

  return {
    /** The replacement of a text. One without letters and digits stays as it is. */
    of(text: string): string {
      const known = made.get(text);
      if (known !== undefined) return known;
      let own = text;
      if (/[\p{L}\p{N}]/u.test(text)) {
        own = replaced(text, 0);
        // Short texts have few replacements.
        for (let attempt = 1; taken.has(own) || own === text; attempt += 1) {
          own = attempt < ATTEMPTS_MAX ? replaced(text, attempt) : `${replaced(text, 0)}${attempt}`;
        }
      }
      made.set(text, own);
      taken.add(own);
      return own;
    },
    /** The replacement of a text that was replaced before; undefined if it was not. */
    known: (text: string): string | undefined => made.get(text),
    /** All texts that were replaced, with their replacements. */
    all: (): ReadonlyMap<string, string> => made,
  };
}

export type Replacements = ReturnType<typeof createReplacements>;

const ATTEMPTS_MAX = 100;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

function replacedCharacter(character: string, byte: number, isFirst: boolean): string {
  if (/\p{Lu}/u.test(character)) return (LETTERS[byte % 26] ?? '').toUpperCase();
  if (/\p{L}/u.test(character)) return LETTERS[byte % 26] ?? '';
  // A number begins with a digit other than 0.
  if (/\p{N}/u.test(character)) return String(isFirst && character !== '0' ? 1 + (byte % 9) : byte % 10);
  return character;
}
