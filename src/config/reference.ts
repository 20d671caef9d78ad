import { FIELD_TYPES, fieldNamesOf, ITEM_FIELDS, ITEM_KINDS } from '../domain/item.ts';
import { Profile } from '../domain/profile.ts';
import { Config } from './config.ts';
import { cell, schemaSections } from './schema-table.ts';
import { schemaTreeOf } from './schema-tree.ts';

const INTRODUCTION = `# Configuration

This page is generated from the code (\`npm run generate\`); change the descriptions there.

Everything is in one file, \`dpp-sync.yaml\` in the working folder or the one that \`-c FILE\` names, as YAML or JSON.
[\`config/dpp-sync.example.yaml\`](../config/dpp-sync.example.yaml) is an example with comments, and
[\`config/dpp-sync.schema.json\`](../config/dpp-sync.schema.json) gives editors completion and hints.

Every problem is reported at once, each with its path, its line, what was found and what was expected. Unknown keys are
problems too.

## Values from outside

In any text, but not in keys:

| written | becomes |
|---|---|
| \`\${VAR}\` | the environment variable; a problem when it is not set |
| \`\${VAR:-default}\` | the environment variable, or the default when it is not set or empty |
| \`\${file:/path}\` | the content of a file without its last line end; a problem when it cannot be read |
| \`\${file:/path:-default}\` | the content of a file, or the default when it does not exist or is empty |
| \`$\${\` | the characters \`\${\` themselves |

What comes in is not looked at again. A placeholder that is the whole value takes the type of its place, so
\`port: \${PORT}\` is a number. Paths are relative to the folder of the config file.

Secrets are never shown, logged or stored: the values marked so below, whatever comes from a file by \`\${file:…}\`, and variables whose
names contain \`KEY\`, \`TOKEN\`, \`SECRET\` or \`PASSWORD\`. They are taken out of whatever others send back as well; of one that is longer
than 12 characters the first 8 may be shown. A secret of fewer than 8 characters cannot be told from ordinary text and is not taken out,
which \`check\` warns of. From 16 characters on every run of 6 goes, unless it is a plain word or a sequence such as \`123456\`. Keys are
read again from their file or variable when the API rejects them.

Numbers that YAML would rewrite stay the text that was written: \`[0123]\` is the text "0123".
`;

/** The page that describes every key of the config file and of profiles. Connectors have pages of their own. */
export function configReference(connectors: readonly { id: string; title: string }[]): string {
  const parts = [INTRODUCTION, '## The config file\n', ...schemaSections(schemaTreeOf(Config))];
  parts.push(FIELDS_TITLE, fieldsTable(), CONNECTORS_TITLE);
  parts.push(connectors.map(({ id, title }) => `- [\`${id}\`](connectors/${id}.md): ${title}`).join('\n'));
  parts.push(PROFILES_TITLE, ...schemaSections(schemaTreeOf(Profile)));
  return `${parts.join('\n').trimEnd()}\n`;
}

const CONNECTORS_TITLE = `## Connectors

A source's \`options\` and what stands under its streams depend on its \`connector\`. Each has a page with its options, and those
that have to do with [where files come from](connectors/files.md) are the same for all that read files.
`;

const FIELDS_TITLE = `## Fields of items

The names that \`fields\` of a mapping may use; the profile can allow more. Fields in bold are required.
`;

const PROFILES_TITLE = `
## Profiles

A profile is what to assume where the API document is silent. \`target.profile\` names one in \`config/profiles\`, or the
path of a file of your own, which begins with \`extends: default\` and holds what differs: objects are merged, lists and
single values replaced. [\`config/profiles/default.yaml\`](../config/profiles/default.yaml) holds every value assumed.
`;

function fieldsTable(): string {
  const rows = ITEM_KINDS.flatMap((kind) => {
    const required = (name: string) =>
      !(ITEM_FIELDS[kind] as Record<string, { safeParse(value: unknown): { success: boolean } }>)[name]?.safeParse(
        undefined,
      ).success;
    const types: Readonly<Record<string, string>> = FIELD_TYPES[kind];
    return fieldNamesOf(kind).map((name) => {
      const field = required(name) ? `**\`${name}\`**` : `\`${name}\``;
      return `| \`${kind}\` | ${field} | ${cell(types[name] ?? '')} |`;
    });
  });
  return ['| kind | field | what it takes |', '|---|---|---|', ...rows, ''].join('\n');
}
