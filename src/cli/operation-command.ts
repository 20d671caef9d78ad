import { type Command, Option } from 'commander';
import { z } from 'zod';
import { fault } from '../domain/faults.ts';
import { OPERATIONS } from '../operations/list.ts';
import type { AnyOperation, Operation } from '../operations/operation.ts';
import type { LookContext } from '../operations/runtime.ts';
import { answered } from './answers.ts';
import type { CommandContext, RunAction } from './context.ts';
import { shown } from './text/progress.ts';
import { noLedgerText } from './text/standing.ts';
import { printable } from './text/style.ts';

/** Defines the command of an operation. Its flags are the members of the request, and it prints what the operation says. */
export function addOperationCommand(program: Command, run: RunAction, name: string): void {
  const operation = OPERATIONS.find((one) => one.name === name);
  if (operation === undefined) throw new Error(`There is no operation ${name}.`);
  const command = program.command(name);
  const { properties = {}, required = [] } = z.toJSONSchema(operation.request, { io: 'input', unrepresentable: 'any' });
  for (const [member, schema] of Object.entries(properties)) {
    const { description = '', type, enum: choices } = schema as z.core.JSONSchema.JSONSchema;
    const flag = `--${member.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (required.includes(member)) command.argument(`<${member}>`, description);
    else if (type === 'boolean') command.option(flag, description);
    else {
      const option = new Option(`${flag} <${member}>`, description);
      command.addOption(choices === undefined ? option : option.choices(choices.map(String)));
    }
  }
  command
    .addHelpText('after', operation.help ?? '')
    .action((...given: unknown[]) => run((context) => runOperation(operation, flagsOf(command, given), context)));
}

/** The members of the request that the command line gives. */
function flagsOf(command: Command, given: readonly unknown[]): object {
  const named = command.registeredArguments.map((argument, at) => [argument.name(), given[at]] as const);
  return { ...command.opts<object>(), ...Object.fromEntries(named) };
}

async function runOperation(operation: AnyOperation, flags: object, context: CommandContext): Promise<number> {
  const { kind, name, request } = operation;
  const { output } = context;
  const parsed = request.safeParse(flags);
  if (!parsed.success) throw fault('usage', parsed.error.issues.map(({ message }) => `${message}.`).join(' '));
  const asked = parsed.data;
  if (kind !== 'look') {
    // A config with a problem is already refused here, with the same message.
    const config = await context.loadConfig();
    return context.withAdmin(config, name, async (admin) => show(await shown(context, admin, operation, asked)));
  }
  const config = await context.loadConfig('ledger');
  return context.withViews(config, async (opened) => {
    if (opened !== null) return show(await lookWith(operation, asked, { runtime: opened, clock: context.clock }));
    output.note(noLedgerText(config));
    return 0;
  });

  function show(result: unknown): number {
    if (result === null) throw fault('item.unknown', operation.absent?.(asked) ?? 'There is no such entry.');
    const lines = operation.say?.(result, asked).map(printable) ?? [];
    const isFailure = ![0, 4].includes(operation.exitCode?.(result) ?? 0);
    if (isFailure && !output.json) for (const line of lines) output.error(line);
    return answered(output, { operation, result }, isFailure ? [] : lines);
  }
}

function lookWith(operation: AnyOperation, asked: unknown, context: LookContext): Promise<unknown> {
  return (operation as Operation<unknown, unknown, LookContext>).run(asked, context);
}
