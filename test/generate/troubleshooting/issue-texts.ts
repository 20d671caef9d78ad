// The meanings of the codes of issues. They are grouped by the place of the mistake: the file, the mapping, the item, or its
// relation to other items.

import type { CodeText } from './fault-texts.ts';

export interface IssueGroup {
  title: string;
  codes: Readonly<Record<string, CodeText>>;
}

const WRITTEN_AGAIN = 'Export the file again.';

export const ISSUE_GROUPS: readonly IssueGroup[] = [
  {
    title: 'A row of the file',
    codes: {
      'record.key': {
        means:
          'The row has no value in a key column, the column does not exist, the value has a character inside that nobody can see, or the key has more than 1,024 bytes.',
        cure: 'Fill or correct the value in the source, or correct `key` of the stream.',
      },
      'row.columns': {
        means: 'The row has more or fewer values than the header.',
        cure: 'Quote values that contain the delimiter or a line end. Check `delimiter` and `quote`.',
      },
      'row.cut': { means: 'The last row is shorter than the others, so the file may be cut off.', cure: WRITTEN_AGAIN },
      'row.decimal': {
        means: 'A column of `decimalColumns` holds text that is not a number with the decimal mark of the source.',
        cure: 'Correct the value, or remove the column from `decimalColumns`.',
      },
      'row.depth': {
        means: 'The row is nested too deeply.',
        cure: 'Set the path of the stream to the list of records that is deeper in the document.',
      },
      'row.duplicate': {
        means: 'A name is in the row twice, or a value outside the row has the name of a value inside the row.',
        cure: 'Give one of the two another name, in the export or in the options of the stream.',
      },
      'row.encoding': {
        means:
          'The text is not valid in the encoding of the source. A row with such a text only in columns that no mapping uses is delivered, with a warning.',
        cure: 'Set `encoding` to the encoding of the file.',
      },
      'row.item': {
        means: 'A document command of a GDSN message has no trade item.',
        cure: 'Set the path of the stream to messages of catalogue items only.',
      },
      'row.json': {
        means: 'A line is not valid JSON.',
        cure: 'Write one value on each line. For a document over several lines set `format: array`.',
      },
      'row.length': {
        means: 'The row or a cell is longer than the limit of the source.',
        cure: 'Raise the limit that the message names, or shorten the text. If a quote is missing, add it: without it, many rows are read as one.',
      },
      'row.list': { means: '`at` points to a value that is not a list.', cure: 'Correct `at` of the stream.' },
      'row.members': {
        means: 'The record has too many elements.',
        cure: 'Set the path of the stream to the single record, and not to the element around it.',
      },
      'row.object': { means: 'An entry of the list is not an object.', cure: 'Set `at` to a list of objects.' },
      'row.parent': {
        means: 'The record that a row belongs to is missing or too long.',
        cure: 'Check `parent` of the stream, and the order of the records in the export.',
      },
      'row.quote': {
        means: 'A quote stands in the wrong place.',
        cure: 'Double a quote inside a quoted value. If the file quotes nothing, set `quote: null`.',
      },
      'row.value': {
        means: 'A connector of your own gave a value that JSON does not have.',
        cure: 'Correct the connector.',
      },
    },
  },
  {
    title: 'A cell of a workbook',
    codes: {
      'cell.date': {
        means: 'The cell has the format of a date, and its number is not a valid date.',
        cure: 'Correct the date, or the format of the cell.',
      },
      'cell.error': {
        means: 'The cell holds an error such as `#N/A`.',
        cure: 'Correct the formula. If the error means an empty cell, name it in `emptyErrors`.',
      },
      'cell.formula': {
        means: 'The result of the formula is not stored.',
        cure: 'Open the file in a spreadsheet program and save it, or export values instead of formulas.',
      },
      'cell.number': { means: 'The cell is marked as a number and holds text.', cure: WRITTEN_AGAIN },
      'cell.shortened': {
        means: 'The number is so long that the spreadsheet has dropped its last digits.',
        cure: 'Format the column as text, and enter the numbers again.',
      },
      'cell.text': { means: 'The workbook lacks the text that the cell refers to.', cure: WRITTEN_AGAIN },
    },
  },
  {
    title: 'A value in the mapping',
    codes: {
      'column.missing': {
        means: 'The mapping names a column that the row does not have.',
        cure: 'Correct the name, or use `row.?X`.',
      },
      'country.ambiguous': {
        means: 'The name fits several countries.',
        cure: 'Name the right country in the mapping.',
      },
      'country.unknown': {
        means: 'The text is not the name or the code of a country.',
        cure: 'Correct it in the source, or translate it with `lookup()`.',
      },
      'date.format': {
        means: 'The text is not a date in the expected form.',
        cure: 'Name the form: `date(x, "DD.MM.YYYY")`.',
      },
      'date.invalid': { means: 'The calendar has no such day.', cure: 'Correct the date in the source.' },
      'date.pattern': { means: 'The format in a call of `date()` is wrong.', cure: 'Correct the mapping.' },
      'decimal.ambiguous': {
        means: 'It is not clear whether a comma or a point is the decimal mark.',
        cure: 'Name the mark: `decimal(row.X, ",")`.',
      },
      'decimal.format': {
        means: 'The text is not a number.',
        cure: 'Correct the value, or the decimal mark in the mapping. To remove a unit: `decimal(row.X.split("kg")[0], ",")`.',
      },
      'decimal.mark': {
        means: 'The decimal mark in a call of `decimal()` is neither `","` nor `"."`.',
        cure: 'Correct the mapping.',
      },
      'duration.format': {
        means: 'The text is not a duration such as `1h30m`.',
        cure: 'Correct the value in the source.',
      },
      'gtin.check': { means: 'A digit of the GTIN is wrong.', cure: 'Correct the number in the source.' },
      'gtin.format': {
        means: 'The text does not have the digits of a GTIN.',
        cure: 'Check whether a program has dropped leading zeros before dpp-sync read the file.',
      },
      'gtin.rounded': {
        means: 'A spreadsheet has rounded the GTIN.',
        cure: 'Format the column as text, and enter the number again.',
      },
      'lookup.ambiguous': {
        means: 'The lookup table has several values for the key.',
        cure: 'Use more columns for the key, or use `lookup_all()`.',
      },
      'lookup.many': {
        means: 'The lookup table has too many rows for the key.',
        cure: 'Use more columns for the key.',
      },
      'lookup.table': {
        means: 'The name of the lookup table is not a literal text.',
        cure: 'Write the name in the call.',
      },
      'lookup.unknown': {
        means: 'The lookup table has no entry for the value.',
        cure: 'Add a row to the table, on the dashboard or in its file. All rows that need it are mapped again.',
      },
      'lookup.unread': {
        means: 'The stream of the lookup table has not been read to its end yet.',
        cure: 'Nothing, if the stream is read later. Otherwise sync the source of the stream.',
      },
      'member.missing': {
        means: 'The expression reads a member that the value does not have, or the value is empty.',
        cure: 'Read the member with `.?`, or fill it in the source.',
      },
      'unit.ambiguous': {
        means: 'The unit has several meanings.',
        cure: 'Name the right unit in `units` of the source.',
      },
      'unit.unknown': { means: 'The unit is not known.', cure: 'Add it to `units` of the source.' },
    },
  },
  {
    title: 'An expression of the mapping',
    codes: {
      'each.key': {
        means: 'Two entries of one row make the same key.',
        cure: 'Use more members of the entry in the key.',
      },
      'each.long': { means: 'The list of `each` is too long.', cure: 'Split the row in the source.' },
      'each.more': { means: 'The row has more issues than are shown.', cure: 'Correct those that are shown first.' },
      'each.type': { means: '`each` is not a list.', cure: 'Use `as_list(…)`.' },
      'expression.costly': {
        means: 'The values of the row are so long that its expressions would take too long.',
        cure: 'Shorten the value, or write the mapping as a module.',
      },
      'expression.failed': { means: 'The expression failed.', cure: 'Do what the message says.' },
      'expression.number': { means: 'The text is not a number.', cure: 'Use `double(decimal(row.X))`.' },
      'expression.types': {
        means: 'A value has another type than the expression expects.',
        cure: 'Convert it: `string(…)`, `decimal(…)`, `double(…)`.',
      },
      'key.characters': {
        means:
          'A key, a ref or a SKU has a character inside that nobody can see, such as a line end or a byte order mark.',
        cure: 'Remove the character in the source. The message shows where it is: `A1⏎B`.',
      },
      'key.type': { means: 'The key is neither text nor a number.', cure: 'Correct `key` in the mapping.' },
      'list.short': {
        means: 'The list has fewer entries than the expression reads.',
        cure: 'Use `first(…)`, or ask for `size(…)` first.',
      },
      'mapping.failed': {
        means: 'The row could not be mapped.',
        cure: 'Do what the message says. If the message gives no advice, this is a defect: report it.',
      },
      'matches.pattern': {
        means: 'The pattern of `matches()` is not a literal text.',
        cure: 'Write the pattern in the call.',
      },
      'module.result': { means: 'A mapping module returned something that is no item.', cure: 'Correct the module.' },
      'module.threw': {
        means: 'A mapping module threw an error.',
        cure: 'Correct the module. If the module is right, correct the row.',
      },
      'number.inexact': {
        means: 'The number has more digits than dpp-sync can store exactly.',
        cure: 'Write it as text in the source.',
      },
      'number.infinite': {
        means: 'The result is not a number.',
        cure: 'Look for a division by 0, or for a text in the calculation.',
      },
      'pairs.format': {
        means: 'A part of the text has no separator between name and value.',
        cure: 'Name the separators in `pairs()`.',
      },
      'pairs.twice': { means: 'A name has two values in `pairs()`.', cure: 'Correct the text in the source.' },
      'rule.max': { means: 'The value is above the limit of the mapping.', cure: 'Correct the value, or the rule.' },
      'rule.min': { means: 'The value is below the limit of the mapping.', cure: 'Correct the value, or the rule.' },
      'rule.number': {
        means: 'The rule needs a number, and the value is none.',
        cure: 'Correct the value, or the rule.',
      },
      'rule.pattern': {
        means: 'The value does not match the pattern of the mapping.',
        cure: 'Correct the value, or the rule.',
      },
      'rule.required': {
        means: 'The mapping requires a value, and the row gave none.',
        cure: 'Fill it in the source, or exclude such rows with `when`.',
      },
      'split.separator': { means: 'The separator in a call of `split()` is empty.', cure: 'Correct the mapping.' },
      'text.malformed': {
        means: 'A text has a control character, an incomplete character, or a code point that is no character.',
        cure: 'Correct the text or the `encoding`, or remove such characters with `printable(…)`.',
      },
      'value.depth': { means: 'The value is nested too deeply.', cure: 'Make a simpler value in the mapping.' },
      'value.type': {
        means: 'The result is of a type that no field can hold.',
        cure: 'Convert it: `string(…)`, `decimal(…)`.',
      },
      'when.type': { means: '`when` is neither true nor false.', cure: 'Compare: `row.ACTIVE == "1"`.' },
    },
  },
  {
    title: 'The item that a row makes',
    codes: {
      'field.invalid': {
        means: 'The value does not fit the field of the API.',
        cure: 'Do what the message says, in the source or in the mapping.',
      },
      'field.required': {
        means: 'The API requires the field, and the row gave no value.',
        cure: 'Fill it in the source, or exclude such rows with `when`.',
      },
      'field.unknown': {
        means: 'The kind of item has no such field.',
        cure: 'Correct the name in the mapping. [Configuration](configuration.md#fields-of-items) lists the fields.',
      },
      'key.empty': {
        means: 'The key is empty.',
        cure: 'Fill the column, or correct `key` in the mapping. If `key` is `\'""\'`, the mapping has no key yet.',
      },
      'key.long': { means: 'The key is too long.', cure: 'Use fewer columns for the key.' },
    },
  },
  {
    title: 'Other rows and items',
    codes: {
      'claim.conflict': {
        means: 'Another row makes the same item with other values. Only the values of that row are sent.',
        cure: 'Name the columns that identify a row in `key` of the stream, if it has none. Then give both rows the same values, remove one of them, or give them different keys. If you have changed the id of a source, change it back.',
      },
      'claim.twice': { means: 'One row makes the same item twice.', cure: 'Give the items of the row different keys.' },
      'natural_key.taken': {
        means: 'Another item has the same SKU or code.',
        cure: 'Correct the wrong item. The message has the place of the other item.',
      },
      'refs.ambiguous': {
        means: 'Both a product and a material have the key of the part.',
        cure: 'Name the part under `refs.component` or `refs.material`.',
      },
      'refs.cycle': { means: 'The product contains itself.', cure: 'Correct the bill of materials in the source.' },
      'refs.part': {
        means: 'The BOM item names no part, or it names two parts.',
        cure: 'Name exactly one under `refs.component`, `refs.material` or `refs.part`.',
      },
      'refs.product': { means: 'The BOM item names no product.', cure: 'Fill the column of the product.' },
      'refs.unexpected': {
        means: 'A product or material has refs.',
        cure: 'Take `refs` out of its mapping. Only BOM items have refs.',
      },
    },
  },
];
