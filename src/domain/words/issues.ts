// The words for the issues of rows and items. `IssueCode` is the union of all codes of our own code. A connector or a mapping
// module of somebody else brings its own codes, and its messages say what they mean.

import type { Words } from './word.ts';

/**
 * The words for an issue. Its command is the same for all of them: see `adviceOnIssue`. An issue whose maker knows a more
 * exact cure brings that one.
 */
type IssueRow = Omit<Words, 'command'>;

/** Stands for the value of the field in the titles that begin with it. */
export const FIELD = 'FIELD';

/**
 * Every code that an issue of our own code can have, in groups by the place of the mistake. A title has no full stop, because
 * the name of the field is added to it, or takes the place of `FIELD`. A title that is a whole sentence is about the whole row.
 */
export const ISSUE_GROUPS = {
  'A row of the file': {
    'record.key': {
      title: 'Row without a key',
      meaning:
        'The row has no value in a key column, the column does not exist, the value has a character inside that nobody can see, or the key has more than 1,024 bytes.',
      cure: 'Fill or correct the value in the source, or correct `key` of the stream.',
    },
    'record.gone': {
      title: 'Record that is gone, by a row that cannot be used',
      meaning:
        'In a read of changes, a row says that its record is gone. The row has no usable key or another error, so the record counts as present.',
      cure: 'Correct the other error of the row, or read the source completely.',
    },
    'row.above': {
      title: 'FIELD is empty below a row that could not be read',
      meaning: 'The column takes the value of the row above, and it is not certain which value this is.',
      cure: 'Correct the row above that the message names.',
    },
    'row.columns': {
      title: 'Row with more or fewer values than the header',
      cure: 'Put values with a delimiter or a line end in quotes. Check `delimiter` and `quote` too.',
    },
    'row.cut': { title: 'Last row that is cut off', cure: 'Export the file again.' },
    'row.decimal': {
      title: 'FIELD is not a number',
      cure: 'Correct the value, or remove the column from `decimalColumns`.',
    },
    'row.depth': {
      title: 'Row that is nested too deeply',
      cure: 'Set `at`, or the path of the stream, to the list of records that is deeper in the document.',
    },
    'row.duplicate': {
      title: 'Name that is in the row twice',
      cure: 'Give one of the two another name, in the export or in `parent` of the stream.',
    },
    'row.encoding': {
      title: 'Row in another encoding',
      meaning:
        'The text is not valid in the encoding of the source. A row with such a text only in columns that no mapping uses is delivered, with a warning.',
      cure: 'Set `encoding` to the encoding of the file.',
    },
    'row.group': {
      title: 'Group that may lack a row',
      meaning:
        'A row could not be read, or has no value in a column of `group.by`. It may belong to any group, so no sum is certain.',
      cure: 'Correct the row that the message names.',
    },
    'row.item': { title: 'Command without a trade item', cure: 'Set the path of the stream to catalogue items only.' },
    'row.json': {
      title: 'Line that is not valid JSON',
      cure: 'Write one value on each line, or set `format: array` for a document over several lines.',
    },
    'row.length': {
      title: 'Row that is too long',
      cure: 'Raise the limit that the message names, or shorten the text. If a quote is missing, add it: without it, many rows are read as one.',
    },
    'row.level': {
      title: 'Row whose level in the tree does not fit',
      meaning:
        'The level or outline number of the row is none, or the row above to which it belongs is missing. The parents of the rows below it are not certain either.',
      cure: 'Correct the level in the export, or the column that `tree` of the stream names.',
    },
    'row.list': { title: 'Value where a list is expected', cure: 'Correct `at` of the stream.' },
    'row.members': {
      title: 'Row with too many elements',
      cure: 'Set the path of the stream to the single record, and not to the element around it.',
    },
    'row.object': { title: 'Value where an object is expected', cure: 'Set `at` or `rows` to a list of objects.' },
    'row.parent': {
      title: 'Record around or above the row that cannot be used',
      cure: 'Check `parent` of the stream, and the order of the records in the export.',
    },
    'row.parts': {
      title: 'Row whose parts are not all known',
      cure: 'If it was deleted during the read, the next read corrects it. If the server has cut a list of the row, ask for more elements in one answer, or read them as a stream of their own. Otherwise correct the path in `each` of the stream.',
    },
    'row.quote': {
      title: 'Value with a quote in the wrong place',
      cure: 'Put the value in quotes, and double each quote inside. If the file quotes nothing, set `quote: null`.',
    },
    'row.sum': {
      title: 'Sum with a value that is not a number',
      cure: 'Correct the value in the row that the message names.',
    },
    'row.value': { title: 'Value that JSON does not have', cure: 'Correct the connector.' },
  },
  'A cell of a workbook': {
    'cell.date': { title: 'Unreadable date', cure: 'Correct the date, or the format of the cell.' },
    'cell.error': { title: 'Cell with an error', cure: 'Correct the formula, or name the error in `emptyErrors`.' },
    'cell.formula': {
      title: 'Formula without a value',
      cure: 'Open the file in a spreadsheet program, let it calculate, and save it. Or export values instead of formulas.',
    },
    'cell.number': { title: 'Cell that is marked as a number and has none', cure: 'Export the file again.' },
    'cell.shortened': { title: 'Number without its last digits', cure: 'Enter the number again in a column of text.' },
    'cell.text': { title: 'Cell whose text the workbook does not have', cure: 'Export the file again.' },
  },
  'A value in the mapping': {
    'column.missing': { title: 'Missing column', cure: 'Correct the name, or use `row.?X`.' },
    'country.ambiguous': { title: 'FIELD may be several countries', cure: 'Name the right country in the mapping.' },
    'country.unknown': {
      title: 'FIELD is not known',
      cure: 'Correct it in the source, or translate it with `lookup()`.',
    },
    'date.format': { title: 'Unreadable date', cure: 'Correct the date, or name its form: `date(x, "DD.MM.YYYY")`.' },
    'date.invalid': { title: 'Day that the calendar does not have', cure: 'Correct the date in the source.' },
    'date.pattern': { title: 'Wrong format in a call of date()', cure: 'Correct the mapping.' },
    'decimal.ambiguous': { title: 'Ambiguous decimal mark', cure: 'Name the mark: `decimal(row.X, ",")`.' },
    'decimal.format': {
      title: 'FIELD is not a number',
      cure: 'Correct the value, or the decimal mark in the mapping. To remove a unit: `decimal(row.X.split("kg")[0], ",")`.',
    },
    'decimal.mark': { title: 'Wrong decimal mark in a call of decimal()', cure: 'Use `","` or `"."` in the mapping.' },
    'duration.format': { title: 'Text that is not a duration', cure: 'Write it like `1h30m` in the source.' },
    'gtin.check': { title: 'GTIN with a wrong check digit', cure: 'Correct the number: at least one digit is wrong.' },
    'gtin.format': {
      title: 'Text that is not a GTIN',
      cure: 'Check whether leading zeros were lost in the export, or whether the column has another kind of number.',
    },
    'gtin.rounded': { title: 'GTIN rounded by a spreadsheet', cure: 'Enter the number again in a column of text.' },
    'lookup.ambiguous': {
      title: 'Value with several entries in the lookup table',
      cure: 'Use more columns for the key, or read all values with `lookup_all()`.',
    },
    'lookup.many': { title: 'Value with too many rows in the lookup table', cure: 'Use more columns for the key.' },
    'lookup.table': {
      title: 'Name of a lookup table that is no literal text',
      cure: 'Write the name in the call, so that dpp-sync can load the table before it reads any row.',
    },
    'lookup.unknown': {
      title: 'FIELD has no translation yet',
      cure: 'Add the translation to the table, on the dashboard or in its file. All rows that need it are mapped again.',
    },
    'lookup.unread': {
      title: 'Lookup table that was not read yet',
      cure: 'If a later run reads the table, dpp-sync maps the row again. Otherwise sync the source of the table.',
    },
    'member.missing': { title: 'Missing value', cure: 'Read the member with `.?`, or fill it in the source.' },
    'unit.ambiguous': { title: 'Ambiguous unit', cure: 'Name the right unit in `units` of the source.' },
    'unit.unknown': { title: 'Unknown unit', cure: 'Add it to `units` of the source.' },
  },
  'An expression of the mapping': {
    'each.key': { title: 'Entries of a list with the same key', cure: 'Use more members of the entry in the key.' },
    'each.long': { title: 'List that is too long', cure: 'Split the row in the source.' },
    'each.more': { title: 'More issues than are shown', cure: 'Correct those that are shown first.' },
    'each.type': { title: 'Value that is not a list', cure: 'Use `as_list(…)` in `each`.' },
    'expression.costly': { title: 'Row with values that are too long', cure: 'Shorten them, or write a module.' },
    'expression.failed': { title: 'Expression that failed', cure: 'Correct the expression, or the value it reads.' },
    'expression.number': { title: 'FIELD is not a number', cure: 'Use `double(decimal(row.X))`.' },
    'expression.types': { title: 'Value of an unexpected type', cure: 'Convert it: `string(…)`, `decimal(…)`.' },
    'key.characters': {
      title: 'Key with a character that nobody can see',
      meaning:
        'A key, a ref or a SKU has a character inside that nobody can see, such as a line end or a byte order mark.',
      cure: 'Remove the character in the source. The message shows where it is: `A1⏎B`.',
    },
    'key.type': { title: 'Key that is neither text nor a number', cure: 'Correct the expression in the mapping.' },
    'list.short': { title: 'List with too few entries', cure: 'Use `first(…)`, or ask for `size(…)` first.' },
    'mapping.failed': {
      title: 'Row that could not be mapped',
      cure: 'If the message gives no advice, this is a defect: report it.',
    },
    'matches.pattern': { title: 'Pattern that is no literal text', cure: 'Write the pattern in the call.' },
    'module.result': { title: 'Result of a mapping module that is no item', cure: 'Correct the module.' },
    'module.threw': { title: 'Module that failed', cure: 'Correct the module. If it is right, correct the row.' },
    'number.inexact': { title: 'Number with too many digits', cure: 'Write it as text in the source.' },
    'number.infinite': {
      title: 'Calculation without a number as its result',
      cure: 'Look for a division by 0, or for a text in the calculation.',
    },
    'pairs.format': { title: 'Text without separators of names and values', cure: 'Name the separators in `pairs()`.' },
    'pairs.twice': { title: 'Name with two values', cure: 'Correct the text in the source.' },
    'rule.max': { title: 'Value above the limit of the mapping', cure: 'Correct the value, or the rule.' },
    'rule.min': { title: 'Value below the limit of the mapping', cure: 'Correct the value, or the rule.' },
    'rule.number': { title: 'FIELD is not a number', cure: 'Correct the value, or the rule.' },
    'rule.pattern': { title: 'Value that does not match the pattern', cure: 'Correct the value, or the rule.' },
    'rule.required': { title: 'Missing value', cure: 'Fill it in the source, or exclude such rows with `when`.' },
    'split.separator': { title: 'Empty separator in a call of split()', cure: 'Correct the mapping.' },
    'text.malformed': {
      title: 'Text with a character that is not allowed',
      meaning: 'A text has a control character, an incomplete character, or a code point that is no character.',
      cure: 'Correct the text or the `encoding`, or remove such characters with `printable(…)`.',
    },
    'value.depth': { title: 'Value that is nested too deeply', cure: 'Make a simpler value in the mapping.' },
    'value.type': { title: 'Value of a type that no field can hold', cure: 'Convert it: `string(…)`, `decimal(…)`.' },
    'when.type': { title: 'Condition that is neither true nor false', cure: 'Compare: `row.ACTIVE == "1"`.' },
  },
  'The item that a row makes': {
    'field.invalid': { title: 'Invalid value', cure: 'Do what the message says, in the source or in the mapping.' },
    'field.required': { title: 'Missing value', cure: 'Fill it in the source, or exclude such rows with `when`.' },
    'field.unknown': {
      title: 'Unknown field',
      cure: 'Correct the name in the mapping.',
      guide: 'configuration.md#fields-of-items',
    },
    'key.empty': {
      title: 'Empty key',
      cure: 'Fill the column, or correct `key` in the mapping. If `key` is `\'""\'`, the mapping has no key yet.',
    },
    'key.long': { title: 'Key that is too long', cure: 'Use fewer columns for the key.' },
  },
  'Other rows and items': {
    'claim.conflict': {
      title: 'The same key occurs twice with different data.',
      meaning: 'Another row makes the same item with other values. Only the values of that row are sent.',
      cure: 'Name the columns that identify a row in `key` of the stream, if it has none. Then give both rows the same values, remove one of them, or give them different keys. If you have changed the id of a source, change it back.',
    },
    'claim.twice': { title: 'One row makes the same item twice.', cure: 'Give the items of the row different keys.' },
    'natural_key.taken': {
      title: 'Natural key that another item has',
      cure: 'Correct the wrong item. The message has the place of the other item.',
    },
    'refs.ambiguous': {
      title: 'Part that is both a product and a material',
      cure: 'Name the part under `refs.component` or `refs.material`.',
    },
    'refs.cycle': { title: 'Product that contains itself', cure: 'Correct the bill of materials in the source.' },
    'refs.part': {
      title: 'BOM item without exactly one part',
      cure: 'Name one part under `refs.component`, `refs.material` or `refs.part`.',
    },
    'refs.product': { title: 'BOM item without a product', cure: 'Fill the column of the product.' },
    'refs.unexpected': { title: 'Ref of a product or a material', cure: 'Take `refs` out: only BOM items have refs.' },
  },
} as const satisfies Record<string, Record<string, IssueRow>>;

/** The functions of mappings that check their arguments. */
const CHECKED = [
  'country',
  'date',
  'decimal',
  'decode_entities',
  'gtin',
  'html_text',
  'lookup',
  'pairs',
  'printable',
  'split',
  'unit',
] as const;
export type CheckedFunction = (typeof CHECKED)[number];

/** The issues of an argument. The code has the name of the function in front, such as `country.type`. */
export const ARGUMENT_ISSUES = {
  type: {
    title: 'Argument of another type',
    cure: 'Give the function one value, such as a member of the object or an entry of the list.',
  },
  long: {
    title: 'Argument that is too long',
    cure: 'Correct the value in the source, or give the function a part of it.',
  },
  separator: { title: 'Separator that is not text', cure: 'Correct the mapping.' },
} as const satisfies Record<string, IssueRow>;

type Groups = typeof ISSUE_GROUPS;
type TableCode = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups];

/** The codes of the issues that our own code makes. */
export type IssueCode = TableCode | `${CheckedFunction}.${keyof typeof ARGUMENT_ISSUES}`;

export const ISSUES: Readonly<Record<TableCode, IssueRow>> = Object.assign({}, ...Object.values(ISSUE_GROUPS));

/** The words for an issue; null if its code is none of ours. */
export function wordsOfIssue(code: string): IssueRow | null {
  if (Object.hasOwn(ISSUES, code)) return ISSUES[code as TableCode];
  const [name, problem = ''] = code.split('.');
  const isOurs = CHECKED.some((one) => one === name) && Object.hasOwn(ARGUMENT_ISSUES, problem);
  return isOurs ? ARGUMENT_ISSUES[problem as keyof typeof ARGUMENT_ISSUES] : null;
}
