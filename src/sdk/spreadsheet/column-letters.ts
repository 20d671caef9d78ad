/** The column of letters such as `AB`, from 0. */
export function columnOfLetters(letters: string): number {
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** The letters of a column that is counted from 0: `A`, `Z`, `AA`. */
export function columnLettersOf(column: number): string {
  let rest = column + 1;
  let letters = '';
  while (rest > 0) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
    rest = Math.floor((rest - 1) / 26);
  }
  return letters;
}
